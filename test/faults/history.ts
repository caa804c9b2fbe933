// Judges a history: what the sender sent and heard, what was committed, what handlers did, and the
// rows that are left. Each promise of the inbox is a check over all of it.

/** One line of a history; `at` is the machine's monotonic clock in milliseconds. */
export type Happening = { readonly at: number } & (
  | { readonly type: 'boot' }
  /** One run lost its right; what it does afterwards counts for nothing. */
  | { readonly type: 'fenced'; readonly key: string; readonly attempt: number }
  | { readonly type: 'exit'; readonly begun: number; readonly answered: number }
  | { readonly type: 'answered'; readonly key: string; readonly status: number }
  | { readonly type: 'commit'; readonly ids: readonly string[] }
  | {
      readonly type: 'start'
      readonly key: string
      readonly entity: string
      readonly attempt: number
    }
  | {
      readonly type: 'end'
      readonly key: string
      readonly entity: string
      readonly attempt: number
      readonly ok: boolean
    }
)

/** An entry as it is left in the file. */
export interface LeftRow {
  readonly id: string
  readonly seq: number
  readonly key: string
  readonly state: string
  readonly reason: string | null
}

export interface History {
  readonly happenings: readonly Happening[]
  readonly rows: readonly LeftRow[]
  /** The keys of committed effects, one for each. */
  readonly effects: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}

/** Every promise that the history breaks, in words; none is good. */
export function judge(history: History): string[] {
  return [
    ...ackedIsStored(history),
    ...oneRowForEachKey(history),
    ...everythingEnds(history),
    ...answeredAfterCommit(history),
    ...noOverlap(history),
    ...startsInOrder(history),
    ...doneHasOneEffect(history),
    ...countsAreRows(history),
  ]
}

const isTaken = (status: number) => status >= 200 && status < 300
const isEnd = (state: string) => state === 'done' || state === 'dead' || state === 'skipped'

function ackedIsStored({ happenings, rows }: History): string[] {
  const stored = new Set(rows.map(({ key }) => key))
  const acked = happenings.flatMap((one) =>
    one.type === 'answered' && isTaken(one.status) ? [one.key] : [],
  )
  const lost = [...new Set(acked)].filter((key) => !stored.has(key))
  return lost.map((key) => `${key} was answered 2xx and is not stored`)
}

function oneRowForEachKey({ rows }: History): string[] {
  const counts = new Map<string, number>()
  for (const { key, reason } of rows) {
    if (reason !== 'CONFLICT') counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts].flatMap(([key, count]) =>
    count > 1 ? [`${key} is stored ${count} times`] : [],
  )
}

function everythingEnds({ rows }: History): string[] {
  return rows.flatMap(({ key, state }) => (isEnd(state) ? [] : [`${key} is left ${state}`]))
}

/** A row that outlived a crash was committed before the process that found it began. */
function answeredAfterCommit({ happenings, rows }: History): string[] {
  const ids = new Map(rows.map(({ id, key }) => [id, key]))
  const committed = new Map<string, number>()
  for (const one of happenings) {
    if (one.type !== 'commit') continue
    for (const id of one.ids) {
      const key = ids.get(id)
      if (key !== undefined && !committed.has(key)) committed.set(key, one.at)
    }
  }
  const boots = happenings.flatMap(({ type, at }) => (type === 'boot' ? [at] : []))
  const first = boots[0] ?? 0
  return happenings.flatMap((one) => {
    if (one.type !== 'answered' || !isTaken(one.status)) return []
    const survived = boots.filter((at) => at > first && at <= one.at).length > 0
    const at = committed.get(one.key) ?? (survived ? first : Number.POSITIVE_INFINITY)
    return at <= one.at ? [] : [`${one.key} was answered 2xx before its commit`]
  })
}

interface Run {
  readonly key: string
  readonly entity: string
  readonly attempt: number
  readonly start: number
  readonly end: number
}

/** A run ends by itself, when it is fenced off, or with its process. */
function runsOf({ happenings }: History): Run[] {
  return happenings.flatMap((one, at) => {
    if (one.type !== 'start') return []
    const { key, entity, attempt } = one
    const end = happenings.slice(at + 1).find((later) => {
      if (later.type === 'boot') return true
      const isEnd = later.type === 'end' || later.type === 'fenced'
      return isEnd && later.key === key && later.attempt === attempt
    })
    return [{ key, entity, attempt, start: one.at, end: end?.at ?? Number.POSITIVE_INFINITY }]
  })
}

function noOverlap(history: History): string[] {
  const broken: string[] = []
  const last = new Map<string, Run>()
  for (const run of runsOf(history)) {
    const before = last.get(run.entity)
    if (before && before.end > run.start) {
      broken.push(
        `${run.key} (${run.attempt}) began before ${before.key} (${before.attempt}) ended`,
      )
    }
    if (!before || run.end > before.end) last.set(run.entity, run)
  }
  return broken
}

function startsInOrder(history: History): string[] {
  const seqs = new Map(history.rows.map(({ key, seq }) => [key, seq]))
  const latest = new Map<string, number>()
  return runsOf(history).flatMap(({ key, entity }) => {
    const seq = seqs.get(key) ?? 0
    const before = latest.get(entity) ?? 0
    latest.set(entity, Math.max(seq, before))
    return seq < before ? [`${key} began after a later arrival of ${entity}`] : []
  })
}

function doneHasOneEffect({ rows, effects }: History): string[] {
  const counts = new Map<string, number>()
  for (const key of effects) counts.set(key, (counts.get(key) ?? 0) + 1)
  const own = rows.filter(({ reason }) => reason !== 'CONFLICT')
  return own.flatMap(({ key, state }) => {
    const count = counts.get(key) ?? 0
    const right = state === 'done' ? 1 : 0
    return count === right ? [] : [`${key} is ${state} and has ${count} effects`]
  })
}

function countsAreRows({ rows, counts }: History): string[] {
  return Object.entries(counts).flatMap(([state, count]) => {
    const there = rows.filter((row) => row.state === state).length
    return there === count ? [] : [`${count} entries are counted ${state}, and ${there} are there`]
  })
}
