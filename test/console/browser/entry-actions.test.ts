// The actions on one entry of an inbox: their confirmation and their effect.
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { inboxConsole } from 'idv-webhooks/console'
import { createInbox, memoryStore, type RetryOptions } from 'idv-webhooks/inbox'
import { toNode } from 'idv-webhooks/node'
import { expect, test } from 'vitest'
import { ended, listening } from '../listening.ts'
import { expectClean } from './chromium.ts'
import { afterwards, opened } from './opened.ts'

const run = promisify(execFile)
const secret = 'a-secret-for-the-browser'

/** A receiver on a port, a worker whose handler can be broken, and the console of their inbox. */
async function start(retry: RetryOptions = { attempts: 1 }) {
  const inbox = createInbox({ store: memoryStore(), retry })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  const state = { broken: false, handled: [] as string[] }
  receiver.on('verification.approved', (event, { attempt }) => {
    if (state.broken) throw new TypeError('the ledger is away')
    state.handled.push(`${event.id} ${attempt}`)
  })
  const worker = createWorker(receiver)
  await worker.start()
  const [door, pages] = [
    createServer(toNode(receiver)),
    createServer(inboxConsole(inbox, { authorize: 'loopback', interval: 100 }).node),
  ]
  afterwards(async () => {
    await Promise.all([ended(door), ended(pages)])
    await worker.drain()
    await inbox.close()
  })
  const hook = `${await listening(door)}/webhooks?tenant=it's&range=[1-3]{a,b}`
  const url = await listening(pages)
  const deliver = async (id: string) => {
    const data = { id: '2f0c8f5e-0000-4000-8000-000000000001', subjectName: 'O’Brien & "Söhne"' }
    const body = JSON.stringify({ id, event: 'verification.approved', data })
    const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
    expect((await fetch(hook, { method: 'POST', headers, body })).status).toBe(202)
    const { entries } = await inbox.find()
    return entries[0]?.id ?? ''
  }
  return { inbox, state, deliver, url }
}

const detailOf = (page: Awaited<ReturnType<typeof opened>>['page']) =>
  page.getByRole('region', { name: 'Entry' })

test('a kept delivery is copied as a command that sends its exact bytes, which the inbox knows', async () => {
  const { deliver, url, state } = await start()
  const id = await deliver('evt_1')
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/entries/${id}`)
  const detail = detailOf(page)
  await detail.getByRole('button', { name: 'Copy as test' }).waitFor()
  expect(await detail.getByRole('button', { name: 'Copy as curl' }).count()).toBe(0)
  await detail.getByRole('button', { name: 'Reveal the payload' }).click()
  await detail.getByRole('button', { name: 'Copy as curl' }).click()
  await page.getByText('Copied').first().waitFor()
  const command = await page.evaluate(() => navigator.clipboard.readText())
  const { stdout } = await run('sh', ['-c', `${command} -s --max-time 10`])
  // A duplicate is what was signed, byte for byte.
  expect(JSON.parse(stdout)).toEqual({ outcome: 'duplicate' })
  await expect.poll(() => state.handled).toEqual(['evt_1 1'])
  expectClean(one)
})

test('replay says that every handler runs again, and then they do', async () => {
  const { deliver, url, state } = await start()
  const id = await deliver('evt_1')
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/entries/${id}`)
  const replay = detailOf(page).getByRole('button', { name: 'Replay' })
  await replay.click()
  const dialog = page.getByRole('dialog', { name: 'Replay this entry?' })
  await dialog.getByText('Every handler runs again on the stored bytes').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(state.handled).toEqual(['evt_1 1'])
  await replay.click()
  await dialog.getByRole('button', { name: 'Replay' }).click()
  await expect.poll(() => state.handled).toEqual(['evt_1 1', 'evt_1 1'])
  await page.getByText('Queued again').waitFor()
  expectClean(one)
})

test('redrive runs at once an entry that waits for its retry, and what waits for it', async () => {
  const { deliver, url, state } = await start({ delays: [3_590_000], random: () => 1 })
  state.broken = true
  const id = await deliver('evt_1')
  const later = await deliver('evt_2')
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/entries/${later}`)
  const detail = detailOf(page)
  await detail.getByText('It waits for an earlier entry of the same entity').waitFor()
  await detail.getByRole('link', { name: id }).click()
  await detail.locator('.badge', { hasText: 'retry' }).waitFor()
  const said =
    /^HANDLER_FAILED A handler threw. The next attempt is due [\d\w ,:]+ in 1h. Redrive makes it now.$/
  await expect.poll(() => detail.locator('.notice').textContent()).toMatch(said)
  state.broken = false
  await detail.getByRole('button', { name: 'Redrive' }).click()
  const dialog = page.getByRole('dialog', { name: 'Redrive this entry?' })
  await dialog.getByRole('button', { name: 'Redrive' }).click()
  await expect.poll(() => state.handled).toEqual(['evt_1 1', 'evt_2 1'])
  expectClean(one)
})

test('redrive all also renews the entry that is open', async () => {
  const { inbox, deliver, url, state } = await start()
  state.broken = true
  const id = await deliver('evt_1')
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/entries/${id}?state=dead`)
  const settled = detailOf(page).locator('dt:text("Settled") + dd time')
  const before = await settled.getAttribute('datetime')
  await page.getByRole('button', { name: 'Redrive 1 dead letter' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Redrive' }).click()
  await expect.poll(() => settled.getAttribute('datetime')).not.toBe(before)
  expect((await inbox.get(id))?.state).toBe('dead')
  expectClean(one)
})

test('dismiss says that no handler will run, settles the dead letter, and its entity goes on', async () => {
  const { inbox, deliver, url, state } = await start()
  state.broken = true
  const id = await deliver('evt_1')
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/entries/${id}`)
  const detail = detailOf(page)
  await detail.locator('.badge', { hasText: 'dead' }).waitFor()
  state.broken = false
  await detail.getByRole('button', { name: 'Dismiss' }).click()
  const dialog = page.getByRole('dialog', { name: 'Dismiss this entry?' })
  await dialog.getByText('No handler runs for it').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect((await inbox.get(id))?.state).toBe('dead')
  await detail.getByRole('button', { name: 'Dismiss' }).click()
  await dialog.getByRole('button', { name: 'Dismiss' }).click()
  await detail.locator('.badge', { hasText: 'skipped' }).waitFor()
  await detail.getByText('An operator dismissed it').waitFor()
  expect(await inbox.get(id)).toMatchObject({ state: 'skipped', reason: 'DISMISSED' })
  expect(state.handled).toEqual([])
  await deliver('evt_2')
  await expect.poll(() => state.handled).toEqual(['evt_2 1'])
  expectClean(one)
})
