// A private server of Postgres in a temporary folder, on a free loopback port.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { pgbouncer, runAs } from './engines.ts'

/** A server that can be stopped, crashed and started again. */
export interface Server {
  readonly url: string
  readonly port: number
  readonly folder: string
  readonly pid: number
  /** `SIGINT` stops it cleanly; `SIGQUIT` as a crash, with recovery at the next start. */
  stop(signal?: NodeJS.Signals): Promise<void>
  start(): Promise<void>
  /** Stops it and removes its folder. */
  end(): Promise<void>
}

/** Settings of `postgresql.conf`. */
export type Settings = Readonly<Record<string, string>>

const defaults: Settings = {
  listen_addresses: '127.0.0.1',
  max_connections: '200',
  shared_buffers: '64MB',
}

export function temporary(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  if (runAs.uid !== undefined) chownSync(folder, runAs.uid, runAs.gid ?? 0)
  return folder
}

/** Makes a cluster and starts it. */
export async function startServer(bin: string, settings: Settings = {}): Promise<Server> {
  const folder = temporary('idv-pg-')
  const data = join(folder, 'data')
  const init = ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-sync']
  execFileSync(join(bin, 'initdb'), [...init, '--locale=C.UTF-8'], {
    ...runAs,
    cwd: folder,
    stdio: 'ignore',
  })
  return serve(bin, folder, settings)
}

/** Starts a server over the data that a folder has. */
export async function serve(bin: string, folder: string, settings: Settings = {}): Promise<Server> {
  const port = await freePort()
  const all = { ...defaults, unix_socket_directories: folder, port: String(port), ...settings }
  const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = [join(bin, 'postgres'), ['-D', join(folder, 'data'), ...args]] as const
  const process_ = new Running(() => spawn(...command, { ...runAs, cwd: folder, stdio: 'ignore' }))
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const start = async () => {
    process_.start()
    await answering(url)
  }
  await start()
  return {
    url,
    port,
    folder,
    get pid() {
      return process_.pid
    },
    start,
    stop: (signal = 'SIGINT') => process_.stop(signal),
    end: async () => {
      await process_.stop('SIGINT')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A PgBouncer in transaction mode before a server. */
export async function startBouncer(server: Pick<Server, 'port'>): Promise<Server> {
  const folder = temporary('idv-bouncer-')
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${server.port} user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 20',
    'max_client_conn = 200',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const bin = pgbouncer()
  if (bin === undefined) throw new Error('there is no pgbouncer here')
  const running = new Running(() =>
    spawn(bin, ['-q', file], { ...runAs, cwd: folder, stdio: 'ignore' }),
  )
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const start = async () => {
    running.start()
    await answering(url)
  }
  await start()
  return {
    url,
    port,
    folder,
    get pid() {
      return running.pid
    },
    start,
    stop: (signal = 'SIGINT') => running.stop(signal),
    end: async () => {
      await running.stop('SIGINT')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A process that ends with this one. */
class Running {
  readonly #spawn: () => ChildProcess
  #child: ChildProcess | undefined
  #kill = () => void this.#child?.kill('SIGKILL')

  constructor(spawning: () => ChildProcess) {
    this.#spawn = spawning
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  start(): void {
    this.#child = this.#spawn()
    process.once('exit', this.#kill)
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    this.#child = undefined
    process.off('exit', this.#kill)
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

async function answering(url: string): Promise<void> {
  for (let left = 300; left > 0; left--) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.end()
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  throw new Error(`no server answers at ${url}`)
}
