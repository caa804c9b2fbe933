// Starts an attacked server, sends it genuine deliveries and asks it for its figures.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { sign } from 'idv-webhooks'
import { exchange } from './exchange.ts'
import type { Stats } from './loop-watch.ts'
import { schemeOf, secret } from './receiver.ts'

const here = import.meta.dirname
const app = join(here, 'next')
const nextCommand = join(here, '../../node_modules/next/dist/bin/next')

export const frameworks = ['node', 'express 4', 'express 5', 'fastify', 'hono', 'next'] as const
export type Framework = (typeof frameworks)[number]

export interface TargetOptions {
  readonly scheme?: 'service' | 'timestamped'
  /** Milliseconds that a body may take, where it is not the default. */
  readonly bodyTimeout?: number
}

export class Target {
  readonly port: number
  readonly scheme: TargetOptions['scheme']
  readonly #child: ChildProcess
  readonly #stats: string
  #sent = 0

  constructor(child: ChildProcess, ports: { port: number; stats: number }, scheme = 'service') {
    this.#child = child
    this.port = ports.port
    this.scheme = scheme as TargetOptions['scheme']
    this.#stats = `http://127.0.0.1:${ports.stats}`
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/webhooks`
  }

  async stats(): Promise<Stats> {
    return JSON.parse((await exchange(this.#stats)).text) as Stats
  }

  async forgetStall(): Promise<void> {
    await exchange(this.#stats, { method: 'DELETE' })
  }

  /** Sends a genuine delivery; its status and how many milliseconds the answer took. */
  async deliver(): Promise<{ status: number; took: number }> {
    const id = `evt_${process.pid}_${this.#sent++}`
    const data = { id: `ver_${this.#sent}`, status: 'approved' }
    const body = JSON.stringify({ id, event: 'verification.approved', data })
    const bytes = new TextEncoder().encode(body)
    const scheme = schemeOf(this.scheme)
    const headers = {
      'content-type': 'application/json',
      ...(await sign(bytes, { secret, scheme })),
    }
    return exchange(this.url, { method: 'POST', headers, body, most: 30_000 })
  }

  /** Resolves when the process has nothing more to do: it used under a tenth of a core. */
  async idle(): Promise<void> {
    let before = await this.stats()
    for (let waited = 0; waited < 30_000; waited += 200) {
      await new Promise((resolve) => setTimeout(resolve, 200))
      const after = await this.stats()
      if (after.cpu - before.cpu < 20) return
      before = after
    }
    throw new Error('the server was busy for 30 seconds')
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exit
  }
}

/** Starts a server and warms it up with genuine deliveries, so that code is loaded and compiled. */
export async function startTarget(framework: Framework, options: TargetOptions = {}) {
  const { scheme = 'service', bodyTimeout } = options
  const env = {
    ...process.env,
    SCHEME: scheme,
    NEXT_TELEMETRY_DISABLED: '1',
    ...(bodyTimeout !== undefined && { BODY_TIMEOUT: String(bodyTimeout) }),
  }
  const target = await (framework === 'next' ? startNext(env) : startOwn(framework, env))
  for (let at = 0; at < 30; at++) {
    const { status } = await target.deliver()
    if (status !== 200) throw new Error(`${framework} answered ${status} to a genuine delivery`)
  }
  await target.idle()
  await target.forgetStall()
  return target
}

async function startOwn(framework: Framework, env: NodeJS.ProcessEnv): Promise<Target> {
  const child = spawn(process.execPath, [join(here, 'server.ts'), framework], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [said] = await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => {
      throw new Error(`${framework} did not start`)
    }),
  ])
  return new Target(child, JSON.parse(String(said)), env.SCHEME)
}

/** Next.js is built once for a run. */
let isBuilt = false

async function startNext(env: NodeJS.ProcessEnv): Promise<Target> {
  if (!isBuilt) execFileSync(process.execPath, [nextCommand, 'build', app], { env, stdio: 'pipe' })
  isBuilt = true
  const [port, stats] = [await freePort(), await freePort()]
  const flags = ['start', app, '--hostname', '127.0.0.1', '--port', String(port)]
  const child = spawn(process.execPath, [nextCommand, ...flags], {
    env: { ...env, STATS_PORT: String(stats) },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let said = ''
  for await (const chunk of child.stdout) {
    said += chunk
    if (/ready/i.test(said)) break
  }
  // Later log lines must not fill the pipe.
  child.stdout.resume()
  return new Target(child, { port, stats }, env.SCHEME)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
