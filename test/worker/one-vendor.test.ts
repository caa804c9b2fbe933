// An inbox holds the events of one vendor: the receiver of another vendor could misread them.
import { readFileSync } from 'node:fs'
import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { createInbox, type InboxOptions, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { testSecret } from 'idv-webhooks/testing'
import { type Vendor, vendors } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test } from 'vitest'
import { event } from '../inbox/admin.ts'
import { temporaryFile } from '../inbox/temporary.ts'

const [onfido, veriff] = [vendors.onfido(), vendors.veriff()]
const key = Buffer.alloc(32, 7).toString('base64')

/** A receiver for the vendor with an inbox of its own over the store, and one delivery of an approval. */
function application(vendor: Vendor | undefined, options: InboxOptions) {
  const inbox = createInbox(options)
  const receiver = createReceiver({
    secret: testSecret,
    inbox,
    observe: () => {},
    ...(vendor && { vendor }),
  })
  const ran: string[] = []
  receiver.on('verification.approved', ({ vendor = 'own' }) => void ran.push(vendor))
  const worker = createWorker(receiver)
  onTestFinished(async () => {
    await worker.drain({ grace: 0 })
    await inbox.close()
  })
  const body = vendor
    ? vendor.fixtures.find(({ name }) => name === 'verification.approved')?.body
    : event('verification.approved')
  const deliver = async () => {
    const bytes = new TextEncoder().encode(JSON.stringify(body))
    const scheme = vendor && { scheme: vendor.scheme }
    const headers = await sign(bytes, { secret: testSecret, ...scheme })
    return receiver.receive({ body: bytes, headers })
  }
  return { inbox, ran, worker, deliver }
}

test('a receiver for another vendor is refused an inbox that a receiver has', () => {
  const inbox = createInbox({ store: memoryStore() })
  createReceiver({ secret: testSecret, inbox, vendor: onfido })
  createReceiver({ secret: testSecret, inbox, vendor: onfido })
  for (const other of [{ vendor: veriff }, {}]) {
    const create = () => createReceiver({ secret: testSecret, inbox, ...other })
    expect(create).toThrow(/INBOX_INVALID|holds events of a receiver for 'onfido'/)
  }
})

test.each([
  ['memory', () => ({ store: memoryStore() })],
  ['SQLite, encrypted', () => ({ store: sqliteStore(temporaryFile()), encryption: { key } })],
])('the worker of another vendor runs nothing while entries are open: %s', async (_, create) => {
  const pairs = [
    [onfido, veriff],
    [veriff, undefined],
  ] as const
  for (const [first, second] of pairs) {
    const options = create()
    const own = application(first, options)
    const other = application(second, options)
    await own.worker.runOnce()
    expect((await own.deliver()).kind).toBe('accepted')
    await expect(other.worker.runOnce()).rejects.toThrow(/give each vendor an inbox of its own/)
    await expect(other.worker.start()).rejects.toMatchObject({ code: 'STORE_UNSUITABLE' })
    expect(await own.worker.runOnce()).toMatchObject({ done: 1 })
    expect([own.ran, other.ran]).toEqual([[first?.name ?? 'own'], []])
  }
})

test('an application may add its first preset while entries are open', async () => {
  const options = { store: memoryStore() }
  const before = application(undefined, options)
  await before.worker.runOnce()
  await before.deliver()
  expect(await application(veriff, options).worker.runOnce()).toMatchObject({ done: 0 })
})

test('an inbox without open entries goes over to another vendor', async () => {
  const options = { store: memoryStore() }
  await application(onfido, options).worker.runOnce()
  const { deliver, ran, worker } = application(veriff, options)
  await deliver()
  await worker.runOnce().catch(() => {})
  expect(ran).toEqual([])
  const empty = { store: memoryStore() }
  await application(onfido, empty).worker.runOnce()
  const next = application(veriff, empty)
  await next.worker.runOnce()
  await next.deliver()
  expect(await next.worker.runOnce()).toMatchObject({ done: 1 })
})

test('with a key the file does not show the vendor', async () => {
  const file = temporaryFile()
  const options = { store: sqliteStore(file), encryption: { key } }
  const { deliver, inbox, worker } = application(onfido, options)
  await worker.runOnce()
  await deliver()
  await inbox.close()
  expect(readFileSync(file).includes('verification.approved')).toBe(true)
  expect(readFileSync(file).includes('onfido')).toBe(false)
})
