// Calls of the worker: claim, renew, checkpoint, settle.
import type { Decision } from '../../../dispatch/finality.ts'
import { defined } from '../../../foundation/defined.ts'
import { type EntryFailure, type EntryState, isOwnLane } from '../../entry.ts'
import type {
  Claimed,
  ClaimRequest,
  ClaimResult,
  HighWaterMark,
  Lapsed,
  Lease,
  Settlement,
} from '../../work-store.ts'
import { prepared, type SqliteDatabase } from './driver.ts'
import type { DueLane } from './lanes.ts'
import { type EntryHead, type InboxTables, type Nullable, present } from './tables.ts'

type LeasedColumns =
  | 'id'
  | 'fence'
  | 'attempt'
  | 'seq'
  | 'name'
  | 'source'
  | 'occurredAt'
  | 'storedAt'
type LeasedRow = Nullable<Pick<Claimed, LeasedColumns>> & { readonly failures: string | null }

type SettlementTo<To> = Extract<Settlement, { readonly to: To }>

export class AttemptCalls {
  readonly #tables: InboxTables
  readonly #sql: ReturnType<typeof attemptStatements>

  constructor(tables: InboxTables) {
    this.#tables = tables
    this.#sql = attemptStatements(tables.db)
  }

  readonly claim = ({ now, limit, until }: ClaimRequest): ClaimResult => {
    const entries: Claimed[] = []
    for (const lane of this.#tables.lanes.due(now, limit)) {
      const entry = this.#lease(lane, now, until)
      if (entry) entries.push(entry)
    }
    return defined({ entries, next: this.#tables.lanes.next() })
  }

  readonly renew = (leases: readonly Lease[], until: number): void => {
    for (const { id, fence } of leases) this.#sql.renew.run(until, id, fence)
  }

  readonly lapsed = (now: number): readonly Lapsed[] => {
    return this.#sql.lapsed.all(this.#tables.epoch, now).map((row) => present(row))
  }

  readonly checkpoint = (lease: Lease, handler?: string): boolean => {
    const head = this.#tables.held(lease)
    if (!head || head.erased === 1) return false
    if (handler !== undefined) this.#sql.addHandled.run(head.seq, handler)
    return true
  }

  readonly settle = (settlement: Settlement): boolean => {
    const head = this.#tables.held(settlement.lease)
    if (!head) return settlement.sweeps !== true && this.#isSettled(settlement)
    if (head.erased === 1) {
      this.#tables.skip(head, 'FORGOTTEN', settlement.at)
      return false
    }
    for (const handler of settlement.handled) this.#sql.addHandled.run(head.seq, handler)
    if (settlement.to === 'released') this.#release(head, settlement)
    else if (settlement.to === 'retry') this.#retry(head, settlement)
    else this.#end(head, settlement)
    return true
  }

  /** True if this settlement was written before and nothing has changed the entry since. */
  #isSettled({ lease, to }: Settlement): boolean {
    const head = this.#tables.head(lease.id)
    const state = to === 'released' ? 'stored' : to
    return head?.erased === 0 && head.state === state && head.fence === lease.fence
  }

  /** Returns undefined if a damaged file has lost the entry; its lane goes on. */
  #lease({ lane, head }: DueLane, now: number, until: number): Claimed | undefined {
    this.#tables.lanes.hold(lane)
    const before = this.#sql.state.get(head)
    const row = this.#sql.lease.get(this.#tables.epoch, until, head)
    if (!before || !row) {
      this.#tables.lanes.advance(lane, now)
      return undefined
    }
    this.#tables.moved(before.state, 'leased')
    const { failures, ...entry } = row
    const around = this.#sql.around.get(lane, head, lane, head)
    const mark = this.#sql.highWaterMark.get(lane)
    const failed = failures === null || failures === '[]' ? undefined : failedOf(failures)
    return {
      ...present(entry),
      ...this.#sql.content.get(head),
      handled: this.#tables.handled(head),
      gap: around?.gap === 1,
      ...(around?.isLast === 1 && { isLast: true as const }),
      ...(failed && { failed }),
      ...(mark && { highWaterMark: toHighWaterMark(mark) }),
    }
  }

  /** Makes the entry due at once, also after the clock was set back. */
  #release({ seq, lane }: EntryHead, { at, failures = [] }: SettlementTo<'released'>): void {
    this.#sql.release.run(at, JSON.stringify(failures), seq)
    this.#tables.moved('leased', 'stored')
    // An older entry of the lane may have been reopened meanwhile.
    this.#tables.lanes.advance(lane, at)
  }

  #retry({ seq, lane }: EntryHead, settlement: SettlementTo<'retry'>): void {
    const { at, due, reason, failures } = settlement
    this.#sql.retry.run(due, reason, JSON.stringify(failures), seq)
    this.#tables.moved('leased', 'retry')
    this.#tables.lanes.advance(lane, at)
  }

  #end(head: EntryHead, ended: SettlementTo<'done' | 'dead' | 'skipped'>): void {
    const { to, at } = ended
    const reason = to === 'done' ? null : ended.reason
    const failures = to === 'dead' ? JSON.stringify(ended.failures) : null
    this.#sql.end.run(to, at, reason, failures, head.seq)
    this.#tables.moved('leased', to)
    if (to === 'done' && ended.highWaterMark) {
      const { at: latest = null, final, decision } = ended.highWaterMark
      const decided = decision ? JSON.stringify(decision) : null
      this.#sql.raise.run(head.lane, latest, Number(final), at, decided)
    }
    const isHeld = to === 'dead' && ended.hold && !isOwnLane(head)
    if (!isHeld) this.#tables.lanes.advance(head.lane, at)
  }
}

function attemptStatements(db: SqliteDatabase) {
  const make = <Row = never>(sql: string) => prepared<Row>(db, sql)
  return {
    state: make<{ readonly state: EntryState }>('select state from idv_entries where seq = ?'),
    lease: make<LeasedRow>(`update idv_entries set state = 'leased', attempt = attempt + 1,
      fence = fence + 1, owner = ?, lease_until = ?, due = null where seq = ? returning id, fence,
      attempt, seq, name, source, occurred_at as occurredAt, stored_at as storedAt, failures`),
    content: make<Required<Pick<Claimed, 'metadata' | 'body'>>>(
      'select metadata, body from idv_contents where seq = ?',
    ),
    around: make<{ readonly gap: number; readonly isLast: number }>(`select
      exists (select 1 from idv_entries where lane = ? and seq < ? and state = 'dead') as gap,
      not exists (select 1 from idv_entries where lane = ? and seq > ?
        and state in ('stored', 'leased', 'retry')) as isLast`),
    highWaterMark: make<HighWaterMarkRow>(
      'select at, final, decision from idv_high_water_marks where lane = ?',
    ),
    raise: make(`insert into idv_high_water_marks values (?, ?, ?, ?, ?) on conflict do update set
      at = nullif(max(coalesce(at, 0), coalesce(excluded.at, 0)), 0), touched = excluded.touched,
      final = max(final, excluded.final), decision = coalesce(excluded.decision, decision)`),
    renew: make(
      "update idv_entries set lease_until = ? where id = ? and fence = ? and state = 'leased'",
    ),
    lapsed: make<
      Nullable<Omit<Lapsed, 'owner'>>
    >(`select id, fence, attempt, name, stored_at as storedAt
      from idv_entries where state = 'leased' and (owner <> ? or lease_until <= ?) order by seq`),
    addHandled: make('insert into idv_handled values (?, ?) on conflict do nothing'),
    // After a crash or a drain the failures of the attempt before stay.
    release: make(`update idv_entries set state = 'stored', attempt = attempt - 1, due = ?,
      failures = coalesce(nullif(?, '[]'), failures) where seq = ?`),
    retry: make(`update idv_entries set state = 'retry', due = ?, reason = ?,
      failures = coalesce(nullif(?, '[]'), failures) where seq = ?`),
    end: make(`update idv_entries set state = ?, settled_at = ?, reason = ?, failures = ?, due = null
      where seq = ?`),
  }
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
