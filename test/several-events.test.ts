// One body that holds several events: a list, a list in the body, or what an envelope function returns.
import {
  createReceiver,
  createWorker,
  parse,
  type ReceiverOptions,
  sign,
  verify,
} from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'

const secret = 'the-secret-of-several-events'
const eventOf = (id: string, entity: string) => ({
  id,
  event: 'client.updated',
  createdAt: '2026-01-01T00:00:00Z',
  data: { id: entity, name: { first: 'Ada', last: 'Test' } },
})

async function deliveryOf(value: unknown) {
  const body = new TextEncoder().encode(JSON.stringify(value))
  return { body, headers: await sign(body, { secret }) }
}

type Options = Partial<ReceiverOptions>
const two = [eventOf('one', 'cli_1'), eventOf('two', 'cli_2')]

describe.each<[string, unknown, Options]>([
  ['a list', two, {}],
  ['a list in the body', { events: two }, { envelope: { events: 'events' } }],
  [
    'the events of an envelope function',
    { batch: two },
    {
      envelope: (body) =>
        (body as { batch: typeof two }).batch.map(({ event: name, id, data }) => ({
          ...{ name, id, data },
        })),
    },
  ],
])('%s', (_, value, options) => {
  test('is handled one event after the other, and answered once', async () => {
    const receiver = createReceiver({ secret, validate: 'off', ...options })
    const seen: unknown[] = []
    receiver.on('*', ({ id, entity }, { idempotencyKey }) => {
      seen.push([id, entity?.id, idempotencyKey])
    })
    const outcome = await receiver.receive(await deliveryOf(value))
    expect(outcome).toMatchObject({ kind: 'handled', event: { id: 'one' } })
    expect(seen).toEqual([
      ['one', 'cli_1', 'one'],
      ['two', 'cli_2', 'two'],
    ])
  })

  test.each([
    ['memory', memoryStore],
    ['SQLite', () => sqliteStore(':memory:')],
  ])('has an entry for each event in an inbox: %s', async (_, store) => {
    const inbox = createInbox({ store: store() })
    onTestFinished(() => inbox.close())
    const receiver = createReceiver({ secret, inbox, validate: 'off', ...options })
    const seen: string[] = []
    receiver.on('*', ({ id }) => {
      if (id === 'one' && seen.length === 0) {
        seen.push('failed')
        throw new Error('the first attempt fails')
      }
      seen.push(String(id))
    })
    const accepted = await receiver.receive(await deliveryOf(value))
    expect(accepted).toMatchObject({ kind: 'accepted' })
    const again = await receiver.receive(await deliveryOf(value))
    expect(again).toMatchObject({ kind: 'duplicate' })
    const { entries } = await inbox.find()
    expect(entries.map(({ entity }) => entity?.id).sort()).toEqual(['cli_1', 'cli_2'])
    await createWorker(receiver).runOnce()
    expect(seen).toEqual(['failed', 'two'])
    expect((await inbox.find({ state: 'done' })).entries).toHaveLength(1)
    await inbox.redrive({ state: 'retry' })
    await createWorker(receiver).runOnce()
    expect(seen).toEqual(['failed', 'two', 'one'])
  })
})

test('an event that comes again beside others is a duplicate, and the others are new', async () => {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret, inbox, validate: 'off' })
  receiver.on('*', () => {})
  await receiver.receive(await deliveryOf(two))
  const next = await deliveryOf([eventOf('three', 'cli_1'), eventOf('two', 'cli_2')])
  expect(await receiver.receive(next)).toMatchObject({ kind: 'accepted' })
  expect((await inbox.find()).entries).toHaveLength(3)
})

test('events without an id have their own keys, equal when the sender repeats them', async () => {
  const receiver = createReceiver({ secret, validate: 'off' })
  const keys: string[] = []
  receiver.on('*', (_, { idempotencyKey }) => void keys.push(idempotencyKey))
  const unnamed = two.map(({ id: _, ...event }) => event)
  for (let time = 0; time < 2; time++) await receiver.receive(await deliveryOf(unnamed))
  const [first, second] = keys
  expect(first).not.toBe(second)
  expect(keys).toEqual([first, second, first, second])
})

test('a list of which one element is no event is refused whole', async () => {
  const receiver = createReceiver({ secret, observe: () => {} })
  let calls = 0
  receiver.on('*', () => {
    calls += 1
  })
  for (const value of [[...two, { no: 'name' }], []]) {
    const outcome = await receiver.receive(await deliveryOf(value))
    expect(outcome).toMatchObject({ kind: 'rejected', code: 'ENVELOPE_INVALID' })
  }
  expect(calls).toBe(0)
})

test('a failed event does not stop the others, and the sender repeats the delivery', async () => {
  const receiver = createReceiver({ secret, validate: 'off', observe: () => {} })
  const seen: string[] = []
  receiver.on('*', ({ id }) => {
    seen.push(String(id))
    if (id === 'one') throw new Error('a fault of ours')
  })
  const outcome = await receiver.receive(await deliveryOf(two))
  expect(outcome).toMatchObject({ kind: 'failed', code: 'HANDLER_FAILED' })
  expect(seen).toEqual(['one', 'two'])
})

test('a body that could not be read as a list gives all its events once it can', async () => {
  const store = memoryStore()
  const first = createReceiver({ secret, inbox: createInbox({ store }), observe: () => {} })
  await first.receive(await deliveryOf({ events: two }))
  const inbox = createInbox({ store })
  const envelope = { events: 'events' }
  const receiver = createReceiver({ secret, inbox, envelope, validate: 'off' })
  const seen: string[] = []
  receiver.on('*', ({ id }) => void seen.push(String(id)))
  await createWorker(receiver).runOnce()
  expect(seen.sort()).toEqual(['one', 'two'])
})

test('parse gives the first event, and the others beside it', async () => {
  const verified = await verify(await deliveryOf(two), { secret })
  if (!verified.ok) throw new Error(verified.code)
  const parsed = parse(verified, { validate: 'off' })
  expect(parsed).toMatchObject({ ok: true, event: { id: 'one' }, key: 'one', part: 0 })
  expect(parsed).toMatchObject({ others: [{ event: { id: 'two' }, key: 'two', part: 1 }] })
})
