import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { type EncryptionOptions, type InboxStore, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { signedDelivery } from 'idv-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { event, setUp } from './admin.ts'
import { sharedMemory } from './shared-memory.ts'
import { temporaryFile } from './temporary.ts'

const encryption = { key: 'a1'.repeat(32) }
const once = { retry: { attempts: 1 } }

/** An inbox on a file with a key, and what its handlers have seen. */
function sealed(file: string, given: object = encryption) {
  const made = setUp({ store: sqliteStore(file), encryption: given as typeof encryption, ...once })
  const seen: unknown[] = []
  made.receiver.on('*', ({ data }) => seen.push(data))
  return { ...made, seen }
}

/** Changes the file behind the back of an inbox that is closed. */
function tamper(file: string, change: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(file)
  change(db)
  db.close()
}

test('nothing that was put into a sealed inbox without the key is handled', async () => {
  const file = temporaryFile()
  const first = sealed(file)
  await first.deliver(event())
  await first.inbox.close()
  const plain = (text: string) => Buffer.from(`\0${text}`)
  const forged = JSON.stringify(event('verification.approved', { id: 'ver_forged' }))
  tamper(file, (db) => {
    const metadata = plain('{"headers":[],"receivedAt":0}')
    db.prepare('update idv_contents set metadata = ?, body = ?').run(metadata, plain(forged))
  })
  const second = sealed(file)
  expect(await second.worker.runOnce()).toMatchObject({ dead: 1, done: 0 })
  expect((await second.inbox.find()).entries).toMatchObject([{ reason: 'UNREADABLE' }])
  expect(second.seen).toEqual([])
})

test('content belongs to its entry: what was moved to another is not handled', async () => {
  const file = temporaryFile()
  const first = sealed(file)
  for (const id of ['ver_1', 'ver_2']) await first.deliver(event('verification.approved', { id }))
  await first.inbox.close()
  tamper(file, (db) => {
    const { body } = db.prepare('select body from idv_contents where seq = 1').get() as {
      body: Uint8Array
    }
    db.prepare('update idv_contents set body = ? where seq = 2').run(body)
  })
  const second = sealed(file)
  expect(await second.worker.runOnce()).toMatchObject({ done: 1, dead: 1 })
  expect(second.seen).toEqual([{ id: 'ver_1' }])
})

test('an inbox that is opened again begins its new file with a salt that others can open', async () => {
  const file = temporaryFile()
  const first = sealed(file)
  await first.deliver(event('verification.approved', { id: 'ver_1' }))
  await first.inbox.close()
  for (const end of ['', '-owner']) rmSync(`${file}${end}`, { force: true })
  await first.deliver(event('verification.approved', { id: 'ver_2' }))
  await first.inbox.close()
  const second = sealed(file)
  expect(await second.worker.runOnce()).toMatchObject({ done: 1 })
  expect(second.seen).toEqual([{ id: 'ver_2' }])
})

test('a key that is wiped once it is handed over is the one that encrypts', async () => {
  const file = temporaryFile()
  const key = Buffer.from(encryption.key, 'hex')
  const first = sealed(file, { key, previous: [key] })
  key.fill(0)
  await first.deliver(event('verification.approved', { id: 'ver_1' }))
  await first.inbox.close()
  await first.deliver(event('verification.approved', { id: 'ver_2' }))
  await first.inbox.close()
  expect(await sealed(file).worker.runOnce()).toMatchObject({ done: 2 })
  expect(() => sealed(file, { key })).toThrow('consists of zero bytes only')
})

test('an inbox from before there was a key is taken only where that is said', async () => {
  const file = temporaryFile()
  const before = setUp({ store: sqliteStore(file) })
  const one = event()
  await before.deliver(one)
  await before.inbox.close()
  await expect(sealed(file).inbox.open()).rejects.toMatchObject({
    code: 'STORE_UNSUITABLE',
    message: expect.stringContaining('encryption.acceptUnencrypted to true'),
  })
  const refused = await sealed(file).deliver(event())
  expect(refused).toMatchObject({ kind: 'failed', code: 'STORE_UNAVAILABLE' })
  const { deliver, worker, seen, inbox } = sealed(file, { ...encryption, acceptUnencrypted: true })
  expect((await deliver(one)).kind).toBe('duplicate')
  expect(await worker.runOnce()).toMatchObject({ done: 1 })
  expect(seen).toHaveLength(1)
  await inbox.close()
  await sealed(file).inbox.open()
})

test('plain entries that are no longer accepted end dead, and run once they are accepted again', async () => {
  const file = temporaryFile()
  const before = setUp({ store: sqliteStore(file) })
  for (const id of ['ver_1', 'ver_2']) {
    await before.deliver(event('verification.approved', { id }))
  }
  await before.inbox.close()
  const accepting = { ...encryption, acceptUnencrypted: true }
  const first = sealed(file, accepting)
  expect(await first.worker.runOnce({ limit: 1 })).toMatchObject({ done: 1 })
  await first.inbox.close()
  const early = sealed(file)
  expect(await early.worker.runOnce()).toMatchObject({ done: 0, dead: 1 })
  await early.inbox.close()
  const second = sealed(file, accepting)
  expect(await second.inbox.redrive({ state: 'dead' })).toBe(1)
  expect(await second.worker.runOnce()).toMatchObject({ done: 1 })
})

test('a plain entry that is not taken is dead at once, however many attempts there are', async () => {
  const file = temporaryFile()
  const first = sealed(file)
  await first.deliver(event())
  await first.inbox.close()
  tamper(file, (db) => db.exec("update idv_contents set body = x'007b7d'"))
  const retry = { attempts: 12 }
  const { worker, inbox } = setUp({ store: sqliteStore(file), encryption, retry })
  expect(await worker.runOnce()).toMatchObject({ dead: 1, retry: 0 })
  expect((await inbox.find()).entries).toMatchObject([{ reason: 'UNREADABLE', attempts: 1 }])
})

test('no hash of a payload is kept that could be tried out without the salt', async () => {
  const file = temporaryFile()
  const { receiver, inbox } = sealed(file)
  const delivery = await signedDelivery(event())
  await receiver.receive(delivery)
  await inbox.close()
  const digest = createHash('sha256').update(delivery.body).digest('base64url')
  tamper(file, (db) => {
    const kept = db.prepare('select digest from idv_keys').all()
    expect(kept.length).toBeGreaterThan(0)
    expect(JSON.stringify(kept)).not.toContain(digest)
  })
})

test('once a person is forgotten, nothing tells which bytes came', async () => {
  const { deliver, inbox } = setUp({ store: memoryStore() })
  const one = event()
  await deliver(one)
  await inbox.forget('verification:ver_1')
  const other = await deliver({ ...one, data: { id: 'ver_1', score: 2 } })
  expect(other).toEqual({
    authenticity: 'signature',
    kind: 'duplicate',
    entryId: expect.any(String),
  })
})

describe('a rolling change of the key, where several processes share the store', () => {
  const [first, second] = ['a1'.repeat(32), 'b2'.repeat(32)]
  const before = { key: first }
  const announced = { key: first, previous: [second] }
  const changed = { key: second, previous: [first] }
  const joining = (store: () => InboxStore) => (given: EncryptionOptions) => {
    const made = setUp({ store: store(), encryption: given, ...once })
    made.receiver.on('*', () => {})
    return made
  }

  test('first announces the new key to all, then encrypts with it: each process reads all', async () => {
    const join = joining(sharedMemory())
    const old = join(before)
    await old.deliver(event())
    // Step one, beside the processes from before.
    const one = join(announced)
    await one.deliver(event())
    expect(await old.worker.runOnce()).toMatchObject({ done: 2 })
    await old.inbox.close()
    // Step two, beside those of step one.
    const two = join(changed)
    await two.deliver(event())
    expect(await one.worker.runOnce()).toMatchObject({ done: 1 })
    await one.deliver(event())
    expect(await two.worker.runOnce()).toMatchObject({ done: 1 })
    // A process of step one may start again, after a roll-back too, and processes of later steps.
    const again = join(announced)
    await two.deliver(event())
    expect(await again.worker.runOnce()).toMatchObject({ done: 1 })
    await join(changed).inbox.open()
    await join({ key: second }).inbox.open()
  })

  test('lets each process close and open again, before and after the key has changed', async () => {
    const join = joining(sharedMemory())
    const one = join(announced)
    await one.deliver(event())
    await one.inbox.close()
    const two = join(changed)
    await two.deliver(event())
    await two.inbox.close()
    for (const again of [one, two, one]) {
      await again.inbox.stats()
      await again.deliver(event())
      await again.inbox.close()
    }
    for (const given of [announced, changed, announced]) await join(given).inbox.open()
    expect(await join(changed).worker.runOnce()).toMatchObject({ done: 5, dead: 0 })
  })

  test('in one step leaves a process with the old key alone unable to read or to start', async () => {
    const join = joining(sharedMemory())
    const old = join(before)
    await old.deliver(event())
    const two = join(changed)
    await two.deliver(event())
    expect(await old.worker.runOnce()).toMatchObject({ done: 1, dead: 1 })
    await expect(join(before).inbox.open()).rejects.toMatchObject({ code: 'STORE_SEALED' })
    // The key that opens the entry again, and the state of the dead letter.
    await join(announced).inbox.open()
    expect(await two.inbox.redrive({ state: 'dead' })).toBe(1)
    expect(await two.worker.runOnce()).toMatchObject({ done: 1 })
  })
})
