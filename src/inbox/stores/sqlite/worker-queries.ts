// What the store can be asked, as synchronous work on one connection; a batch of it is one
// transaction, and so one sync.
import { WebhookError } from '../../../errors.ts'
import type {
  Alias,
  Alignment,
  Claimed,
  ClaimRequest,
  ClaimResult,
  HighWaterMark,
  Inserted,
  Lapsed,
  Lease,
  NewEntry,
  Settlement,
} from '../../work-store.ts'
import { AdminQueries } from './admin-queries.ts'
import { Connection, type Head, type Row } from './connection.ts'
import { inTransaction, isFatal } from './driver.ts'
import type { Owned } from './opening.ts'
import {
  claimSql,
  gapSql,
  highWaterMarkSql,
  insertSql,
  leaseSql,
  nextDueSql,
} from './statements.ts'

/** One question to the engine: the name of a method, and its argument. */
export type Call = readonly [method: keyof Questions, argument: never]

type Questions = Omit<WorkerQueries, 'transact' | 'emptyLog'> & Omit<AdminQueries, 'skip'>

/** What one call came to, where the commit of its batch was made. */
export type Answer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string }

/** They change nothing, so one that fails has nothing that the others must not commit. */
const reads: readonly Call[0][] = ['find', 'stats', 'lapsed']

/** The writes of the corridor and the worker. */
export class WorkerQueries {
  readonly #ledger: Connection
  readonly #clerk: AdminQueries
  readonly #epoch: number | undefined

  constructor({ db, epoch }: Pick<Owned, 'db' | 'epoch'>) {
    this.#ledger = new Connection(db)
    this.#clerk = new AdminQueries(this.#ledger)
    this.#epoch = epoch
  }

  /** Answers all of it in one transaction, or throws and has done none of it. */
  transact(calls: readonly Call[]): Answer[] {
    const { db } = this.#ledger
    db.exec('begin immediate')
    try {
      this.#assertOwner()
      const answers = calls.map((call) => this.#answerAlone(call))
      this.#ledger.writeCounts()
      db.exec('commit')
      return answers
    } catch (error) {
      this.#ledger.forgetCounts()
      // A commit that failed has rolled back by itself; a second one would hide its error.
      if (inTransaction(db)) db.exec('rollback')
      throw error
    }
  }

  /** Moves the log into the file; false when a reader kept it from being emptied after that. */
  emptyLog(patience = 0): boolean {
    const { db } = this.#ledger
    db.exec(`pragma busy_timeout = ${patience}`)
    try {
      return this.#ledger.get('pragma wal_checkpoint(truncate)')?.busy === 0
    } finally {
      db.exec('pragma busy_timeout = 1000')
    }
  }

  insert(entry: NewEntry): Inserted {
    const { id, key, digest, aliases = [], storedAt } = entry
    if (key !== undefined && !this.#addKey(key, { ...entry, name: null })) {
      return this.#known(entry, key)
    }
    const alias = aliases.map((one) => this.#entryOfAlias(one)).find((first) => first !== undefined)
    if (alias !== undefined) {
      // Whose it is may be told by this one alone.
      this.#ledger.relate(entry)
      if (key) this.#ledger.run('update idv_keys set entry = ? where key = ?', alias, key)
      return { kind: 'duplicate', id: alias }
    }
    for (const { key: same, name } of aliases) this.#addKey(same, { id, digest, name, storedAt })
    const seq = this.#addEntry(entry, 'stored')
    const lane = 'insert into idv_lanes values (?, ?, ?, ?) on conflict do nothing'
    this.#ledger.run(lane, entry.lane, seq, storedAt, seq)
    return { kind: 'stored', id }
  }

  /** The entry that told of the same under another name. */
  #entryOfAlias({ key, name }: Alias): string | undefined {
    const known = this.#ledger.get('select entry, name from idv_keys where key = ?', key)
    return known && known.name !== name ? String(known.entry) : undefined
  }

  claim({ now, limit, until }: ClaimRequest): ClaimResult {
    const heads = this.#ledger.all(claimSql, now, limit)
    const entries = heads.flatMap((head) => this.#lease(head, { now, limit, until }) ?? [])
    const next = this.#ledger.get(nextDueSql)?.due
    return { entries, ...(typeof next === 'number' && { next }) }
  }

  align(alignment: Alignment): void {
    this.#ledger.align(alignment)
  }

  renew({ leases, until }: { readonly leases: readonly Lease[]; readonly until: number }): void {
    const sql =
      "update idv_entries set lease_until = ? where id = ? and fence = ? and state = 'leased'"
    for (const { id, fence } of leases) this.#ledger.run(sql, until, id, fence)
  }

  lapsed(now: number): Lapsed[] {
    const sql = `select id, fence, attempt, name, stored_at as storedAt from idv_entries
      where state = 'leased' and (owner <> ? or lease_until <= ?) order by seq`
    return this.#ledger.all(sql, this.#epoch ?? 0, now).map(({ name, ...lapsed }) => {
      return { ...lapsed, ...(name !== null && { name }) } as unknown as Lapsed
    })
  }

  checkpoint({ lease, handler }: { readonly lease: Lease; readonly handler: string }): boolean {
    const head = this.#held(lease)
    if (!head || head.erased === 1) return false
    this.#addHandled(head.seq, [handler])
    return true
  }

  settle(settlement: Settlement): boolean {
    const head = this.#held(settlement.lease)
    if (!head) return this.#isSettled(settlement)
    if (head.erased === 1) {
      this.#clerk.skip(head, 'FORGOTTEN', settlement.at)
      return false
    }
    this.#addHandled(head.seq, settlement.handled)
    if (settlement.to === 'released') this.#release(head, settlement.at)
    else if (settlement.to === 'retry') this.#retry(head, settlement)
    else this.#end(head, settlement)
    return true
  }

  /** Whether the entry is as this settlement has left it. */
  #isSettled({ lease, to }: Settlement): boolean {
    const head = this.#ledger.head(lease.id)
    const state = to === 'released' ? 'stored' : to
    return head?.erased === 0 && head.state === state && head.fence === lease.fence
  }

  /** Reads travel with deliveries, which must not fail for them. */
  #answerAlone([method, argument]: Call): Answer {
    try {
      return { ok: true, value: this.#answer(method, argument) }
    } catch (error) {
      const isHarmless = reads.includes(method) && inTransaction(this.#ledger.db)
      if (!isHarmless || isFatal(error)) throw error
      return { ok: false, message: error instanceof Error ? error.message : 'unknown' }
    }
  }

  #answer(method: Call[0], argument: never): unknown {
    const desk: unknown = method in this ? this : this.#clerk
    if (desk === this && this.#epoch === undefined) {
      throw new WebhookError('STORE_FAILED', "access: 'operate' keeps and claims nothing")
    }
    return (desk as Record<string, (argument: never) => unknown>)[method]?.(argument)
  }

  /** Where locks do not work, an owner that was replaced must not write. */
  #assertOwner(): void {
    if (this.#epoch === undefined) return
    const row = this.#ledger.get("select value from idv_settings where name = 'epoch'")
    if (row?.value === this.#epoch) return
    throw new WebhookError(
      'STORE_FAILED',
      'another process has taken the inbox over: stop this one',
    )
  }

  #addKey(
    key: string,
    {
      id,
      digest,
      name,
      storedAt,
    }: Pick<NewEntry, 'id' | 'digest' | 'storedAt'> & { name: string | null },
  ): boolean {
    const sql = 'insert into idv_keys values (?, ?, ?, ?, ?) on conflict do nothing'
    return this.#ledger.run(sql, key, id, digest, name, storedAt) === 1
  }

  #known(entry: NewEntry, key: string): Inserted {
    const known = this.#ledger.get('select entry, digest from idv_keys where key = ?', key)
    const id = String(known?.entry)
    if (known?.digest === entry.digest || known?.digest === '') return { kind: 'duplicate', id }
    if (this.#addKey(`${key} ${entry.digest}`, { ...entry, name: null })) {
      const seq = this.#addEntry(entry, 'skipped')
      const sql = `update idv_entries set reason = 'CONFLICT', conflict_of = ?, settled_at = stored_at
        where seq = ?`
      this.#ledger.run(sql, id, seq)
    }
    return { kind: 'conflict', id }
  }

  #addEntry(entry: NewEntry, state: 'stored' | 'skipped'): number {
    const values = [
      ...[entry.id, state, entry.lane, this.#ledger.relate(entry), entry.name ?? null],
      ...[entry.receivedName ?? null, entry.source, entry.occurredAt ?? null],
      ...[entry.storedAt, entry.bytes],
    ]
    const { seq } = this.#ledger.get(insertSql, ...values) ?? {}
    this.#ledger.run(
      'insert into idv_contents values (?, ?, ?)',
      Number(seq),
      entry.metadata,
      entry.body,
    )
    this.#ledger.moved(undefined, state)
    return Number(seq)
  }

  /** Undefined when the file has lost the entry: then its lane goes on. */
  #lease({ lane = '', head = 0 }: Row, { now, until }: ClaimRequest): Claimed | undefined {
    this.#ledger.run('update idv_lanes set due = null where lane = ?', lane)
    const before = this.#ledger.get('select state from idv_entries where seq = ?', head)
    const row = this.#ledger.get(leaseSql, this.#epoch ?? 0, until, head)
    if (!before || !row) {
      this.#ledger.advance(String(lane), now)
      return undefined
    }
    this.#ledger.moved(before.state as Head['state'], 'leased')
    const handled = this.#ledger.all('select handler from idv_handled where seq = ?', head)
    const highWaterMark = this.#ledger.get(
      'select at, final from idv_high_water_marks where lane = ?',
      lane,
    )
    const content = this.#ledger.get('select metadata, body from idv_contents where seq = ?', head)
    const present = Object.entries(row).filter(([, value]) => value !== null)
    return {
      ...Object.fromEntries(present),
      ...content,
      handled: handled.map(({ handler }) => String(handler)),
      gap: this.#ledger.get(gapSql, lane, head) !== undefined,
      ...(highWaterMark && { highWaterMark: toHighWaterMark(highWaterMark) }),
    } as unknown as Claimed
  }

  #held({ id, fence }: Lease): Head | undefined {
    const head = this.#ledger.head(id)
    return head?.state === 'leased' && head.fence === fence ? head : undefined
  }

  #addHandled(seq: number, handlers: readonly string[]): void {
    const sql = 'insert into idv_handled values (?, ?) on conflict do nothing'
    for (const handler of handlers) this.#ledger.run(sql, seq, handler)
  }

  /** It waits for no delay of its own: a clock that was set back has it due at once. */
  #release({ seq, lane }: Head, at: number): void {
    const sql =
      "update idv_entries set state = 'stored', attempt = attempt - 1, due = ? where seq = ?"
    this.#ledger.run(sql, at, seq)
    this.#ledger.moved('leased', 'stored')
    this.#ledger.run('update idv_lanes set due = ? where lane = ?', at, lane)
  }

  #retry(
    { seq, lane }: Head,
    { due, reason, failures }: Extract<Settlement, { to: 'retry' }>,
  ): void {
    const sql =
      "update idv_entries set state = 'retry', due = ?, reason = ?, failures = ? where seq = ?"
    this.#ledger.run(sql, due, reason, JSON.stringify(failures), seq)
    this.#ledger.moved('leased', 'retry')
    this.#ledger.run('update idv_lanes set due = ? where lane = ?', due, lane)
  }

  #end(head: Head, ended: Extract<Settlement, { to: 'done' | 'dead' | 'skipped' }>): void {
    const { to, at } = ended
    const reason = to === 'done' ? null : ended.reason
    const failures = to === 'dead' ? JSON.stringify(ended.failures) : null
    const sql = `update idv_entries set state = ?, settled_at = ?, reason = ?, failures = ?, due = null
      where seq = ?`
    this.#ledger.run(sql, to, at, reason, failures, head.seq)
    this.#ledger.moved('leased', to)
    if (to === 'done' && ended.highWaterMark) this.#note(head.lane, ended.highWaterMark, at)
    if (to !== 'dead' || !ended.hold) this.#ledger.advance(head.lane, at)
  }

  #note(lane: string, { at = null, final }: { at?: number | null; final: boolean }, now: number) {
    this.#ledger.run(highWaterMarkSql, lane, at, Number(final), now)
  }
}

function toHighWaterMark({ at, final }: Row): HighWaterMark {
  return { final: final === 1, ...(typeof at === 'number' && { at }) }
}
