import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { barriers, expectClean, openPage } from './chromium.ts'
import { inboxScene, sandboxScene } from './scenes.ts'

const closing: (() => unknown)[] = []

afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

/** Finds overflow: the page itself, and every part of it that scrolls. */
const cutParts = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('html, main, .scroll, .detail, .rows, .side')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ className, tagName }) => `${tagName} ${className}`),
  )

test('axe finds nothing on any page, in both themes, and no page is wider than its window', async () => {
  const one = await openPage()
  closing.push(one.close)
  const { page } = one
  const [sandbox, inbox] = [await sandboxScene(), await inboxScene()]
  closing.push(sandbox.close, inbox.close)
  const addresses = [sandbox, inbox].flatMap(({ url, paths }) =>
    paths.map((path) => `${url}/#/${path}`),
  )
  for (const address of [...addresses, sandbox.subject]) {
    await page.goto('about:blank')
    await page.goto(address)
    await page.locator('h1').waitFor()
    await page.locator('.row, .card, .empty, form, .facts').first().waitFor()
    for (const width of [390, 760, 1440]) {
      await page.setViewportSize({ width, height: 844 })
      expect(await cutParts(page), `${address} at ${width}`).toEqual([])
      if (width === 760) continue
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        expect(await barriers(page), `${address}, ${colorScheme}, ${width}`).toEqual([])
      }
    }
  }
  expectClean(one)
})
