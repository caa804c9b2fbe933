// The figures of the inbox, measured in one run on this machine and compared as ratios; exits with
// 1 when one of them is missed. Run it on an idle machine with `npm run bench -- inbox`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { createInbox, type InboxStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { type LoadReport, measure } from './load.ts'

interface Figure {
  readonly what: string
  readonly is: string
  readonly should: string
  readonly ok: boolean
}

const seconds = Number(process.env.BENCH_SECONDS ?? 5)
const figures: Figure[] = []
const note = (figure: Figure) => {
  figures.push(figure)
  console.log(
    `${figure.ok ? 'ok  ' : 'MISS'} ${figure.what}: ${figure.is} (should be ${figure.should})`,
  )
}

async function inFolder<Result>(work: (file: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'idv-bench-'))
  try {
    return await work(join(folder, 'inbox.db'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const modes = ['rows', 'inbox', 'unsafe'] as const
type Rates = Readonly<Record<(typeof modes)[number], number>>

/** In turns, so that whatever else the machine does falls on all alike; the median of three. */
async function rates(slower: number): Promise<Rates> {
  const reports = {
    rows: [] as LoadReport[],
    inbox: [] as LoadReport[],
    unsafe: [] as LoadReport[],
  }
  for (let round = 0; round < 3; round++) {
    for (const mode of modes) {
      reports[mode].push(await measure({ mode, seconds, connections: 64, slower }))
    }
  }
  const median = (mode: (typeof modes)[number]) =>
    reports[mode].map(({ perSecond }) => perSecond).sort((one, two) => one - two)[1] ?? 0
  const most = Math.max(...reports.inbox.map(({ rssMb }) => rssMb))
  note({ what: 'memory, closed loop', is: `${most} MB`, should: '<= 256 MB', ok: most <= 256 })
  const found = { rows: median('rows'), inbox: median('inbox'), unsafe: median('unsafe') }
  console.log(`     a second: ${JSON.stringify(found)}, syncs slowed by ${slower / 1000} ms`)
  return found
}

/** The disk determines the cost of a commit: the ratio is computed for a commit of 3 ms. */
async function throughput() {
  const asIs = await rates(0)
  const part = asIs.inbox / asIs.unsafe
  console.log(
    `     acked over a commit per row, on this disk: ${(asIs.inbox / asIs.rows).toFixed(1)}x`,
  )
  note({
    what: 'acked over the same without sync',
    is: part.toFixed(2),
    should: '>= 0.75',
    ok: part >= 0.75,
  })
  const slow = await rates(3_000)
  const times = slow.inbox / slow.rows
  note({
    what: 'acked over a commit per row, where a sync takes 3 ms',
    is: `${times.toFixed(1)}x`,
    should: '>= 5x',
    ok: times >= 5,
  })
}

async function latency() {
  const { p50, p99, lost, statuses } = await measure({
    mode: 'inbox',
    seconds,
    connections: 64,
    rate: 500,
    worker: true,
  })
  const ok = p99 <= 100 && lost === 0
  note({
    what: 'ack p99 at 500/s, handlers at work',
    is: `${p99} ms (p50 ${p50}) ${JSON.stringify(statuses)}`,
    should: '<= 100 ms',
    ok,
  })
}

async function overload() {
  const { lost, statuses, rssMb } = await measure({
    mode: 'inbox',
    seconds: 5,
    connections: 512,
    rate: 3_000,
  })
  const others = Object.keys(statuses).filter((status) => status !== '202' && status !== '503')
  const ok = lost === 0 && others.length === 0
  note({
    what: 'overload, 3,000/s for 5 s',
    is: `${lost} lost, ${JSON.stringify(statuses)}`,
    should: '0 lost, only 2xx or 503',
    ok,
  })
  note({ what: 'memory, overload', is: `${rssMb} MB`, should: '<= 256 MB', ok: rssMb <= 256 })
}

async function drain() {
  const count = 20_000
  await inFolder(async (file) => {
    const secret = 'a-secret-for-the-bench'
    const inbox = createInbox({ store: sqliteStore(file), timeout: 60_000 })
    const receiver = createReceiver({ secret, inbox, observe: () => {} })
    const { promise, resolve } = Promise.withResolvers<void>()
    let handled = 0
    receiver.on('*', () => {
      if (++handled === count) resolve()
    })
    for (let at = 0; at < count; at += 256) {
      const size = Math.min(256, count - at)
      await Promise.all(
        Array.from({ length: size }, async (_, one) => {
          const data = { id: `ver_${(at + one) % 500}`, subjectName: 'x'.repeat(1_850) }
          const event = { id: `evt_${at + one}`, event: 'verification.approved', data }
          const body = new TextEncoder().encode(JSON.stringify(event))
          await receiver.receive({ body, headers: await sign(body, { secret }) })
        }),
      )
    }
    const worker = createWorker(receiver, { concurrency: 128 })
    const start = performance.now()
    await worker.start()
    await promise
    await worker.drain()
    const rate = Math.round((count / (performance.now() - start)) * 1000)
    note({
      what: 'drain of no-ops, 500 entities',
      is: `${rate}/s`,
      should: '>= 5,000/s',
      ok: rate >= 5_000,
    })
    await inbox.close()
  })
}

/** Milliseconds of a claim of 32 and of its settlement. */
async function claimOnce(store: InboxStore): Promise<number> {
  const start = performance.now()
  const { entries } = await store.claim({ now: 2e12, limit: 32, until: 3e12 })
  const done = { to: 'done', at: 2e12, handled: [] } as const
  await Promise.all(entries.map(({ id, fence }) => store.settle({ ...done, lease: { id, fence } })))
  return performance.now() - start
}

async function openBacklog(file: string, backlog: number): Promise<InboxStore> {
  const store = sqliteStore(file, { check: 'quick' })
  await store.open(() => {})
  await store.close()
  fill(file, backlog)
  await store.open(() => {})
  return store
}

/** Writes a backlog of one event for each of 500 entities in turn, past the store's own writer. */
function fill(file: string, backlog: number): void {
  const db = new DatabaseSync(file)
  db.exec('pragma synchronous = off; begin')
  const entry = db.prepare(`insert into idv_entries (id, state, lane, source, stored_at, bytes)
    values (?, 'stored', ?, 'webhook', ?, 2)`)
  const content = db.prepare('insert into idv_contents values (?, ?, ?)')
  for (let at = 0; at < backlog; at++) {
    const { lastInsertRowid } = entry.run(`id-${at}`, `lane-${at % 500}`, at)
    content.run(lastInsertRowid, Buffer.alloc(200), Buffer.alloc(600))
  }
  db.exec(`insert into idv_lanes select lane, min(seq), min(stored_at), min(seq), ''
      from idv_entries group by lane;
    update idv_counts set count = ${backlog} where state = 'stored'; commit`)
  db.close()
}

async function backlog() {
  await inFolder(async (file) => {
    const few = await openBacklog(`${file}-few`, 4_000)
    const many = await openBacklog(`${file}-many`, Number(process.env.BACKLOG ?? 1_000_000))
    const times: [few: number, many: number][] = []
    for (let round = 0; round < 100; round++)
      times.push([await claimOnce(few), await claimOnce(many)])
    const median = (list: number[]) => list.sort((one, two) => one - two)[list.length / 2] ?? 0
    const [one, other] = [median(times.map(([it]) => it)), median(times.map(([, it]) => it))]
    note({
      what: 'a claim over 1,000,000 entries, to one over 4,000',
      is: `${(other / one).toFixed(2)}x (${other.toFixed(1)} to ${one.toFixed(1)} ms)`,
      should: '<= 2x',
      ok: other / one <= 2,
    })
    await Promise.all([few.close(), many.close()])
  })
}

const all = { throughput, latency, overload, drain, backlog }
const wanted = process.argv.slice(2)
for (const [name, figure] of Object.entries(all)) {
  if (wanted.length === 0 || wanted.includes(name)) await figure()
}
process.exitCode = figures.every(({ ok }) => ok) ? 0 : 1
