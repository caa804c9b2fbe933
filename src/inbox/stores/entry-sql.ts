// The statements about entries that both SQL engines have, and their rows as the port has them.
import { isBytes } from '../../foundation/bytes.ts'
import type { StoredEntry, StoredLatency, StoreQuery } from '../admin-store.ts'
import { entryStates } from '../entry.ts'

export interface SqlDialect {
  /** Stands before the name of a table. */
  readonly prefix: string
  /** A text as the engine can store it. */
  readonly storable?: (text: string) => string
  /** The latest parameter: `at` is its place, from 1. */
  parameter(at: number, type: 'text' | 'bigint'): string
  list(parameter: string): string
  holds(text: string, part: string): string
  ending(length: number): string
  readonly failures: string
  readonly handlers: string
}

type SqlRow = Readonly<Record<string, unknown>>

/** The values of a statement, in the order of its text. */
export class SqlValues {
  readonly all: (string | number)[] = []
  readonly #dialect: SqlDialect

  constructor(dialect: SqlDialect) {
    this.#dialect = dialect
  }

  /** Adds a value and gives its parameter with a type, because drivers guess types differently. */
  add(value: string | number): string {
    const { storable } = this.#dialect
    this.all.push(storable && typeof value === 'string' ? storable(value) : value)
    return this.#dialect.parameter(this.all.length, typeof value === 'string' ? 'text' : 'bigint')
  }

  list(values: readonly string[]): string {
    return `(${this.#dialect.list(this.add(JSON.stringify(values.map(this.#dialect.storable ?? String))))})`
  }
}

/** Matches a lane or key exactly or with any tenant: `<name>.…` ends before `<name>/`. */
export function meant(column: string, name: string, values: SqlValues): string {
  const [same, from, to] = [name, `${name}.`, `${name}/`].map((one) => values.add(one))
  return `(${column} = ${same} or (${column} > ${from} and ${column} < ${to}))`
}

export function about(lane: string, values: SqlValues, of = 'e'): string {
  const [own, related] = ['lane', 'related'].map((name) => meant(`${of}.${name}`, lane, values))
  return `(${own} or ${related})`
}

export function findSql(query: StoreQuery, dialect: SqlDialect) {
  const values = new SqlValues(dialect)
  const { prefix, failures, handlers } = dialect
  const parts = conditions(query, values, dialect)
  const where = parts.length > 0 ? `where ${parts.join(' and ')}` : ''
  // A forgotten payload is not shown while it waits for the page of `forget` that erases it.
  const body = query.withBody
    ? "case when coalesce(e.reason, '') <> 'FORGOTTEN' then c.body end"
    : 'null'
  const sql = `select e.id, e.state, e.source, e.name, e.received_name as "receivedName",
    e.occurred_at as "occurredAt", e.stored_at as "storedAt", e.attempt, e.due,
    e.settled_at as "settledAt", e.reason, ${failures} as failures, e.generation,
    e.conflict_of as "conflictOf", e.bytes, c.metadata, ${body} as body,
    (select ${handlers} from ${prefix}handled h where h.seq = e.seq) as handled
    from ${prefix}entries e left join ${prefix}contents c on c.seq = e.seq ${where}
    order by e.seq ${query.oldestFirst ? 'asc' : 'desc'} limit ${values.add(query.limit)}`
  return { sql, values: values.all }
}

function conditions(query: StoreQuery, values: SqlValues, dialect: SqlDialect): string[] {
  const { ids, states, name, lane, tenant, since, text, after, oldestFirst } = query
  const parts: string[] = []
  if (ids) parts.push(`e.id in ${values.list(ids)}`)
  if (states) {
    // Written out, because a partial index serves no parameter.
    const known = entryStates.filter((state) => states.includes(state))
    parts.push(known.length > 0 ? `e.state in ('${known.join("', '")}')` : 'false')
  }
  if (name !== undefined) parts.push(`e.name = ${values.add(name)}`)
  if (lane !== undefined) parts.push(about(lane, values))
  if (tenant === '') parts.push(`not ${dialect.holds('e.lane', "'.'")}`)
  else if (tenant !== undefined) {
    const ending = `.${tenant}`
    parts.push(`${dialect.ending([...ending].length)} = ${values.add(ending)}`)
  }
  if (since !== undefined) parts.push(`e.stored_at >= ${values.add(since)}`)
  if (text) parts.push(mentioned(text, values, dialect))
  if (after !== undefined) {
    const last = `(select a.seq from ${dialect.prefix}entries a where a.id = ${values.add(after)})`
    parts.push(`e.seq ${oldestFirst ? '>' : '<'} ${last}`)
  }
  return parts
}

/** Keys and lanes are found once by their indexes, so that only texts are searched in each row. */
function mentioned(
  { part, keys }: NonNullable<StoreQuery['text']>,
  values: SqlValues,
  { prefix, holds }: SqlDialect,
): string {
  const any = (match: (key: string) => string) => keys.map(match).join(' or ') || 'false'
  const columns = /^[0-9a-f-]*$/.test(part) ? ['e.name', 'e.id'] : ['e.name']
  const parts = [
    // Ids are hexadecimal, so most search texts cannot be part of one.
    ...columns.map((column) => holds(column, values.add(part))),
    `e.seq in (select x.seq from ${prefix}entries x where ${any((key) => about(key, values, 'x'))})`,
    `e.id in (select k.entry from ${prefix}keys k where ${any((key) => meant('k.key', key, values))})`,
  ]
  return `(${parts.join(' or ')})`
}

/** The latency of each handler among `done`; takes `since`, `limit` and `target`. */
export function latencySql(done: string, handled: string, parameters: readonly string[]): string {
  const [since, limit, target] = parameters
  const began = 'coalesce(occurred_at, stored_at)'
  const percentile = (p: number) =>
    `min(took) filter (where place * 100 >= entries * ${p}) as p${p}`
  return `with done as (
  select seq, case when settled_at > ${began} then settled_at - ${began} else 0 end as took
  from ${done} and state = 'done' and settled_at is not null and settled_at >= ${since}
  and source <> 'replay' order by settled_at desc limit ${limit}
), ranked as (
  select h.handler, d.took, row_number() over (partition by h.handler order by d.took) as place,
    count(*) over (partition by h.handler) as entries
  from done d join ${handled} h on h.seq = d.seq
)
select handler, max(entries) as entries, count(*) filter (where took <= ${target}) as within,
  ${[50, 95, 99].map(percentile).join(', ')}, max(took) as longest
from ranked group by handler order by handler`
}

const numbers = 'occurredAt storedAt attempt due settledAt generation bytes'.split(' ')
const lists = ['failures', 'handled']

/** Numbers come as text from some drivers, and lists as JSON. */
export function toStored(row: SqlRow): StoredEntry {
  const entry: Record<string, unknown> = { failures: [], handled: [] }
  for (const [name, value] of Object.entries(row)) {
    if (value === null) continue
    if (numbers.includes(name)) entry[name] = Number(value)
    else if (lists.includes(name)) entry[name] = JSON.parse(String(value))
    else if (isBytes(value))
      entry[name] = new Uint8Array(value.buffer, value.byteOffset, value.length)
    else entry[name] = value
  }
  // Trust is granted here: `findSql` selects these columns.
  return entry as unknown as StoredEntry
}

export function toLatency({ handler, ...times }: SqlRow): StoredLatency {
  const entries = Object.entries(times).map(([name, value]) => [name, Number(value)])
  // Trust is granted here: `latencySql` selects these columns.
  return { handler: String(handler), ...Object.fromEntries(entries) } as StoredLatency
}
