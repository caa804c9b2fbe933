// Promises of the functions in the database, each as a check that fails when it is broken. The tests
// run them on the schema as it is, and on schemas that are broken on purpose.
import { setTimeout as sleep } from 'node:timers/promises'
import type { InboxStore } from 'idv-webhooks/inbox'
import pg from 'pg'
import { expect } from 'vitest'
import { claim, claimOne, newEntry, settle } from '../../../tools/conformance/store-cases.ts'

/** Handles on one schema, and its tables. */
export interface Under {
  readonly store: InboxStore
  beside(): Promise<InboxStore>
  query(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** A connection of its own, with `idv.` for the schema. */
  connect(): Promise<(sql: string, values?: unknown[]) => Promise<Record<string, unknown>[]>>
}

const start = Date.UTC(2026, 0, 1)

/** The parameters of `keep` for entries without content. */
function keeping(lanes: readonly string[]): [string, Buffer] {
  const list = lanes.map((lane, ord) => {
    const { metadata: _, body: __, ...entry } = newEntry({ lane })
    return { ...entry, ord, at: 1, metadata: 0, body: 0 }
  })
  return [JSON.stringify(list), Buffer.alloc(0)]
}

/** An entry that another process holds. */
async function claimedByAnother({ store, beside }: Pick<Under, 'store' | 'beside'>) {
  const other = await beside()
  await store.insert(newEntry())
  return claimOne(other)
}

/** A sign of life of an owner other than this one. */
const beatOfAnother =
  'select idv.beat((select min(owner) from idv.owners where owner not in (0, $1)), 6000)'

const keepSql = 'select * from idv.keep($1::text, $2::bytea)'

/** Rows that this transaction has read. */
const readSql = `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as n
  from pg_stat_xact_user_tables where schemaname = split_part('idv.x', '.', 1)`

export const promises = {
  async 'keeping announces nothing within its transaction'({ connect }: Under) {
    const query = await connect()
    await query('begin')
    await query(keepSql, keeping(['announced']))
    // Postgres refuses to prepare a transaction that has notified.
    await query("prepare transaction 'keeping'")
    await query("rollback prepared 'keeping'")
  },

  async 'a claim reads as many rows as it takes, of 100,000 that wait'({ connect, query }: Under) {
    await query(`insert into idv.entries (id, state, lane, source, stored_at, bytes)
      select 'e' || n, 'stored', 'l' || n, 'webhook', ${start} + n, 0 from generate_series(1, 100000) n`)
    await query(`insert into idv.contents select seq, '\\x00', '\\x00' from idv.entries`)
    await query(`insert into idv.lanes
      select lane, seq, stored_at, seq from idv.entries`)
    for (const table of ['entries', 'contents', 'lanes']) await query(`analyze idv.${table}`)
    const client = await connect()
    await client('begin')
    const claimed = await client(
      `select * from idv.claim((select owner from idv.owners where owner > 0), 1, $1, $1, 32, 0,
        false, '')`,
      [start + 200_000],
    )
    expect(claimed).toHaveLength(33)
    const [read] = await client(readSql)
    await client('rollback')
    expect(read?.n).toBeGreaterThan(32)
    expect(read?.n).toBeLessThan(1_000)
  },

  async 'the next of a lane is found without reading what waits behind it'({
    store,
    connect,
  }: Under) {
    const [keep, query] = [await connect(), await connect()]
    for (let turn = 0; turn < 4; turn++) {
      await keep(keepSql, keeping(Array.from({ length: 500 }, () => 'deep')))
    }
    const { id, fence, owner } = await claimOne(store)
    const settlement = { ord: 0, id, fence, owner, to: 'done', at: start, handled: [] }
    await query('begin')
    await query('select * from idv.settle($1)', [JSON.stringify([settlement])])
    const [read] = await query(readSql)
    await query('rollback')
    expect(read?.n).toBeLessThan(100)
  },

  async 'a settlement reads what it settles, whatever else is or was leased'({
    store,
    query,
    connect,
  }: Under) {
    await query(`insert into idv.entries (id, state, lane, source, stored_at, bytes)
      select 'd' || n, 'done', 'd' || n, 'webhook', 0, 0 from generate_series(1, 5000) n`)
    // The planner knows of no leased row; an old snapshot keeps the rows that were leased.
    await query('vacuum analyze idv.entries')
    await store.insert(newEntry({ lane: 'settled' }))
    const { id, fence, owner } = await claimOne(store)
    await query("update idv.entries set state = 'leased' where state = 'done'")
    const settlement = { ord: 0, id, fence, owner, to: 'done', at: start, handled: [] }
    const client = await connect()
    await client('begin')
    await client('select * from idv.settle($1)', [JSON.stringify([settlement])])
    const [read] = await client(readSql)
    await client('rollback')
    expect(read?.n).toBeGreaterThan(0)
    expect(read?.n).toBeLessThan(100)
  },

  async 'an entry that commits late is not passed over'({ store, connect }: Under) {
    const [early, late] = [await connect(), await connect()]
    await early('begin')
    await early("select idv.lock_lanes(array['raced'])")
    const kept = late(keepSql, keeping(['raced']))
    await sleep(200)
    await early(keepSql, keeping(['raced']))
    await early('commit')
    await kept
    for (const which of ['the first', 'the second']) {
      const [claimed] = await claim(store)
      expect(claimed, which).toBeDefined()
      if (claimed) await settle(store, claimed, { to: 'done' })
    }
  },

  async 'the next of the lane that an entry leaves is found at once, however long it is due'({
    store,
  }: Under) {
    const lane = 'of the sender'
    const [first, second] = [newEntry({ lane }), newEntry({ lane })]
    for (const entry of [first, second]) await store.insert(entry)
    const now = Date.now()
    const [claimed] = await claim(store, 10, now)
    expect(claimed?.id).toBe(first.id)
    expect(await claim(store, 10, now)).toEqual([])
    const entry = newEntry({ id: first.id, lane: 'person' })
    const { id = '', fence = 0, owner = 0 } = claimed ?? {}
    const lease = { id, fence, owner }
    expect(await store.assign({ lease, at: now, entry })).toBe('stored')
    const ids = (await claim(store, 10, now)).map((one) => one.id)
    expect(ids.toSorted()).toEqual([first.id, second.id].toSorted())
  },

  async 'an entry that gets another lane meanwhile is opened in no other'({
    store,
    connect,
  }: Under) {
    const first = newEntry()
    await store.insert(first)
    await settle(store, await claimOne(store), { to: 'done' })
    const unread = newEntry()
    await store.insert(unread)
    const { id, fence, owner } = await claimOne(store)
    const {
      metadata: _,
      body: __,
      ...read
    } = newEntry({ id, key: first.key ?? '', lane: 'person' })
    const other = await connect()
    await other('begin')
    const given = [JSON.stringify({ ...read, metadata: 0 }), Buffer.alloc(0), fence, owner, start]
    const [assigned] = await other('select * from idv.assign($1, $2, $3, $4, $5)', given)
    expect(assigned?.kind).toBe('conflict')
    const opening = store.reopen({ ids: [id], from: ['skipped'], now: start, setAside: true })
    await sleep(100)
    await other('commit')
    expect(await opening).toBe(0)
    expect(await store.find({ ids: [id], limit: 1 })).toMatchObject([{ reason: 'CONFLICT' }])
  },

  async 'a lease does not lapse while its owner gives signs of life'({
    store,
    beside,
    query,
  }: Under) {
    const other = await beside()
    await query('update idv.owners set since = since - 60000')
    await store.insert(newEntry())
    await claimOne(other)
    expect(await store.lapsed(start)).toEqual([])
  },

  async 'an owner that fell silent is gone, also when its connections still stand'({
    store,
    beside,
    query,
  }: Under) {
    await claimedByAnother({ store, beside })
    await query('update idv.owners set watched = watched + 13000 where owner = 0')
    expect(await store.lapsed(start)).toHaveLength(1)
  },

  async 'a claim is a sign of life: what an owner takes as it comes back is not taken from it'({
    store,
    beside,
    query,
  }: Under) {
    const other = await beside()
    // From its first claim on it watches, and has given a sign of life with it.
    expect(await claim(other)).toEqual([])
    await store.insert(newEntry())
    await query('update idv.owners set watched = watched + 13000 where owner = 0')
    await claimOne(other)
    expect(await store.lapsed(start)).toEqual([])
  },

  async 'an outage counts against nobody'({ store, beside, query }: Under) {
    const { owner } = await claimedByAnother({ store, beside })
    await query('update idv.owners set seen = seen - 60000, since = since - 600000')
    await query(beatOfAnother, [owner])
    expect(await store.lapsed(start + 600_000)).toEqual([])
  },

  async 'a lease that is over lapses with the second gap, where processes come and go'({
    store,
    beside,
    query,
  }: Under) {
    const { owner } = await claimedByAnother({ store, beside })
    const lapsed: number[] = []
    for (let gap = 0; gap < 2; gap += 1) {
      await query('update idv.owners set seen = seen - 60000')
      await query(beatOfAnother, [owner])
      lapsed.push((await store.lapsed(start + 600_000)).length)
    }
    expect(lapsed).toEqual([0, 1])
    expect(await store.lapsed(start)).toEqual([])
  },

  async 'two outages count against nobody who came back between them'({
    store,
    beside,
    query,
  }: Under) {
    const { owner } = await claimedByAnother({ store, beside })
    for (let gap = 0; gap < 3; gap += 1) {
      await query('update idv.owners set seen = seen - 60000')
      await query(beatOfAnother, [owner])
      await query('select idv.beat($1, 6000)', [owner])
    }
    expect(await store.lapsed(start + 600_000)).toEqual([])
  },

  async 'who only looks says nothing of others, however often'({ store, beside, query }: Under) {
    await claimedByAnother({ store, beside })
    for (let look = 0; look < 5; look += 1) {
      await query('update idv.owners set seen = seen - 10000')
      for (const _ of [1, 2]) await query('select idv.beat(7, null)')
    }
    await query('update idv.owners set since = seen where owner = 0')
    expect(await store.lapsed(start + 600_000)).toEqual([])
  },

  async 'a silence from before an outage is remembered after it'({ store, beside, query }: Under) {
    const { owner } = await claimedByAnother({ store, beside })
    await query(`update idv.owners set seen = seen - 60000,
      watched = watched + case owner when 0 then 9000 else 0 end`)
    await query(beatOfAnother, [owner])
    expect(await store.lapsed(start)).toEqual([])
    await query('update idv.owners set seen = seen - 5000 where owner = 0')
    await query(beatOfAnother, [owner])
    expect(await store.lapsed(start)).toHaveLength(1)
  },

  async 'a crash is taken by one of those that sweep'({ store, beside }: Under) {
    const others = [await beside(), await beside()]
    await store.insert(newEntry())
    const lease = await claimOne(store)
    const end = { to: 'retry', due: start, reason: 'CRASHED' } as const
    const taken: boolean[] = []
    for (const other of others) {
      taken.push(await settle(other, lease, { ...end, failures: [], sweeps: true }))
    }
    expect(taken).toEqual([true, false])
  },

  async "an operator's purge waits for that of another process, whose retention is its own"({
    store,
    query,
    connect,
  }: Under) {
    await store.insert(newEntry())
    await settle(store, await claimOne(store), { to: 'done' })
    await query('update idv.entries set settled_at = 1')
    const other = await connect()
    await other('begin')
    await other('select idv.purge(0, 0, 0, 1, true)')
    const past = { doneBefore: start, deadBefore: start, keysBefore: 0, limit: 10 }
    expect(await store.purge(past)).toMatchObject({ erased: 0 })
    const waiting = store.purge({ ...past, waits: true })
    await sleep(100)
    await other('commit')
    expect(await waiting).toMatchObject({ erased: 1 })
  },

  async 'a fence of another owner settles nothing'({ store, query }: Under) {
    await store.insert(newEntry())
    const mine = await claimOne(store)
    await query('update idv.entries set owner = owner + 1')
    expect(await settle(store, mine, { to: 'done' })).toBe(false)
    expect(await store.checkpoint(mine, 'h')).toBe(false)
  },

  async 'a lane that deliveries hold without a pause is claimed all the same'({
    store,
    connect,
  }: Under) {
    const query = await connect()
    await query(keepSql, keeping(['hot', 'cold']))
    await query('begin')
    await query(keepSql, keeping(['hot']))
    const claims = claim(store)
    await sleep(200)
    await query('commit')
    expect(await claims).toHaveLength(2)
  },

  async 'a function sees what its lane has waited for, or refuses'({ connect }: Under) {
    const query = await connect()
    await query('begin isolation level repeatable read')
    await expect(query(keepSql, keeping(['isolated']))).rejects.toMatchObject({ code: '25001' })
    await query('rollback')
  },

  async 'what is acknowledged is synced, whatever the session prefers'({ connect }: Under) {
    const query = await connect()
    await query('set synchronous_commit = off')
    await query('begin')
    await query(keepSql, keeping(['synced']))
    const [row] = await query("select current_setting('synchronous_commit') as setting")
    await query('rollback')
    expect(row).toEqual({ setting: 'on' })
  },
} as const

export type PromiseName = keyof typeof promises

/** A client that writes the name of the schema for `idv.`. */
export async function clientOf(url: string, schema: string) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  const query = async (sql: string, values: unknown[] = []) =>
    (await client.query(sql.replaceAll(/\bidv\./g, `${schema}.`), values)).rows
  return { query, end: () => client.end() }
}
