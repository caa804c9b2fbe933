// Compares functions inside one process: every round runs one short slice of each in a random
// order, so what else the machine does falls on all alike. Time is the process's CPU (user and
// system, all threads, garbage collection included); ratios are taken inside a round.
import { readFileSync } from 'node:fs'

/** One thing to measure; what it returns must be true, or the measurement stops. */
export interface Contender {
  readonly name: string
  /** Contenders are held against the limit of their own group. */
  readonly group: string
  readonly run: () => unknown
}

export interface Measured {
  readonly name: string
  readonly group: string
  /** Microseconds of CPU: median, 10th and 90th percentile. */
  readonly cpu: number
  readonly low: number
  readonly high: number
  /** Microseconds of wall time, 10th percentile. */
  readonly wall: number
  /** Times of the group's contenders over this one's, by their names: above 1 is faster. */
  readonly faster: Readonly<Record<string, number>>
}

export interface Effort {
  readonly rounds: number
  readonly sliceMs: number
  readonly warmMs: number
}

export const thorough: Effort = { rounds: 81, sliceMs: 8, warmMs: 250 }
export const quick: Effort = { rounds: 15, sliceMs: 6, warmMs: 120 }

interface Lane {
  readonly contender: Contender
  readonly loop: Loop
  readonly times: number
  readonly cpu: number[]
  readonly wall: number[]
}

type Loop = (run: () => unknown, times: number) => Slice | Promise<Slice>
interface Slice {
  readonly cpu: number
  readonly wall: number
}

export async function compare(
  contenders: readonly Contender[],
  effort: Effort = thorough,
): Promise<Measured[]> {
  const lanes: Lane[] = []
  for (const contender of contenders) lanes.push(await warmed(contender, effort))
  let thrownAway = 0
  for (let round = 0; round < effort.rounds; round++) {
    const before = stolen()
    for (const lane of shuffled(lanes)) {
      const { cpu, wall } = await lane.loop(lane.contender.run, lane.times)
      lane.cpu.push(cpu / lane.times)
      lane.wall.push(wall / lane.times)
    }
    if (stolenPart(before, stolen()) > 0.03 && thrownAway++ < effort.rounds) {
      round--
      for (const lane of lanes) {
        lane.cpu.pop()
        lane.wall.pop()
      }
    }
  }
  return lanes.map((lane) => measured(lane, lanes))
}

/** Runs a contender until its speed is known and its code is compiled. */
async function warmed(contender: Contender, { sliceMs, warmMs }: Effort): Promise<Lane> {
  const first = contender.run()
  const answer = first instanceof Promise ? await first : first
  if (!answer) throw new Error(`${contender.name} returned ${String(answer)}`)
  const loop: Loop = first instanceof Promise ? loopAsync : loopSync
  const end = performance.now() + warmMs
  let times = 1
  let slice = await loop(contender.run, times)
  while (performance.now() < end || slice.cpu < 1_000) {
    if (slice.cpu < sliceMs * 500) times *= 2
    slice = await loop(contender.run, times)
  }
  const wanted = Math.max(1, Math.round((times * sliceMs * 1_000) / slice.cpu))
  return { contender, loop, times: wanted, cpu: [], wall: [] }
}

function loopSync(run: () => unknown, times: number): Slice {
  const wall = performance.now()
  const cpu = process.cpuUsage()
  for (let at = 0; at < times; at++) run()
  return since(cpu, wall)
}

async function loopAsync(run: () => unknown, times: number): Promise<Slice> {
  const wall = performance.now()
  const cpu = process.cpuUsage()
  for (let at = 0; at < times; at++) await run()
  return since(cpu, wall)
}

function since(cpu: NodeJS.CpuUsage, wall: number): Slice {
  const { user, system } = process.cpuUsage(cpu)
  return { cpu: user + system, wall: (performance.now() - wall) * 1_000 }
}

function measured({ contender, cpu, wall }: Lane, lanes: readonly Lane[]): Measured {
  const { name, group } = contender
  const peers = lanes.filter((lane) => lane.contender.group === group)
  const faster = peers.map((peer) => {
    const ratios = cpu.map((time, round) => (peer.cpu[round] ?? Number.NaN) / time)
    return [peer.contender.name, median(ratios)] as const
  })
  return {
    name,
    group,
    cpu: median(cpu),
    low: quantile(cpu, 0.1),
    high: quantile(cpu, 0.9),
    wall: quantile(wall, 0.1),
    faster: Object.fromEntries(faster),
  }
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((one, two) => one - two)
  return sorted[Math.round(part * (sorted.length - 1))] ?? Number.NaN
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => [Math.random(), item] as const)
    .sort(([one], [two]) => one - two)
    .map(([, item]) => item)
}

/** Ticks that the hypervisor gave to other machines, and all ticks; Linux tells. */
function stolen(): readonly [stolen: number, all: number] {
  try {
    const line = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? ''
    const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number)
    return [ticks[7] ?? 0, ticks.reduce((sum, one) => sum + one, 0)]
  } catch {
    return [0, 1]
  }
}

function stolenPart(before: readonly [number, number], after: readonly [number, number]): number {
  return (after[0] - before[0]) / (after[1] - before[1] || 1)
}
