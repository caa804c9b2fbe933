// The inbox on Postgres, in ratios of one run: ingest against bare inserts at the same durability,
// drain by one process and by two, claims by backlog, wakes across processes, a snapshot held open.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver } from 'idv-webhooks'
import { createInbox, type InboxStore } from 'idv-webhooks/inbox'
import pg from 'pg'
import { postgres18 } from '../../test/inbox/postgres/engines.ts'
import { startServer } from '../../test/inbox/postgres/server.ts'
import { secret } from '../deliveries.ts'
import { delivery, entry, median, opened, rate } from '../postgres-load.ts'
import type { Area, Section, Target } from '../section.ts'

type Server = Awaited<ReturnType<typeof startServer>>

/** In turns, so that whatever else the machine does falls on all alike; medians of five. */
async function ingest(server: Server): Promise<Section> {
  const pool = new pg.Pool({ connectionString: server.url, max: 32 })
  await pool.query('create table bare (id text primary key, metadata bytea, body bytea)')
  const { store, close } = await opened(server, 'ingest')
  const { body, metadata } = entry(1)
  const bare = () => {
    const sql = 'insert into bare values ($1, $2, $3)'
    return pool.query(sql, [
      `bare-${crypto.randomUUID()}`,
      Buffer.from(metadata),
      Buffer.from(body),
    ])
  }
  const contenders = {
    'a transaction for each delivery': { together: 1, work: () => store.insert(entry(997)) },
    'bare inserts, one connection': { together: 1, work: bare },
    'bare inserts, 32 connections': { together: 32, work: bare },
    'the inbox, 64 at a time': { together: 64, work: () => store.insert(entry(997)) },
  }
  const found = new Map<string, number[]>(Object.keys(contenders).map((name) => [name, []]))
  for (let round = 0; round < 5; round++) {
    for (const [name, { together, work }] of Object.entries(contenders)) {
      found.get(name)?.push(await rate(together, 2, work))
    }
  }
  await close()
  await pool.end()
  const per = Object.fromEntries([...found].map(([name, rates]) => [name, median(rates)]))
  const ours = per['the inbox, 64 at a time'] ?? 0
  return {
    id: 'postgres-ingest',
    title: 'Deliveries kept, 2 KB each, synchronous_commit on',
    columns: [
      { key: 'rate', label: 'a second', unit: 'count' },
      { key: 'ratio', label: 'the inbox is so many times faster', unit: 'ratio' },
    ],
    rows: Object.entries(per).map(([name, rate]) => ({
      name,
      ours: name.startsWith('the inbox'),
      values: { rate, ratio: ours / rate },
    })),
    targets: [
      { row: 'a transaction for each delivery', column: 'ratio', atLeast: 5 },
      { row: 'bare inserts, 32 connections', column: 'ratio', atLeast: 0.75 },
    ],
  }
}

interface Drain {
  readonly processes: number
  readonly entries: number
  /** Milliseconds that a handler waits, as for another service; 0 is a handler that does nothing. */
  readonly wait: number
  /** Handlers at a time in each process. */
  readonly concurrency: number
}

/** Worker processes that drain what waits; entries a second of all together. */
async function drainBy(server: Server, drain: Drain): Promise<number> {
  const { processes, entries, wait, concurrency } = drain
  const schema = `drain_${processes}_${wait}`
  const { store, close } = await opened(server, schema)
  const inbox = createInbox({ store, timeout: 60_000 })
  const receiver = createReceiver({ secret, inbox, observe() {} })
  receiver.on('*', () => {})
  for (let at = 0; at < entries; at += 250) {
    await Promise.all(Array.from({ length: 250 }, () => receiver.receive(delivery(500))))
  }
  const script = join(import.meta.dirname, '../postgres-worker.ts')
  const children: ChildProcess[] = []
  for (let at = 0; at < processes; at++) {
    const child = fork(script, [server.url, schema, String(wait), String(concurrency)])
    children.push(child)
    await new Promise((resolve) => child.once('message', resolve))
  }
  const begun = performance.now()
  for (const child of children) child.send('start')
  for (;;) {
    const { done } = (await store.stats(Date.now())).counts
    if (done >= entries) break
    await sleep(100)
  }
  const seconds = (performance.now() - begun) / 1_000
  for (const child of children) child.kill()
  await close()
  return entries / seconds
}

async function drain(server: Server, entries: number): Promise<Section> {
  const busy = { entries, wait: 0, concurrency: 128 }
  const waiting = { entries: entries / 2, wait: 10, concurrency: 16 }
  const one = await drainBy(server, { ...busy, processes: 1 })
  const two = await drainBy(server, { ...busy, processes: 2 })
  const oneWaits = await drainBy(server, { ...waiting, processes: 1 })
  const twoWait = await drainBy(server, { ...waiting, processes: 2 })
  const row = (name: string, rate: number, of: number) => {
    return { name, ours: true, values: { rate, ratio: rate / of } }
  }
  return {
    id: 'postgres-drain',
    title: `Ordered drain of ${entries} deliveries of 500 entities by workers`,
    note: 'Handlers that do nothing keep the processors busy: where two share everything, a second process has little left to add.',
    columns: [
      { key: 'rate', label: 'a second', unit: 'count' },
      { key: 'ratio', label: 'of one process', unit: 'ratio' },
    ],
    rows: [
      row('handlers that do nothing, one process', one, one),
      row('handlers that do nothing, two processes', two, one),
      row('16 handlers that wait 10 ms, one process', oneWaits, oneWaits),
      row('16 handlers that wait 10 ms, two processes', twoWait, oneWaits),
    ],
    targets: [
      { row: 'handlers that do nothing, one process', column: 'rate', atLeast: 4_000 },
      { row: 'handlers that do nothing, two processes', column: 'ratio', atLeast: 1 },
      { row: '16 handlers that wait 10 ms, two processes', column: 'ratio', atLeast: 1 },
    ],
  }
}

const far = { now: 2e12, until: 3e12 }

/** Milliseconds of a claim of 32, whose entries are settled afterwards. */
async function claimOnce(store: InboxStore): Promise<number> {
  const begun = performance.now()
  const { entries } = await store.claim({ ...far, limit: 32 })
  const took = performance.now() - begun
  await Promise.all(
    entries.map(({ id, fence, owner = 0 }) =>
      store.settle({ to: 'done', at: far.now, handled: [], lease: { id, fence, owner } }),
    ),
  )
  return took
}

async function claims(server: Server, most: number): Promise<Section> {
  const sizes = [1_000, 100_000, most]
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const rows = []
  for (const size of sizes) {
    const { store, close } = await opened(server, `claims_${size}`)
    const schema = `claims_${size}`
    await client.query(`insert into ${schema}.entries (id, state, lane, source, stored_at, bytes)
      select 'e' || n, 'stored', 'l' || n, 'webhook', n, 2 from generate_series(1, ${size}) n;
      insert into ${schema}.contents select seq, '\\x00', '\\x00' from ${schema}.entries;
      insert into ${schema}.lanes (lane, head, due, floor)
        select lane, seq, stored_at, seq from ${schema}.entries`)
    await client.query(`analyze ${schema}.entries; analyze ${schema}.lanes`)
    const times = []
    for (let turn = 0; turn < 30; turn++) times.push(await claimOnce(store))
    rows.push({ name: `${size.toLocaleString('en')} waiting`, ours: true, ms: median(times) })
    await close()
  }
  await client.end()
  const [first] = rows
  return {
    id: 'postgres-claim',
    title: 'A claim of 32 entries, by the backlog',
    columns: [
      { key: 'ms', label: 'p50', unit: 'ms' },
      { key: 'ratio', label: 'of the smallest', unit: 'ratio' },
    ],
    rows: rows.map(({ ms, ...row }) => ({ ...row, values: { ms, ratio: ms / (first?.ms ?? 1) } })),
    targets: [{ row: rows.at(-1)?.name ?? '', column: 'ratio', atMost: 3 }],
  }
}

/** From the commit in one store to the wake in another, which has connections of its own. */
async function wakes(server: Server): Promise<Section> {
  let woken = () => {}
  const here = await opened(server, 'wakes')
  const there = await opened(server, 'wakes', () => woken())
  const times: number[] = []
  for (let turn = 0; turn < 100; turn++) {
    const wake = new Promise<void>((resolve) => {
      woken = resolve
    })
    await here.store.insert(entry(50))
    const begun = performance.now()
    await wake
    times.push(performance.now() - begun)
    await sleep(30 + Math.random() * 20)
  }
  await here.close()
  await there.close()
  const sorted = times.toSorted((one, other) => one - other)
  return {
    id: 'postgres-wake',
    title: 'From an acknowledgement to the wake of another owner',
    columns: [
      { key: 'p50', label: 'p50', unit: 'ms' },
      { key: 'p99', label: 'p99', unit: 'ms' },
    ],
    rows: [{ name: 'NOTIFY', ours: true, values: { p50: median(times), p99: sorted[98] ?? 0 } }],
    targets: [{ row: 'NOTIFY', column: 'p50', atMost: 10 }],
  }
}

/** Claims at a steady pace, before, while and after another session holds a snapshot. */
async function snapshot(server: Server, seconds: number): Promise<Section> {
  const { store, close } = await opened(server, 'snapshot')
  const holder = new pg.Client({ connectionString: server.url })
  await holder.connect()
  let times: number[] = []
  let isOver = false
  let settled = 0
  const feeding = (async () => {
    while (!isOver) {
      await Promise.all(Array.from({ length: 32 }, () => store.insert(entry(100_000))))
      await sleep(20)
    }
  })()
  const claiming = (async () => {
    while (!isOver) {
      const begun = performance.now()
      const now = store.now?.().getTime() ?? 0
      const { entries } = await store.claim({ now: now + 5_000, limit: 32, until: now + 60_000 })
      times.push(performance.now() - begun)
      settled += entries.length
      await Promise.all(
        entries.map(({ id, fence, owner = 0 }) =>
          store.settle({ to: 'done', at: now, handled: [], lease: { id, fence, owner } }),
        ),
      )
      await sleep(5)
    }
  })()
  const during = async (time: number) => {
    times = []
    await sleep(time * 1_000)
    return median(times)
  }
  await during(3)
  const before = await during(5)
  await holder.query('begin isolation level repeatable read; select count(*) from pg_class')
  await during(Math.max(1, seconds - 5))
  const held = await during(5)
  await holder.query('commit')
  await during(15)
  const after = await during(5)
  isOver = true
  await Promise.all([feeding, claiming])
  await holder.end()
  await close()
  const values = (ms: number) => ({ ms, ratio: ms / before })
  const targets: Target[] = [
    { row: 'held', column: 'ratio', atMost: 4 },
    { row: '15 s after its release', column: 'ratio', atMost: 1.5 },
  ]
  return {
    id: 'postgres-snapshot',
    title: `A claim while a snapshot is held for ${seconds} s`,
    note: `${settled} entries were kept, claimed and settled meanwhile.`,
    columns: [
      { key: 'ms', label: 'p50', unit: 'ms' },
      { key: 'ratio', label: 'of before', unit: 'ratio' },
    ],
    rows: [
      { name: 'before', ours: true, values: values(before) },
      { name: 'held', ours: true, values: values(held) },
      { name: '15 s after its release', ours: true, values: values(after) },
    ],
    targets,
  }
}

export const area: Area = {
  name: 'postgres',
  runs: 1,
  async measure({ quick, only }) {
    const server = await startServer(postgres18(), { shared_buffers: '256MB', max_wal_size: '4GB' })
    try {
      const sections = {
        ingest: () => ingest(server),
        drain: () => drain(server, quick ? 5_000 : 20_000),
        claims: () => claims(server, quick ? 200_000 : 1_000_000),
        wakes: () => wakes(server),
        snapshot: () => snapshot(server, quick ? 10 : 60),
      }
      const wanted = Object.entries(sections).filter(([name]) => only?.includes(name) ?? true)
      const found: Section[] = []
      for (const [, measure] of wanted) found.push(await measure())
      return found
    } finally {
      await server.end()
    }
  },
}
