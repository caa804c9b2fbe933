import { DatabaseSync } from 'node:sqlite'
import { createReceiver, isWebhookError, verify } from 'idv-webhooks'
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { signedDelivery } from 'idv-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { event, setUp } from './admin.ts'
import { temporaryFile } from './temporary.ts'

const secrets = { a: 'secret-of-tenant-a', b: 'secret-of-tenant-b' } as const
type Tenant = keyof typeof secrets

/** One receiver for two senders; whose secret it is, the address tells. */
function shared(parts: Parameters<typeof setUp>[0] = {}) {
  const secret = ({ url }: { readonly url?: string | undefined }) => {
    const tenant: Tenant = url === '/b' ? 'b' : 'a'
    return { value: secrets[tenant], tenant }
  }
  const made = setUp({ ...parts, receiver: { secret, ...parts.receiver } })
  const deliver = async (tenant: Tenant, given: unknown) =>
    made.receiver.receive({
      ...(await signedDelivery(given, { secret: secrets[tenant] })),
      url: `/${tenant}`,
    })
  return { ...made, deliver }
}

const stores = [
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(temporaryFile())],
] as const

describe.each(stores)('tenants on %s', (_, store) => {
  test('whose ids are the same are neither duplicates nor conflicts of each other', async () => {
    const { deliver, receiver, worker, inbox, settled } = shared({ store: store() })
    const ran: unknown[] = []
    receiver.on('*', ({ id }, { tenant, idempotencyKey }) => {
      ran.push([tenant, id, idempotencyKey])
    })
    const one = event('verification.approved', { id: 'ver_1', score: 1 })
    expect(await deliver('a', one)).toMatchObject({ kind: 'accepted', tenant: 'a' })
    const other = { ...one, data: { ...one.data, score: 2 } }
    expect(await deliver('b', other)).toMatchObject({ kind: 'accepted', tenant: 'b' })
    expect(await deliver('b', other)).toMatchObject({ kind: 'duplicate' })
    await worker.runOnce()
    expect(settled()).toEqual(['done', 'done'])
    expect(ran.sort()).toEqual([
      ['a', one.id, `a:${one.id}`],
      ['b', one.id, `b:${one.id}`],
    ])
    const { entries } = await inbox.find({ entity: 'verification:ver_1' })
    expect(entries.map(({ tenant }) => tenant)).toEqual(['b', 'a'])
  })

  test('do not wait for each other, nor make each other stale', async () => {
    const { deliver, receiver, worker } = shared({ store: store() })
    const seen: unknown[] = []
    receiver.on('*', (_, { tenant, stale, gap }) => {
      seen.push({ tenant, stale, gap })
      if (tenant === 'a') throw new Error('later')
    })
    const at = (time: string) => ({ createdAt: `2026-01-01T00:00:0${time}Z` })
    await deliver('b', event('verification.approved', {}, at('9')))
    await worker.runOnce()
    await deliver('a', event('verification.created', {}, at('1')))
    await worker.runOnce()
    expect(seen[0]).toEqual({ tenant: 'b', stale: false, gap: false })
    expect(seen[1]).toEqual({ tenant: 'a', stale: false, gap: false })
    await deliver('b', event('verification.cancelled', {}, at('9')))
    await worker.runOnce({ limit: 1 })
    expect(seen.at(-1)).toMatchObject({ tenant: 'b', gap: false })
  })

  test('tell equal bodies and aliases apart', async () => {
    const { deliver } = shared({ store: store(), dedupe: 'body' })
    const { id: _, ...bare } = event(
      'verification.approved',
      {},
      { createdAt: '2026-01-01T00:00:00Z' },
    )
    expect((await deliver('a', bare)).kind).toBe('accepted')
    expect((await deliver('b', bare)).kind).toBe('accepted')
    expect((await deliver('b', bare)).kind).toBe('duplicate')
    const legacy = event('request.approved', {}, { createdAt: '2026-01-01T00:00:00Z' })
    expect((await deliver('b', legacy)).kind).toBe('duplicate')
  })

  test('know an occurrence under its old name by the time of its resource too', async () => {
    const { deliver } = shared({ store: store() })
    const at = (name: string, createdAt: string | undefined, updatedAt?: string) =>
      event(name, { id: 'ver_8', ...(updatedAt && { updatedAt }) }, { createdAt })
    const [one, other] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.020Z']
    const kinds = async (...events: object[]) => {
      const all: string[] = []
      for (const each of events) all.push((await deliver('a', each)).kind)
      return all
    }
    // Each subscription states the time of its own delivery.
    const updated = '2026-01-01T00:00:00Z'
    expect(
      await kinds(
        at('request.approved', one, updated),
        at('verification.approved', other, '2026-01-01T00:00:00.000Z'),
        at('verification.approved', other, '2026-01-01T00:00:00.001Z'),
      ),
    ).toEqual(['accepted', 'duplicate', 'accepted'])
    const untimed = [undefined, '2026-01-02T00:00:00Z'] as const
    expect(
      await kinds(at('verification.rejected', ...untimed), at('request.rejected', ...untimed)),
    ).toEqual(['accepted', 'duplicate'])
  })

  test('are found and forgotten one by one, or all when none is named', async () => {
    const { deliver, inbox } = shared({ store: store() })
    for (const tenant of ['a', 'b'] as const) {
      await deliver(tenant, event('verification.created', { id: 'ver_7' }))
      await deliver(tenant, event('verification.approved', { id: 'ver_7', clientId: 'cli_7' }))
      await deliver(tenant, 'nobody understands it')
    }
    const count = async (query: object) => (await inbox.find(query)).entries.length
    expect(await count({ tenant: 'a' })).toBe(3)
    expect(await count({ tenant: 'c' })).toBe(0)
    expect(await count({ tenant: null })).toBe(0)
    const secret = 'secret-of-no-tenant'
    const delivery = await signedDelivery('understood by nobody', { secret })
    await createReceiver({ secret, inbox, observe: () => {} }).receive(delivery)
    expect(await count({ tenant: null })).toBe(1)
    expect(await count({ entity: 'client:cli_7', tenant: 'a' })).toBe(2)
    expect(await count({ entity: 'client:cli_7' })).toBe(4)
    expect(await count({ search: 'cli_7' })).toBe(4)
    expect(await inbox.forget('client:cli_7', { tenant: 'c' })).toBe(0)
    expect(await inbox.forget('client:cli_7', { tenant: null })).toBe(0)
    await expect(inbox.forget('client:cli_7', { tenant: '' })).rejects.toThrow('or null for none')
    expect(await inbox.forget('client:cli_7', { tenant: 'a' })).toBe(2)
    expect(await count({ tenant: 'b', state: 'stored' })).toBe(3)
    expect(await inbox.forget('client:cli_7')).toBe(2)
    expect(await count({ state: 'skipped' })).toBe(4)
  })
})

test('an inbox from before tenants goes on: what has none keeps its keys and lanes', async () => {
  const store = memoryStore()
  const before = setUp({ store })
  const one = event()
  await before.deliver(one)
  const { deliver, inbox, worker, receiver } = setUp({ store })
  receiver.on('*', () => {})
  expect((await deliver(one)).kind).toBe('duplicate')
  expect((await inbox.find({ entity: 'verification:ver_1' })).entries).toHaveLength(1)
  expect(await worker.runOnce()).toMatchObject({ done: 1 })
})

describe('a secret of a tenant', () => {
  test('is told by verify, and by what observe sees', async () => {
    const delivery = await signedDelivery(event(), { secret: secrets.a })
    const list = [
      { value: secrets.b, tenant: 'b' },
      { value: secrets.a, tenant: 'a', id: 'new' },
    ]
    expect(await verify(delivery, { secret: list })).toMatchObject({
      ok: true,
      tenant: 'a',
      secretId: 'new',
      delivery: { tenant: 'a' },
    })
    const { receiver, seen, deliver, worker } = shared()
    receiver.on('*', () => {})
    await deliver('b', event())
    await worker.runOnce()
    expect(seen.find(({ type }) => type === 'outcome')).toMatchObject({ tenant: 'b' })
    expect(seen.find(({ type }) => type === 'attempt')).toMatchObject({ tenant: 'b' })
  })

  test('names whose it is, and no other has it', () => {
    const twice = [
      { value: 'the-same', tenant: 'a' },
      { value: 'the-same', tenant: 'b' },
    ]
    for (const secret of [twice, { value: 'one', tenant: '' }]) {
      let thrown: unknown
      try {
        createReceiver({ secret })
      } catch (error) {
        thrown = error
      }
      expect(isWebhookError(thrown) && thrown.code).toBe('SECRET_INVALID')
    }
  })
})

describe('forgetting a client', () => {
  test('reaches verifications of which only another event named it, before and after', async () => {
    const { deliver, inbox, worker, receiver } = setUp({ store: sqliteStore(temporaryFile()) })
    receiver.on('*', () => {})
    await deliver(event('verification.created', { subjectName: 'Canary One' }))
    await worker.runOnce()
    await deliver(event('verification.started', { clientId: 'cli_42' }))
    await deliver(event('verification.approved', { subjectName: 'Canary Two' }))
    await deliver(event('verification.approved', { id: 'ver_of_another' }))
    expect(await inbox.forget('client:cli_42')).toBe(3)
    const { entries } = await inbox.find({ entity: 'verification:ver_1' })
    expect(entries.map(({ erased }) => erased)).toEqual([true, true, true])
  })
})

test('a run goes on past hundreds of tenants that wait for their retry', async () => {
  const file = temporaryFile()
  const { deliver, receiver, worker, inbox } = setUp({ store: sqliteStore(file) })
  receiver.on('*', () => {})
  await inbox.open()
  const beside = new DatabaseSync(file)
  const later = Date.now() + 3_600_000
  beside.exec(`with recursive n(i) as (select 1000 union all select i + 1 from n where i < 1600)
    insert into idv_entries (id, state, lane, source, stored_at, bytes, due)
      select 'r' || i, 'retry', 'v' || i || '.t' || i, 'webhook', 0, 3, ${later} from n;
    insert into idv_lanes (lane, head, due, floor, tenant)
      select lane, seq, due, seq, substr(lane, 7) from idv_entries`)
  beside.close()
  await deliver(event())
  expect(await worker.runOnce()).toMatchObject({ done: 1, retry: 0 })
})
