// The answers that a developer opens the console for, on a wide page and on a phone.
import { createSandbox } from 'idv-webhooks/sandbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectClean } from './chromium.ts'
import { afterwards, opened, sandboxOnPort } from './opened.ts'
import { inboxScene, type Scene, sandboxScene } from './scenes.ts'

/** Elements whose text is wider than their place. */
const cutTexts = (selector: string) =>
  [...document.querySelectorAll(selector)]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map(({ textContent }) => textContent)

const widths = [1440, 390]

describe.each(widths)('in the sandbox, at %i px', (width) => {
  let scene: Scene
  beforeAll(async () => {
    scene = await sandboxScene()
  })
  afterAll(() => scene.close())

  const start = async () => {
    const one = await opened({ width, height: 844 })
    const go = async (path: string) => {
      await one.page.goto('about:blank')
      await one.page.goto(`${scene.url}/#/${path}`)
    }
    const pathOf = (page: string) => scene.paths.find((path) => path.startsWith(`${page}/`)) ?? ''
    return { ...one, go, pathOf }
  }

  test('a delivery shows its attempts, newest open, with the reply, the proved cause and the bytes', async () => {
    const { page, go, pathOf, ...one } = await start()
    await go(pathOf('deliveries'))
    const detail = page.getByRole('region', { name: 'Delivery', exact: true })
    const attempts = detail.locator('details.attempt')
    await expect.poll(() => attempts.count()).toBe(2)
    expect(await attempts.evaluateAll((all) => all.map((one) => one.hasAttribute('open')))).toEqual(
      [true, false],
    )
    await attempts.first().getByText('handled', { exact: true }).waitFor()
    const first = attempts.last()
    await first.getByText('SIGNATURE_MISMATCH', { exact: true }).first().waitFor()
    await first.getByText('Attempt 1').click()
    await first.getByText(/^"SIGNATURE_MISMATCH"$/).waitFor()
    await first
      .locator('.notice')
      .getByText(/parser|serialised/)
      .waitFor()
    await first.getByTestId('side-by-side').waitFor()
    const body = first.getByTestId('body').first()
    await body.locator('.key', { hasText: '"statusCode"' }).waitFor()
    await body.locator('summary').first().click()
    await body.locator('.folded').first().waitFor()
    await body.getByRole('button', { name: 'Raw' }).click()
    await body.getByText(/^\{"code":"SIGNATURE_MISMATCH"/).waitFor()
    expectClean(one)
  })

  test('no badge is cut, people have names, and a row can be told from the next', async () => {
    const { page, go, ...one } = await start()
    await go('deliveries')
    await page.locator('.row').first().waitFor()
    expect(await page.evaluate(cutTexts, '.badge, td')).toEqual([])
    const rows = await page.locator('.row').allInnerTexts()
    expect(rows.every((text) => /[\da-f]{8}/.test(text))).toBe(true)
    await page.locator('.row', { hasText: 'retrying' }).first().waitFor()
    for (const path of ['overview', 'clock']) {
      await go(path)
      const about = page.getByRole('table').locator('[data-head="About"]')
      await about.first().waitFor()
      expect((await about.allTextContents()).every((text) => /^[\da-f]{8}$/.test(text))).toBe(true)
    }
    await go('verifications')
    await page.getByRole('link', { name: 'Ada Lovelace' }).waitFor()
    expectClean(one)
  })

  test('the title stands at one place on every page, and an unknown address says so', async () => {
    const { page, go, ...one } = await start()
    const places = new Set<number | undefined>()
    for (const path of [
      'overview',
      'verifications',
      'deliveries',
      'clock',
      'faults',
      'reference',
    ]) {
      await go(path)
      await page.locator('.row, .card').first().waitFor()
      places.add((await page.locator('h1').boundingBox())?.y)
    }
    if (width > 1000) expect(places.size).toBe(1)
    await go('nope')
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await page.getByRole('link', { name: 'Go to the first page' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expectClean(one)
  })

  test('the overview counts, lists what fails and tells what is due next', async () => {
    const { page, go, ...one } = await start()
    await go('overview')
    await page.getByRole('link', { name: /^[45] pending deliveries$/ }).waitFor()
    await page.getByRole('link', { name: '2 verifications to decide' }).waitFor()
    const failing = page.getByRole('table', { name: 'Failing deliveries' })
    await failing.locator('.row').first().getByText('401').waitFor()
    await page
      .getByRole('table', { name: 'Due next' })
      .getByText(/^attempt \d$/)
      .first()
      .waitFor()
    const time = failing.locator('time').first()
    expect(await time.textContent()).toMatch(/^\d\d:\d\d:\d\d (now|\d+s ago)$/)
    expect(await time.getAttribute('title')).toMatch(/Z \(UTC\)$/)
    expectClean(one)
  })

  test('the palette goes to a page, and searches', async () => {
    const { page, go, ...one } = await start()
    await go('overview')
    await page.locator('.card').first().waitFor()
    await page.keyboard.press('ControlOrMeta+k')
    await page.getByRole('dialog').getByRole('textbox').fill('faul')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Faults', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Go to…' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('ada')
    await page.getByRole('link', { name: 'Verifications with “ada”' }).click()
    await expect.poll(() => page.locator('.rows .row').count()).toBe(1)
    expectClean(one)
  })

  test('one page of the navigation is current, and the failing deliveries are counted beside theirs', async () => {
    const { page, go, ...one } = await start()
    await go('clock')
    if (width <= 760) await page.getByRole('button', { name: 'Menu' }).click()
    const nav = page.getByRole('navigation', { name: 'Pages' })
    await nav.getByRole('link', { name: /^Deliveries [45]$/ }).waitFor()
    expect(await nav.locator('[aria-current]').allTextContents()).toEqual([
      expect.stringContaining('Clock'),
    ])
    expectClean(one)
  })

  test('deliveries have attempts and a duration, and are filtered by date', async () => {
    const { page, go, ...one } = await start()
    await go('deliveries')
    const row = page.locator('.rows .row').first()
    await row.locator('[data-head="Attempts"]').getByText(/^\d$/).waitFor()
    await row
      .locator('[data-head="Duration"]')
      .getByText(/^[\d.]+ m?s$/)
      .waitFor()
    const count = await page.locator('.rows .row').count()
    if (width <= 760) await page.getByRole('button', { name: 'Filters' }).click()
    await page.getByLabel('Created', { exact: true }).selectOption('15m')
    await expect.poll(() => page.url()).toContain('since=15m')
    await expect.poll(() => page.locator('.rows .row').count()).toBe(count)
    await go('deliveries?since=2999-01-01T00:00:00.000Z')
    await page.getByText('Nothing matches these filters').waitFor()
    expectClean(one)
  })

  test('a list says beside its title how many rows it has', async () => {
    const { page, go, ...one } = await start()
    for (const [path, words] of [
      ['verifications', '5 verifications'],
      ['clients', '1 client'],
      ['deliveries', /^\d+ deliveries$/],
      ['subscriptions', '2 subscriptions'],
      ['outbox', '4 mails'],
      ['faults', '2 on'],
    ] as const) {
      await go(path)
      await page.getByTestId('total').getByText(words).waitFor()
    }
    expectClean(one)
  })

  test('labels are words, each id can be copied, and each fault has a sentence', async () => {
    const { page, go, pathOf, ...one } = await start()
    await go('clients/new')
    for (const label of ['First name', 'Address line 1', 'External ID']) {
      await page.getByLabel(label, { exact: true }).waitFor()
    }
    for (const name of ['verifications', 'clients', 'deliveries']) {
      await go(scene.paths.find((path) => path.startsWith(`${name}/`) && !/new$/.test(path)) ?? '')
      await page.locator('.detail .id').first().waitFor()
      const ids = await page.locator('.detail .id').count()
      expect(await page.locator('.detail .id button').count(), name).toBe(ids)
    }
    await go('faults')
    const faults = page.getByRole('table', { name: 'All faults' }).locator('tbody .main')
    await faults.nth(20).waitFor()
    expect((await faults.allTextContents()).filter((text) => !/^[A-Z].+\.$/.test(text))).toEqual([])
    expectClean(one)
  })

  test('the mail that was sent is read in its row’s detail', async () => {
    const { page, go, ...one } = await start()
    await go('outbox')
    await page.locator('.row', { hasText: 'ada@example.org' }).click()
    const mail = page.getByRole('region', { name: 'Mail', exact: true })
    await mail.getByText('asks you to complete 3').waitFor()
    await mail.getByRole('button', { name: 'Copy link' }).waitFor()
    expectClean(one)
  })

  test('filters are folded on a phone alone', async () => {
    const { page, go, ...one } = await start()
    await go('deliveries')
    const status = page.getByLabel('Status', { exact: true })
    const fold = page.getByRole('button', { name: 'Filters' })
    await page.locator('.row').first().waitFor()
    expect([await status.isVisible(), await fold.isVisible()]).toEqual([width > 760, width <= 760])
    if (width <= 760) await fold.click()
    await status.selectOption('delivered')
    await expect.poll(() => page.getByText('retrying').count()).toBe(0)
    expectClean(one)
  })

  test('the form of a verification begins with the subject, and a chip fills in a magic name', async () => {
    const { page, go, ...one } = await start()
    await go('verifications/new')
    await page.getByRole('button', { name: 'Auto Approve' }).click()
    expect(await page.getByLabel('Subject name').inputValue()).toBe('Auto Approve')
    await page.getByText('No Answer').waitFor()
    expect(await page.getByLabel('Client ID').isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Create verification' }).click()
    await page.getByText('This verification is final').waitFor()
    expectClean(one)
  })
})

test.each(widths)(
  'a test event goes to one subscription, whose last response and rate are shown, at %i px',
  async (width) => {
    const { sandbox, url } = await sandboxOnPort()
    sandbox.deliveries.subscriptions.create({
      url: 'http://other.test/',
      events: ['client.deleted'],
    })
    const one = await opened({ width })
    const { page } = one
    await page.goto(`${url}/#/subscriptions`)
    const card = page.locator('.card', { has: page.getByText('http://other.test/') })
    await card.getByText('none yet').waitFor()
    await card.getByRole('button', { name: 'Send test event' }).click()
    await card.getByText('200').waitFor()
    await card.getByRole('link', { name: '100 % delivered, 0 failed, 0 pending' }).click()
    await page.locator('.rows .row', { hasText: 'client.deleted' }).waitFor()
    expect(sandbox.deliveries.list()).toHaveLength(1)
    expectClean(one)
  },
)

test.each(widths)(
  'a toast goes with its page, and a spent fault no longer looks active, at %i px',
  async (width) => {
    const { sandbox, url, verification } = await sandboxOnPort()
    sandbox.faults.set([{ kind: 'duplicate', times: 1 }])
    await verification({ subjectName: 'Ada' })
    const one = await opened({ width })
    const { page } = one
    await page.goto(`${url}/#/reference`)
    await page.getByRole('button', { name: 'Copy the id' }).first().click()
    await page.getByText('Copied').waitFor()
    if (width <= 760) await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Faults' }).click()
    await page.getByText('Copied').waitFor({ state: 'detached' })
    const row = page.getByRole('table', { name: 'Switched on' }).locator('tbody tr')
    await row.getByText('1, spent').waitFor()
    expect(await row.getAttribute('data-dim')).toBe('true')
    await page.getByText('0 on').waitFor()
    expectClean(one)
  },
)

test('a receiver with another secret is told apart from changed bytes', async () => {
  const width = 390
  const sandbox = await createSandbox({
    seed: 1,
    subscriptions: [{ url: 'http://app.test/webhooks' }],
    fetch: async () => Response.json({ code: 'SIGNATURE_MISMATCH' }, { status: 401 }),
  })
  afterwards(() => sandbox.close())
  const { url } = await sandbox.listen()
  await sandbox.fetch(`${sandbox.baseUrl}/clients`, {
    method: 'POST',
    headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
    body: '{}',
  })
  await expect.poll(() => sandbox.deliveries.list()[0]?.attempts.length).toBe(1)
  const { page } = await opened({ width })
  await page.goto(`${url}/#/deliveries/${sandbox.deliveries.list()[0]?.id}`)
  await page.getByText('The receiver has another secret or scheme').waitFor()
})

test.each(widths)('an offline page says so, and keeps what it shows, at %i px', async (width) => {
  const { sandbox, url, verification } = await sandboxOnPort()
  await verification({ subjectName: 'Ada' })
  const { page } = await opened({ width })
  await page.goto(`${url}/#/verifications`)
  await page.locator('.live[data-state="live"]').waitFor()
  const choice = page.getByLabel('Organization')
  const before = (await choice.boundingBox())?.width
  await sandbox.close()
  await page.getByText('Connection lost').waitFor()
  expect((await choice.boundingBox())?.width).toBe(before)
  expect(await page.locator('.row').count()).toBe(1)
})

test.each(widths)(
  'the clock is set by a picker, and tells what happened on the way, at %i px',
  async (width) => {
    const { sandbox, url, verification } = await sandboxOnPort()
    await verification({ subjectName: 'Ada' })
    const one = await opened({ width })
    const { page } = one
    await page.goto(`${url}/#/clock`)
    const form = page.getByRole('form', { name: 'Set the clock' })
    await form.getByRole('button', { name: 'Set' }).click()
    await form.locator('.wrong').waitFor()
    const later = new Date(sandbox.clock.now().getTime() + 20 * 86_400_000)
    await form.getByLabel('Set to').fill(later.toISOString().slice(0, 19))
    await form.getByRole('button', { name: 'Set' }).click()
    await page.getByText('1 expired').waitFor()
    expect(Math.abs(sandbox.clock.now().getTime() - later.getTime())).toBeLessThan(86_400_000)
    expectClean(one)
  },
)

describe.each(widths)('in the inbox, at %i px', (width) => {
  let scene: Scene
  beforeAll(async () => {
    scene = await inboxScene()
  })
  afterAll(() => scene.close())

  const start = async (path: string) => {
    const one = await opened({ width, height: 844 })
    await one.page.goto(`${scene.url}/#/${path}`)
    return one
  }

  test('dead letters come first and red, failures and handlers are told, the chart shows a bar', async () => {
    const one = await start('overview')
    const { page } = one
    const first = page.locator('.figure').first()
    await expect.poll(() => first.getAttribute('data-tone')).toBe('bad')
    await expect.poll(() => first.textContent()).toBe('1dead letter')
    const failures = page.getByRole('table', { name: 'Recent failures' })
    await failures.getByText('failed again').waitFor()
    await failures
      .getByText(/ledger: TypeError/)
      .first()
      .waitFor()
    const handlers = page.getByRole('table', { name: /^By handler/ })
    const notify = await handlers.locator('.row', { hasText: 'notify' }).textContent()
    expect(notify).toMatch(/^notify6[\d.]+ m?s[\d.]+ m?s0$/)
    const chart = page.getByRole('img', { name: /^Events in the last hour/ })
    const box = await chart.boundingBox()
    await page.getByTestId('chart-words').getByText('All').waitFor()
    await chart.hover({ position: { x: (box?.width ?? 0) - 3, y: 20 } })
    await page
      .getByTestId('chart-words')
      .getByText(/^\d\d:\d\d:\d\d$/)
      .waitFor()
    expect(await page.locator('.chart line').count()).toBe(2)
    await page.locator('.chart .ends').getByText('UTC').waitFor()
    expectClean(one)
  })

  test('entries are filtered by state with counts, event, handler and reason', async () => {
    const one = await start('entries')
    const { page } = one
    const rows = page.locator('.rows .row')
    await expect.poll(() => rows.count()).toBe(13)
    if (width <= 760) await page.getByRole('button', { name: 'Filters' }).click()
    const choose = async (name: string, value: string, count: number) => {
      await page.getByLabel(name, { exact: true }).selectOption(value)
      await expect.poll(() => rows.count(), { message: name }).toBe(count)
      await page.getByLabel(name, { exact: true }).selectOption('')
      await expect.poll(() => rows.count(), { message: name }).toBe(13)
    }
    await page
      .getByLabel('State')
      .locator('option', { hasText: 'retrying (3)' })
      .waitFor({ state: 'attached' })
    await choose('State', 'retry', 3)
    await choose('Event', 'verification.rejected', 3)
    await choose('Handler', 'ledger', 3)
    await choose('Reason', 'NO_HANDLER', 3)
    await choose('Received', '15m', 13)
    expectClean(one)
  })

  test('the palette opens an entry by its id, and an unknown address says so', async () => {
    const one = await start('nope')
    const { page } = one
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    const id = scene.paths.find((path) => path.startsWith('entries/'))?.slice(8) ?? ''
    await page.getByRole('button', { name: 'Search all pages' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill(id)
    await page.getByRole('link', { name: `The entry ${id}` }).click()
    const detail = page.getByRole('region', { name: 'Entry', exact: true })
    await detail.getByText('HANDLER_FAILED').first().waitFor()
    expect(await detail.locator('.id').count()).toBe(await detail.locator('.id button').count())
    expectClean(one)
  })

  test('several entries are redriven at once, and those that fail again are marked', async () => {
    const one = await start('entries?state=retry')
    const { page } = one
    await page.locator('.rows .row').nth(2).waitFor()
    for (const nth of [0, 1]) await page.locator('td.pick input').nth(nth).check()
    await page.getByRole('button', { name: 'Redrive 2' }).click()
    const dialog = page.getByRole('dialog', { name: 'Redrive 2?' })
    await dialog.getByRole('button', { name: 'Redrive 2' }).click()
    await page.getByText('2 queued again').waitFor()
    await expect.poll(() => page.locator('.row').getByText('failed again').count()).toBe(2)
    expectClean(one)
  })
})
