import { createServer } from 'node:http'
import { createReceiver } from 'idv-webhooks'
import { type Activity, inboxConsole } from 'idv-webhooks/console'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { signedDelivery } from 'idv-webhooks/testing'
import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
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

test('a person’s data is nowhere in an inbox’s pages until it is revealed, and each reveal is recorded', async () => {
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
  for (const path of ['overview', 'entries', 'audit-log']) {
    expect(await revealed(one.page, `${url}/#/${path}`)).toEqual({ pressed: 0, shown: false })
  }
  for (const { id } of entries) {
    const told = await revealed(one.page, `${url}/#/entries/${id}`)
    expect(told).toEqual({ pressed: 1, shown: true })
  }
  const what = entries.map(({ id }) => ({ action: 'reveal', what: id }))
  expect(activities).toMatchObject(what)
  await one.page.goto(`${url}/#/audit-log`)
  await expect.poll(() => one.page.locator('tbody tr').count()).toBe(3)
  expect(await held(one.page)).not.toMatch(/canary/i)
  expectClean(one)
})
