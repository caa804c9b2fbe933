// The statement that finds entries, with the conditions of a query.
import type { StoreQuery } from '../../admin-store.ts'
import { type EntryState, entryStates } from '../../entry.ts'
import type { PostgresValue } from './driver.ts'
import { storable, toJson } from './rows.ts'

/** A statement with the values of its parameters. */
export interface SqlStatement {
  readonly sql: string
  readonly values: readonly PostgresValue[]
}

class Parameters {
  readonly values: PostgresValue[] = []

  /** Adds a value and gives its parameter with a type, because drivers guess types differently. */
  add(value: string | number, type: 'text' | 'bigint' = 'text'): string {
    this.values.push(typeof value === 'string' ? storable(value) : value)
    return `$${this.values.length}::${type}`
  }

  list(values: readonly string[]): string {
    return `(select t from json_array_elements_text(${this.add(toJson(values))}::json) t)`
  }
}

/** A forgotten payload is not shown while it waits for the page of `forget` that erases it. */
const shownBody = "case when e.reason is distinct from 'FORGOTTEN' then c.body end"

export function findStatement(query: StoreQuery): SqlStatement {
  const parameters = new Parameters()
  const parts = conditions(query, parameters)
  const where = parts.length > 0 ? `where ${parts.join(' and ')}` : ''
  const direction = query.oldestFirst ? 'asc' : 'desc'
  const sql = `select e.id, e.state, e.source, e.name, e.received_name, e.occurred_at, e.stored_at,
    e.attempt, e.due, e.settled_at, e.reason, e.failures::text, e.generation, e.conflict_of, e.bytes,
    c.metadata, ${query.withBody ? shownBody : 'null'} as body, (select pg_catalog.json_agg(h.handler order by h.handler)::text
      from idv.handled h where h.seq = e.seq) as handled
    from idv.entries e left join idv.contents c on c.seq = e.seq ${where}
    order by e.seq ${direction} limit ${parameters.add(query.limit, 'bigint')}`
  return { sql, values: parameters.values }
}

function conditions(query: StoreQuery, parameters: Parameters): string[] {
  const { ids, states, name, lane, tenant, since, text, after, oldestFirst } = query
  const parts: string[] = []
  if (ids) parts.push(`e.id in ${parameters.list(ids)}`)
  if (states) parts.push(inStates(states))
  if (name !== undefined) parts.push(`e.name = ${parameters.add(name)}`)
  if (lane !== undefined) parts.push(about(lane, parameters))
  if (tenant === '') parts.push("strpos(e.lane, '.') = 0")
  else if (tenant !== undefined) {
    const ending = `.${tenant}`
    const length = parameters.add([...ending].length, 'bigint')
    parts.push(`right(e.lane, ${length}::int) = ${parameters.add(ending)}`)
  }
  if (since !== undefined) parts.push(`e.stored_at >= ${parameters.add(since, 'bigint')}`)
  if (text) parts.push(mentioned(text, parameters))
  if (after !== undefined) {
    const last = `(select a.seq from idv.entries a where a.id = ${parameters.add(after)})`
    parts.push(`e.seq ${oldestFirst ? '>' : '<'} ${last}`)
  }
  return parts
}

/** Written out, because a partial index serves no parameter. */
function inStates(states: readonly EntryState[]): string {
  const known = entryStates.filter((state) => states.includes(state))
  return known.length > 0 ? `e.state in ('${known.join("', '")}')` : 'false'
}

/** Matches a lane or key exactly or with any tenant: `<name>.…` ends before `<name>/`. */
function meant(column: string, name: string, parameters: Parameters): string {
  const [same, from, to] = [name, `${name}.`, `${name}/`].map((one) => parameters.add(one))
  return `(${column} = ${same} or (${column} > ${from} and ${column} < ${to}))`
}

function about(lane: string, parameters: Parameters): string {
  const [own, related] = ['e.lane', 'e.related'].map((column) => meant(column, lane, parameters))
  return `(${own} or ${related})`
}

/** Matches part of an id or a name, a key or a lane. */
function mentioned({ part, keys }: NonNullable<StoreQuery['text']>, parameters: Parameters) {
  const any = [
    `position(${parameters.add(part)} in e.id) > 0`,
    `position(${parameters.add(part)} in e.name) > 0`,
    ...keys.map((key) => about(key, parameters)),
    ...keys.map((key) => {
      return `e.id in (select k.entry from idv.keys k where ${meant('k.key', key, parameters)})`
    }),
  ]
  return `(${any.join(' or ')})`
}
