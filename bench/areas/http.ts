// Real servers on loopback, each in a process of its own, driven from this one: bursts in turns, so
// that a ratio compares bursts a moment apart. The figure is the server's CPU for one request.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { autocannon } from '../autocannon.ts'
import { median } from '../compare.ts'
import { requestHeaders } from '../deliveries.ts'
import type { Area, Section } from '../section.ts'
import { type Framework, frameworks, loadRoute } from '../servers/load.ts'
import { path, ways } from '../servers/route.ts'
import { sampleOf } from './process.ts'

const here = join(import.meta.dirname, '..')
const app = join(here, 'next-app')
const next = join(here, '../node_modules/next/dist/bin/next')

interface Server {
  readonly framework: string
  readonly way: string
  readonly url: string
  readonly child: ChildProcess
}

interface Burst {
  readonly perSecond: number
  /** Microseconds of the server's CPU for one request. */
  readonly cpu: number
  readonly p99: number
}

async function startOwn(framework: string, way: string): Promise<Server> {
  const child = spawn(process.execPath, [join(here, 'http-server.ts'), framework, way], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = await once(child.stdout, 'data')
  const port = /port (\d+)/.exec(String(said))?.[1]
  return { framework, way, child, url: `http://127.0.0.1:${port}${path}` }
}

async function startNext(): Promise<Server[]> {
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' }
  execFileSync(process.execPath, [next, 'build', app], { stdio: ['ignore', 2, 2], env })
  const flags = ['start', app, '--hostname', '127.0.0.1', '--port', '0']
  const child = spawn(process.execPath, [next, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  })
  let said = ''
  for await (const chunk of child.stdout) {
    said += chunk
    if (/:\d+[\s\S]*ready/i.test(said)) break
  }
  const port = /127\.0\.0\.1:(\d+)/.exec(said)?.[1]
  const places: Readonly<Record<string, string>> = {
    '@octokit/webhooks': 'octokit',
    'hand-written, same promises': 'promised',
  }
  return ways.map((way) => ({
    framework: 'next',
    way,
    child,
    url: `http://127.0.0.1:${port}/${places[way] ?? way}`,
  }))
}

/** Milliseconds of CPU that a process and its threads have used, from Linux. */
function cpuOf({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const sample = sampleOf('2K')
// The load generator writes the other two itself.
const { host, 'content-length': length, ...headers } = requestHeaders(sample.body, sample.signature)

async function burst({ url, child, framework, way }: Server, amount: number): Promise<Burst> {
  const before = cpuOf(child)
  const start = performance.now()
  const connections = 50
  const result = await autocannon({
    url,
    method: 'POST',
    headers,
    body: sample.body,
    connections,
    amount,
  })
  const seconds = (performance.now() - start) / 1000
  if (result['2xx'] !== amount) {
    throw new Error(`${framework} ${way}: ${result['2xx']} of ${amount} answered 2xx`)
  }
  const cpu = ((cpuOf(child) - before) * 1000) / amount
  return { perSecond: amount / seconds, cpu, p99: result.latency.p99 }
}

async function compared(servers: readonly Server[], isQuick: boolean): Promise<Section> {
  const amount = isQuick ? 1_000 : 3_000
  const rounds = isQuick ? 3 : 11
  const bursts = servers.map(() => [] as Burst[])
  for (const server of servers) await burst(server, amount)
  for (let round = 0; round < rounds; round++) {
    for (const [at, server] of servers.entries()) bursts[at]?.push(await burst(server, amount))
  }
  const ratio = (to: string, at: number) => {
    const other = bursts[servers.findIndex(({ way }) => way === to)]
    const own = bursts[at] ?? []
    return other && median(own.map(({ cpu }, round) => (other[round]?.cpu ?? 0) / cpu))
  }
  const framework = servers[0]?.framework ?? ''
  return {
    id: `http-${framework}`,
    title: `Real requests, ${framework}, 2K, 50 connections`,
    columns: [
      { key: 'cpu', label: "server's CPU, µs", unit: 'us' },
      { key: 'perSecond', label: 'requests a second', unit: 'count' },
      { key: 'p99', label: 'p99, ms', unit: 'ms' },
      { key: 'bare', label: 'of the bare route', unit: 'ratio', agree: 0.1 },
      { key: 'hand', label: 'of the hand-written', unit: 'ratio', agree: 0.1 },
      { key: 'promised', label: 'of that with the same promises', unit: 'ratio', agree: 0.1 },
    ],
    chart: 'bare',
    rows: servers.map(({ way }, at) => {
      const own = bursts[at] ?? []
      const of = (key: keyof Burst) => median(own.map((one) => one[key]))
      const values = { cpu: of('cpu'), perSecond: of('perSecond'), p99: of('p99') }
      return {
        name: way,
        ours: way === 'idv-webhooks',
        values: {
          ...values,
          bare: ratio('bare', at),
          hand: ratio('hand-written', at),
          promised: ratio('hand-written, same promises', at),
        },
      }
    }),
  }
}

async function measureFramework(framework: string, isQuick: boolean): Promise<Section> {
  const servers: Server[] = []
  try {
    if (framework === 'next') servers.push(...(await startNext()))
    else {
      const makeRoute = await loadRoute(framework === 'srvx' ? 'fetch' : (framework as Framework))
      for (const way of ways) {
        if (await makeRoute(way, sample)) servers.push(await startOwn(framework, way))
      }
    }
    return await compared(servers, isQuick)
  } finally {
    for (const { child } of servers) child.kill('SIGKILL')
    rmSync(join(app, '.next'), { recursive: true, force: true })
  }
}

export const area: Area = {
  name: 'http',
  published: [
    { name: 'servers', sections: /^http-/, rows: /^idv-webhooks$/, columns: ['promised', 'hand'] },
  ],
  runs: 2,
  async measure({ quick: isQuick, only: wanted = [...frameworks, 'srvx', 'next'] }) {
    const sections = []
    for (const framework of wanted) {
      sections.push(await measureFramework(framework, isQuick))
    }
    return sections
  },
}
