// A standby is promoted after the primary's machine is gone: a synchronous one has all that was
// acknowledged, an asynchronous one must lose some, or nothing was tried.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { postgres15, runAs } from '../engines.ts'
import { type Server, serve, startServer, temporary } from '../server.ts'

/** What was acknowledged, and what of it the promoted standby does not have. */
export interface Loss {
  readonly acked: number
  readonly lost: number
}

export interface FailoverReport {
  readonly synchronous: Loss
  readonly asynchronous: Loss
}

/** Nothing without PostgreSQL 15 of Debian, which has `pg_basebackup`. */
export async function runFailover({
  rounds,
  say,
}: {
  readonly rounds: number
  readonly say: (text: string) => void
}): Promise<FailoverReport | undefined> {
  const bin = postgres15()
  if (bin === undefined) {
    say('PostgreSQL 15 of Debian is not installed: the failover is left out')
    return undefined
  }
  const total = async (isSynchronous: boolean) => {
    const sum = { acked: 0, lost: 0 }
    for (let round = 0; round < rounds; round++) {
      const loss = await failOver(bin, isSynchronous)
      sum.acked += loss.acked
      sum.lost += loss.lost
    }
    return sum
  }
  return { synchronous: await total(true), asynchronous: await total(false) }
}

async function failOver(bin: string, isSynchronous: boolean): Promise<Loss> {
  const primary = await startServer(bin, { wal_level: 'replica', max_wal_senders: '5' })
  const folder = temporary('idv-standby-')
  const standby = await standbyOf(bin, primary, folder)
  try {
    const query = queries(primary.url)
    await untilStreaming(query)
    if (isSynchronous) {
      await query("alter system set synchronous_standby_names = '*'")
      await query('select pg_reload_conf()')
      await sleep(300)
    }
    const acked = await keepWhileItLasts(primary, standby, isSynchronous)
    await queries(standby.url)('select pg_promote()')
    const rows = await queries(standby.url)('select id from idv_inbox.entries')
    const there = new Set(rows.map(({ id }) => id))
    return { acked: acked.length, lost: acked.filter((id) => !there.has(id)).length }
  } finally {
    await standby.end()
    await primary.end()
  }
}

async function standbyOf(bin: string, primary: Server, folder: string): Promise<Server> {
  const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres']
  const how = ['-D', join(folder, 'data'), '-R', '-X', 'stream', '-c', 'fast']
  execFileSync(join(bin, 'pg_basebackup'), [...from, ...how], { ...runAs, cwd: folder })
  return serve(bin, folder)
}

/** Keeps entries until the primary is gone; gives those that were acknowledged. */
async function keepWhileItLasts(
  primary: Server,
  standby: Server,
  isSynchronous: boolean,
): Promise<readonly string[]> {
  const pool = new pg.Pool({ connectionString: primary.url, connectionTimeoutMillis: 1_000 })
  const survives = isSynchronous ? 'failover' : 'power-cut'
  const store = postgresStore(fromPg(pool), { survives, timeout: 2_000, listen: false })
  await store.open(() => {})
  const acked: string[] = []
  let made = 0
  const keeping = Array.from({ length: 32 }, async () => {
    for (;;) {
      const id = `entry-${++made}`
      const { storedAt, ...content } = { storedAt: Date.now(), ...payload }
      const entry = { id, lane: `lane-${made % 500}`, key: id, digest: id, storedAt, ...content }
      const isKept = await store.insert(entry).then(
        () => true,
        () => false,
      )
      if (!isKept) return
      acked.push(id)
    }
  })
  await sleep(1_000)
  // Lags behind: a synchronous primary waits for it, an asynchronous one does not.
  const receiver = isSynchronous ? undefined : childOf(standby.pid, 'walreceiver')
  if (receiver !== undefined) process.kill(receiver, 'SIGSTOP')
  await sleep(300)
  // All its processes at once, as when the machine goes.
  for (const pid of [primary.pid, ...childrenOf(primary.pid)]) process.kill(pid, 'SIGKILL')
  if (receiver !== undefined) process.kill(receiver, 'SIGCONT')
  await Promise.all(keeping)
  await store.close()
  await pool.end()
  return acked
}

const payload = {
  source: 'webhook',
  bytes: 2_048,
  metadata: new Uint8Array(300),
  body: new Uint8Array(2_048),
} as const

function queries(url: string) {
  return async (sql: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    const { rows } = await client.query(sql)
    await client.end()
    return rows
  }
}

async function untilStreaming(query: ReturnType<typeof queries>): Promise<void> {
  for (let left = 100; left > 0; left--) {
    const rows = await query("select 1 from pg_stat_replication where state = 'streaming'")
    if (rows.length > 0) return
    await sleep(100)
  }
  throw new Error('the standby does not follow')
}

/** The processes of a process, by /proc. */
function childrenOf(pid: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((one) => {
      try {
        const [, parent] = readFileSync(`/proc/${one}/stat`, 'utf8')
          .replace(/^.*\) /, '')
          .split(' ')
        return Number(parent) === pid
      } catch {
        return false
      }
    })
}

function childOf(pid: number, title: string): number | undefined {
  return childrenOf(pid).find((one) => readFileSync(`/proc/${one}/cmdline`, 'utf8').includes(title))
}
