// Reads what sender, handlers and file wrote down, and says which promise of the inbox they break.
// It knows nothing of how the inbox works.

/** A line of the sender: what it sent, and the answers that it got. */
export interface Sent {
  readonly id: string
  readonly entity: string
  readonly status: number | undefined
}

/** A line of a handler's process, in the order of writing. */
export interface Line {
  readonly type: 'begin' | 'ready' | 'start' | 'end' | 'settled'
  readonly pid: number
  readonly id?: string
  readonly entity?: string
  readonly attempt?: number
  readonly key?: string
  readonly ok?: boolean
  readonly gap?: boolean
}

/** A row of the file, in arrival order. */
export interface Row {
  readonly seq: number
  readonly key: string
  readonly entity: string
  readonly state: string
  readonly tx: boolean
}

export interface History {
  readonly sent: readonly Sent[]
  readonly lines: readonly Line[]
  readonly rows: readonly Row[]
  /** The key of each effect that was committed. */
  readonly effects: readonly string[]
  /** Keys whose lease was lost on purpose: their attempts may overlap. */
  readonly fenced?: ReadonlySet<string>
}

/** Every promise that the history breaks, in words; none is an empty list. */
export function brokenPromises(history: History): string[] {
  return [
    ...acknowledgedIsStored(history),
    ...onceForEachKey(history),
    ...everythingEnds(history),
    ...attemptsDoNotOverlap(history),
    ...entitiesAreInOrder(history),
    ...doneIsOneEffect(history),
    ...attemptsShareTheirKey(history),
  ]
}

const acknowledged = (status: number | undefined) =>
  status !== undefined && status >= 200 && status < 300

function acknowledgedIsStored({ sent, rows }: History): string[] {
  const stored = new Set(rows.map(({ key }) => key))
  return sent
    .filter(({ id, status }) => acknowledged(status) && !stored.has(id))
    .map(({ id }) => `${id} was acknowledged and is not stored`)
}

function onceForEachKey({ rows }: History): string[] {
  const seen = new Set<string>()
  return rows.flatMap(({ key }) => {
    if (seen.has(key)) return [`${key} is stored twice`]
    seen.add(key)
    return []
  })
}

const ends: readonly string[] = ['done', 'dead', 'skipped']

function everythingEnds({ rows }: History): string[] {
  return rows
    .filter(({ state }) => !ends.includes(state))
    .map(({ key, state }) => `${key} is left ${state}`)
}

/** A process that ends ends its attempts; otherwise one attempt of an entity at a time. */
function attemptsDoNotOverlap({ lines, fenced = new Set() }: History): string[] {
  const open = new Map<string, Line>()
  return lines.flatMap((line) => {
    const { type, entity = '', id = '' } = line
    if (type === 'begin') open.clear()
    if (type === 'end') {
      if (open.get(entity)?.id === id) open.delete(entity)
      return []
    }
    if (type !== 'start') return []
    const other = open.get(entity)
    open.set(entity, line)
    if (!other || fenced.has(other.id ?? '')) return []
    return [`${id} started while ${other.id} of the same entity ${entity} was at work`]
  })
}

function entitiesAreInOrder({ lines, rows }: History): string[] {
  const seqs = new Map(rows.map(({ key, seq }) => [key, seq]))
  const last = new Map<string, { readonly seq: number; readonly id: string }>()
  return lines.flatMap(({ type, id = '', entity = '' }) => {
    const seq = seqs.get(id)
    if (type !== 'start' || seq === undefined) return []
    const before = last.get(entity)
    last.set(entity, { seq, id })
    return before && before.seq > seq ? [`${id} started after ${before.id}, which came later`] : []
  })
}

function doneIsOneEffect({ rows, effects }: History): string[] {
  const counts = new Map<string, number>()
  for (const key of effects) counts.set(key, (counts.get(key) ?? 0) + 1)
  return rows
    .filter(({ tx }) => tx)
    .flatMap(({ key, state }) => {
      const count = counts.get(key) ?? 0
      if (state === 'done' && count !== 1) return [`${key} is done with ${count} effects`]
      // A dead letter whose effects handler succeeded before another one failed may have one.
      return count > 1 ? [`${key} is ${state} with ${count} effects`] : []
    })
}

function attemptsShareTheirKey({ lines }: History): string[] {
  const keys = new Map<string, string | undefined>()
  return lines.flatMap(({ type, id = '', key }) => {
    if (type !== 'start') return []
    const first = keys.get(id)
    keys.set(id, first ?? key)
    return first !== undefined && first !== key ? [`${id} has two idempotency keys`] : []
  })
}
