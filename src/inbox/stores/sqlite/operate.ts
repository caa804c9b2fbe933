// Calls of operators: find, reopen, dismiss, count, settings.
import { defined } from '../../../foundation/defined.ts'
import type {
  DoneEntry,
  DoneQuery,
  Reopening,
  StoredEntry,
  StoredLatency,
} from '../../admin-store.ts'
import { type EntryFailure, type EntryState, isSetAside } from '../../entry.ts'
import type { CallHandlers } from './calls.ts'
import { conditions } from './conditions.ts'
import { prepared } from './driver.ts'
import { type InboxTables, type Nullable, present, toBlob } from './tables.ts'

/** A row of `idv_entries` with its payload; `failures` is JSON. */
type StoredRow = Nullable<Omit<StoredEntry, 'failures' | 'handled'>> & {
  readonly seq: number
  readonly failures: string | null
}

const storedColumns = `e.seq, e.id, e.state, e.source, e.name, e.received_name as receivedName,
  e.occurred_at as occurredAt, e.stored_at as storedAt, e.attempt, e.due,
  e.settled_at as settledAt, e.reason, e.failures, e.generation, e.conflict_of as conflictOf,
  e.bytes, c.metadata`

type OperatorCall = 'recall' | 'remember' | 'find' | 'findDone' | 'reopen' | 'dismiss' | 'stats'

export function operatorCalls(tables: InboxTables): Pick<CallHandlers, OperatorCall> {
  const { sql } = tables
  return {
    recall: (name, initial) => {
      const known = tables.setting<Uint8Array>(name)
      if (known !== undefined) return known
      sql('insert into idv_settings values (?, ?)').run(name, toBlob(initial))
      return initial
    },
    remember: (name, value) => {
      sql('insert or replace into idv_settings values (?, ?)').run(name, toBlob(value))
    },
    find: (query) => {
      const { where, values } = conditions(query)
      // A forgotten payload is not shown while it waits for the page of `forget` that erases it.
      const body = query.withBody ? "iif(e.reason is 'FORGOTTEN', null, c.body)" : 'null'
      const text = `select ${storedColumns}, ${body} as body from idv_entries e
        left join idv_contents c on c.seq = e.seq
        ${where} order by e.seq ${query.oldestFirst ? 'asc' : 'desc'} limit ?`
      const rows = prepared<StoredRow>(tables.db, text).all(...values, query.limit)
      return rows.map((row) => toStored(tables, row))
    },
    findDone: (query) => findDone(tables, query),
    reopen: (reopening) => reopen(tables, reopening),
    dismiss: (id, now) => {
      const head = tables.head(id)
      if (head?.state !== 'dead') return false
      tables.skip(head, 'DISMISSED', now)
      return true
    },
    stats: (now, latency) => {
      const counts = { stored: 0, leased: 0, retry: 0, done: 0, dead: 0, skipped: 0 }
      const counted = sql<{ readonly state: EntryState; readonly count: number }>(
        'select state, count from idv_counts',
      )
      for (const { state, count } of counted.all()) counts[state] = count
      const at = (text: string, ...values: number[]) => sql<{ at: number }>(text).get(...values)?.at
      return defined({
        counts,
        oldest: at(
          'select stored_at as at from idv_entries where seq = (select min(head) from idv_lanes)',
        ),
        due: at(
          'select due as at from idv_lanes where due is not null and due <= ? order by due limit 1',
          now,
        ),
        newest: tables.newest()?.at,
        latency:
          latency &&
          sql<StoredLatency>(latencySql).all(latency.since, latency.limit, latency.target),
      })
    },
  }
}

/** Finds entries by their times, or by lanes: `<lane>` and `<lane>.<tenant>` come before `<lane>/`. */
function findDone({ sql }: InboxTables, { after, lanes, limit }: DoneQuery): readonly DoneEntry[] {
  const all = 'idv_entries e indexed by idv_entries_settled'
  const inLanes = `json_each(?) l cross join idv_entries e indexed by idv_entries_lane
    on e.lane >= l.value and e.lane < l.value || '/'`
  const rows = sql<Nullable<DoneEntry>>(`select e.id, e.lane, e.name, e.seq,
    e.settled_at as settledAt from ${lanes ? inLanes : all}
    where e.state = 'done' and e.erased = 0 and e.settled_at is not null
    and (e.settled_at, e.seq) > (?, ?) order by e.settled_at, e.seq limit ?`)
  const of = lanes ? [JSON.stringify(lanes)] : []
  return rows.all(...of, after.settledAt, after.seq, limit).map((row) => present(row))
}

function reopen(tables: InboxTables, reopening: Reopening): number {
  const { sql } = tables
  const { ids, from, now, replay = false, setAside = false } = reopening
  // After the machine has slept, the owner's clock may be behind the operator's.
  const due = tables.epoch > 0 ? now : Math.min(now, tables.newest()?.at ?? now)
  // The row is missing if the payload was erased.
  const reasons = sql<Pick<StoredRow, 'reason'>>(`select e.reason from idv_entries e
    join idv_contents c on c.seq = e.seq where e.seq = ?`)
  let reopened = 0
  for (const id of ids) {
    const head = tables.head(id)
    const row = head && from.includes(head.state) ? reasons.get(head.seq) : undefined
    // The payload of a forgotten entry may still wait for the page that erases it.
    if (!head || !row || row.reason === 'FORGOTTEN') continue
    if (!setAside && isSetAside(row.reason ?? undefined)) continue
    sql(`update idv_entries set state = 'stored', attempt = 0, due = ?, reason = null,
      failures = null, settled_at = null, generation = generation + 1,
      source = iif(?, 'replay', source) where seq = ?`).run(due, Number(replay), head.seq)
    if (replay) tables.forgetHandled(head.seq)
    tables.moved(head.state, 'stored')
    tables.lanes.enter(head, due)
    reopened++
  }
  return reopened
}

function toStored(tables: InboxTables, { seq, failures, ...rest }: StoredRow): StoredEntry {
  return {
    ...present(rest),
    // Trust is granted here: the engine wrote the list itself.
    failures: JSON.parse(failures ?? '[]') as readonly EntryFailure[],
    handled: tables.handled(seq),
  }
}

/** Latency of each handler among the entries done last; takes `since`, `limit` and `target`. */
const latencySql = `
with done as (
  select seq, max(0, settled_at - coalesce(occurred_at, stored_at)) as took
  from idv_entries indexed by idv_entries_settled
  where erased = 0 and state = 'done' and settled_at is not null and settled_at >= ?
  and source <> 'replay' order by settled_at desc limit ?
), ranked as (
  select h.handler, d.took, row_number() over (partition by h.handler order by d.took) as place,
    count(*) over (partition by h.handler) as entries
  from done d join idv_handled h on h.seq = d.seq
)
select handler, max(entries) as entries, count(*) filter (where took <= ?) as within,
  min(took) filter (where place * 100 >= entries * 50) as p50,
  min(took) filter (where place * 100 >= entries * 95) as p95,
  min(took) filter (where place * 100 >= entries * 99) as p99, max(took) as longest
from ranked group by handler order by handler`
