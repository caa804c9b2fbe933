// npm run load [-- --rate 1500 --seconds 300]: delivers at a steady rate to an application with an
// SQLite inbox, prints figures for each minute beside those of a plain sync on the same disk, and
// exits with 1 when a bound is broken.
import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { type Connections, openConnections } from './connections.ts'

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '1500' },
    seconds: { type: 'string', default: '300' },
  },
})
const rate = Number(values.rate)
const seconds = Number(values.seconds)
const secret = 'the-secret-of-the-load'
const padding = 'x'.repeat(1_850)
/**
 * Milliseconds of the same load before any figure is taken. V8 compiles a function that runs once
 * for each delivery after about 17,000 of them: for 200 ms eight of its threads, four of them this
 * program's, then share the processors with the deliveries, once in the life of a process.
 */
const warmUp = 20_000

interface Sample {
  readonly at: number
  readonly heap: number
  readonly rss: number
  /**
   * Memory that is neither V8's heap nor buffers: code, stacks, SQLite's pages, the allocator's
   * reserve.
   */
  readonly outside: number
  readonly handled: number
}

/** Milliseconds from when a delivery was due to its answer, and when that was. */
interface Ack {
  readonly at: number
  readonly took: number
  readonly status: number
}

/** Milliseconds of a plain sync, and when it was. */
type Sync = Pick<Ack, 'at' | 'took'>

/** When the figures begin; whatever comes before it is at a negative time. */
let start = Number.POSITIVE_INFINITY
const samples: Sample[] = []
const acks: Ack[] = []
const syncs: Sync[] = []
let stalls: readonly Sync[] = []

function watchDisk(file: string): Worker {
  const thread = new Worker(join(import.meta.dirname, 'plain-sync.ts'), { workerData: file })
  thread.on('message', (took: number) => {
    syncs.push({ at: performance.now() - start, took })
  })
  return thread
}

async function startServer(file: string) {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'load-server.ts'), file, secret],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const port = await new Promise<number>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const told = JSON.parse(line)
      if ('port' in told) resolve(told.port)
      else samples.push({ at: performance.now() - start, ...told })
    })
  })
  return { child, port }
}

function deliver({ post }: Connections, serial: number): Promise<number> {
  const data = { id: `ver_${serial % 997}`, status: 'approved', subjectName: padding }
  const body = JSON.stringify({ id: `evt_${serial}`, event: 'verification.approved', data })
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  return post({ 'content-type': 'application/json', 'x-service-signature': signature }, body)
}

/** Open loop: each delivery is sent when it is due, whatever became of those before. */
async function drive(port: number): Promise<void> {
  const connections = openConnections(port, 256)
  const began = performance.now()
  start = began + warmUp
  const total = rate * (seconds + warmUp / 1_000)
  const all: Promise<void>[] = []
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - began) / 1_000) * rate))
    for (; sent < due; sent++) {
      const at = began + (sent * 1_000) / rate
      const acked = deliver(connections, sent).then((status) => {
        const now = performance.now()
        acks.push({ at: now - start, took: now - at, status })
      })
      all.push(acked)
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(all)
  connections.close()
}

async function stopServer(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}

function storedIn(file: string): { readonly stored: number; readonly done: number } {
  const db = new DatabaseSync(file, { readOnly: true })
  const count = (where: string) =>
    Number(db.prepare(`select count(*) as many from idv_entries ${where}`).get()?.many)
  const counts = { stored: count(''), done: count("where state = 'done'") }
  db.close()
  return counts
}

/** Milliseconds: a plain sync that takes longer is a stall of the disk; catching up takes a while. */
const stall = 25
const catchUp = 300

/** Whether it waited while the disk did not even sync one page of another file. */
function isInStall({ at, took }: Ack): boolean {
  return stalls.some((one) => one.at - one.took < at && at - took < one.at + catchUp)
}

const isAccepted = ({ status }: Ack) => status === 202 || status === 200

const part = (all: readonly number[], share: number) =>
  [...all].sort((one, two) => one - two)[
    Math.min(all.length - 1, Math.floor(all.length * share))
  ] ?? 0

function minuteOf(minute: number, length: number) {
  const inIt = ({ at }: { readonly at: number }) => Math.floor(at / length) === minute
  const own = acks.filter(inIt).map(({ took }) => took)
  const plain = syncs.filter(inIt).map(({ took }) => took)
  const memory = samples.filter(inIt)
  return {
    acks: own.length,
    p50: part(own, 0.5),
    'p99.9': part(own, 0.999),
    worst: part(own, 1),
    'sync p99.9': part(plain, 0.999),
    'sync worst': part(plain, 1),
    // Between two collections the heap rises: its least is what is kept.
    heap: Math.min(...memory.map(({ heap }) => heap)),
    outside: part(
      memory.map(({ outside }) => outside),
      0.5,
    ),
    rss: part(
      memory.map(({ rss }) => rss),
      0.5,
    ),
  }
}

interface Bound {
  readonly what: string
  readonly is: number
  readonly most: number
}

function report(counts: ReturnType<typeof storedIn>): Bound[] {
  // A short run is judged by fifths, too.
  const length = (seconds / 5) * 1_000
  const minutes = Array.from({ length: 5 }, (_, minute) => minuteOf(minute, length))
  console.table(minutes.map((one) => mapped(one)))
  const acked = acks.filter(isAccepted).length
  stalls = syncs.filter(({ at, took }) => at > 0 && took > stall)
  const [, second, third, fourth, last] = minutes
  // V8 shrinks its heap and grows it again, so one fifth may be a dip; a leak grows in each.
  const before = [second, third, fourth].map((one) => one?.rss ?? 0)
  return [
    { what: 'not 2xx', is: acks.length - acked, most: 0 },
    { what: 'acknowledged and not stored', is: acked - counts.stored, most: 0 },
    { what: 'not handled', is: counts.stored - counts.done, most: 0 },
    {
      what: 'p99.9 of an ack, ms',
      is: part(
        acks.filter(({ at }) => at > 0).map(({ took }) => took),
        0.999,
      ),
      most: 50,
    },
    {
      what: 'heap, MB more than in the second fifth',
      is: (last?.heap ?? 0) - (second?.heap ?? 0),
      most: 8,
    },
    {
      what: 'resident, MB more than the middle of the second to fourth fifths',
      is: (last?.rss ?? 0) - part(before, 0.5),
      most: 20,
    },
    ...(rate <= 500
      ? [
          {
            what: 'resident, MB',
            is: part(
              samples.map(({ rss }) => rss),
              0.5,
            ),
            most: 160,
          },
        ]
      : []),
  ]
}

const mapped = (figures: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [name, Math.round(value * 10) / 10]),
  )

const folder = mkdtempSync(join(tmpdir(), 'idv-load-'))
try {
  const file = join(folder, 'inbox.db')
  const { child, port } = await startServer(file)
  const disk = watchDisk(join(folder, 'plain'))
  await drive(port)
  await disk.terminate()
  // Every kept entry is handled, on a busy machine after a while.
  const end = performance.now() + 120_000
  const accepted = acks.filter(isAccepted).length
  while (performance.now() < end && (samples.at(-1)?.handled ?? 0) < accepted) {
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  await stopServer(child)
  const bounds = report(storedIn(file))
  for (const { what, is, most } of bounds) {
    console.log(
      `${is <= most ? 'ok  ' : 'MISS'} ${what}: ${Math.round(is * 10) / 10} (at most ${most})`,
    )
  }
  const others = acks.filter((ack) => ack.at > 0 && !isInStall(ack)).map(({ took }) => took)
  const early = acks.filter(({ at }) => at <= 0).map(({ took }) => took)
  const slowest = Math.round(Math.max(0, ...stalls.map(({ took }) => took)))
  console.log(
    `warming up: p99.9 ${part(early, 0.999).toFixed(1)} ms of ${early.length} deliveries, all of them kept and handled`,
  )
  console.log(
    `outside of stalls p99.9 ${part(others, 0.999).toFixed(1)} ms; stalls of the disk: ${stalls.length}, the longest ${slowest} ms`,
  )
  console.log(
    `${acks.length} deliveries at ${rate}/s; load of the machine ${loadavg()
      .map((one) => one.toFixed(1))
      .join(' ')}`,
  )
  process.exitCode = bounds.every(({ is, most }) => is <= most) ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
