import { createServer } from 'node:http'
import { createReceiver } from 'idv-webhooks'
import { inboxConsole } from 'idv-webhooks/console'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { createSandbox } from 'idv-webhooks/sandbox'
import { signedDelivery } from 'idv-webhooks/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { ended, listening } from '../listening.ts'
import { expectClean, openPage } from './chromium.ts'

const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function opened() {
  const one = await openPage()
  closing.push(one.close)
  return one
}

async function startSandbox() {
  const sandbox = await createSandbox({
    seed: 1,
    rateLimit: false,
    subscriptions: [{ url: 'http://app.test/webhooks' }],
    fetch: async () => Response.json({ outcome: 'handled' }),
  })
  closing.push(() => sandbox.close())
  const { url, port } = await sandbox.listen()
  const create = async (subjectName: string) => {
    const response = await sandbox.fetch(`${sandbox.baseUrl}/verifications`, {
      method: 'POST',
      headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'idv', requirements: ['document'], subjectName }),
    })
    return ((await response.json()) as { readonly id: string }).id
  }
  return { sandbox, url, port, create }
}

const secret = 'a-secret-for-tests'

async function startInbox(authorize: (request: Request) => boolean = () => true, title = 'Inbox') {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  const deliver = async (body: string) => receiver.receive(await signedDelivery(body, { secret }))
  const options = { authorize, title, interval: 100 }
  const state = { down: false }
  // Its store is away for a while: every question fails.
  const shown = new Proxy(inbox, {
    get(of, name: keyof typeof inbox) {
      const value = of[name]
      if (typeof value !== 'function') return value
      return state.down ? () => Promise.reject(new Error('away')) : value.bind(of)
    },
  })
  const server = createServer(inboxConsole(shown, options).node)
  const url = await listening(server)
  closing.push(() => ended(server))
  return { inbox, deliver, url, state }
}

const body = (id: string, event = 'verification.approved', data: object = {}) =>
  JSON.stringify({ id, event, data: { id: '2f0c8f5e-0000-4000-8000-000000000001', ...data } })

describe('whoever clicks in another order than was thought of', () => {
  test('is told what can no longer be done, and sees what can', async () => {
    const { sandbox, url, create } = await startSandbox()
    const id = await create('Ada')
    await sandbox.act(id, ['start', 'submit'])
    const one = await opened()
    const { page } = one
    await page.goto(`${url}/#/verifications/${id}`)
    const detail = page.getByRole('region', { name: 'Verification' })
    const approve = detail.getByRole('button', { name: 'Approve' })
    await approve.waitFor()
    // Another client acted first, and this page does not know it yet.
    await page.route('**/_console/verifications/**', (route) => route.abort())
    await sandbox.act(id, ['reject'])
    await approve.click()
    await page.getByText('cannot approve a verification that is rejected').waitFor()
    await page.unroute('**/_console/verifications/**')
    await page.reload()
    await detail.getByText('This verification is final').waitFor()
    expect(await detail.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    expectClean(one)
  })

  test('a reload keeps the page, its filters and the open detail', async () => {
    const { url, create } = await startSandbox()
    const id = await create('Ada')
    await create('Grace')
    const one = await opened()
    const { page } = one
    await page.goto(`${url}/#/verifications`)
    await page.getByRole('searchbox').fill('ada')
    await expect.poll(() => page.locator('.rows .row').count()).toBe(1)
    await page.locator('.row').click()
    await page.getByRole('heading', { name: 'Ada' }).waitFor()
    await page.reload()
    await page.getByRole('region', { name: 'Verification' }).getByText(id).waitFor()
    expect(await page.getByRole('searchbox').inputValue()).toBe('ada')
    await expect.poll(() => page.locator('.rows .row').count()).toBe(1)
    await page.getByRole('button', { name: 'Close the detail' }).click()
    await page.getByRole('searchbox').fill('nobody')
    await page.getByRole('button', { name: 'Clear the filters' }).click()
    await expect.poll(() => page.locator('.rows .row').count()).toBe(2)
    expect(await page.getByRole('searchbox').inputValue()).toBe('')
    expectClean(one)
  })

  test('sees a reset at once, on a list and on what is open of it', async () => {
    const { sandbox, url, create } = await startSandbox()
    const id = await create('Ada')
    const delivery = sandbox.deliveries.list()[0]?.id
    const [one, other] = [await opened(), await opened()]
    await one.page.goto(`${url}/#/verifications/${id}`)
    await one.page.getByRole('button', { name: 'Start' }).waitFor()
    await other.page.goto(`${url}/#/deliveries/${delivery}`)
    await other.page.getByRole('button', { name: 'Resend' }).waitFor()
    await one.page.locator('.live[data-state="live"]').waitFor()
    await other.page.locator('.live[data-state="live"]').waitFor()
    await sandbox.reset()
    for (const [{ page }, name, title] of [
      [one, 'Verification', 'No verification yet'],
      [other, 'Delivery', 'Nothing sent yet'],
    ] as const) {
      const detail = page.getByRole('region', { name, exact: true })
      await detail.getByText('NOT_FOUND').waitFor()
      expect(await detail.getByRole('button').allInnerTexts()).toEqual(['✕'])
      await detail.getByRole('button', { name: 'Close the detail' }).click()
      await page.getByRole('heading', { name: title }).waitFor()
      expect(await page.locator('.rows .row').count()).toBe(0)
    }
    await create('Grace')
    await expect.poll(() => other.page.locator('.rows .row').count()).toBe(1)
    for (const page of [one, other]) expectClean(page)
  })

  test('is told when the inbox is closed, or when it can no longer be found out who asks', async () => {
    let works = true
    const { inbox, deliver, url, state } = await startInbox(() => {
      if (!works) throw new Error('the session store is away')
      return true
    })
    await deliver(body('evt_1'))
    const one = await opened()
    const { page } = one
    await page.goto(`${url}/#/entries`)
    await page.locator('.row').waitFor()
    works = false
    await page.getByRole('searchbox').fill('evt_1')
    await page.getByText('AUTHORIZE_FAILED').waitFor()
    works = true
    await page.getByRole('searchbox').fill('')
    await expect.poll(() => page.url()).not.toContain('search=')
    await page.locator('.row').waitFor()
    // A closed inbox opens itself again; one whose store is away cannot.
    await inbox.close()
    await page.reload()
    await page.locator('.row').waitFor()
    state.down = true
    await page.locator('.live', { hasText: 'unavailable' }).waitFor()
    await page.locator('.row').click()
    await page.getByText('STORE_UNAVAILABLE').first().waitFor()
    await deliver(body('evt_2'))
    state.down = false
    await page.getByRole('region', { name: 'Entry' }).getByText('evt_1', { exact: true }).waitFor()
    await page.locator('.live[data-state="live"]').waitFor()
    await expect.poll(() => page.locator('.rows .row').count()).toBe(2)
    expectClean(one)
  })

  test('sees the lag grow while nothing happens', async () => {
    const { deliver, url } = await startInbox()
    await deliver(body('evt_1'))
    const one = await opened()
    await one.page.goto(`${url}/#/overview`)
    const oldest = one.page.locator('.figure', { hasText: 'oldest pending' }).locator('b')
    await oldest.waitFor()
    const before = await oldest.textContent()
    await expect.poll(() => oldest.textContent()).not.toBe(before)
    expectClean(one)
  })
})

const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}\u202e`

test('untrusted text of an inbox stays text in every place, and no policy is violated', async () => {
  const { inbox, deliver, url } = await startInbox(() => true, hostile)
  await deliver(body(hostile, hostile, { id: hostile, [hostile]: hostile }))
  await deliver(body('evt_2', 'verification.approved', { [hostile]: [hostile] }))
  await deliver(hostile)
  const one = await opened()
  const { page } = one
  page.on('dialog', (dialog) => {
    throw new Error(`a script ran: ${dialog.message()}`)
  })
  const { entries } = await inbox.find()
  expect(entries).toHaveLength(3)
  for (const path of [
    'overview',
    'entries',
    'audit-log',
    ...entries.map(({ id }) => `entries/${id}`),
    `entries/${encodeURIComponent(hostile)}`,
    `entries?search=${encodeURIComponent(hostile)}&entity=${encodeURIComponent(hostile)}`,
    encodeURIComponent(hostile),
  ]) {
    await page.goto('about:blank')
    await page.goto(`${url}/#/${path}`)
    await page.locator('.row, .card, .notice, .empty').first().waitFor()
    if (entries.some(({ id }) => path === `entries/${id}`)) {
      await page.getByRole('button', { name: 'Reveal the payload' }).click()
      await page.getByTestId('body').getByText('onerror').first().waitFor()
    }
    expect(await page.locator('body img, body script, body i[onclick]').count(), path).toBe(0)
    expect(await page.getByText(hostile.slice(0, 20)).count(), path).toBeGreaterThan(0)
  }
  expectClean(one)
})

test('a body nested 20,000 deep is shown masked to a depth, and revealed as it came', async () => {
  const { inbox, deliver, url } = await startInbox()
  const nested = `${'['.repeat(20_000)}"Ada"${']'.repeat(20_000)}`
  await deliver(nested)
  await deliver(body('evt_1').replace('"data":{', `"data":{"metadata":${nested},`))
  const one = await opened()
  const { page } = one
  const { entries } = await inbox.find()
  expect(entries).toHaveLength(2)
  for (const { id } of entries) {
    await page.goto('about:blank')
    await page.goto(`${url}/#/entries/${id}`)
    await page
      .getByText(/•••••|not JSON/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Reveal the payload' }).click()
    await page.getByTestId('body').getByText('[[[[[').first().waitFor()
  }
  expectClean(one)
})

describe('a page of another site', () => {
  /** What such a page may try, and what it got. */
  const attempts = async (target: string) => {
    const tried = [
      fetch(`${target}/_sandbox/reset`, { method: 'POST' }),
      fetch(`${target}/_sandbox/reset`, { method: 'POST', mode: 'no-cors' }),
      fetch(`${target}/_sandbox/clock`, { method: 'PUT', body: '{"frozen":true}' }),
      fetch(`${target}/api/forget`, { method: 'POST', mode: 'no-cors', body: '{}' }),
      fetch(`${target}/_console/keys`),
      fetch(`${target}/api/entries`, { credentials: 'include' }),
      fetch(target),
    ].map((request) =>
      request.then(
        async (response) => `${response.type} ${await response.text()}`,
        () => 'refused',
      ),
    )
    const frame = document.createElement('iframe')
    frame.src = target
    document.body.append(frame)
    await new Promise((resolve) => frame.addEventListener('load', resolve))
    return [...(await Promise.all(tried)), frame.contentDocument ? 'readable' : 'out of reach']
  }

  test('can neither read nor change anything, nor put it into a frame', async () => {
    const { sandbox, url, create, port } = await startSandbox()
    const id = await create('Ada')
    const { inbox, deliver, url: inboxUrl } = await startInbox()
    await deliver(body('evt_1'))
    const server = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end('<body>elsewhere'),
    )
    const elsewhere = await listening(server)
    closing.push(() => ended(server))
    const { page } = await opened()
    // A console that is open in the same browser has its cookie there.
    await page.goto(url)
    for (const target of [url, inboxUrl]) {
      for (const origin of [elsewhere, elsewhere.replace('127.0.0.1', 'localhost')]) {
        await page.goto(origin)
        const got = await page.evaluate(attempts, target)
        expect(got.map((one) => one.trim())).toEqual(
          got.map((one) => (/^(opaque|refused|out of reach)/.exec(one) ?? ['nothing'])[0]),
        )
      }
    }
    expect(sandbox.clock.frozen).toBe(false)
    expect(
      (await (await fetch(`${url}/_console/verifications/${id}`)).json()).verification.id,
    ).toBe(id)
    expect((await inbox.find()).entries[0]?.erased).toBe(false)
    // A name that was made to lead here: the browser takes it for one site.
    const answer = await page.goto(`http://rebound.test:${port}/`)
    expect(answer?.status()).toBe(403)
    expect(await page.content()).not.toContain('idv-console')
  })
})
