// inbox.waitFor: which event ends a wait, and which does not.
import { createReceiver } from 'idv-webhooks'
import { createInbox, type InboxStore, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { testSecret } from 'idv-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { event, setUp, until } from './admin.ts'
import { temporaryFile } from './temporary.ts'

const timeout = 20_000
const entity = 'verification:ver_1'
const begin = () => new Date(Date.now() - 10)

/** A receiver whose worker has begun, and which handles everything. */
async function started(parts: Parameters<typeof setUp>[0] = {}) {
  const all = setUp(parts)
  all.receiver.on('*', () => {})
  await all.worker.start()
  return all
}

test.each([
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(temporaryFile())],
  ['SQLite in memory', () => sqliteStore(':memory:')],
])('resolves with the decision once its handlers have run: %s', async (_, store) => {
  const { inbox, deliver } = await started({ store: store() as InboxStore })
  const waiting = inbox.waitFor(entity, { timeout })
  await deliver(event('verification.created'))
  await deliver(event('request.approved', { id: 'ver_2' }))
  await deliver(event('request.approved', { firstName: 'Robin' }))
  const decision = await waiting
  expect(decision).toMatchObject({ name: 'verification.approved', source: 'webhook', known: true })
  expect(decision).toMatchObject({ receivedName: 'request.approved', entity: { id: 'ver_1' } })
  expect((await inbox.stats()).done).toBeGreaterThan(0)
})

test('a decision that no handler has got yet does not count', async () => {
  const gate = Promise.withResolvers<void>()
  const { inbox, receiver, worker, deliver } = setUp({})
  let runs = 0
  receiver.on('verification.approved', async () => {
    await gate.promise
    if (++runs === 1) throw new Error('once')
  })
  await worker.start()
  await deliver(event())
  expect(await inbox.waitFor(entity, { timeout: 0 })).toBeUndefined()
  const waiting = inbox.waitFor(entity, { timeout })
  gate.resolve()
  expect((await waiting)?.name).toBe('verification.approved')
  expect(runs).toBe(2)
})

test('finds what was handled since a time, the first of it, also in another process', async () => {
  const file = temporaryFile()
  const { inbox, deliver, settled } = await started({ store: sqliteStore(file) })
  const since = begin()
  for (const name of ['verification.submitted', 'verification.rejected', 'verification.approved']) {
    await deliver(event(name))
  }
  await until(() => settled().length === 3)
  const beside = createInbox({ store: sqliteStore(file, { mode: 'operator' }) })
  onTestFinished(() => beside.close())
  for (const one of [inbox, beside]) {
    const found = async (names?: string | string[], at: Date | string = since) =>
      (await one.waitFor(entity, { timeout: 0, since: at, ...(names && { names }) }))?.name
    expect(await found()).toBe('verification.rejected')
    expect(await found('request.approved')).toBe('verification.approved')
    expect(await found('verification.*')).toBe('verification.submitted')
    expect(await found(['client.*', 'verification.expired'])).toBeUndefined()
    expect(await found('*', new Date(Date.now() + 60_000).toISOString())).toBeUndefined()
    expect(await one.waitFor(entity, { timeout: 0 })).toBeUndefined()
    expect(await one.waitFor(entity, { timeout: 0, since: new Date() })).toBeUndefined()
  }
  const waiting = beside.waitFor('verification:ver_9', { timeout })
  await deliver(event('verification.expired', { id: 'ver_9' }))
  expect((await waiting)?.name).toBe('verification.expired')
})

test('a settlement that was under way at `since` is not missed, whenever it commits', async () => {
  const store = memoryStore()
  const gate = Promise.withResolvers<void>()
  const slow: InboxStore = {
    ...store,
    settle: async (settlement) => {
      await gate.promise
      return store.settle(settlement)
    },
  }
  const { inbox, deliver, settled } = await started({ store: slow })
  await deliver(event())
  await new Promise((resolve) => setTimeout(resolve, 300))
  const since = new Date()
  const live = inbox.waitFor(entity, { timeout, since })
  await new Promise((resolve) => setTimeout(resolve, 300))
  gate.resolve()
  expect((await live)?.name).toBe('verification.approved')
  await until(() => settled().length === 1)
  // As after a restart of the process that waits.
  expect((await inbox.waitFor(entity, { timeout: 0, since }))?.name).toBe('verification.approved')
})

test('a replay ends a wait that began after the event was handled', async () => {
  const { inbox, deliver, settled } = await started()
  await deliver(event())
  await until(() => settled().length === 1)
  // Not in the same millisecond.
  await new Promise((resolve) => setTimeout(resolve, 5))
  const waiting = inbox.waitFor(entity, { timeout })
  const [entry] = (await inbox.find()).entries
  await new Promise((resolve) => setTimeout(resolve, 50))
  await inbox.replay(entry?.id ?? '')
  expect((await waiting)?.source).toBe('replay')
})

test('an erased event ends no wait', async () => {
  const { inbox, deliver, settled } = await started()
  await deliver(event())
  await until(() => settled().length === 1)
  await inbox.forget(entity)
  expect(await inbox.waitFor(entity, { timeout: 0, since: begin() })).toBeUndefined()
})

test('all that wait for an entity get its event; each may wait for its tenant alone', async () => {
  const { inbox, deliver } = await started({
    receiver: {
      secret: [
        { value: testSecret, tenant: 'acme' },
        { value: 'another-secret-of-this-test', tenant: 'globex' },
      ],
    },
  })
  const wait = (tenant?: string | null, since?: Date) =>
    inbox.waitFor(entity, {
      timeout: since ? 0 : timeout,
      ...(since && { since }),
      ...(tenant !== undefined && { tenant }),
    })
  const since = begin()
  const all = Promise.all([wait(), wait(), wait('acme')])
  await deliver(event())
  const name = 'verification.approved'
  expect(await all).toMatchObject([{ name }, { name }, { name }])
  expect(await wait('globex', since)).toBeUndefined()
  expect(await wait(null, since)).toBeUndefined()
})

test('more entities than fit into one look, and all events in one turn', async () => {
  const { inbox, deliver } = await started()
  const ids = Array.from({ length: 300 }, (_, at) => `ver_${at}`)
  const since = begin()
  const waiting = ids.map((id) => inbox.waitFor(`verification:${id}`, { timeout, since }))
  for (const id of ids) await deliver(event('verification.approved', { id }))
  const found = await Promise.all(waiting)
  expect(found.map((one) => one?.entity?.id)).toEqual(ids)
  const late = ids.map((id) => inbox.waitFor(`verification:${id}`, { timeout: 0, since }))
  expect((await Promise.all(late)).every((one) => one !== undefined)).toBe(true)
})

test('ends with its signal, with the inbox, and not for others', async () => {
  const { inbox } = await started()
  const stop = new AbortController()
  const stopped = inbox.waitFor(entity, { timeout, signal: stop.signal })
  const other = inbox.waitFor(entity, { timeout: 50 })
  stop.abort(new Error('the page was closed'))
  await expect(stopped).rejects.toThrow('the page was closed')
  expect(await other).toBeUndefined()
  const again = inbox.waitFor(entity, { timeout, signal: stop.signal })
  await expect(again).rejects.toThrow('the page was closed')
  const closed = inbox.waitFor(entity, { timeout })
  await new Promise((resolve) => setTimeout(resolve, 20))
  await inbox.close()
  await expect(closed).rejects.toMatchObject({ code: 'STORE_FAILED' })
})

test('goes on while the store fails, and says so at the timeout', async () => {
  const store = memoryStore()
  let isDown = false
  const failing: InboxStore = {
    ...store,
    findDone: async (query) => {
      if (isDown) throw new Error('down')
      return store.findDone(query)
    },
  }
  const { inbox, deliver } = await started({ store: failing })
  const waiting = inbox.waitFor(entity, { timeout })
  await new Promise((resolve) => setTimeout(resolve, 30))
  isDown = true
  await expect(inbox.waitFor(entity, { timeout: 60 })).rejects.toThrow('down')
  await expect(inbox.waitFor(entity, { timeout: 0 })).rejects.toThrow('down')
  await deliver(event())
  isDown = false
  expect((await waiting)?.name).toBe('verification.approved')
})

test('reads the event as the receiver of this process does, and refuses to guess', async () => {
  const file = temporaryFile()
  const options = { secret: testSecret, envelope: { name: 'kind', data: 'about' } } as const
  const { deliver, settled } = await started({ store: sqliteStore(file), receiver: options })
  const since = begin()
  await deliver({
    id: 'evt_own',
    kind: 'verification.approved',
    about: { id: 'ver_1', firstName: 'R' },
  })
  await until(() => settled().length === 1)
  const beside = createInbox({ store: sqliteStore(file, { mode: 'operator' }) })
  onTestFinished(() => beside.close())
  const found = () => beside.waitFor(entity, { timeout: 0, since })
  await expect(found()).rejects.toMatchObject({
    code: 'INBOX_INVALID',
    message: expect.stringContaining('create its receiver in this process too'),
  })
  createReceiver({ ...options, inbox: beside })
  expect(await found()).toMatchObject({ id: 'evt_own', data: { firstName: 'R' } })
})

test('opens events with each of its keys, and says if one is missing', async () => {
  const file = temporaryFile()
  const [old, key] = ['a1'.repeat(32), 'b2'.repeat(32)]
  const first = setUp({ store: sqliteStore(file), encryption: { key: old } })
  first.receiver.on('*', () => {})
  await first.worker.start()
  const since = begin()
  await first.deliver(event())
  await until(() => first.settled().length === 1)
  await first.worker.drain()
  await first.inbox.close()
  const found = async (encryption: { key: string; previous?: string[] }) => {
    const inbox = createInbox({ store: sqliteStore(file), encryption })
    onTestFinished(() => inbox.close())
    const decision = await inbox.waitFor(entity, { timeout: 0, since }).finally(() => inbox.close())
    return decision?.name
  }
  expect(await found({ key, previous: [old] })).toBe('verification.approved')
  await expect(found({ key })).rejects.toMatchObject({ code: 'STORE_SEALED' })
})

test('refuses options that could only wait in vain', async () => {
  const { inbox } = setUp()
  const refused: readonly (readonly [unknown, object])[] = [
    ['ver_1', { timeout }],
    [entity, {}],
    [entity, { timeout: -1 }],
    [entity, { timeout, names: [] }],
    [entity, { timeout, names: [''] }],
    [entity, { timeout, names: 'verification.reversed' }],
    [entity, { timeout, since: 'yesterday' }],
    [entity, { timeout, tenant: '' }],
    [entity, { timeout, name: 'client.created' }],
  ]
  for (const [of, options] of refused) {
    const waiting = inbox.waitFor(of as string, options as { timeout: number })
    await expect(waiting, JSON.stringify(options)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  }
})
