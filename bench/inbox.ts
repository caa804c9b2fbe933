// The figures of the inbox, measured in one run on this machine and compared as ratios; exits with
// 1 when one of them is missed. Run it on an idle machine: npm run build && cd bench && npm run inbox
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { measure } from './load.ts'

interface Figure {
  readonly what: string
  readonly is: string
  readonly should: string
  readonly ok: boolean
}

const seconds = Number(process.env.SECONDS ?? 5)
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

async function throughput() {
  const full = { seconds, connections: 64 }
  const rows = await measure({ mode: 'rows', ...full })
  const inbox = await measure({ mode: 'inbox', ...full })
  const unsafe = await measure({ mode: 'unsafe', ...full })
  console.log(
    `     ${rows.perSecond}/s row by row, ${inbox.perSecond}/s inbox, ${unsafe.perSecond}/s not synced`,
  )
  const [times, part] = [inbox.perSecond / rows.perSecond, inbox.perSecond / unsafe.perSecond]
  note({
    what: 'acked over a commit per row',
    is: `${times.toFixed(1)}x`,
    should: '>= 5x',
    ok: times >= 5,
  })
  note({
    what: 'acked over the same without sync',
    is: part.toFixed(2),
    should: '>= 0.75',
    ok: part >= 0.75,
  })
  const most = Math.max(inbox.rssMb, 0)
  note({ what: 'memory, closed loop', is: `${most} MB`, should: '<= 256 MB', ok: most <= 256 })
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

/** Milliseconds of a claim of 32 and its settlement, the median of many, over a backlog. */
async function claimCost(backlog: number): Promise<number> {
  return inFolder(async (file) => {
    const store = sqliteStore(file, { check: 'quick' })
    await store.open(() => {})
    await store.close()
    fill(file, backlog)
    await store.open(() => {})
    const times: number[] = []
    for (let round = 0; round < 60; round++) {
      const start = performance.now()
      const { entries } = await store.claim({ now: 2e12, limit: 32, until: 3e12 })
      const lease = ({ id, fence }: (typeof entries)[number]) => ({ id, fence })
      const done = { to: 'done', at: 2e12, handled: [] } as const
      await Promise.all(entries.map((entry) => store.settle({ ...done, lease: lease(entry) })))
      times.push(performance.now() - start)
    }
    await store.close()
    return times.sort((one, two) => one - two)[times.length / 2] ?? 0
  })
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
  db.exec(`insert into idv_lanes select lane, min(seq), min(stored_at), min(seq) from idv_entries group by lane;
    update idv_counts set count = ${backlog} where state = 'stored'; commit`)
  db.close()
}

async function backlog() {
  const [few, many] = [
    await claimCost(4_000),
    await claimCost(Number(process.env.BACKLOG ?? 1_000_000)),
  ]
  const times = many / few
  note({
    what: 'a claim over 1,000,000 entries, to one over few',
    is: `${times.toFixed(2)}x (${many.toFixed(1)} to ${few.toFixed(1)} ms)`,
    should: '<= 2x',
    ok: times <= 2,
  })
}

await throughput()
await latency()
await overload()
await drain()
await backlog()
process.exitCode = figures.every(({ ok }) => ok) ? 0 : 1
