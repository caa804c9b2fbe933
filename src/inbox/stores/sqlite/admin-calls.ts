// Calls of operators and of retention: find, reopen, dismiss, forget, purge, count, settings.

import { WebhookError } from '../../../errors.ts'
import { defined } from '../../../foundation/defined.ts'
import type {
  LatencyQuery,
  Purge,
  Purged,
  Reopening,
  StoredEntry,
  StoredLatency,
  StoreQuery,
  StoreStats,
} from '../../admin-store.ts'
import { type EntryFailure, type EntryReason, type EntryState, isSetAside } from '../../entry.ts'
import type { ForgottenPage } from '../../forget-pages.ts'
import { moveRefusals, moveSetting, moveStateOf } from '../../move-state.ts'
import type { Forgetting } from './calls.ts'
import { conditions, countWithin, forgetPage, isErased, type SizedEntry } from './conditions.ts'
import { type Connection, type EntryHead, type Nullable, present, toBlob } from './connection.ts'
import type { Lanes } from './lanes.ts'

/** An entry without what other tables have of it; JSON in `failures`. */
type StoredRow = Nullable<Omit<StoredEntry, 'failures' | 'handled'>> & {
  readonly seq: number
  readonly failures: string | null
}

const storedColumns = `e.seq, e.id, e.state, e.source, e.name, e.received_name as receivedName,
  e.occurred_at as occurredAt, e.stored_at as storedAt, e.attempt, e.due,
  e.settled_at as settledAt, e.reason, e.failures, e.generation, e.conflict_of as conflictOf,
  e.bytes, c.metadata`

export interface AdminDeps {
  readonly connection: Connection
  readonly lanes: Lanes
  readonly isOwner: boolean
}

export class AdminCalls {
  readonly #connection: Connection
  readonly #lanes: Lanes
  readonly #isOwner: boolean
  readonly #sql: ReturnType<typeof adminStatements>

  constructor({ connection, lanes, isOwner }: AdminDeps) {
    this.#connection = connection
    this.#lanes = lanes
    this.#isOwner = isOwner
    this.#sql = adminStatements(connection)
  }

  readonly recall = (name: string, initial: Uint8Array): Uint8Array => {
    const known = this.#sql.setting.get(name)?.value
    if (known !== undefined) return known
    this.#sql.addSetting.run(name, toBlob(initial))
    return initial
  }

  readonly remember = (name: string, value: Uint8Array): void => {
    this.#sql.setSetting.run(name, toBlob(value))
  }

  readonly find = (query: StoreQuery): readonly StoredEntry[] => {
    const { where, values } = conditions(query)
    // A payload that waits for the page of `forget` that erases it is shown to nobody.
    const body = query.withBody ? "iif(e.reason is 'FORGOTTEN', null, c.body)" : 'null'
    const sql = `select ${storedColumns}, ${body} as body from idv_entries e
      left join idv_contents c on c.seq = e.seq
      ${where} order by e.seq ${query.oldestFirst ? 'asc' : 'desc'} limit ?`
    const rows = this.#connection.prepare<StoredRow>(sql).all(...values, query.limit)
    return rows.map((row) => this.#toStored(row))
  }

  readonly reopen = ({ ids, from, now, replay = false, setAside = false }: Reopening): number => {
    this.#assertNotMoved()
    // The owner's clock may be behind an operator's, after the machine slept.
    const due = this.#isOwner ? now : Math.min(now, this.#sql.newest.get()?.at ?? now)
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

  readonly dismiss = (id: string, now: number): boolean => {
    this.#assertNotMoved()
    const head = this.#connection.head(id)
    if (head?.state !== 'dead') return false
    this.skip(head, 'DISMISSED', now)
    return true
  }

  /** A page: deliveries are kept between two. */
  readonly forget = (asked: Forgetting): ForgottenPage => {
    this.#assertNotMoved()
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

  readonly purge = ({ doneBefore, deadBefore, keysBefore, limit }: Purge): Purged => {
    this.#assertNotMoved()
    const settled = (['done', 'dead', 'skipped'] as const).flatMap((state) =>
      this.#sql.settled.all(state, state === 'done' ? doneBefore : deadBefore, limit),
    )
    const past = settled.slice(0, countWithin(settled))
    for (const { seq } of past) this.#eraseContent(seq)
    let deleted = Number(this.#sql.deleteKeys.run(keysBefore, limit).changes)
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
    const left = others.map((one) => Number(one.run(keysBefore, limit).changes) === limit)
    const hasMore = !isLast || left.includes(true)
    return { erased: past.length, deleted, ...(hasMore && { hasMore }) }
  }

  /** An operator may have opened the file before: what it changes now would reach nobody. */
  #assertNotMoved(): void {
    const { state } = moveStateOf(this.#sql.setting.get(moveSetting)?.value)
    if (state !== 'none') throw new WebhookError('STORE_UNSUITABLE', moveRefusals[state])
  }

  readonly stats = (now: number, latency?: LatencyQuery): StoreStats => {
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
    return this.#connection.prepare<StoredLatency>(latencySql).all(since, limit, target)
  }

  /** Sets an entry aside; a lane whose head it was goes on. */
  skip(head: EntryHead, reason: EntryReason, now: number): void {
    const wasHead = this.#lanes.isHead(head)
    this.#sql.skip.run(reason, now, head.seq)
    this.#connection.moved(head.state, 'skipped')
    if (wasHead) this.#lanes.advance(head.lane, now)
  }

  /** Its keys match any bytes from now on. */
  erase({ seq, id }: Pick<EntryHead, 'seq' | 'id'>): void {
    this.#eraseContent(seq)
    this.#sql.forgetDigests.run(id)
  }

  #eraseContent(seq: number): void {
    this.#connection.hasErased = true
    this.#sql.deleteContent.run(seq)
    this.#sql.erase.run(seq)
  }

  #toStored(row: StoredRow): StoredEntry {
    const { seq, failures, ...rest } = row
    return {
      ...present(rest),
      // Trust is granted here: the engine wrote the list itself.
      failures: JSON.parse(failures ?? '[]') as readonly EntryFailure[],
      handled: this.#sql.handled.all(seq).map(({ handler }) => handler),
    }
  }
}

function adminStatements(connection: Connection) {
  const make = <Row = never>(sql: string) => connection.prepare<Row>(sql)
  return {
    addSetting: make('insert into idv_settings values (?, ?) on conflict do nothing'),
    setting: make<{ readonly value: Uint8Array }>('select value from idv_settings where name = ?'),
    setSetting: make('insert or replace into idv_settings values (?, ?)'),
    content: make<object>('select 1 from idv_contents where seq = ?'),
    reason: make<Pick<StoredRow, 'reason'>>('select reason from idv_entries where seq = ?'),
    reopen: make(`update idv_entries set state = 'stored', attempt = 0, due = ?, reason = null,
      failures = null, settled_at = null, generation = generation + 1,
      source = iif(?, 'replay', source) where seq = ?`),
    handled: make<{ readonly handler: string }>('select handler from idv_handled where seq = ?'),
    deleteHandled: make('delete from idv_handled where seq = ?'),
    forgetDigests: make("update idv_keys set digest = '' where entry = ?"),
    settled: make<
      Pick<SizedEntry, 'seq' | 'bytes' | 'erased'>
    >(`select seq, bytes, erased from idv_entries
      indexed by idv_entries_settled
      where erased = 0 and state = ? and settled_at is not null and settled_at < ?
      and (state <> 'dead' or not exists
        (select 1 from idv_lanes l where l.lane = idv_entries.lane and l.head = seq)) limit ?`),
    deleteKeys: make(`delete from idv_keys where key in
      (select key from idv_keys where at < ? limit ?)`),
    // By it the evidence of its conflicts is forgotten.
    erased: make<
      Pick<StoredRow, 'seq' | 'state'>
    >(`select seq, state from idv_entries e indexed by idv_entries_erased
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

/** The latency of each handler, of the entries done last: `since`, `limit` and `target`. */
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
