// Judges what a campaign left behind: what was acknowledged, what handlers did, what was committed.

/** One line of a process. */
export interface Line {
  readonly at: number
  readonly what: 'start' | 'end'
  readonly id: string
  readonly entity: string
  /**
   * Every process that held the entry counts, also a process that ended before its handler began.
   */
  readonly attempt: number
  readonly name: string
  readonly pid: number
}

/** A process stopped doing anything: it was killed, or stopped for longer than its leases hold. */
export interface Stop {
  readonly at: number
  readonly pid: number
}

/** A stretch of time. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The observed events. */
export interface Evidence {
  /** Acknowledged events of each entity, in their order. */
  readonly acked: ReadonlyMap<string, readonly string[]>
  readonly lines: readonly Line[]
  readonly stops: readonly Stop[]
  /** When the server did not answer. */
  readonly outages: readonly Span[]
  /** Committed effects, in the order of their commits within an entity. */
  readonly effects: readonly { readonly event: string; readonly entity: string }[]
  /** The number of entries, and of the ids of events that they were kept under. */
  readonly entries: number
  readonly keys: number
}

/** Numbers that must be zero, and how long the slowest recoveries took, in milliseconds. */
export interface Verdict {
  readonly acked: number
  readonly lost: number
  readonly storedTwice: number
  readonly effectsTwice: number
  readonly overlaps: number
  readonly inversions: number
  /** From the end of a process to the next run of what it had in hand, outages included. */
  readonly slowestRecovery: number
  /**
   * The wait without the outages, which the promise excludes, and without the times of the
   * processes that ended while they held the entry.
   */
  readonly slowestBesideOutages: number
  readonly recoveries: number
  /** From the server's return to the next run of any handler. */
  readonly slowestReturn: number
}

interface Run {
  readonly id: string
  readonly entity: string
  readonly attempt: number
  readonly pid: number
  readonly from: number
  to: number
  wasStopped: boolean
}

export function judge(evidence: Evidence): Verdict {
  const { acked, effects, entries, keys } = evidence
  const all = [...acked.values()].flat()
  const counts = new Map<string, number>()
  for (const { event } of effects) counts.set(event, (counts.get(event) ?? 0) + 1)
  const runs = runsOf(evidence)
  const recoveries = recoveriesOf(runs)
  const besideOutages = recoveries.map(
    (one) => (lengthOf(one) - outageWithin(one, evidence.outages)) / one.ends,
  )
  return {
    acked: all.length,
    lost: all.filter((id) => !counts.has(id)).length,
    storedTwice: entries - keys,
    effectsTwice: [...counts.values()].filter((count) => count > 1).length,
    overlaps: overlaps(runs),
    inversions: [...acked].reduce(
      (sum, [entity, ids]) => sum + inversions(entity, ids, effects),
      0,
    ),
    slowestRecovery: Math.max(0, ...recoveries.map(lengthOf)),
    slowestBesideOutages: Math.max(0, ...besideOutages),
    recoveries: recoveries.length,
    slowestReturn: slowestReturn(evidence),
  }
}

function runsOf({ lines, stops }: Evidence): readonly Run[] {
  const runs: Run[] = []
  const open = new Map<string, Run>()
  for (const { what, id, entity, attempt, pid, at } of lines) {
    const key = `${pid} ${id}`
    if (what === 'end') {
      const run = open.get(key)
      if (run) run.to = at
      open.delete(key)
      continue
    }
    const run = {
      id,
      entity,
      attempt,
      pid,
      from: at,
      to: Number.POSITIVE_INFINITY,
      wasStopped: false,
    }
    open.set(key, run)
    runs.push(run)
  }
  for (const run of runs) {
    const stop = stops.find(({ pid, at }) => pid === run.pid && at >= run.from && at < run.to)
    if (!stop) continue
    run.to = stop.at
    run.wasStopped = true
  }
  return runs
}

function overlaps(runs: readonly Run[]): number {
  const by = Map.groupBy(runs, ({ entity }) => entity)
  let count = 0
  for (const list of by.values()) {
    const sorted = list.toSorted((one, other) => one.from - other.from)
    for (const [at, run] of sorted.entries()) {
      const before = sorted[at - 1]
      if (before && run.from < before.to) count++
    }
  }
  return count
}

function inversions(entity: string, ids: readonly string[], effects: Evidence['effects']): number {
  const place = new Map(ids.map((id, at) => [id, at]))
  const order = effects
    .filter((effect) => effect.entity === entity)
    .flatMap(({ event }) => place.get(event) ?? [])
  return order.filter((at, index) => at < (order[index - 1] ?? -1)).length
}

/** `ends` counts the processes that ended with it in hand. */
interface Recovery extends Span {
  readonly ends: number
}

/**
 * Entries that a process held when it ended, and that were not done: their commit may have been the
 * last.
 */
function recoveriesOf(runs: readonly Run[]): readonly Recovery[] {
  const by = Map.groupBy(runs, ({ id }) => id)
  return runs
    .filter(({ wasStopped }) => wasStopped)
    .flatMap((run) => {
      const next = by.get(run.id)?.find(({ from }) => from > run.to)
      const ends = Math.max(1, (next?.attempt ?? 0) - run.attempt)
      return next ? [{ from: run.to, to: next.from, ends }] : []
    })
}

const lengthOf = ({ from, to }: Span) => to - from

function outageWithin({ from, to }: Span, outages: readonly Span[]): number {
  const within = outages.map((one) => Math.min(to, one.to) - Math.max(from, one.from))
  return within.reduce((sum, time) => sum + Math.max(0, time), 0)
}

function slowestReturn({ lines, outages }: Evidence): number {
  const starts = lines.filter(({ what }) => what === 'start').map(({ at }) => at)
  const times = outages.map(({ to }) => {
    return (starts.find((at) => at >= to) ?? Number.POSITIVE_INFINITY) - to
  })
  return Math.max(0, ...times)
}
