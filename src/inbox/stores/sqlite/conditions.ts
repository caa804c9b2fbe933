// Which entries a query means, as SQL, and which of them one page of `forget` takes.
import type { StoreQuery } from '../../admin-store.ts'
import type { Place } from '../../forget-pages.ts'
import type { Forgetting } from './calls.ts'
import { prepared, type SqliteDatabase, type SqliteValue } from './driver.ts'
import type { EntryHead } from './tables.ts'

/** Matches a lane or key exactly or with any tenant: `<name>.…` ends before `<name>/`. */
function meant(column: string, name: string) {
  const sql = `(${column} = ? or (${column} > ? and ${column} < ?))`
  return { sql, values: [name, `${name}.`, `${name}/`] }
}

/** Matches entries of a lane and entries related to it. */
function about(lane: string, of = 'e') {
  const [own, related] = [meant(`${of}.lane`, lane), meant(`${of}.related`, lane)]
  return { sql: `(${own.sql} or ${related.sql})`, values: [...own.values, ...related.values] }
}

/** Selects the lanes whose relation is the given client. */
function relatedLanes(lane: string) {
  const { sql, values } = meant('r.related', lane)
  return { sql: `select r.lane from idv_relations r where ${sql}`, values }
}

/**
 * Matches part of an id or a name, a key or a lane. Keys and lanes are found once by their indexes,
 * so that only the texts of each row are searched.
 */
function mentioned({ part, keys }: NonNullable<StoreQuery['text']>) {
  const lanes = keys.map((key) => about(key, 'x'))
  const known = keys.map((key) => meant('key', key))
  const any = (list: readonly { readonly sql: string }[]) =>
    list.map(({ sql }) => sql).join(' or ') || 'false'
  const sql = [
    'instr(e.name, ?) > 0',
    // Ids are hexadecimal, so most search texts cannot be part of one.
    ...(/^[0-9a-f-]*$/.test(part) ? ['instr(e.id, ?) > 0'] : []),
    `e.seq in (select x.seq from idv_entries x where ${any(lanes)})`,
    `e.id in (select entry from idv_keys where ${any(known)})`,
  ]
  const texts = sql.filter((one) => one.startsWith('instr')).map(() => part)
  const values = [...texts, ...[...lanes, ...known].flatMap((one) => one.values)]
  return { sql: `(${sql.join(' or ')})`, values }
}

/** Builds the `where` of a query for entries, with its values. */
export function conditions(query: StoreQuery) {
  const { ids, states, name, lane, tenant, since, text, after, oldestFirst } = query
  const parts: [sql: string, values: readonly SqliteValue[]][] = []
  const oneOf = (list: readonly unknown[]) => `in (${list.map(() => '?').join(', ')})`
  // One variable for all ids: SQLite takes at most 32,766.
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

/** The entries that have a payload; `last` if there may be another page. */
interface FoundPage {
  readonly entries: readonly SizedEntry[]
  readonly last?: Place
}

const columns = ['seq', 'id', 'lane', 'state', 'attempt', 'fence', 'erased', 'bytes']

/** Whether the page erases the entry. A leased one is erased first: no later handler may begin. */
export function isErased({ open }: Pick<Forgetting, 'open'>, { state }: SizedEntry): boolean {
  return !open || state === 'leased'
}

export function forgetPage(
  db: SqliteDatabase,
  page: Forgetting & { readonly newest: number },
): FoundPage {
  const { open, after } = page
  const all = pageOf(db, page)
  const sizes = all.map((one) => ({ ...one, bytes: isErased(page, one) ? one.bytes : 0 }))
  const own = all.slice(0, countWithin(sizes))
  // Evidence that could not be read has its own lane.
  const evidence = prepared<SizedEntry>(
    db,
    `select ${columns.map((one) => `c.${one}`)}
    from idv_entries c where c.name is null and c.erased = 0
    and c.conflict_of in (select value from json_each(?)) limit ${maxEntries}`,
  )
  const more = open ? [] : evidence.all(JSON.stringify(own.map(({ id }) => id)))
  const both = [...own, ...more.slice(0, countWithin(more))]
  const found = new Map(both.filter((one) => !one.erased).map((one) => [one.seq, one]))
  const entries = [...found.values()]
  // If there is more evidence, the same page is read again.
  if (both.length < own.length + more.length || more.length === maxEntries) {
    return { entries, last: after }
  }
  const isLast = own.length === all.length && all.length < maxEntries
  const { lane, seq } = own.at(-1) ?? after
  return { entries, ...(!isLast && { last: { lane, seq } }) }
}

function pageOf(
  db: SqliteDatabase,
  { lane, ofNone, open, after, newest }: Forgetting & { readonly newest: number },
): readonly SizedEntry[] {
  // Whole lanes, because a verification may have named two clients, one after the other.
  const [own, related] = [about(lane, 'x'), relatedLanes(lane)]
  // Open entries from the end of each lane, so that its head is last and the lane never moves on.
  const [behind, order] = open ? ['<', 'desc'] : ['>', '']
  const sql = `select ${columns.map((one) => `e.${one}`)} from idv_entries e where e.lane in (
      select x.lane from idv_entries x where x.lane ${behind}= ? and ${own.sql}
      union ${related.sql} and r.lane ${behind}= ?)
    and (e.lane, e.seq) ${behind} (?, ?) and e.seq <= ?
    ${ofNone ? "and instr(e.lane, '.') = 0" : ''}
    ${open ? "and e.state in ('stored', 'leased', 'retry', 'dead')" : ''}
    order by e.lane ${order}, e.seq ${order} limit ${maxEntries}`
  const lanes = [after.lane, ...own.values, ...related.values, after.lane]
  return prepared<SizedEntry>(db, sql).all(...lanes, after.lane, after.seq, newest)
}
