// A primary, and a standby that follows it through a proxy: held back, the standby lags; the
// machine of the primary can go, and the standby is promoted.
import { execFileSync } from 'node:child_process'
import { chownSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { postgres18, runAs } from '../engines.ts'
import { type FaultProxy, startProxy } from '../proxy.ts'
import { type Server, serve, startServer, temporary } from '../server.ts'

export type Query = (sql: string) => Promise<Record<string, unknown>[]>

/** One statement at a server, on a connection of its own. */
export function queries(url: () => string): Query {
  return async (sql) => {
    const client = new pg.Client({ connectionString: url(), connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
}

export class Cluster {
  readonly primary: Server
  /** The server that the standby follows. */
  readonly stream: FaultProxy
  readonly #standby: Server
  readonly #ends: (() => unknown)[]

  private constructor(
    servers: { primary: Server; standby: Server; stream: FaultProxy },
    ends: (() => unknown)[],
  ) {
    this.primary = servers.primary
    this.#standby = servers.standby
    this.stream = servers.stream
    this.#ends = ends
  }

  static async start(isSynchronous: boolean): Promise<Cluster> {
    const bin = postgres18()
    const ends: (() => unknown)[] = []
    const primary = await startServer(bin, { wal_level: 'replica', wal_keep_size: '512MB' })
    const stream = await startProxy(primary.url, (end) => ends.push(end))
    const query = queries(() => primary.url)
    const folder = temporary('idv-standby-')
    await copy(primary, folder)
    const { port } = new URL(stream.url)
    const standby = await serve(bin, folder, {
      primary_conninfo: `host=127.0.0.1 port=${port} user=postgres`,
    })
    const cluster = new Cluster({ primary, standby, stream }, ends)
    if (isSynchronous) {
      await query("alter system set synchronous_standby_names = '*'")
      await query('select pg_reload_conf()')
    }
    const state = isSynchronous ? 'sync' : 'async'
    const following = `select 1 from pg_stat_replication
      where state = 'streaming' and sync_state = '${state}'`
    for (let left = 100; (await query(following)).length === 0; left--) {
      if (left === 0) throw new Error('the standby does not follow')
      await sleep(100)
    }
    return cluster
  }

  /** The machine of the primary is gone; gives the address of what was promoted. */
  async failOver(): Promise<string> {
    // All its processes at once.
    for (const pid of [this.primary.pid, ...childrenOf(this.primary.pid)]) kill(pid)
    // Bytes that were in the network are lost too.
    this.stream.retarget('postgres://127.0.0.1:1')
    await queries(() => this.#standby.url)('select pg_promote()')
    return this.#standby.url
  }

  async end(): Promise<void> {
    for (const end of this.#ends) await end()
    await this.#standby.end()
    await this.primary.end()
  }
}

/** A copy of the data while the server runs, as `pg_basebackup` makes it. */
async function copy(primary: Server, folder: string): Promise<void> {
  const client = new pg.Client({ connectionString: primary.url })
  await client.connect()
  await client.query("select pg_backup_start('standby', true)")
  const data = join(folder, 'data')
  execFileSync('cp', ['-a', join(primary.folder, 'data'), data], { ...runAs, cwd: folder })
  const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
  await client.end()
  execFileSync('rm', ['-f', join(data, 'postmaster.pid'), join(data, 'postmaster.opts')])
  const files = { backup_label: rows[0].labelfile, 'standby.signal': '' }
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(data, name), text)
    if (runAs.uid !== undefined) chownSync(join(data, name), runAs.uid, runAs.gid ?? 0)
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended with its parent.
  }
}

/** The processes of a process, by /proc. */
function childrenOf(pid: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((one) => {
      try {
        const stat = readFileSync(`/proc/${one}/stat`, 'utf8').replace(/^.*\) /, '')
        return Number(stat.split(' ')[1]) === pid
      } catch {
        return false
      }
    })
}
