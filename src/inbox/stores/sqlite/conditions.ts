// Which entries a query means, as SQL, and which of them one page of `forget` takes.
import type { StoreQuery } from '../../admin-store.ts'
import type { Place } from '../../forget-pages.ts'
import type { Forgetting } from './calls.ts'
import type { Connection, EntryHead } from './connection.ts'
import type { SqliteValue } from './driver.ts'

/** A lane or a key as it is, or of any tenant: what goes on with a dot; '/' is next to it. */
function meant(column: string, name: string) {
  const sql = `(${column} = ? or (${column} > ? and ${column} < ?))`
  return { sql, values: [name, `${name}.`, `${name}/`] }
}

/** Entries of a lane, and those that are related to it. */
function about(lane: string, of = 'e') {
  const [own, related] = [meant(`${of}.lane`, lane), meant(`${of}.related`, lane)]
  return { sql: `(${own.sql} or ${related.sql})`, values: [...own.values, ...related.values] }
}

/** The lanes of entities whose client it is, or was last. */
function relatedLanes(lane: string) {
  const { sql, values } = meant('r.related', lane)
  return { sql: `select r.lane from idv_relations r where ${sql}`, values }
}

/**
 * Part of an id or a name, or a key or a lane. Keys and lanes are looked up once by their indexes,
 * so that each row of a large table costs a search of its texts alone.
 */
function mentioned({ part, keys }: NonNullable<StoreQuery['text']>) {
  const lanes = keys.map((key) => about(key, 'x'))
  const known = keys.map((key) => meant('key', key))
  const any = (list: readonly { readonly sql: string }[]) =>
    list.map(({ sql }) => sql).join(' or ') || 'false'
  const sql = [
    'instr(e.name, ?) > 0',
    // Ids are hexadecimal: most of what people type is in none.
    ...(/^[0-9a-f-]*$/.test(part) ? ['instr(e.id, ?) > 0'] : []),
    `e.seq in (select x.seq from idv_entries x where ${any(lanes)})`,
    `e.id in (select entry from idv_keys where ${any(known)})`,
  ]
  const texts = sql.filter((one) => one.startsWith('instr')).map(() => part)
  const values = [...texts, ...[...lanes, ...known].flatMap((one) => one.values)]
  return { sql: `(${sql.join(' or ')})`, values }
}

/** The `where` of a query for entries, and its values. */
export function conditions(query: StoreQuery) {
  const { ids, states, name, lane, tenant, since, text, after, oldestFirst } = query
  const parts: [sql: string, values: readonly SqliteValue[]][] = []
  const oneOf = (list: readonly unknown[]) => `in (${list.map(() => '?').join(', ')})`
  // One variable, however many: SQLite takes 32,766.
  if (ids) parts.push(['e.id in (select value from json_each(?))', [JSON.stringify(ids)]])
  if (states) parts.push([`e.state ${oneOf(states)}`, states])
  if (name !== undefined) parts.push(['e.name = ?', [name]])
  const add = ({ sql, values }: ReturnType<typeof meant>) => parts.push([sql, values])
  if (lane !== undefined) add(about(lane))
  if (tenant === '') parts.push(["instr(e.lane, '.') = 0", []])
  else if (tenant !== undefined)
    parts.push(['substr(e.lane, ?) = ?', [-tenant.length - 1, `.${tenant}`]])
  if (since !== undefined) parts.push(['e.stored_at >= ?', [since]])
  if (text) add(mentioned(text))
  if (after !== undefined) {
    const beyond = oldestFirst ? '>' : '<'
    parts.push([`e.seq ${beyond} (select seq from idv_entries where id = ?)`, [after]])
  }
  const where = parts.length > 0 ? `where ${parts.map(([sql]) => sql).join(' and ')}` : ''
  return { where, values: parts.flatMap(([, values]) => values) }
}

/** An entry with the bytes of its body as it was received. */
export type SizedEntry = EntryHead & { readonly bytes: number }

/** The most entries and bytes that a page erases, because arrivals wait for its commit. */
const maxEntries = 500
const maxErased = 4 * 2 ** 20

/** How many entries of a page stay within those bytes; at least one. */
export function countWithin(page: readonly Pick<SizedEntry, 'bytes' | 'erased'>[]): number {
  let sum = 0
  const beyond = page.findIndex(({ bytes, erased }, at) => {
    sum += erased ? 0 : bytes
    return at > 0 && sum > maxErased
  })
  return beyond === -1 ? page.length : beyond
}

/** Those that have a payload, and the last of the page where there may be another. */
interface FoundPage {
  readonly entries: readonly SizedEntry[]
  readonly last?: Place
}

const columns = ['seq', 'id', 'lane', 'state', 'attempt', 'fence', 'erased', 'bytes']

/** Whether a page erases it; what is at work at once, for a later handler of it would begin. */
export function isErased({ open }: Pick<Forgetting, 'open'>, { state }: SizedEntry): boolean {
  return !open || state === 'leased'
}

export function forgetPage(
  connection: Connection,
  page: Forgetting & { readonly newest: number },
): FoundPage {
  const { open, after } = page
  const all = pageOf(connection, page)
  const sizes = all.map((one) => ({ ...one, bytes: isErased(page, one) ? one.bytes : 0 }))
  const own = all.slice(0, countWithin(sizes))
  // Evidence that nobody could read is in a lane of its own.
  const evidence = connection.prepare<SizedEntry>(`select ${columns.map((one) => `c.${one}`)}
    from idv_entries c where c.name is null and c.erased = 0
    and c.conflict_of in (select value from json_each(?)) limit ${maxEntries}`)
  const more = open ? [] : evidence.all(JSON.stringify(own.map(({ id }) => id)))
  const both = [...own, ...more.slice(0, countWithin(more))]
  const found = new Map(both.filter((one) => !one.erased).map((one) => [one.seq, one]))
  const entries = [...found.values()]
  // The same page again where it has more evidence.
  if (both.length < own.length + more.length || more.length === maxEntries) {
    return { entries, last: after }
  }
  const isLast = own.length === all.length && all.length < maxEntries
  const { lane, seq } = own.at(-1) ?? after
  return { entries, ...(!isLast && { last: { lane, seq } }) }
}

function pageOf(
  connection: Connection,
  { lane, ofNone, open, after, newest }: Forgetting & { readonly newest: number },
): readonly SizedEntry[] {
  // Whole lanes: a verification may have named one client first, and another one later.
  const [own, related] = [about(lane, 'x'), relatedLanes(lane)]
  // The open ones from the end of each lane: what holds it is the last, so that it never moves on.
  const [behind, order] = open ? ['<', 'desc'] : ['>', '']
  const sql = `select ${columns.map((one) => `e.${one}`)} from idv_entries e where e.lane in (
      select x.lane from idv_entries x where x.lane ${behind}= ? and ${own.sql}
      union ${related.sql} and r.lane ${behind}= ?)
    and (e.lane, e.seq) ${behind} (?, ?) and e.seq <= ?
    ${ofNone ? "and instr(e.lane, '.') = 0" : ''}
    ${open ? "and e.state in ('stored', 'leased', 'retry', 'dead')" : ''}
    order by e.lane ${order}, e.seq ${order} limit ${maxEntries}`
  const lanes = [after.lane, ...own.values, ...related.values, after.lane]
  return connection.prepare<SizedEntry>(sql).all(...lanes, after.lane, after.seq, newest)
}
