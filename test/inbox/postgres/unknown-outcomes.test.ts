// Calls whose answer never arrives: cut at the commit, or swallowed by the network.
import { fromPg, type PostgresDriver, postgresStore } from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { PostgresRow } from '../../../src/inbox/stores/postgres/driver.ts'
import {
  claim,
  claimOne,
  leaseOf,
  newEntry,
  settle,
} from '../../../tools/conformance/store-cases.ts'
import { startProxy } from './proxy.ts'
import { poolOf, schemaOn, servers } from './servers.ts'

const start = Date.UTC(2026, 0, 1)

/** A store behind a proxy, and a store that connects to the server directly. */
async function behindProxy(options: { timeout?: number; max?: number } = {}) {
  const { timeout = 5_000, max = 4 } = options
  const { schema, open, query } = schemaOn()
  const direct = open({ listen: false })
  await direct.open(() => {})
  const proxy = await startProxy(servers.pg18, onTestFinished)
  const pool = new pg.Pool({ connectionString: proxy.url, max, connectionTimeoutMillis: 2_000 })
  const store = postgresStore(fromPg(pool), { schema, timeout, listen: false })
  await store.open(() => {})
  onTestFinished(async () => {
    await Promise.all([store.close(), direct.close()])
    void pool.end().catch(() => {})
  })
  return { store, direct, proxy, query, pool }
}

const refusal = (code: string) => expect.objectContaining({ name: 'WebhookError', code })

test('an insert whose answer was lost is a duplicate when it comes again, and one entry', async () => {
  const { store, proxy } = await behindProxy()
  const entry = newEntry()
  proxy.loseAnswerTo('alone_keep')
  await expect(store.insert(entry)).rejects.toEqual(refusal('STORE_FAILED'))
  expect(proxy.lost).toBe(1)
  expect(await store.insert({ ...entry, id: 'again' })).toEqual({ kind: 'duplicate', id: entry.id })
  expect((await store.stats(start)).counts.stored).toBe(1)
})

test('a settlement whose answer was lost is taken when it comes again', async () => {
  const { store, proxy } = await behindProxy()
  await store.insert(newEntry())
  const claimed = await claimOne(store)
  proxy.loseAnswerTo('alone_settle')
  await expect(settle(store, claimed, { to: 'done' })).rejects.toEqual(refusal('STORE_FAILED'))
  expect(await settle(store, claimed, { to: 'done' })).toBe(true)
  expect((await store.stats(start)).counts).toMatchObject({ done: 1, leased: 0 })
})

test('what a claim took whose answer was lost comes back, and no attempt is counted', async () => {
  const { store, direct, proxy } = await behindProxy()
  const entries = [newEntry(), newEntry()]
  for (const entry of entries) await store.insert(entry)
  proxy.loseAnswerTo('alone_claim')
  await expect(claim(store)).rejects.toEqual(refusal('STORE_FAILED'))
  expect((await direct.stats(start)).counts.leased).toBe(2)
  expect(await claim(direct)).toEqual([])
  const again = await claim(store)
  expect(again.map(({ id, attempt }) => [id, attempt])).toEqual(entries.map(({ id }) => [id, 1]))
  expect((await store.stats(start)).counts).toMatchObject({ stored: 0, leased: 2 })
})

test.each([
  ['without rows', () => []],
  ['with a hole', (rows: readonly PostgresRow[]) => [...rows.slice(0, -1), undefined]],
])('what a claim took that was answered %s comes back', async (_, harm) => {
  const { schema, open } = schemaOn()
  const driver = fromPg(poolOf())
  let harms = true
  const query: PostgresDriver['query'] = async (text, values, signal) => {
    const rows = await driver.query(text, values, signal)
    if (!harms || !text.includes('alone_claim')) return rows
    harms = false
    return harm(rows) as PostgresRow[]
  }
  const direct = open({ listen: false })
  const store = postgresStore({ ...driver, query }, { schema, listen: false })
  await direct.open(() => {})
  await store.open(() => {})
  onTestFinished(async () => void (await Promise.all([store.close(), direct.close()])))
  const entry = newEntry()
  await store.insert(entry)
  await expect(claim(store)).rejects.toEqual(refusal('STORE_FAILED'))
  const again = await claim(store)
  expect(again.map(({ id, attempt }) => [id, attempt])).toEqual([[entry.id, 1]])
})

test('a claim that comes late, after it was given up, takes nothing', async () => {
  const { store, query } = await behindProxy()
  await store.insert(newEntry())
  const [{ owner }] = (await query(
    'select owner from idv.owners where owner > 0 order by since desc limit 1',
  )) as [{ owner: number }]
  await query("select idv.recover($1, 7, '[]', 0)", [owner])
  const late = query("select * from idv.claim($1, 7, $2, $2, 10, 0, false, '')", [owner, start])
  await expect(late).rejects.toMatchObject({ code: 'P0V01' })
  expect((await store.stats(start)).counts.leased).toBe(0)
})

test('a process claims for as long as it lives, beyond the range of an int', async () => {
  const { store, query } = await behindProxy()
  await store.insert(newEntry())
  const [{ owner }] = (await query(
    'select owner from idv.owners where owner > 0 order by since desc limit 1',
  )) as [{ owner: number }]
  const at = 2 ** 31
  await query('select idv.recover($1, $2, $3, 0)', [owner, at, JSON.stringify([at - 1, at])])
  const values = [owner, at + 1, start]
  await query("select * from idv.claim($1, $2, $3, $3, 10, 0, false, '')", values)
  expect((await store.stats(start)).counts.leased).toBe(1)
})

test('effects whose commit was lost are there once, and their handler does not run again', async () => {
  const { store, proxy, query } = await behindProxy()
  await query('create table idv.effects (id int)')
  await store.insert(newEntry())
  const claimed = await claimOne(store)
  const tx = await store.transaction?.(leaseOf(claimed), 'h')
  const handle = tx?.handle as pg.Pool
  const [{ name }] = (await query("select to_regclass('idv.effects')::text as name")) as [
    { name: string },
  ]
  await handle.query(`insert into ${name} values (1)`)
  proxy.loseAnswerTo('commit\0')
  await expect(tx?.commit()).rejects.toEqual(refusal('STORE_FAILED'))
  const failed = { to: 'retry', due: start, reason: 'HANDLER_FAILED', failures: [] } as const
  await settle(store, claimed, failed)
  expect((await claimOne(store)).handled).toEqual(['h'])
  expect(await query('select id from idv.effects')).toHaveLength(1)
})

test('a server that vanished is not waited for: calls end in time, and so does close', async () => {
  const { store, proxy, pool } = await behindProxy({ timeout: 300 })
  await store.insert(newEntry())
  proxy.swallow(true)
  const ended = await Promise.allSettled([store.insert(newEntry()), claim(store)])
  const errors = ended.map((one) => one.status === 'rejected' && one.reason.code)
  expect(errors).toEqual(['STORE_TIMEOUT', 'STORE_TIMEOUT'])
  proxy.swallow(false)
  expect((await store.insert(newEntry())).kind).toBe('stored')
  proxy.swallow(true)
  await store.close()
  expect(pool.totalCount).toBeLessThanOrEqual(4)
})

test('an inbox over a pool of one connection handles what it keeps', async () => {
  const { store } = await behindProxy({ max: 1 })
  await Promise.all(Array.from({ length: 20 }, () => store.insert(newEntry())))
  const claimed = await claim(store, 20)
  expect(await Promise.all(claimed.map((one) => settle(store, one, { to: 'done' })))).toEqual(
    claimed.map(() => true),
  )
})

test('one delivery that the server refuses does not keep out those that travel with it', async () => {
  const { store } = await behindProxy()
  const bad = { ...newEntry(), bytes: 2 ** 40 }
  const good = [newEntry(), newEntry(), newEntry({ name: 'a\0b\ud800' })]
  // The first is on its way alone while the others gather to a group.
  const first = store.insert(newEntry())
  const ended = await Promise.allSettled([...good, bad].map((entry) => store.insert(entry)))
  await first
  expect(ended.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
  ])
  const [found] = await store.find({ ids: [good[2]?.id ?? ''], limit: 1 })
  expect(found?.name).toBe('a\ufffdb\ufffd')
})

test('errors of the server are reported by their SQLSTATE, never by what it says of a row', async () => {
  const { store } = await behindProxy()
  const secret = 'a-person-by-name'
  const error: unknown = await store
    .insert({ ...newEntry({ name: secret }), bytes: 2 ** 40 })
    .catch((caught: unknown) => caught)
  expect(error).toEqual(refusal('STORE_FAILED'))
  expect(String((error as Error).message)).toMatch(/22003/)
  expect(
    JSON.stringify([String(error), (error as Error).stack, (error as Error).cause]),
  ).not.toContain(secret)
})

test('idle clients of the pool that lose their server do not end the process', async () => {
  const { store, query } = await behindProxy()
  await store.insert(newEntry())
  await query(
    "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and state = 'idle' and query like '%alone_keep%'",
  )
  await expect
    .poll(() =>
      store.insert(newEntry()).then(
        ({ kind }) => kind,
        () => 'failed',
      ),
    )
    .toBe('stored')
})
