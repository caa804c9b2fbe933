import { createServer } from 'node:http'
import { createReceiver } from 'idv-webhooks'
import { type Activity, inboxConsole } from 'idv-webhooks/console'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { createSandbox } from 'idv-webhooks/sandbox'
import { signedDelivery } from 'idv-webhooks/testing'
import type { Page } from 'playwright-core'
import { afterEach, describe, expect, test } from 'vitest'
import { ended, listening } from '../listening.ts'
import { expectClean, openPage } from './chromium.ts'

const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const canary = 'Canary'

/** All that a page holds, also what is typed into its fields. */
function held(page: Page): Promise<string> {
  return page.evaluate(() => {
    const fields = [...document.querySelectorAll('input, textarea')] as HTMLInputElement[]
    const kept = [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.title]
    return [document.documentElement.outerHTML, ...fields.map(({ value }) => value), ...kept].join()
  })
}

/** Opens a page that holds no identity data, and presses each button that reveals some. */
async function revealed(page: Page, address: string) {
  await page.goto('about:blank')
  await page.goto(address)
  await page.locator('h1').waitFor({ state: 'attached' })
  await page.locator('.row, .card, .empty, form, .facts').first().waitFor()
  expect(await held(page), address).not.toMatch(/canary/i)
  const buttons = page.getByRole('button', { name: /^Reveal/ })
  const pressed = await buttons.count()
  for (let left = pressed; left > 0; left--) {
    await buttons.first().click()
    await expect.poll(() => buttons.count()).toBe(left - 1)
  }
  return { pressed, shown: /canary/i.test(await held(page)) }
}

async function json(request: Response | Promise<Response>) {
  return (await (await request).json()) as { readonly id: string; readonly accessToken: string }
}

/** A sandbox in which everything that may be a person's says so. */
async function sandboxOfCanaries() {
  const sandbox = await createSandbox({
    seed: 1,
    rateLimit: false,
    subscriptions: [{ url: 'http://app.test/webhooks' }],
    // A receiver that answers with what it got.
    fetch: async (request) => new Response(await new Response(request.body).text()),
  })
  closing.push(() => sandbox.close())
  const { url } = await sandbox.listen()
  const post = (path: string, body: object) =>
    json(
      sandbox.fetch(`${sandbox.baseUrl}${path}`, {
        method: 'POST',
        headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
  const client = await post('/clients', {
    ...{ nameFirst: canary, nameLast: canary, businessName: canary, email: 'canary@example.org' },
    ...{ phone: canary, externalId: canary, addressLine1: canary, addressLine2: canary },
    ...{ city: canary, region: canary, postalCode: canary, metadata: { [`${canary} 1`]: canary } },
  })
  const { id, accessToken } = await post('/verifications', {
    type: 'kyc',
    requirements: ['person', 'attestation'],
    clientId: client.id,
    subjectPhone: canary,
    config: { note: canary },
    thirdParties: [{ name: canary, email: 'canary@example.org', org: canary }],
  })
  const steps: readonly Readonly<Record<string, string>>[] = [
    { step: 'person', fullName: canary, dateOfBirth: '1985-12-10' },
    { step: 'attestation', truthful: 'yes', signature: canary },
  ]
  for (const step of steps) {
    const body = new URLSearchParams({ ...step, filled: 'yes' })
    await sandbox.fetch(`${url}/verify/${accessToken}`, { method: 'POST', body })
  }
  await sandbox.act(id, ['approve'])
  const other = await post('/verifications', { type: 'idv', requirements: ['document'] })
  await sandbox.act(other.id, ['start', 'submit', { action: 'reject', reason: canary }])
  await sandbox.flush()
  const delivery = sandbox.deliveries.list().at(-1)
  return { url, id, client: client.id, other: other.id, delivery: delivery?.id ?? '' }
}

describe('a person’s data is nowhere in a page until it is revealed, and each reveal is recorded', () => {
  test('in the sandbox', async () => {
    const { url, id, client, other, delivery } = await sandboxOfCanaries()
    const one = await openPage()
    closing.push(one.close)
    const { page } = one
    const pages: Readonly<Record<string, boolean>> = {
      verifications: true,
      'verifications/new': false,
      [`verifications/${id}`]: true,
      [`verifications/${other}`]: true,
      clients: true,
      'clients/new': false,
      [`clients/${client}`]: true,
      deliveries: false,
      [`deliveries/${delivery}`]: true,
      subscriptions: false,
      outbox: true,
      clock: false,
      faults: false,
      access: false,
      reveals: false,
      assumptions: false,
    }
    let reveals = 0
    for (const [path, tells] of Object.entries(pages)) {
      const { pressed, shown } = await revealed(page, `${url}/#/${path}`)
      expect([path, pressed > 0, shown]).toEqual([path, tells, tells])
      reveals += pressed
    }
    // To copy a delivery is to have it.
    await page.goto(`${url}/#/deliveries/${delivery}`)
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByText('Copied').waitFor()
    const { data } = (await (await fetch(`${url}/_console/reveals`)).json()) as {
      readonly data: readonly { readonly what: string }[]
    }
    expect(data).toHaveLength(reveals + 1)
    expect(data[0]).toMatchObject({ action: 'reveal', what: delivery })
    await page.goto(`${url}/#/reveals`)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(reveals + 1)
    expectClean(one)
  })

  test('in an inbox', async () => {
    const inbox = createInbox({ store: memoryStore(), retry: { attempts: 1 } })
    const secret = 'a-secret-for-tests'
    const receiver = createReceiver({ secret, inbox, observe: () => {} })
    const data = {
      ...{ id: '2f0c8f5e-0000-4000-8000-000000000001', subjectName: canary, note: [canary] },
      ...{ person: { fullName: canary, [`${canary} 2`]: 1 }, documents: [{ id: canary }] },
    }
    for (const body of [
      JSON.stringify({ id: 'evt_1', event: 'verification.approved', data }),
      JSON.stringify({ id: 'evt_2', event: `${canary} of a name`, data }),
      `${canary}, but no JSON`,
    ]) {
      await receiver.receive(await signedDelivery(body, { secret }))
    }
    const activities: Activity[] = []
    const onActivity = (did: Activity) => activities.push(did)
    const server = createServer(inboxConsole(inbox, { authorize: 'loopback', onActivity }).node)
    const url = await listening(server)
    closing.push(() => ended(server))
    const one = await openPage()
    closing.push(one.close)
    const { entries } = await inbox.find()
    for (const path of ['overview', 'entries', 'activity']) {
      expect(await revealed(one.page, `${url}/#/${path}`)).toEqual({ pressed: 0, shown: false })
    }
    for (const { id } of entries) {
      const told = await revealed(one.page, `${url}/#/entries/${id}`)
      expect(told).toEqual({ pressed: 1, shown: true })
    }
    const what = entries.map(({ id }) => ({ action: 'reveal', what: id }))
    expect(activities).toMatchObject(what)
    await one.page.goto(`${url}/#/activity`)
    await expect.poll(() => one.page.locator('tbody tr').count()).toBe(3)
    expect(await held(one.page)).not.toMatch(/canary/i)
    expectClean(one)
  })
})
