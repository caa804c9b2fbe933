import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReceiver, createWorker } from 'idv-webhooks'
import { type Activity, type InboxConsoleOptions, inboxConsole } from 'idv-webhooks/console'
import { createInbox, type Inbox, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { signedDelivery } from 'idv-webhooks/testing'
import { afterEach, expect, test } from 'vitest'
import { ended, listening } from '../listening.ts'
import { expectClean, openPage } from './chromium.ts'
import { runCopied } from './run-copied.ts'

const secret = 'a-secret-for-the-browser'
const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** The console of an inbox on a port of its own. */
async function serve(inbox: Inbox, options: Partial<InboxConsoleOptions> = {}) {
  const console = inboxConsole(inbox, { authorize: 'loopback', interval: 100, ...options })
  const server = createServer(console.node)
  closing.push(() => ended(server))
  return listening(server)
}

async function opened(look?: Parameters<typeof openPage>[0]) {
  const one = await openPage(look)
  closing.push(one.close)
  return one
}

function bodyOf(at: number, data: object = {}, event = 'verification.approved') {
  const createdAt = new Date(Date.now() - 1000 + at).toISOString()
  const id = `2f0c8f5e-0000-4000-8000-${String(at).padStart(12, '0')}`
  return JSON.stringify({ id: `evt_${at}`, event, createdAt, data: { id, ...data } })
}

/** A SQLite inbox with a receiver whose handler can be broken and mended. */
async function receiving() {
  const folder = mkdtempSync(join(tmpdir(), 'console-'))
  closing.push(() => rmSync(folder, { recursive: true }))
  const inbox = createInbox({
    store: sqliteStore(join(folder, 'inbox.db')),
    retry: { attempts: 1 },
  })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  const state = { broken: false, handled: [] as string[] }
  receiver.on('verification.approved', () => {}, { id: 'mail' })
  receiver.on(
    'verification.*',
    (event) => {
      if (state.broken) throw new TypeError('the database is away')
      state.handled.push(event.data.id)
    },
    { id: 'ledger' },
  )
  const worker = createWorker(receiver)
  await worker.start()
  closing.push(async () => {
    await receiver.drain()
    await inbox.close()
  })
  const deliver = async (at: number, data?: object, event?: string) => {
    const outcome = await receiver.receive(
      await signedDelivery(bodyOf(at, data, event), { secret }),
    )
    expect(outcome.kind).toBe('accepted')
  }
  return { inbox, state, deliver, file: join(folder, 'inbox.db') }
}

test('a failing handler leaves a dead letter, which is redriven once it is mended', async () => {
  const { inbox, state, deliver } = await receiving()
  const activities: Activity[] = []
  const url = await serve(inbox, { onActivity: (one) => activities.push(one) })
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/overview`)
  await page.getByText('Nothing arrived').waitFor()
  state.broken = true
  await deliver(1)
  await page.getByRole('link', { name: '1 dead letter', exact: true }).click()
  await page.locator('.rows .row').click()
  const detail = page.getByRole('region', { name: 'Entry' })
  await detail.getByText('HANDLER_FAILED').first().waitFor()
  const handlers = await detail.locator('.facts').first().locator('div').allInnerTexts()
  expect(handlers.map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
    expect.stringMatching(/ledger.*failed.*HANDLER_FAILED.*TypeError/),
    expect.stringMatching(/mail.*done/),
  ])
  state.broken = false
  await detail.getByRole('button', { name: 'Redrive' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Handlers that succeeded do not run again').waitFor()
  await dialog.getByRole('button', { name: 'Redrive' }).click()
  await detail.locator('.badge', { hasText: 'done' }).first().waitFor()
  await detail.getByRole('button', { name: 'Replay' }).waitFor()
  expect(state.handled).toHaveLength(1)
  expect(activities.map(({ action }) => action)).toEqual(['redrive'])
  expectClean(one)
})

test('a payload is masked until it is revealed, is forgotten for good, and each is recorded with who did it', async () => {
  const { inbox, deliver } = await receiving()
  const url = await serve(inbox, {
    authorize: ({ headers }) => (headers.get('cookie')?.includes('who=grace') ? 'grace' : false),
  })
  await deliver(1, { subjectName: 'Canary Tunbridge', subjectEmail: 'canary@example.org' })
  expect((await fetch(url)).status).toBe(403)
  const one = await opened()
  const { page, context } = one
  await context.addCookies([{ name: 'who', value: 'grace', url }])
  const answers: string[] = []
  page.on('response', async (response) => {
    if (response.url().includes('/api/') && !response.url().endsWith('/events')) {
      answers.push(await response.text().catch(() => ''))
    }
  })
  await page.goto(`${url}/#/entries`)
  await page.locator('.row').click()
  await page.getByLabel('The payload, masked').getByText('subjectName').waitFor()
  expect(await page.content()).not.toMatch(/canary/i)
  expect(answers.join('')).not.toMatch(/canary/i)
  await page.getByRole('button', { name: 'Reveal the payload' }).click()
  await page.getByTestId('body').getByText('Canary Tunbridge').waitFor()
  await page.getByRole('button', { name: 'Copy as test' }).click()
  await page.getByText('Copied').waitFor()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  const { body } = JSON.parse(/const capture = (\{.*?\n\})/s.exec(copied)?.[1] ?? '')
  expect(Buffer.from(body, 'base64').toString()).not.toMatch(/canary/i)
  expect(await runCopied(copied)).toMatch(/Tests\s+1 passed/)
  await page.getByRole('button', { name: 'Forget' }).click()
  await page.getByRole('dialog').getByText('cannot be undone').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click()
  await page.getByText('The payload was erased').waitFor()
  await page.goto(`${url}/#/audit-log`)
  await page.getByText('forget', { exact: true }).waitFor()
  // By cells: the first one is the time, in one word or two.
  const rows = await page
    .locator('tbody tr')
    .evaluateAll((all) =>
      all.map(({ children }) => [...children].slice(1, 3).map((cell) => cell.textContent)),
    )
  expect(rows).toEqual([
    ['grace', 'forget'],
    ['grace', 'reveal'],
  ])
  expectClean(one)
})

test('another process’s inbox is shown as well, and read-only it changes nothing', async () => {
  const { inbox, deliver, file } = await receiving()
  await deliver(1)
  const other = createInbox({ store: sqliteStore(file, { mode: 'operator' }) })
  closing.push(() => other.close())
  const url = await serve(other, { readOnly: true })
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/entries`)
  await page.locator('.row').waitFor()
  await deliver(2, {}, 'request.rejected')
  await page.locator('.row', { hasText: 'as request.rejected' }).waitFor()
  await page.locator('.row').last().click()
  await page.getByRole('button', { name: 'Reveal the payload' }).waitFor()
  expect(await page.getByRole('button', { name: /Replay|Forget|Redrive/ }).count()).toBe(0)
  const id = (await inbox.find()).entries[1]?.id
  const answer = await page.evaluate(async (path) => {
    const meta = document.querySelector<HTMLMetaElement>('meta[name="idv-console"]')?.content
    const { token } = JSON.parse(meta ?? '{}')
    const response = await fetch(path, { method: 'POST', headers: { 'x-console-token': token } })
    return response.json()
  }, `/api/entries/${id}/replay`)
  expect(answer).toMatchObject({ code: 'READ_ONLY', statusCode: 403 })
  expectClean(one)
})

test('a long list shows the newest entries, and older ones when they are wanted', async () => {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  for (let at = 0; at < 700; at++) {
    await receiver.receive(await signedDelivery(bodyOf(at), { secret }))
  }
  const url = await serve(inbox)
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/entries`)
  await page.locator('.row').first().waitFor()
  const rows = page.locator('.row')
  const more = page.getByRole('button', { name: 'Show more' })
  for (const count of [100, 500, 700]) {
    await expect.poll(() => rows.count()).toBe(count)
    if (count < 700) await more.click()
  }
  await more.waitFor({ state: 'detached' })
  expectClean(one)
})
