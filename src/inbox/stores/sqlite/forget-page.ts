// The entries that a page of `forget` takes.
import type { Place } from '../../forget-pages.ts'
import type { Forgetting } from './calls.ts'
import { about, relatedLanes } from './conditions.ts'
import type { Connection } from './connection.ts'
import { atOnce, countWithin, type Sized } from './page.ts'

/** Those that have a payload, and the last of the page where there may be another. */
interface Page {
  readonly entries: readonly Sized[]
  readonly last?: Place
}

const columns = ['seq', 'id', 'lane', 'state', 'attempt', 'fence', 'erased', 'bytes']

/** Whether a page erases it; what is at work at once, for a later handler of it would begin. */
export function isErased({ open }: Pick<Forgetting, 'open'>, { state }: Sized): boolean {
  return !open || state === 'leased'
}

export function forgetPage(
  connection: Connection,
  page: Forgetting & { readonly newest: number },
): Page {
  const { open, after } = page
  const all = pageOf(connection, page)
  const sizes = all.map((one) => ({ ...one, bytes: isErased(page, one) ? one.bytes : 0 }))
  const own = all.slice(0, countWithin(sizes))
  // Evidence that nobody could read is in a lane of its own.
  const evidence = connection.statement<Sized>(`select ${columns.map((one) => `c.${one}`)}
    from idv_entries c where c.name is null and c.erased = 0
    and c.conflict_of in (select value from json_each(?)) limit ${atOnce}`)
  const more = open ? [] : evidence.all(JSON.stringify(own.map(({ id }) => id)))
  const both = [...own, ...more.slice(0, countWithin(more))]
  const found = new Map(both.filter((one) => !one.erased).map((one) => [one.seq, one]))
  const entries = [...found.values()]
  // The same page again where it has more evidence.
  if (both.length < own.length + more.length || more.length === atOnce) {
    return { entries, last: after }
  }
  const isLast = own.length === all.length && all.length < atOnce
  const { lane, seq } = own.at(-1) ?? after
  return { entries, ...(!isLast && { last: { lane, seq } }) }
}

function pageOf(
  connection: Connection,
  { lane, ofNone, open, after, newest }: Forgetting & { readonly newest: number },
): readonly Sized[] {
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
    order by e.lane ${order}, e.seq ${order} limit ${atOnce}`
  const lanes = [after.lane, ...own.values, ...related.values, after.lane]
  return connection.statement<Sized>(sql).all(...lanes, after.lane, after.seq, newest)
}
