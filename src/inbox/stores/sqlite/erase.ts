// Calls that erase: `forget` erases an entity page by page, and `purge` erases content past its
// retention.
import type { EntryState } from '../../entry.ts'
import type { ForgottenPage } from '../../forget-pages.ts'
import { about, meant, SqlValues } from '../entry-sql.ts'
import type { CallHandlers, Forgetting } from './calls.ts'
import { prepared } from './driver.ts'
import { dialect } from './operate.ts'
import type { EntryHead, InboxTables } from './tables.ts'

type SizedEntry = EntryHead & { readonly bytes: number }

/** The most entries and bytes that a page erases, because arrivals wait for its commit. */
const maxEntries = 500
const maxErased = 4 * 2 ** 20

/** Counts the entries of a page that stay within those bytes; at least one. */
export function countWithin(page: readonly Pick<SizedEntry, 'bytes' | 'erased'>[]): number {
  let sum = 0
  const beyond = page.findIndex(({ bytes, erased }, at) => {
    sum += erased ? 0 : bytes
    return at > 0 && sum > maxErased
  })
  return beyond === -1 ? page.length : beyond
}

export function eraseCalls(tables: InboxTables): Pick<CallHandlers, 'forget' | 'purge'> {
  const { sql } = tables
  return {
    forget: (page) => forgetPage(tables, page),
    purge: ({ doneBefore, deadBefore, keysBefore, limit }) => {
      const settled = (['done', 'dead', 'skipped'] as const).flatMap((state) =>
        sql<Pick<SizedEntry, 'seq' | 'bytes' | 'erased'>>(settledSql).all(
          ...[state, state === 'done' ? doneBefore : deadBefore, limit],
        ),
      )
      const past = settled.slice(0, countWithin(settled))
      for (const { seq } of past) tables.eraseContent(seq)
      const before = (text: string) => Number(sql(text).run(keysBefore, limit).changes)
      let deleted = before(keysSql)
      const erased = sql<{ readonly seq: number; readonly state: EntryState }>(erasedSql)
      for (const { seq, state } of erased.all(keysBefore, limit)) {
        sql('delete from idv_entries where seq = ?').run(seq)
        tables.forgetHandled(seq)
        tables.moved(state, undefined)
        deleted++
      }
      // On the last page only, because these statements read every old mark and relation.
      const isLast = settled.length < limit && past.length === settled.length && deleted < limit
      const left = isLast ? [marksSql, relationsSql].map((text) => before(text) === limit) : [true]
      return { erased: past.length, deleted, ...(left.includes(true) && { hasMore: true }) }
    },
  }
}

/** Forgets one page; the first pass erases only leased entries, so that no handler begins. */
function forgetPage(tables: InboxTables, page: Forgetting): ForgottenPage {
  const { open, after, now, newest = tables.newest()?.seq ?? 0 } = page
  const isErased = ({ state }: SizedEntry) => !open || state === 'leased'
  const all = pageOf(tables, page, newest)
  const own = all.slice(
    0,
    countWithin(all.map((one) => ({ ...one, bytes: isErased(one) ? one.bytes : 0 }))),
  )
  const more = open ? [] : evidenceOf(tables, own)
  const evidence = more.slice(0, countWithin(more))
  const found = new Map([...own, ...evidence].map((one) => [one.seq, one]))
  let forgotten = 0
  for (const one of found.values()) {
    if (one.erased) continue
    if (isErased(one)) {
      tables.erase(one)
      forgotten++
    }
    // A leased entry keeps its lane until its holder settles it: a lane runs one entry at a time.
    if (['stored', 'retry', 'dead'].includes(one.state)) tables.skip(one, 'FORGOTTEN', now)
  }
  // If there is more evidence, the same page is read again.
  if (evidence.length < more.length || more.length === maxEntries) {
    return { forgotten, newest, last: after }
  }
  const { lane, seq } = own.at(-1) ?? after
  const isLast = own.length === all.length && all.length < maxEntries
  return { forgotten, newest, ...(!isLast && { last: { lane, seq } }) }
}

const columnsOf = (table: string) =>
  ['seq', 'id', 'lane', 'state', 'attempt', 'fence', 'erased', 'bytes'].map(
    (column) => `${table}.${column}`,
  )

function pageOf(
  { db }: InboxTables,
  { lane, ofNone, open, after }: Forgetting,
  newest: number,
): readonly SizedEntry[] {
  const values = new SqlValues(dialect)
  // Open entries from the end of each lane, so that its head is last and the lane never moves on.
  const [behind, order] = open ? ['<', 'desc'] : ['>', '']
  // Erase whole lanes, because a verification may have named two clients, one after the other.
  const sql = `select ${columnsOf('e')} from idv_entries e where e.lane in (
      select x.lane from idv_entries x
        where x.lane ${behind}= ${values.add(after.lane)} and ${about(lane, values, 'x')}
      union select r.lane from idv_relations r
        where ${meant('r.related', lane, values)} and r.lane ${behind}= ${values.add(after.lane)})
    and (e.lane, e.seq) ${behind} (${values.add(after.lane)}, ${values.add(after.seq)})
    and e.seq <= ${values.add(newest)} ${ofNone ? "and instr(e.lane, '.') = 0" : ''}
    ${open ? "and e.state in ('stored', 'leased', 'retry', 'dead')" : ''}
    order by e.lane ${order}, e.seq ${order} limit ${maxEntries}`
  return prepared<SizedEntry>(db, sql).all(...values.all)
}

/** Evidence that could not be read has its own lane. */
function evidenceOf({ sql }: InboxTables, of: readonly SizedEntry[]): readonly SizedEntry[] {
  const evidence = sql<SizedEntry>(`select ${columnsOf('c')}
    from idv_entries c where c.name is null and c.erased = 0
    and c.conflict_of in (select value from json_each(?)) limit ${maxEntries}`)
  return evidence.all(JSON.stringify(of.map(({ id }) => id)))
}

const settledSql = `select seq, bytes, erased from idv_entries
  indexed by idv_entries_settled
  where erased = 0 and state = ? and settled_at is not null and settled_at < ?
  and (state <> 'dead' or not exists
    (select 1 from idv_lanes l where l.lane = idv_entries.lane and l.head = seq)) limit ?`

const keysSql = `delete from idv_keys where key in
  (select key from idv_keys where at < ? limit ?)`

/** `forget` finds the evidence of a conflict through its first entry, so the first entry stays. */
const erasedSql = `select seq, state from idv_entries e indexed by idv_entries_erased
  where erased = 1 and stored_at < ? and state in ('done', 'dead', 'skipped') and not exists
    (select 1 from idv_entries c where c.conflict_of = e.id and c.name is null
    and c.erased = 0) limit ?`

/** The mark stays while an entry of its lane may run again and is compared with it. */
const marksSql = `delete from idv_high_water_marks where lane in
  (select m.lane from idv_high_water_marks m where m.touched < ? and not exists
    (select 1 from idv_entries e where e.lane = m.lane and e.erased = 0) limit ?)`

/** The relation stays while its lane has entries, because the next one may name no client. */
const relationsSql = `delete from idv_relations where lane in
  (select r.lane from idv_relations r where r.at < ?
    and not exists (select 1 from idv_entries e where e.lane = r.lane) limit ?)`
