// A decision that reconcile has fed is reversed and made again.
import { createReceiver, createWorker, type SecretOption } from 'idv-webhooks'
import { createInbox, type InboxStore, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { type FixtureName, fixture, signedDelivery } from 'idv-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { reconcile } from '../../src/client/index.ts'
import { temporaryFile } from '../inbox/temporary.ts'
import { drop, input, open, secret, told, work } from './reconciling.ts'
import { start } from './service.ts'

const stores = [
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore(temporaryFile())],
] as const

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

interface Given {
  readonly store?: InboxStore
  readonly tenant?: string
  readonly actions?: readonly ('start' | 'submit' | 'approve' | 'expire')[]
}

interface Stated {
  readonly id?: string
  /** Milliseconds after the last event that reconcile has fed. */
  readonly after: number
  /** The time of the record in the event. */
  readonly updated?: number
}

/** A verification of which reconcile has fed everything, and webhooks about it. */
async function fed({ store = memoryStore(), tenant, actions }: Given = {}) {
  const secrets: SecretOption = tenant === undefined ? secret : { value: secret, tenant }
  const setup = await open({ store, secrets })
  onTestFinished(() => setup.inbox.close())
  const { sandbox, api, receiver } = setup
  drop(sandbox)
  const { id: about } = await api.verifications.create(input)
  for (const action of actions ?? (['start', 'submit', 'approve'] as const)) {
    await sandbox.clock.advance({ seconds: 60 })
    await sandbox.act(about, action)
  }
  const feed = () => reconcile({ client: api, receiver, since: start, tenant })
  await feed()
  await work(receiver)
  const { occurredAt: last } = (await setup.inbox.find({ limit: 1 })).entries[0] ?? {}
  let count = 0
  const made = (name: FixtureName, { id = `evt_${++count}`, after, updated = after }: Stated) => {
    const at = (ms: number) => new Date(Number(last) + ms).toISOString()
    return fixture(name, { id, createdAt: at(after), data: { id: about, updatedAt: at(updated) } })
  }
  const deliver = async (name: FixtureName, stated: Stated) =>
    receiver.receive(await signedDelivery(made(name, stated), { secret }))
  return { ...setup, about, made, deliver, feed }
}

describe.each(stores)('what happens again after reconcile has fed it (%s)', (_, store) => {
  test.each([
    ['under current names', 'verification', 'request', undefined],
    ['under legacy names', 'request', 'verification', undefined],
    ['with a tenant', 'verification', 'request', 'acme'],
  ] as const)('is handled, once %s', async (__, type, other, tenant) => {
    const { deliver, receiver, handled, inbox, about, feed } = await fed(
      tenant === undefined ? { store: store() } : { store: store(), tenant },
    )
    const before = handled.length
    const again = { id: 'evt_again', after: 2 * day }
    expect((await deliver(`${type}.rejected`, { after: day })).kind).toBe('accepted')
    const kept = await deliver(`${type}.approved`, again)
    expect(kept.kind).toBe('accepted')
    const duplicate = { ...kept, kind: 'duplicate' }
    expect(await deliver(`${type}.approved`, again)).toEqual(duplicate)
    expect(await deliver(`${other}.approved`, { after: again.after })).toEqual(duplicate)
    await work(receiver)
    expect(told(handled.slice(before))).toEqual([
      `verification.approved ${about}`,
      `verification.rejected ${about}`,
    ])
    expect(handled.at(-1)).toMatchObject({ id: again.id, source: 'webhook' })
    const { entries } = await inbox.find({ search: again.id, name: 'verification.approved' })
    expect(entries.map(({ eventId }) => eventId)).toContain(again.id)
    expect((await feed()).events).toMatchObject({ missing: 0 })
    expect(await deliver(`${type}.approved`, { after: 0 })).toMatchObject({ kind: 'duplicate' })
    expect(await deliver(`${type}.approved`, { after: 3 * day })).toMatchObject({
      kind: 'accepted',
    })
  })

  test('is not a late webhook of the fed event, whose times differ a little', async () => {
    const { deliver, handled, receiver } = await fed({ store: store() })
    const before = handled.length
    const stated: readonly Stated[] = [
      { after: 0 },
      { after: 0, id: 'evt_copied' },
      { after: 0, id: 'evt_copied' },
      { after: -3 * day },
      { after: 5_000 },
      { after: 5 * minute },
      // Its envelope names the time of sending.
      { after: 3 * day, updated: 0 },
      { after: 0, updated: 3 * day },
    ]
    for (const one of stated) {
      expect([one, (await deliver('verification.approved', one)).kind]).toEqual([one, 'duplicate'])
      expect([one, (await deliver('request.approved', one)).kind]).toEqual([one, 'duplicate'])
    }
    // A resource is created once.
    expect((await deliver('verification.created', { after: 9 * day })).kind).toBe('duplicate')
    const { createdAt: _, data, ...timeless } = fixture('verification.approved')
    const { updatedAt: __, ...rest } = data
    const bare = { ...timeless, data: { ...rest, id: handled[0]?.entity?.id } }
    const outcome = await receiver.receive(await signedDelivery(bare, { secret }))
    expect(outcome.kind).toBe('duplicate')
    await work(receiver)
    expect(handled).toHaveLength(before)
  })

  test('is not an expiry that the service recorded hours after it was due', async () => {
    const { deliver } = await fed({ store: store(), actions: ['start', 'expire'] })
    const kinds: string[] = []
    for (const after of [20 * hour, 2 * day]) {
      kinds.push((await deliver('verification.expired', { after })).kind)
    }
    expect(kinds).toEqual(['duplicate', 'accepted'])
  })

  test('is handled though the fed one was replayed, and forgotten', async () => {
    const { deliver, inbox, receiver, about } = await fed({ store: store() })
    const { entries } = await inbox.find({ name: 'verification.approved' })
    for (const { id } of entries) expect(await inbox.replay(id)).toBe(true)
    await work(receiver)
    expect((await deliver('verification.approved', { after: day })).kind).toBe('accepted')
    await inbox.forget(`verification:${about}`)
    expect((await deliver('verification.approved', { after: 2 * day })).kind).toBe('accepted')
  })

  test('is handled though it arrived unread, after a hundred others of its name', async () => {
    const { deliver, made, inbox, receiver, handled } = await fed({ store: store() })
    for (let count = 1; count <= 100; count++) {
      await deliver('verification.approved', { after: count * 10 * minute })
    }
    await work(receiver)
    const broken = createReceiver({
      secret,
      inbox,
      envelope: () => {
        throw new Error('a bug of that deployment')
      },
    })
    const again = made('verification.approved', { id: 'evt_again', after: 20 * day })
    expect((await broken.receive(await signedDelivery(again, { secret }))).kind).toBe('accepted')
    await work(receiver)
    expect(handled.at(-1)?.id).toBe('evt_again')
    expect((await inbox.find({ limit: 1 })).entries).toMatchObject([{ state: 'done' }])
  })
})

test('a copy is taken after a crash between the two inserts, and no copy is kept twice', async () => {
  const store = memoryStore()
  const { deliver } = await fed({ store })
  const again = { id: 'evt_again', after: day }
  const find = store.find.bind(store)
  store.find = () => Promise.reject(new Error('the process is gone'))
  expect(await deliver('verification.approved', again)).toMatchObject({ kind: 'failed' })
  store.find = find
  const copies = [1, 2, 3].map(() => deliver('verification.approved', again))
  const kinds = (await Promise.all(copies)).map(({ kind }) => kind)
  expect(kinds.sort()).toEqual(['accepted', 'duplicate', 'duplicate'])
})

test('an event without an id is recognized by its body there too', async () => {
  const store = memoryStore()
  const { made, inbox } = await fed({ store })
  const bodies = createInbox({ store, dedupe: 'body' })
  const receiver = createReceiver({ secret, inbox: bodies })
  const { id: _, ...again } = made('verification.approved', { after: day })
  const kinds: string[] = []
  for (const __ of [1, 2]) {
    kinds.push((await receiver.receive(await signedDelivery(again, { secret }))).kind)
  }
  expect(kinds).toEqual(['accepted', 'duplicate'])
  expect((await inbox.find({ name: 'verification.approved' })).entries).toHaveLength(2)
})

test('a decision that an operator reverses and makes again ends at the last one', async () => {
  const { sandbox, api, receiver, inbox, handled } = await open()
  onTestFinished(() => inbox.close())
  drop(sandbox, { event: 'verification.approved', times: 1 })
  const { id } = await api.verifications.create(input)
  await sandbox.act(id, ['start', 'submit', 'approve'])
  await sandbox.flush()
  await sandbox.clock.advance({ seconds: 600 })
  expect((await reconcile({ client: api, receiver, since: start })).events.fed).toBe(1)
  for (const action of ['reject', 'approve'] as const) {
    await sandbox.clock.advance({ seconds: 600 })
    await sandbox.act(id, action, { force: true })
  }
  await sandbox.flush()
  await work(receiver)
  expect(handled.slice(-3).map(({ name, source }) => `${source} ${name}`)).toEqual([
    'reconcile verification.approved',
    'webhook verification.rejected',
    'webhook verification.approved',
  ])
})

test('a repeat of what arrived is a duplicate though that was replayed', async () => {
  const inbox = createInbox({ store: memoryStore() })
  onTestFinished(() => inbox.close())
  const receiver = createReceiver({
    secret,
    inbox,
    envelope: {
      trustIds: true,
      read: (body, { headers }) => {
        const { id, data } = body as { readonly id: string; readonly data: object }
        const occurredAt = Number(headers.get('x-sent-at'))
        return { name: 'verification.approved', id, occurredAt, data }
      },
    },
  })
  const handled: string[] = []
  receiver.on('*', ({ id }) => handled.push(String(id)))
  const send = async (at: number) => {
    const headers = { 'x-sent-at': String(Date.parse(start) + at) }
    const delivery = await signedDelivery({ id: 'e', data: { id: 'ver_1' } }, { secret, headers })
    return receiver.receive(delivery)
  }
  expect((await send(0)).kind).toBe('accepted')
  await work(receiver)
  const [entry] = (await inbox.find()).entries
  expect(await inbox.replay(entry?.id ?? '')).toBe(true)
  await work(receiver)
  expect((await send(hour)).kind).toBe('duplicate')
  expect(handled).toEqual(['e', 'e'])
})

test.each(stores)(
  'it is handled though it could not be read when it arrived (%s)',
  async (_, store) => {
    for (const [tenant, isReplayed] of [
      [undefined, false],
      ['acme', true],
    ] as const) {
      const setup = await fed(
        tenant === undefined ? { store: store() } : { store: store(), tenant },
      )
      const { made, inbox, handled } = setup
      for (const { id } of isReplayed ? (await inbox.find()).entries : []) await inbox.replay(id)
      await work(setup.receiver)
      const secrets: SecretOption = tenant === undefined ? secret : { value: secret, tenant }
      const before = createReceiver({ secret: secrets, inbox, envelope: { name: 'kind' } })
      for (const after of [0, day]) {
        const delivery = await signedDelivery(made('verification.approved', { after }), { secret })
        expect((await before.receive(delivery)).kind).toBe('accepted')
      }
      const worker = createWorker(before)
      expect(await worker.runOnce()).toMatchObject({ dead: 2 })
      await worker.drain()
      const known = handled.length
      await inbox.redrive({ state: 'dead' })
      await createWorker(setup.receiver).runOnce()
      expect(handled.slice(known).map(({ source, occurredAt }) => [source, occurredAt])).toEqual([
        ['webhook', new Date(made('verification.approved', { after: day }).createdAt)],
      ])
      expect(await inbox.stats()).toMatchObject({ dead: 0, skipped: 1, done: 4 })
    }
  },
)
