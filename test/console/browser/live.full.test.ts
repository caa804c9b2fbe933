import { createSandbox } from 'idv-webhooks/sandbox'
import { afterEach, expect, test } from 'vitest'
import { expectClean, openPage } from './chromium.ts'

const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function start() {
  const sandbox = await createSandbox({
    seed: 1,
    rateLimit: false,
    subscriptions: [{ url: 'http://app.test/webhooks' }],
    fetch: async () => Response.json({ outcome: 'handled' }),
  })
  closing.push(() => sandbox.close())
  const create = () =>
    sandbox.fetch(`${sandbox.baseUrl}/clients`, {
      method: 'POST',
      headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
      body: '{"nameFirst":"Ada"}',
    })
  return { sandbox, create }
}

async function opened() {
  const one = await openPage()
  closing.push(one.close)
  return one
}

/** Frames of the page for a while: how many there were, and the longest gap between two. */
function frames() {
  return new Promise<{ perSecond: number; longest: number; rows: number }>((resolve) => {
    const times: number[] = []
    const step = (now: number) => {
      times.push(now)
      const first = times[0] ?? now
      if (now - first < 3000) {
        requestAnimationFrame(step)
        return
      }
      const gaps = times.slice(1).map((time, at) => time - (times[at] ?? time))
      const rows = document.querySelectorAll('.row').length
      resolve({ perSecond: gaps.length / 3, longest: Math.max(...gaps), rows })
    }
    requestAnimationFrame(step)
  })
}

test('200 deliveries a second keep the list smooth', async () => {
  const { sandbox, create } = await start()
  const { url } = await sandbox.listen()
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/deliveries`)
  await page.getByText('Nothing sent yet').waitFor()
  const quiet = await page.evaluate(frames)
  let made = 0
  const begun = Date.now()
  const timer = setInterval(() => {
    // As many as are due by now, so that a late timer changes nothing.
    while (made < ((Date.now() - begun) / 1000) * 200) {
      made++
      void create()
    }
  }, 20)
  const busy = await page.evaluate(frames)
  clearInterval(timer)
  expect(made).toBeGreaterThan(500)
  await expect
    .poll(() => page.getByTestId('total').textContent())
    .toBe(`${made.toLocaleString('en')} deliveries`)
  console.log('frames a second and the longest gap:', { quiet, busy, made })
  // Against the same page at rest: this machine may be busy with other things.
  expect(busy.perSecond).toBeGreaterThan(Math.min(30, quiet.perSecond * 0.5))
  expect(busy.rows).toBe(100)
  expectClean(one)
})

test('rows that arrive above do not move what is being read', async () => {
  const { sandbox, create } = await start()
  const { url } = await sandbox.listen()
  for (let at = 0; at < 60; at++) await create()
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/deliveries`)
  await page.locator('.row').first().waitFor()
  await page.locator('.rows').evaluate((list) => list.scrollTo(0, 900))
  const seen = () =>
    page.evaluate(() => {
      const list = document.querySelector('.rows')?.getBoundingClientRect()
      return document
        .elementFromPoint(600, (list?.top ?? 0) + 80)
        ?.closest('.row')
        ?.getAttribute('data-id')
    })
  await expect.poll(seen).toBeTruthy()
  const before = await seen()
  for (let at = 0; at < 5; at++) await create()
  await expect.poll(() => page.getByTestId('total').textContent()).toBe('65 deliveries')
  await expect.poll(seen).toBe(before)
  expectClean(one)
})

test('what was missed is asked for page by page, however much it was', async () => {
  const { sandbox, create } = await start()
  const { url } = await sandbox.listen()
  const one = await opened()
  const { page } = one
  for (let at = 0; at < 3; at++) await create()
  // Streams that end with an error are opened anew, and know nothing of the time between.
  let away = false
  await page.route('**/_sandbox/events', (route) =>
    away ? route.fulfill({ status: 503 }) : route.fallback(),
  )
  away = true
  await page.goto(`${url}/#/deliveries`)
  await expect.poll(() => page.locator('.row').count()).toBe(3)
  for (let at = 0; at < 1500; at++) await create()
  await sandbox.flush()
  away = false
  await page.locator('.live[data-state="live"]').waitFor()
  await expect.poll(() => page.getByTestId('total').textContent()).toBe('1,503 deliveries')
  const rows = page.locator('.row')
  for (const count of [100, 500, 1000, 1500, 1503]) {
    await expect.poll(() => rows.count()).toBe(count)
    if (count < 1503) await page.getByRole('button', { name: 'Show more' }).click()
  }
  const last = sandbox.deliveries.list().slice(-10)
  for (const { id } of last) expect(await page.locator(`[data-id="${id}"]`).count(), id).toBe(1)
})

test('a connection that was lost comes back, and nothing of the time between is missing', async () => {
  const { sandbox, create } = await start()
  const first = await sandbox.listen()
  await create()
  const one = await opened()
  const { page } = one
  await page.goto(`${first.url}/#/deliveries`)
  await page.locator('.row').waitFor()
  await page.locator('.live', { hasText: 'live' }).waitFor()
  await first.close()
  await page.locator('.live', { hasText: 'offline' }).waitFor()
  for (let at = 0; at < 7; at++) await create()
  await sandbox.listen({ port: first.port })
  await page.locator('.live[data-state="live"]').waitFor()
  await expect.poll(() => page.getByTestId('total').textContent()).toBe('8 deliveries')
  expect(await page.locator('.row').count()).toBe(8)
  await create()
  await expect.poll(() => page.locator('.row').count()).toBe(9)
  const shown = await page
    .locator('.row')
    .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-id')))
  expect(shown).toEqual(sandbox.deliveries.list().map(({ id }) => id))
})
