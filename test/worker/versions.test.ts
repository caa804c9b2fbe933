// Old and new versions of an application on one store: no handler that failed is forgotten because a
// process without it takes the next attempt.
import { memoryStore } from 'idv-webhooks/inbox'
import { fakeClock } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'
import { event, setUp, until } from '../inbox/admin.ts'

/** The new version has a handler more, which fails as long as something is away. */
function versions(attempts: number) {
  const clock = fakeClock()
  const store = memoryStore()
  const parts = { store, now: clock.now, retry: { attempts, delays: [1_000] } }
  const [old, fresh] = [setUp(parts), setUp(parts)]
  const ran: string[] = []
  for (const { receiver } of [old, fresh]) {
    receiver.on('client.*', () => void ran.push('books'), { id: 'books' })
  }
  const state = { away: true }
  const unlock = () => {
    if (state.away) throw new Error('away')
    ran.push('unlock')
  }
  fresh.receiver.on(['client.created', 'verification.approved'], unlock, { id: 'unlock' })
  const next = async ({ worker }: typeof old) => {
    clock.advance({ seconds: 2 })
    await worker.runOnce()
    const [entry] = (await old.inbox.find()).entries
    return { state: entry?.state, failed: entry?.failures.map(({ handler }) => handler) }
  }
  return { clock, old, fresh, state, ran, next }
}

const retry = { state: 'retry', failed: ['unlock'] }

test('an old version leaves an entry at which a new handler failed to the new version', async () => {
  const { old, fresh, state, ran, next } = versions(9)
  await fresh.deliver(event('client.created'))
  expect(await next(fresh)).toEqual(retry)
  expect([await next(old), await next(old)]).toEqual([retry, retry])
  state.away = false
  expect(await next(fresh)).toEqual({ state: 'done', failed: [] })
  expect(ran).toEqual(['books', 'unlock'])
})

test('an old version without any handler for the event skips nothing that has failed', async () => {
  const { old, fresh, next } = versions(9)
  await fresh.deliver(event('verification.approved'))
  expect([await next(fresh), await next(old)]).toEqual([retry, retry])
})

test('a handler that does not come back ends in a dead letter; a redrive is without it', async () => {
  const { old, fresh, ran, next } = versions(3)
  await fresh.deliver(event('client.created'))
  expect([await next(fresh), await next(old)]).toEqual([retry, retry])
  expect(await next(old)).toEqual({ state: 'dead', failed: ['unlock'] })
  const [entry] = (await old.inbox.find()).entries
  expect(entry?.failures[0]?.error).toBe(
    'failed before, and this process has no handler of that id',
  )
  await old.inbox.redrive({ state: 'dead' })
  expect(await next(old)).toEqual({ state: 'done', failed: [] })
  expect(ran).toEqual(['books'])
})

/** A handler of which a run may hang until the worker is drained; the drain itself. */
function hanging() {
  let began = false
  const handler = (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
    began = true
    return new Promise<void>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  }
  const drain = async ({ worker }: ReturnType<typeof setUp>) => {
    const running = worker.runOnce()
    await until(() => began)
    await worker.drain({ grace: 0 })
    expect(await running).toMatchObject({ released: 1 })
  }
  return { handler, drain }
}

test('a handler that failed before a drain of the same attempt is not forgotten', async () => {
  const { old, fresh, state, ran, next } = versions(3)
  const { handler, drain } = hanging()
  old.receiver.on('client.*', () => void ran.push('mail'), { id: 'mail' })
  fresh.receiver.on('client.*', handler, { id: 'mail' })
  await fresh.deliver(event('client.created'))
  await drain(fresh)
  const [entry] = (await old.inbox.find()).entries
  expect(entry).toMatchObject({ state: 'stored', attempts: 0, failures: [{ handler: 'unlock' }] })
  expect(await next(old)).toEqual(retry)
  expect(ran).toEqual(['books', 'mail'])
  state.away = false
  expect(await next(fresh)).toEqual({ state: 'done', failed: [] })
  expect(ran).toEqual(['books', 'mail', 'unlock'])
})

test('a drained attempt in which one handler failed keeps earlier failures', async () => {
  const { clock, old, fresh, next } = versions(9)
  const { handler, drain } = hanging()
  const state = { away: true }
  const slow: typeof handler = (...given) => {
    if (state.away) throw new Error('away')
    return handler(...given)
  }
  fresh.receiver.on('client.*', slow, { id: 'slow' })
  await fresh.deliver(event('client.created'))
  const both = { state: 'retry', failed: ['unlock', 'slow'] }
  expect(await next(fresh)).toEqual(both)
  state.away = false
  clock.advance({ seconds: 2 })
  await drain(fresh)
  expect(await next(old)).toEqual(both)
})

test("a drained attempt of an old version keeps the new version's failures", async () => {
  const { clock, old, fresh, next } = versions(9)
  const { handler, drain } = hanging()
  await fresh.deliver(event('client.created'))
  expect(await next(fresh)).toEqual(retry)
  const fail = () => Promise.reject(new Error('away'))
  old.receiver.on('client.*', fail, { id: 'crm' })
  old.receiver.on('client.*', handler, { id: 'mail' })
  clock.advance({ seconds: 2 })
  await drain(old)
  const {
    entries: [entry],
  } = await old.inbox.find()
  expect(entry?.failures.map((one) => one.handler)).toEqual(['crm', 'unlock'])
})

test('an attempt that failed outside of its handlers is made again', async () => {
  const rollback = () => Promise.reject(new Error('the connection is gone'))
  const transaction = async () => ({ handle: {}, commit: async () => true, rollback })
  const store = memoryStore()
  const capabilities = { ...store.capabilities, tx: true }
  const { inbox, receiver, worker, deliver } = setUp({
    store: Object.assign(store, { capabilities, transaction }),
  })
  let runs = 0
  const handler = () => {
    if (++runs === 1) throw new Error('away')
  }
  receiver.on('client.created', handler, { id: 'books', tx: true })
  await deliver(event('client.created'))
  expect(await worker.runOnce({ limit: 1 })).toMatchObject({ retry: 1 })
  expect((await inbox.find()).entries[0]?.failures).toMatchObject([{ handler: 'worker' }])
  expect(await worker.runOnce({ limit: 1 })).toMatchObject({ done: 1 })
})
