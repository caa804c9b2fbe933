// Drives a receiver over HTTP: closed loop (as many as so many connections carry) or open loop (so
// many a second, latency counted from when each was due).
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const secret = 'a-secret-for-the-bench'
const padding = 'x'.repeat(1_850)

export interface LoadReport {
  readonly sent: number
  readonly perSecond: number
  readonly statuses: Readonly<Record<number, number>>
  /** Acked events that are not in the file. */
  readonly lost: number
  readonly p50: number
  readonly p99: number
  readonly rssMb: number
}

export interface Load {
  readonly mode: 'inbox' | 'unsafe' | 'rows'
  readonly seconds: number
  readonly connections: number
  /** A second; closed loop where it is missing. */
  readonly rate?: number
  readonly worker?: boolean
  /** Microseconds by which each sync of the disk is slowed down. */
  readonly slower?: number
}

/** The disk that can be slowed down: Linux and a C compiler are needed for it. */
export function buildDisk(folder: string): string | undefined {
  const library = join(folder, 'disk.so')
  const source = join(import.meta.dirname, '../test/faults/disk.c')
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
    return process.platform === 'linux' ? library : undefined
  } catch {
    return undefined
  }
}

const disk = buildDisk(mkdtempSync(join(tmpdir(), 'idv-bench-disk-')))

interface Prepared {
  readonly body: Buffer
  readonly signature: string
}

function prepare(count: number): Prepared[] {
  return Array.from({ length: count }, (_, at) => {
    const data = { id: `ver_${at % 997}`, status: 'approved', subjectName: padding }
    const body = Buffer.from(
      JSON.stringify({ id: `evt_${at}`, event: 'verification.approved', data }),
    )
    return { body, signature: createHmac('sha256', secret).update(body).digest('hex') }
  })
}

export async function measure(load: Load): Promise<LoadReport> {
  const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'idv-bench-'))
  const file = join(folder, 'inbox.db')
  const env = {
    ...process.env,
    MODE: load.mode,
    DB: file,
    SECRET: secret,
    ...(load.slower &&
      disk && { LD_PRELOAD: disk, DISK_LIVE: folder, DISK_DELAY: String(load.slower) }),
    ...(load.worker && { WORKER: '1' }),
  }
  const server = spawn(process.execPath, [join(import.meta.dirname, 'server.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    return await drive(server, file, load)
  } finally {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

async function drive(server: ChildProcess, file: string, load: Load): Promise<LoadReport> {
  const port = Number(/port (\d+)/.exec(String(await once(server.stdout as never, 'data')))?.[1])
  const most = load.rate ? load.rate * load.seconds : load.seconds * 8_000
  const prepared = prepare(most)
  const agent = new Agent({ keepAlive: true, maxSockets: load.connections })
  const latencies: number[] = []
  const statuses: Record<number, number> = {}
  const send = async (at: number, due: number) => {
    const { body, signature } = prepared[at] as Prepared
    const status = await post({ port, agent, body, signature })
    latencies.push(performance.now() - due)
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  const start = performance.now()
  const sent = await (load.rate ? open(load, send) : closed(load, send, most))
  const seconds = (performance.now() - start) / 1000
  agent.destroy()
  server.kill('SIGTERM')
  const [told] = (await once(server.stdout as never, 'data')) as [Buffer]
  await once(server, 'exit')
  const sorted = latencies.sort((one, two) => one - two)
  const at = (part: number) => Math.round((sorted[Math.floor(sorted.length * part)] ?? 0) * 10) / 10
  const acked = (statuses[202] ?? 0) + (statuses[200] ?? 0)
  return {
    sent,
    perSecond: Math.round(acked / seconds),
    statuses,
    lost: acked - stored(file),
    p50: at(0.5),
    p99: at(0.99),
    rssMb: Math.round(Number(/rss (\d+)/.exec(String(told))?.[1]) / 1e6),
  }
}

type Send = (at: number, due: number) => Promise<void>

async function closed({ seconds, connections }: Load, send: Send, most: number): Promise<number> {
  const end = performance.now() + seconds * 1000
  let next = 0
  const connection = async () => {
    while (performance.now() < end && next < most) await send(next++, performance.now())
  }
  await Promise.all(Array.from({ length: connections }, connection))
  return next
}

async function open({ seconds, rate = 1 }: Load, send: Send): Promise<number> {
  const start = performance.now()
  const all: Promise<void>[] = []
  while (all.length < rate * seconds) {
    const due = start + (all.length * 1000) / rate
    const wait = due - performance.now()
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait))
    else if (all.length % 32 === 0) await new Promise(setImmediate)
    all.push(send(all.length, due))
  }
  await Promise.all(all)
  return all.length
}

interface Post extends Prepared {
  readonly port: number
  readonly agent: Agent
}

function post({ port, agent, body, signature }: Post): Promise<number> {
  return new Promise((resolve) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      'x-service-signature': signature,
    }
    const sent = request({ port, agent, host: '127.0.0.1', method: 'POST', headers }, (reply) => {
      reply.resume()
      reply.on('end', () => resolve(reply.statusCode ?? 0))
    })
    sent.on('error', () => resolve(0))
    sent.end(body)
  })
}

function stored(file: string): number {
  const db = new DatabaseSync(file, { readOnly: true })
  const { n } = db.prepare('select count(*) as n from idv_entries').get() as { n: number }
  db.close()
  return n
}
