// Queries of operators and of retention: find, reopen, dismiss, forget, purge, count.

import { defined } from '../../../foundation/defined.ts'
import type { EventSource } from '../../../protocol/events.ts'
import type {
  LatencyQuery,
  Purged,
  StoredEntry,
  StoredLatency,
  StoreQuery,
  StoreStats,
} from '../../admin-store.ts'
import { type EntryFailure, type EntryReason, type EntryState, isSetAside } from '../../entry.ts'
import type { Gives, Takes } from './calls.ts'
import { conditions } from './conditions.ts'
import type { Connection, Head, Statement } from './connection.ts'
import { forgetPage, isErased } from './forget-page.ts'
import type { Lanes } from './lanes.ts'
import { latencySql } from './latency.ts'
import { countWithin, type Sized } from './page.ts'

interface EntryRow {
  readonly seq: number
  readonly id: string
  readonly state: EntryState
  readonly source: EventSource
  readonly name: string | null
  readonly received_name: string | null
  readonly occurred_at: number | null
  readonly stored_at: number
  readonly attempt: number
  readonly due: number | null
  readonly settled_at: number | null
  readonly reason: EntryReason | null
  readonly failures: string | null
  readonly generation: number
  readonly conflict_of: string | null
  readonly bytes: number
  readonly metadata: Uint8Array | null
  readonly body: Uint8Array | null
}

interface ErasedRow {
  readonly seq: number
  readonly state: EntryState
}

export class AdminQueries {
  readonly #connection: Connection
  readonly #lanes: Lanes
  readonly #isOwner: boolean
  readonly #sql: ReturnType<typeof statements>

  constructor(connection: Connection, lanes: Lanes, isOwner: boolean) {
    this.#connection = connection
    this.#lanes = lanes
    this.#isOwner = isOwner
    this.#sql = statements(connection)
  }

  recall({ name, initial }: Takes<'recall'>): Gives<'recall'> {
    const known = this.#sql.setting.get(name)?.value
    if (known !== undefined) return known
    this.#sql.addSetting.run(name, initial)
    return initial
  }

  remember({ name, value }: Takes<'remember'>): void {
    this.#sql.setSetting.run(name, value)
  }

  find(query: StoreQuery): readonly StoredEntry[] {
    const { where, values } = conditions(query)
    // A payload that waits for the page of `forget` that erases it is shown to nobody.
    const body = query.withBody ? "iif(e.reason is 'FORGOTTEN', null, c.body)" : 'null'
    const sql = `select e.*, c.metadata, ${body} as body from idv_entries e
      left join idv_contents c on c.seq = e.seq
      ${where} order by e.seq ${query.oldestFirst ? 'asc' : 'desc'} limit ?`
    const rows = this.#connection.statement<EntryRow>(sql).all(...values, query.limit)
    return rows.map((row) => this.#toStored(row))
  }

  reopen({ ids, from, now, replay = false, setAside = false }: Takes<'reopen'>): number {
    const due = this.#isOwner ? now : Math.min(now, this.#sql.ownersTime.get()?.at ?? now)
    let reopened = 0
    for (const id of ids) {
      const head = this.#connection.head(id)
      if (!head || !from.includes(head.state) || !this.#sql.content.get(head.seq)) continue
      const { reason } = this.#sql.reason.get(head.seq) ?? {}
      // Its payload may wait for the page that erases it.
      if (reason === 'FORGOTTEN' || (!setAside && isSetAside(reason))) continue
      this.#sql.reopen.run(due, Number(replay), head.seq)
      if (replay) this.#sql.deleteHandled.run(head.seq)
      this.#connection.moved(head.state, 'stored')
      this.#lanes.enter(head, due)
      reopened++
    }
    return reopened
  }

  dismiss({ id, now }: Takes<'dismiss'>): boolean {
    const head = this.#connection.head(id)
    if (head?.state !== 'dead') return false
    this.skip(head, 'DISMISSED', now)
    return true
  }

  /** A page: deliveries are kept between two. */
  forget(asked: Takes<'forget'>): Gives<'forget'> {
    const { newest = this.#sql.newest.get()?.seq ?? 0 } = asked
    const { entries, last } = forgetPage(this.#connection, { ...asked, newest })
    const erased = entries.filter((one) => isErased(asked, one))
    for (const one of erased) this.erase(one)
    for (const one of entries) {
      // A leased entry keeps its lane until its holder is gone: a lane never has two at work.
      if (['stored', 'retry', 'dead'].includes(one.state)) this.skip(one, 'FORGOTTEN', asked.now)
    }
    return { forgotten: erased.length, newest, last }
  }

  purge({ doneBefore, deadBefore, keysBefore, limit }: Takes<'purge'>): Purged {
    const settled = (['done', 'dead', 'skipped'] as const).flatMap((state) =>
      this.#sql.settled.all(state, state === 'done' ? doneBefore : deadBefore, limit),
    )
    const past = settled.slice(0, countWithin(settled))
    for (const { seq } of past) this.#eraseContent(seq)
    let deleted = this.#sql.deleteKeys.run(keysBefore, limit)
    for (const { seq, state } of this.#sql.erased.all(keysBefore, limit)) {
      this.#sql.deleteEntry.run(seq)
      this.#sql.deleteHandled.run(seq)
      this.#connection.moved(state, undefined)
      deleted++
    }
    // With the last page alone, for they read a row for each mark and relation.
    const isLast = settled.length < limit && past.length === settled.length && deleted < limit
    const { deleteMarks, deleteRelations } = this.#sql
    const others = isLast ? [deleteMarks, deleteRelations] : []
    const left = others.map((one) => one.run(keysBefore, limit) === limit)
    const hasMore = !isLast || left.includes(true)
    return { erased: past.length, deleted, ...(hasMore && { hasMore }) }
  }

  stats({ now, latency }: Takes<'stats'>): StoreStats {
    const counts = { stored: 0, leased: 0, retry: 0, done: 0, dead: 0, skipped: 0 }
    for (const { state, count } of this.#sql.counts.all()) counts[state] = count
    return defined({
      counts,
      oldest: this.#sql.oldest.get()?.at,
      due: this.#sql.due.get(now)?.at,
      newest: this.#sql.newest.get()?.at,
      latency: latency && this.#latency(latency),
    })
  }

  #latency({ since, limit, target }: LatencyQuery): readonly StoredLatency[] {
    return this.#connection.statement<StoredLatency>(latencySql).all(since, limit, target)
  }

  /** Sets an entry aside; a lane whose head it was goes on. */
  skip(head: Head, reason: EntryReason, now: number): void {
    const wasHead = this.#lanes.isHead(head)
    this.#sql.skip.run(reason, now, head.seq)
    this.#connection.moved(head.state, 'skipped')
    if (wasHead) this.#lanes.advance(head.lane, now)
  }

  /** Its keys match any bytes from now on. */
  erase({ seq, id }: Pick<Head, 'seq' | 'id'>): void {
    this.#eraseContent(seq)
    this.#sql.forgetDigests.run(id)
  }

  #eraseContent(seq: number): void {
    this.#sql.deleteContent.run(seq)
    this.#sql.erase.run(seq)
  }

  #toStored(row: EntryRow): StoredEntry {
    const { id, state, source, attempt, generation, bytes } = row
    // Trust is granted here: the engine wrote the list itself.
    const failures = JSON.parse(row.failures ?? '[]') as readonly EntryFailure[]
    return defined({
      ...{ id, state, source, attempt, generation, bytes, failures },
      storedAt: row.stored_at,
      handled: this.#sql.handled.all(row.seq).map(({ handler }) => handler),
      name: row.name ?? undefined,
      receivedName: row.received_name ?? undefined,
      occurredAt: row.occurred_at ?? undefined,
      due: row.due ?? undefined,
      settledAt: row.settled_at ?? undefined,
      reason: row.reason ?? undefined,
      conflictOf: row.conflict_of ?? undefined,
      metadata: row.metadata ?? undefined,
      body: row.body ?? undefined,
    })
  }
}

function statements(connection: Connection) {
  const make = <Row = never>(sql: string): Statement<Row> => connection.statement<Row>(sql)
  return {
    addSetting: make('insert into idv_settings values (?, ?) on conflict do nothing'),
    setting: make<{ readonly value: Uint8Array }>('select value from idv_settings where name = ?'),
    setSetting: make('insert or replace into idv_settings values (?, ?)'),
    content: make<object>('select 1 from idv_contents where seq = ?'),
    reason: make<Pick<EntryRow, 'reason'>>('select reason from idv_entries where seq = ?'),
    // The last that the owner's clock is known to have shown. It stays behind an operator's when the
    // system's was set forward or slept, and for as long the lane of a later time would wait.
    ownersTime: make<{ readonly at: number | null }>(`select max(at) as at from (
      select * from (select stored_at as at from idv_entries order by seq desc limit 1)
      union all ${lastSettled('done')} union all ${lastSettled('dead')})`),
    reopen: make(`update idv_entries set state = 'stored', attempt = 0, due = ?, reason = null,
      failures = null, settled_at = null, generation = generation + 1,
      source = iif(?, 'replay', source) where seq = ?`),
    handled: make<{ readonly handler: string }>('select handler from idv_handled where seq = ?'),
    deleteHandled: make('delete from idv_handled where seq = ?'),
    forgetDigests: make("update idv_keys set digest = '' where entry = ?"),
    settled: make<
      Pick<Sized, 'seq' | 'bytes' | 'erased'>
    >(`select seq, bytes, erased from idv_entries
      indexed by idv_entries_settled
      where erased = 0 and state = ? and settled_at is not null and settled_at < ?
      and (state <> 'dead' or not exists
        (select 1 from idv_lanes l where l.lane = idv_entries.lane and l.head = seq)) limit ?`),
    deleteKeys: make(`delete from idv_keys where key in
      (select key from idv_keys where at < ? limit ?)`),
    // By it the evidence of its conflicts is forgotten.
    erased: make<ErasedRow>(`select seq, state from idv_entries e indexed by idv_entries_erased
      where erased = 1 and stored_at < ? and state in ('done', 'dead', 'skipped') and not exists
        (select 1 from idv_entries c where c.conflict_of = e.id and c.name is null
        and c.erased = 0) limit ?`),
    deleteEntry: make('delete from idv_entries where seq = ?'),
    // An entry that may run again is compared with what was done after it.
    deleteMarks: make(`delete from idv_high_water_marks where lane in
      (select m.lane from idv_high_water_marks m where m.touched < ? and not exists
        (select 1 from idv_entries e where e.lane = m.lane and e.erased = 0) limit ?)`),
    // Relations of lanes that still have entries stay: the next entry may name nobody again.
    deleteRelations: make(`delete from idv_relations where lane in
      (select r.lane from idv_relations r where r.at < ?
        and not exists (select 1 from idv_entries e where e.lane = r.lane) limit ?)`),
    counts: make<{ readonly state: EntryState; readonly count: number }>(
      'select state, count from idv_counts',
    ),
    oldest: make<{ readonly at: number }>(`select stored_at as at from idv_entries
      where seq = (select min(head) from idv_lanes)`),
    due: make<{ readonly at: number }>(`select due as at from idv_lanes
      where due is not null and due <= ? order by due limit 1`),
    newest: make<{ readonly seq: number; readonly at: number }>(
      'select seq, stored_at as at from idv_entries order by seq desc limit 1',
    ),
    skip: make(`update idv_entries set state = 'skipped', reason = ?, settled_at = ?, due = null
      where seq = ?`),
    deleteContent: make('delete from idv_contents where seq = ?'),
    erase: make('update idv_entries set erased = 1, failures = null where seq = ?'),
  }
}

const lastSettled = (state: 'done' | 'dead') => `select * from (select settled_at as at
  from idv_entries indexed by idv_entries_settled where erased = 0 and state = '${state}'
  and settled_at is not null order by settled_at desc limit 1)`
