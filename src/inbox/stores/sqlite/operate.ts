// Calls of operators: find, reopen, dismiss, count, settings.
import { defined } from '../../../foundation/defined.ts'
import type { DoneEntry, DoneQuery, Reopening, StoredLatency } from '../../admin-store.ts'
import { type EntryReason, type EntryState, isSetAside } from '../../entry.ts'
import { findSql, latencySql, type SqlDialect, toStored } from '../entry-sql.ts'
import type { CallHandlers } from './calls.ts'
import { prepared } from './driver.ts'
import { type InboxTables, present, type Row, toBlob } from './tables.ts'

export const dialect: SqlDialect = {
  prefix: 'idv_',
  parameter: () => '?',
  // One variable for all of them, because SQLite takes at most 32,766.
  list: (parameter) => `select value from json_each(${parameter})`,
  holds: (text, part) => `instr(${text}, ${part}) > 0`,
  ending: (length) => `substr(e.lane, -${length})`,
  failures: 'e.failures',
  handlers: 'json_group_array(h.handler)',
}

const latency = latencySql(
  'idv_entries indexed by idv_entries_settled where erased = 0',
  'idv_handled',
  ['?', '?', '?'],
)

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
      const { sql: text, values } = findSql(query, dialect)
      return prepared<Row>(tables.db, text)
        .all(...values)
        .map(toStored)
    },
    findDone: (query) => findDone(tables, query),
    reopen: (reopening) => reopen(tables, reopening),
    dismiss: (id, now) => {
      const head = tables.head(id)
      if (head?.state !== 'dead') return false
      tables.skip(head, 'DISMISSED', now)
      return true
    },
    stats: (now, asked) => {
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
        latency: asked && sql<StoredLatency>(latency).all(asked.since, asked.limit, asked.target),
      })
    },
  }
}

/** Finds entries by their times, or by lanes: `<lane>` and `<lane>.<tenant>` come before `<lane>/`. */
function findDone({ sql }: InboxTables, { after, lanes, limit }: DoneQuery): readonly DoneEntry[] {
  const all = 'idv_entries e indexed by idv_entries_settled'
  const inLanes = `json_each(?) l cross join idv_entries e indexed by idv_entries_lane
    on e.lane >= l.value and e.lane < l.value || '/'`
  const rows = sql<Row>(`select e.id, e.lane, e.name, e.seq,
    e.settled_at as settledAt from ${lanes ? inLanes : all}
    where e.state = 'done' and e.erased = 0 and e.settled_at is not null
    and (e.settled_at, e.seq) > (?, ?) order by e.settled_at, e.seq limit ?`)
  const of = lanes ? [JSON.stringify(lanes)] : []
  return rows.all(...of, after.settledAt, after.seq, limit).map(present<DoneEntry>)
}

function reopen(tables: InboxTables, reopening: Reopening): number {
  const { sql } = tables
  const { ids, from, now, replay = false, setAside = false } = reopening
  // After the machine has slept, the owner's clock may be behind the operator's.
  const due = tables.epoch > 0 ? now : Math.min(now, tables.newest()?.at ?? now)
  // The row is missing if the payload was erased.
  const reasons = sql<{ readonly reason: EntryReason | null }>(`select e.reason from idv_entries e
    join idv_contents c on c.seq = e.seq where e.seq = ?`)
  let reopened = 0
  for (const id of ids) {
    const head = tables.head(id)
    const row = head && from.includes(head.state) ? reasons.get(head.seq) : undefined
    // The payload of a forgotten entry may still wait for the page that erases it.
    if (!head || !row || row.reason === 'FORGOTTEN') continue
    if (!setAside && isSetAside(row.reason)) continue
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
