// Calls of the worker: claim, renew, checkpoint, settle.
import { defined } from '../../../foundation/defined.ts'
import type { Decision } from '../../../protocol/finality.ts'
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
import type { AdminCalls } from './admin-calls.ts'
import { type Connection, type EntryHead, type Nullable, present } from './connection.ts'
import type { DueLane, Lanes } from './lanes.ts'

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

interface ContentRow {
  readonly metadata: Uint8Array
  readonly body: Uint8Array
}

type SettlementTo<To> = Extract<Settlement, { readonly to: To }>

export interface AttemptDeps {
  readonly connection: Connection
  readonly lanes: Lanes
  readonly admin: AdminCalls
  /** Grows with every owner of the file. */
  readonly epoch: number
}

export class AttemptCalls {
  readonly #connection: Connection
  readonly #lanes: Lanes
  readonly #admin: AdminCalls
  readonly #epoch: number
  readonly #sql: ReturnType<typeof attemptStatements>

  constructor({ connection, lanes, admin, epoch }: AttemptDeps) {
    this.#connection = connection
    this.#lanes = lanes
    this.#admin = admin
    this.#epoch = epoch
    this.#sql = attemptStatements(connection)
  }

  readonly claim = ({ now, limit, until }: ClaimRequest): ClaimResult => {
    const entries: Claimed[] = []
    for (const lane of this.#lanes.due(now, limit)) {
      const entry = this.#lease(lane, now, until)
      if (entry) entries.push(entry)
    }
    return defined({ entries, next: this.#lanes.next() })
  }

  readonly renew = (leases: readonly Lease[], until: number): void => {
    for (const { id, fence } of leases) this.#sql.renew.run(until, id, fence)
  }

  readonly lapsed = (now: number): readonly Lapsed[] => {
    return this.#sql.lapsed.all(this.#epoch, now).map((row) => present(row))
  }

  readonly checkpoint = (lease: Lease, handler?: string): boolean => {
    const head = this.#connection.held(lease)
    if (!head || head.erased === 1) return false
    if (handler !== undefined) this.#sql.addHandled.run(head.seq, handler)
    return true
  }

  readonly settle = (settlement: Settlement): boolean => {
    const head = this.#connection.held(settlement.lease)
    if (!head) return settlement.sweeps !== true && this.#isSettled(settlement)
    if (head.erased === 1) {
      this.#admin.skip(head, 'FORGOTTEN', settlement.at)
      return false
    }
    for (const handler of settlement.handled) this.#sql.addHandled.run(head.seq, handler)
    if (settlement.to === 'released') this.#release(head, settlement)
    else if (settlement.to === 'retry') this.#retry(head, settlement)
    else this.#end(head, settlement)
    return true
  }

  /** Whether the entry is as this settlement has left it. */
  #isSettled({ lease, to }: Settlement): boolean {
    const head = this.#connection.head(lease.id)
    const state = to === 'released' ? 'stored' : to
    return head?.erased === 0 && head.state === state && head.fence === lease.fence
  }

  /** Undefined when the file has lost the entry: then its lane goes on. */
  #lease({ lane, head }: DueLane, now: number, until: number): Claimed | undefined {
    this.#lanes.hold(lane)
    const before = this.#sql.state.get(head)
    const row = this.#sql.lease.get(this.#epoch, until, head)
    if (!before || !row) {
      this.#lanes.advance(lane, now)
      return undefined
    }
    this.#connection.moved(before.state, 'leased')
    const { failures, ...entry } = row
    const mark = this.#sql.highWaterMark.get(lane)
    const failed = failures === null || failures === '[]' ? undefined : failedOf(failures)
    return {
      ...present(entry),
      ...this.#sql.content.get(head),
      handled: this.#sql.handled.all(head).map(({ handler }) => handler),
      gap: this.#sql.gap.get(lane, head) !== undefined,
      ...(failed && { failed }),
      ...(mark && { highWaterMark: toHighWaterMark(mark) }),
    }
  }

  /** It waits for no delay of its own: a clock that was set back has it due at once. */
  #release({ seq, lane }: EntryHead, { at, failures = [] }: SettlementTo<'released'>): void {
    this.#sql.release.run(at, JSON.stringify(failures), seq)
    this.#connection.moved('leased', 'stored')
    // An older one may have been opened again meanwhile.
    this.#lanes.advance(lane, at)
  }

  #retry({ seq, lane }: EntryHead, settlement: SettlementTo<'retry'>): void {
    const { at, due, reason, failures } = settlement
    this.#sql.retry.run(due, reason, JSON.stringify(failures), seq)
    this.#connection.moved('leased', 'retry')
    this.#lanes.advance(lane, at)
  }

  #end(head: EntryHead, ended: SettlementTo<'done' | 'dead' | 'skipped'>): void {
    const { to, at } = ended
    const reason = to === 'done' ? null : ended.reason
    const failures = to === 'dead' ? JSON.stringify(ended.failures) : null
    this.#sql.end.run(to, at, reason, failures, head.seq)
    this.#connection.moved('leased', to)
    if (to === 'done' && ended.highWaterMark) {
      const { at: latest = null, final, decision } = ended.highWaterMark
      const decided = decision ? JSON.stringify(decision) : null
      this.#sql.raise.run(head.lane, latest, Number(final), at, decided)
    }
    const isHeld = to === 'dead' && ended.hold && !isOwnLane(head)
    if (!isHeld) this.#lanes.advance(head.lane, at)
  }
}

function attemptStatements(connection: Connection) {
  const make = <Row = never>(sql: string) => connection.prepare<Row>(sql)
  return {
    state: make<{ readonly state: EntryState }>('select state from idv_entries where seq = ?'),
    lease: make<LeasedRow>(`update idv_entries set state = 'leased', attempt = attempt + 1,
      fence = fence + 1, owner = ?, lease_until = ?, due = null where seq = ? returning id, fence,
      attempt, seq, name, source, occurred_at as occurredAt, stored_at as storedAt, failures`),
    handled: make<{ readonly handler: string }>('select handler from idv_handled where seq = ?'),
    content: make<ContentRow>('select metadata, body from idv_contents where seq = ?'),
    gap: make<object>(
      "select 1 from idv_entries where lane = ? and seq < ? and state = 'dead' limit 1",
    ),
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
    // A crash or a drain says nothing of handlers: those that failed before stay known.
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
    // As this store wrote it.
    ...(decision !== null && { decision: JSON.parse(decision) as Decision }),
  }
}
