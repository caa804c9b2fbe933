// A real Chromium from an npm package, and pages in it that note everything that went wrong: an
// error, a refused script or style, a request to anywhere else.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import chromium from '@sparticuz/chromium'
import { type Browser, type Page, chromium as playwright } from 'playwright-core'
import { afterAll, expect } from 'vitest'

/** Not the package's own: those switch off the very walls between sites that are tested here. */
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--host-resolver-rules=MAP rebound.test 127.0.0.1',
]

let launching: Promise<Browser> | undefined

/** The browser of this file; where Chromium is missing this fails, and says so. */
function browser(): Promise<Browser> {
  launching ??= chromium
    .executablePath()
    .then((executablePath) => playwright.launch({ executablePath, args, headless: true }))
  return launching
}

afterAll(async () => {
  await (await launching)?.close()
})

export interface Look {
  readonly width?: number
  readonly height?: number
  readonly theme?: 'light' | 'dark'
}

/** A page of its own context; `faults` must be empty in the end. */
export async function openPage(look: Look = {}) {
  const { width = 1280, height = 800, theme = 'light' } = look
  const context = await (await browser()).newContext({
    viewport: { width, height },
    colorScheme: theme,
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(10_000)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('console', (message) => {
    const text = message.text()
    if (message.type() === 'error' && !/Failed to load resource/.test(text)) faults.push(text)
  })
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      console.error(`CSP ${violatedDirective} ${blockedURI}`)
    })
  })
  return { page, context, faults, close: () => context.close() }
}

/** Nothing went wrong: no error, no CSP report, nothing asked for elsewhere. */
export function expectClean({ faults }: { readonly faults: readonly string[] }): void {
  expect(faults).toEqual([])
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** The violations that axe finds on the page. */
export async function barriers(page: Page): Promise<string[]> {
  // Evaluated by the browser's own protocol: the page's policy lets no script in.
  await page.evaluate(axe)
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: Violation[] }> }
    }
    return (await axe.run()).violations
  })
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`)
}
