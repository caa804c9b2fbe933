// Which entries a query means, as SQL.
import type { StoreQuery } from '../../admin-store.ts'
import type { SqliteValue } from './driver.ts'

/** Matches a lane or key exactly or with any tenant: `<name>.…` ends before `<name>/`. */
function meant(column: string, name: string) {
  const sql = `(${column} = ? or (${column} > ? and ${column} < ?))`
  return { sql, values: [name, `${name}.`, `${name}/`] }
}

/** Matches entries of a lane and entries related to it. */
export function about(lane: string, of = 'e') {
  const [own, related] = [meant(`${of}.lane`, lane), meant(`${of}.related`, lane)]
  return { sql: `(${own.sql} or ${related.sql})`, values: [...own.values, ...related.values] }
}

/** Selects the lanes that are related to the given client. */
export function relatedLanes(lane: string) {
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
  // One variable for all ids, because SQLite takes at most 32,766.
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
