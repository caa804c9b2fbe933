// The site as it is built: its first page, in both themes and on a phone.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { ended, listening } from '../listening.ts'
import { barriers, expectClean } from './chromium.ts'
import { afterwards, opened } from './opened.ts'

const root = resolve(import.meta.dirname, '../../..')
const dist = join(root, 'scripts/site/dist')
const build = () => promisify(execFile)(process.execPath, [join(root, 'scripts/site/build.ts')])

beforeAll(build, 240_000)

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
}

async function served(): Promise<string> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site.test')
    const named = pathname.endsWith('/') ? `${pathname}index.html` : pathname
    const file = [named, `${named}.html`].map((one) => join(dist, one)).find(existsSync)
    if (!file) return response.writeHead(404).end()
    response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream')
    return response.end(readFileSync(file))
  })
  afterwards(() => ended(server))
  return listening(server)
}

test.each([1440, 390])(
  'the first page says what it is, at %i px, and axe finds nothing',
  async (width) => {
    const url = await served()
    for (const theme of ['light', 'dark'] as const) {
      const one = await opened({ width, height: 844, theme })
      const { page } = one
      await page.goto(url)
      await page.getByRole('heading', { level: 1, name: 'idv-webhooks' }).waitFor()
      expect(await page.locator('.benefits li').count()).toBe(5)
      const isCut = (all: Element[]) => all.some((one) => one.scrollWidth > one.clientWidth)
      if (width === 1440) expect(await page.locator('.landing pre').evaluateAll(isCut)).toBe(false)
      await page.locator('.landing img').waitFor()
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
        width,
      )
      expect(await barriers(page), theme).toEqual([])
      expectClean(one)
    }
  },
)

test('a search finds guides before decisions and the changelog', async () => {
  const url = await served()
  const { page } = await opened({ width: 1440, height: 844 })
  await page.goto(`${url}/quick-start`)
  await page.locator('#local-search button').first().click()
  await page.locator('.VPLocalSearchBox input').fill('typescript types')
  const hits = page.locator('.VPLocalSearchBox .result')
  await hits.first().waitFor()
  const found = await hits.evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''))
  expect(found.slice(0, 5).filter((to) => /decisions|changelog|architecture/.test(to))).toEqual([])
})
