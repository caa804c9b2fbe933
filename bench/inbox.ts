// What an acknowledged event costs, in one run on one machine: beside a commit for each row, and
// beside the same receiver that does not sync. Bodies of 2 KB; sender and receiver share the cores.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { claimCost, drainRate } from './inbox/drain.ts'
import { type Loaded, load, requests } from './inbox/load.ts'

const rounds = Number(process.env.ROUNDS ?? 3)
const seconds = Number(process.env.SECONDS ?? 4)
const parent = process.env.BENCH_DIR ?? tmpdir()

interface Measured extends Loaded {
  readonly megabytes: number
}

async function measure(
  mode: string,
  options: {
    readonly count: number
    readonly rate?: number
    readonly connections?: number
    readonly work?: boolean
  },
): Promise<Measured> {
  const { count, rate, connections = 64, work } = options
  const folder = mkdtempSync(join(parent, 'idv-bench-'))
  const script = join(import.meta.dirname, 'inbox/receiver.ts')
  const args = [script, mode, join(folder, 'inbox.db'), ...(work ? ['work'] : [])]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  const [port] = await once(lines, 'line')
  await load({ port: Number(port), requests: requests(500, { from: 1e7 }), connections: 16 })
  const made = requests(count)
  const result = await load({
    port: Number(port),
    requests: made,
    connections,
    ...(rate === undefined ? { seconds } : { rate }),
  })
  const [megabytes] = await Promise.all([once(lines, 'line'), child.kill('SIGTERM')])
  await once(child, 'exit').catch(() => {})
  rmSync(folder, { recursive: true })
  return { ...result, megabytes: Number(megabytes[0]) }
}

const median = (values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

console.log(`closed loop, 64 connections, median of ${rounds} rounds`)
const rates: Record<string, number[]> = { row: [], full: [], unsafe: [] }
for (let round = 0; round < rounds; round++) {
  for (const mode of Object.keys(rates)) {
    rates[mode]?.push((await measure(mode, { count: 30_000 })).perSecond)
  }
}
const [row, full, unsafe] = ['row', 'full', 'unsafe'].map((mode) => median(rates[mode] ?? []))
const ratio = (one = 0, other = 1) => (one / other).toFixed(2)
console.log(`  a commit for each row, synced    ${row}/s`)
console.log(`  the inbox                        ${full}/s   ${ratio(full, row)} times that`)
console.log(
  `  the inbox without a sync         ${unsafe}/s   the inbox has ${ratio(full, unsafe)} of it`,
)

const steady = await measure('full', { count: 500 * seconds, rate: 500, work: true })
console.log(
  `open loop, 500/s, handlers at work: p50 ${steady.p50.toFixed(1)} ms, p99 ${steady.p99.toFixed(1)} ms, ${JSON.stringify(steady.statuses)}, ${steady.megabytes} MB`,
)
const over = await measure('full', { count: 15_000, rate: 3_000, connections: 512 })
console.log(
  `overload, 3,000/s for 5 s: ${JSON.stringify(over.statuses)}, p99 ${over.p99.toFixed(0)} ms, ${over.megabytes} MB`,
)

console.log(`drain of no-ops, 500 entities: ${await drainRate(parent, 20_000)}/s`)
const [small, large] = [await claimCost(parent, 1_000), await claimCost(parent, 1_000_000)]
console.log(
  `a claim with a backlog of 1,000: ${small.toFixed(3)} ms, of 1,000,000: ${large.toFixed(3)} ms, ${ratio(large, small)} times`,
)
