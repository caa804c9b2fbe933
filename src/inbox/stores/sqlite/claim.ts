// Calls of the worker: claim, renew, checkpoint, settle.
import type { Decision } from '../../../dispatch/finality.ts'
import { defined } from '../../../foundation/defined.ts'
import { type EntryFailure, type EntryState, isOwnLane } from '../../entry.ts'
import type { Claimed, HighWaterMark, Lapsed, Settlement } from '../../work-store.ts'
import type { CallHandlers } from './calls.ts'
import type { DueLane } from './lanes.ts'
import { type EntryHead, type InboxTables, present, type Row } from './tables.ts'

type LeasedEntry = Pick<
  Claimed,
  'id' | 'fence' | 'attempt' | 'seq' | 'name' | 'source' | 'occurredAt' | 'storedAt'
>

type ContentRow = Required<Pick<Claimed, 'metadata' | 'body'>>

type AttemptCall = 'claim' | 'renew' | 'lapsed' | 'checkpoint' | 'settle'

export function attemptCalls(tables: InboxTables): Pick<CallHandlers, AttemptCall> {
  const { sql, lanes } = tables
  return {
    claim: ({ now, limit, until }) => {
      const due = lanes.due(now, limit)
      const entries = due.flatMap((lane) => lease(tables, lane, { now, until }) ?? [])
      return defined({ entries, next: lanes.next() })
    },
    renew: (leases, until) => {
      const renew = sql(`update idv_entries set lease_until = ?
        where id = ? and fence = ? and state = 'leased'`)
      for (const { id, fence } of leases) renew.run(until, id, fence)
    },
    lapsed: (now) => {
      const lapsed = sql<Row>(`select id, fence, attempt, name,
        stored_at as storedAt from idv_entries
        where state = 'leased' and (owner <> ? or lease_until <= ?) order by seq`)
      return lapsed.all(tables.epoch, now).map(present<Lapsed>)
    },
    checkpoint: (lease, handler) => {
      const head = tables.held(lease)
      if (!head || head.erased === 1) return false
      if (handler !== undefined) tables.addHandled(head.seq, handler)
      return true
    },
    settle: (settlement) => {
      const head = tables.held(settlement.lease)
      if (!head) return settlement.sweeps !== true && isSettled(tables, settlement)
      if (head.erased === 1) {
        tables.skip(head, 'FORGOTTEN', settlement.at)
        return false
      }
      for (const handler of settlement.handled) tables.addHandled(head.seq, handler)
      settle(tables, head, settlement)
      return true
    },
  }
}

/** Returns undefined if a damaged file has lost the entry; its lane goes on. */
function lease(
  tables: InboxTables,
  { lane, head }: DueLane,
  { now, until }: { readonly now: number; readonly until: number },
): Claimed | undefined {
  const { sql, lanes } = tables
  lanes.hold(lane)
  const states = sql<{ readonly state: EntryState }>('select state from idv_entries where seq = ?')
  const before = states.get(head)
  const row = sql<Row>(`update idv_entries set state = 'leased', attempt = attempt + 1,
    fence = fence + 1, owner = ?, lease_until = ?, due = null where seq = ? returning id, fence,
    attempt, seq, name, source, occurred_at as occurredAt, stored_at as storedAt, failures`).get(
    ...[tables.epoch, until, head],
  )
  if (!before || !row) {
    lanes.advance(lane, now)
    return undefined
  }
  tables.moved(before.state, 'leased')
  const { failures, ...entry } = row
  const content = sql<ContentRow>('select metadata, body from idv_contents where seq = ?')
  const around = sql<{ readonly gap: number; readonly isLast: number }>(`select
    exists (select 1 from idv_entries where lane = ? and seq < ? and state = 'dead') as gap,
    not exists (select 1 from idv_entries where lane = ? and seq > ?
      and state in ('stored', 'leased', 'retry')) as isLast`).get(lane, head, lane, head)
  const mark = sql<HighWaterMarkRow>(
    'select at, final, decision from idv_high_water_marks where lane = ?',
  ).get(lane)
  const failed = failures === null || failures === '[]' ? undefined : failedOf(String(failures))
  return {
    ...present<LeasedEntry>(entry),
    ...content.get(head),
    handled: tables.handled(head),
    gap: around?.gap === 1,
    ...(around?.isLast === 1 && { isLast: true as const }),
    ...(failed && { failed }),
    ...(mark && { highWaterMark: toHighWaterMark(mark) }),
  }
}

function settle(tables: InboxTables, head: EntryHead, settlement: Settlement): void {
  const { sql, lanes } = tables
  const { to, at } = settlement
  const failures = JSON.stringify('failures' in settlement ? (settlement.failures ?? []) : [])
  if (to === 'released') {
    // It is due at once, also after the clock was set back. After a crash or a drain the failures of
    // the attempt before stay.
    sql(`update idv_entries set state = 'stored', attempt = attempt - 1, due = ?,
      failures = coalesce(nullif(?, '[]'), failures) where seq = ?`).run(at, failures, head.seq)
  } else if (to === 'retry') {
    sql(`update idv_entries set state = 'retry', due = ?, reason = ?,
      failures = coalesce(nullif(?, '[]'), failures) where seq = ?`).run(
      ...[settlement.due, settlement.reason, failures, head.seq],
    )
  } else {
    const { name = null, reason } =
      to === 'done' ? { ...settlement, reason: null } : { reason: settlement.reason }
    sql(`update idv_entries set state = ?, settled_at = ?, reason = ?, failures = ?, due = null,
      name = coalesce(?, name) where seq = ?`).run(
      ...[to, at, reason, to === 'dead' ? failures : null, name, head.seq],
    )
  }
  tables.moved('leased', to === 'released' ? 'stored' : to)
  if (to === 'done' && settlement.highWaterMark) {
    const { at: latest = null, final, decision } = settlement.highWaterMark
    sql(`insert into idv_high_water_marks values (?, ?, ?, ?, ?) on conflict do update set
      at = nullif(max(coalesce(at, 0), coalesce(excluded.at, 0)), 0), touched = excluded.touched,
      final = max(final, excluded.final), decision = coalesce(excluded.decision, decision)`).run(
      ...[head.lane, latest, Number(final), at, decision ? JSON.stringify(decision) : null],
    )
  }
  // An older entry of the lane may have been reopened meanwhile.
  if (to !== 'dead' || !settlement.hold || isOwnLane(head)) lanes.advance(head.lane, at)
}

/** True if this settlement was written before and nothing has changed the entry since. */
function isSettled(tables: InboxTables, { lease, to }: Settlement): boolean {
  const head = tables.head(lease.id)
  const state = to === 'released' ? 'stored' : to
  return head?.erased === 0 && head.state === state && head.fence === lease.fence
}

interface HighWaterMarkRow {
  readonly at: number | null
  readonly final: number
  readonly decision: string | null
}

function failedOf(failures: string): readonly string[] {
  return (JSON.parse(failures) as readonly EntryFailure[]).map(({ handler }) => handler)
}

function toHighWaterMark({ at, final, decision }: HighWaterMarkRow): HighWaterMark {
  return {
    final: final === 1,
    ...(at !== null && { at }),
    // Trust is granted here: this store wrote it.
    ...(decision !== null && { decision: JSON.parse(decision) as Decision }),
  }
}
