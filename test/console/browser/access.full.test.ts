import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { createReceiver } from 'idv-webhooks'
import { inboxConsole } from 'idv-webhooks/console'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { createSandbox } from 'idv-webhooks/sandbox'
import { signedDelivery } from 'idv-webhooks/testing'
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { ended, listening } from '../listening.ts'
import { expectClean, openPage } from './chromium.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const closing: (() => unknown)[] = []

afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

async function sandboxPages() {
  const sandbox = await createSandbox({
    seed: 1,
    rateLimit: false,
    subscriptions: [{ url: 'http://app.test/webhooks' }],
    fetch: async () => new Response('{"outcome":"handled"}'),
  })
  closing.push(() => sandbox.close())
  const { url } = await sandbox.listen()
  const post = async (path: string, body: object) => {
    const response = await sandbox.fetch(`${sandbox.baseUrl}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await response.json()) as { readonly id: string; readonly accessToken: string }
  }
  const kyc = { type: 'kyc', requirements: ['document', 'person', 'consent'] }
  await post('/verifications', { ...kyc, subjectName: 'Auto Approve', subjectEmail: 'a@b.example' })
  const made = await post('/verifications', { ...kyc, subjectName: 'Ada Lovelace' })
  const client = await post('/clients', { nameFirst: 'Grace' })
  sandbox.faults.set([{ kind: 'duplicate', times: 3 }])
  const delivery = sandbox.deliveries.list()[0]?.id
  return [
    'verifications',
    'verifications/new',
    `verifications/${made.id}`,
    'clients',
    `clients/${client.id}`,
    'deliveries',
    `deliveries/${delivery}`,
    'subscriptions',
    'outbox',
    'clock',
    'faults',
    'access',
    'reveals',
    'assumptions',
  ]
    .map((path) => `${url}/#/${path}`)
    .concat(`${url}/verify/${made.accessToken}`)
}

async function inboxPages() {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret: 'a-secret-for-tests', inbox, observe: () => {} })
  const data = { id: '2f0c8f5e-0000-4000-8000-000000000001', subjectName: 'Ada' }
  for (const event of ['verification.created', 'request.approved']) {
    const body = JSON.stringify({ id: `evt_${event}`, event, createdAt: new Date(), data })
    await receiver.receive(await signedDelivery(body, { secret: 'a-secret-for-tests' }))
  }
  const server = createServer(inboxConsole(inbox, { authorize: 'loopback' }).node)
  const url = await listening(server)
  closing.push(() => ended(server))
  const id = (await inbox.find()).entries[0]?.id
  return ['overview', 'entries', `entries/${id}`, 'activity'].map((path) => `${url}/#/${path}`)
}

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** Serious barriers that axe finds on the page as it is. */
async function barriers(page: Page, options: object = {}): Promise<string[]> {
  const found = await page.evaluate(async (options) => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: Violation[] }> }
    }
    return (await axe.run(options)).violations
  }, options)
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`)
}

/** What is wider than its place: the page itself, and every part of it that scrolls. */
const cutParts = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('html, main, .scroll, .detail, .rows, .side')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ className, tagName }) => `${tagName} ${className}`),
  )

test('every page is free of serious barriers, in both themes and at any width', async () => {
  const one = await openPage()
  closing.push(one.close)
  const { page } = one
  for (const address of [...(await sandboxPages()), ...(await inboxPages())]) {
    await page.goto('about:blank')
    await page.goto(address)
    await page.locator('h1').waitFor()
    await page.locator('.row, .card, .empty, form, .facts').first().waitFor()
    // Evaluated by the browser's own protocol: the page's policy lets no script in.
    await page.evaluate(axe)
    expect(await barriers(page), address).toEqual([])
    for (const width of [380, 760, 1600]) {
      await page.setViewportSize({ width, height: 800 })
      expect(await cutParts(page), `${address} at ${width}`).toEqual([])
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    // Only colours differ between the themes.
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await barriers(page, { runOnly: ['color-contrast'] }), `${address}, dark`).toEqual([])
    await page.emulateMedia({ colorScheme: 'light' })
  }
  expectClean(one)
})
