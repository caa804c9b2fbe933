// Forgetting goes page by page: deliveries of the same client wait for one page, not for all.
import { expect, onTestFinished, test } from 'vitest'
import { claim, claimOne, leaseOf, newEntry } from '../../../tools/conformance/store-cases.ts'
import { poolOf, schemaOn } from './servers.ts'

const now = 1_790_000_000_000

async function withMany(lanes: number) {
  const { schema, open, query } = schemaOn()
  const store = open({ listen: false })
  await store.open(() => {})
  onTestFinished(() => store.close())
  const laneOf = (at: number) => `lane${String(at).padStart(4, '0')}`
  await Promise.all(
    Array.from({ length: 2_500 }, (_, at) =>
      store.insert(newEntry({ lane: laneOf(at % lanes), related: 'client' })),
    ),
  )
  const erased = async () => {
    const [{ n } = { n: 0 }] = await query(
      'select count(*)::int as n from idv.entries where erased and failures is null',
    )
    return Number(n)
  }
  return { schema, store, query, erased, last: laneOf(lanes - 1) }
}

test.each([1, 50, 2_500])('all of %i lanes are forgotten, and none of others', async (lanes) => {
  const { store, query, erased } = await withMany(lanes)
  const other = newEntry({ lane: 'other', related: 'client2' })
  await store.insert(other)
  // An unreadable entry has its own lane, in every tenant.
  await query(`update idv.entries set conflict_of = (select id from idv.entries where seq = 1),
    name = null, lane = 'a' where seq in (2, 3)`)
  await query("update idv.entries set related = null, lane = 'z' where seq = 3")
  expect(await store.forget('client', now)).toBe(2_500)
  expect(await erased()).toBe(2_500)
  expect(await query('select 1 from idv.contents')).toHaveLength(1)
  expect(await store.forget('client', now)).toBe(0)
})

test('evidence of conflicts is forgotten by pages too, however much one entry has', async () => {
  const { query, store, erased } = await withMany(1)
  await query(`update idv.entries set name = null, related = null, lane = 'own' || seq,
    conflict_of = (select id from idv.entries where seq = 1) where seq > 300`)
  expect(await store.forget('client', now)).toBe(2_500)
  expect(await erased()).toBe(2_500)
})

test('pages that are done stay done while a later one waits', async () => {
  const { schema, store, query, erased, last } = await withMany(50)
  const handled = "update idv.entries set state = 'done' where lane = $1"
  await query(handled, [last])
  await query('delete from idv.lanes where lane = $1', [last])
  await query('insert into idv.lanes (lane) values ($1)', [last])
  const holder = await poolOf().connect()
  await holder.query('begin')
  await holder.query(`select 1 from "${schema}".lanes where lane = $1 for update`, [last])
  const forgotten = store.forget('client', now)
  await expect.poll(erased, { timeout: 10_000 }).toBe(2_000)
  // Open entries were skipped before: no handler runs meanwhile.
  expect(await claim(store, 10, now)).toEqual([])
  await holder.query('rollback')
  holder.release()
  expect(await forgotten).toBe(2_500)
})

test('what is at work is erased before what is done: no later handler of it begins', async () => {
  const { schema, store, query } = await withMany(1)
  await query("update idv.entries set state = 'done'")
  await query('delete from idv.lanes')
  await store.insert(newEntry({ lane: 'z', related: 'client' }))
  const lease = await claimOne(store, now)
  // The second page of what is done waits.
  const holder = await poolOf().connect()
  await holder.query('begin')
  await holder.query(`select 1 from "${schema}".entries where seq = 2000 for update`)
  const forgotten = store.forget('client', now)
  await expect.poll(() => store.checkpoint(leaseOf(lease)), { timeout: 10_000 }).toBe(false)
  expect(await Promise.race([forgotten, 'waits'])).toBe('waits')
  await holder.query('rollback')
  holder.release()
  expect(await forgotten).toBe(2_501)
})

test('what is skipped as forgotten neither runs nor shows its payload until it is erased: a process may die', async () => {
  const { store, query } = await withMany(1)
  await query(`update idv.entries set state = 'skipped', reason = 'FORGOTTEN' where seq > 2490`)
  const found = await store.find({ states: ['skipped'], limit: 100, withBody: true })
  // The caller sees that another call is needed.
  const shown = found.map(({ body, metadata }) => [body, metadata !== undefined])
  expect(shown).toEqual(Array(10).fill([undefined, true]))
  const ids = found.map(({ id }) => id)
  expect(await store.reopen({ ids, from: ['skipped'], now, setAside: true })).toBe(0)
  expect(await store.forget('client', now)).toBe(2_500)
})

test('what arrives after the call is not forgotten: its handler has not run', async () => {
  const { schema, store, query } = await withMany(50)
  const holder = await poolOf().connect()
  await holder.query('begin')
  await holder.query(`select 1 from "${schema}".lanes where lane = 'lane0000' for update`)
  const forgotten = store.forget('client', now)
  // The last pages of the first pass wait.
  const skipped = "select 1 from idv.entries where state = 'skipped'"
  await expect.poll(async () => (await query(skipped)).length, { timeout: 10_000 }).toBe(2_000)
  const late = newEntry({ lane: 'z', related: 'client' })
  await store.insert(late)
  await holder.query('rollback')
  holder.release()
  expect(await forgotten).toBe(2_500)
  expect(await claim(store, 9, now)).toMatchObject([{ id: late.id }])
})
