// Calls of operators and of retention: find, reopen, dismiss, forget, purge, count, settings.

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
import { type EntryFailure, type EntryState, isSetAside } from '../../entry.ts'
import type { ForgottenPage } from '../../forget-pages.ts'
import type { Forgetting } from './calls.ts'
import { conditions, countWithin, forgetPage, isErased, type SizedEntry } from './conditions.ts'
import { prepared, type SqliteDatabase } from './driver.ts'
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

export class AdminCalls {
  readonly #tables: InboxTables
  readonly #sql: ReturnType<typeof adminStatements>

  constructor(tables: InboxTables) {
    this.#tables = tables
    this.#sql = adminStatements(tables.db)
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
    // A forgotten payload is not shown while it waits for the page of `forget` that erases it.
    const body = query.withBody ? "iif(e.reason is 'FORGOTTEN', null, c.body)" : 'null'
    const sql = `select ${storedColumns}, ${body} as body from idv_entries e
      left join idv_contents c on c.seq = e.seq
      ${where} order by e.seq ${query.oldestFirst ? 'asc' : 'desc'} limit ?`
    const rows = prepared<StoredRow>(this.#tables.db, sql).all(...values, query.limit)
    return rows.map((row) => this.#toStored(row))
  }

  readonly reopen = ({ ids, from, now, replay = false, setAside = false }: Reopening): number => {
    // After the machine slept, the owner's clock may be behind the operator's.
    const due = this.#tables.epoch > 0 ? now : Math.min(now, this.#sql.newest.get()?.at ?? now)
    let reopened = 0
    for (const id of ids) {
      const head = this.#tables.head(id)
      if (!head || !from.includes(head.state) || !this.#sql.content.get(head.seq)) continue
      const { reason } = this.#sql.reason.get(head.seq) ?? {}
      // The payload of a forgotten entry may still wait for the page that erases it.
      if (reason === 'FORGOTTEN' || (!setAside && isSetAside(reason))) continue
      this.#sql.reopen.run(due, Number(replay), head.seq)
      if (replay) this.#sql.deleteHandled.run(head.seq)
      this.#tables.moved(head.state, 'stored')
      this.#tables.lanes.enter(head, due)
      reopened++
    }
    return reopened
  }

  readonly dismiss = (id: string, now: number): boolean => {
    const head = this.#tables.head(id)
    if (head?.state !== 'dead') return false
    this.#tables.skip(head, 'DISMISSED', now)
    return true
  }

  /** Forgets one page; deliveries are kept between two pages. */
  readonly forget = (asked: Forgetting): ForgottenPage => {
    const { newest = this.#sql.newest.get()?.seq ?? 0 } = asked
    const { entries, last } = forgetPage(this.#tables.db, { ...asked, newest })
    const erased = entries.filter((one) => isErased(asked, one))
    for (const one of erased) this.#tables.erase(one)
    for (const one of entries) {
      // A leased entry keeps its lane until its holder settles it: a lane runs one entry at a time.
      if (['stored', 'retry', 'dead'].includes(one.state))
        this.#tables.skip(one, 'FORGOTTEN', asked.now)
    }
    return { forgotten: erased.length, newest, last }
  }

  readonly purge = ({ doneBefore, deadBefore, keysBefore, limit }: Purge): Purged => {
    const settled = (['done', 'dead', 'skipped'] as const).flatMap((state) =>
      this.#sql.settled.all(state, state === 'done' ? doneBefore : deadBefore, limit),
    )
    const past = settled.slice(0, countWithin(settled))
    for (const { seq } of past) this.#tables.eraseContent(seq)
    let deleted = Number(this.#sql.deleteKeys.run(keysBefore, limit).changes)
    for (const { seq, state } of this.#sql.erased.all(keysBefore, limit)) {
      this.#sql.deleteEntry.run(seq)
      this.#sql.deleteHandled.run(seq)
      this.#tables.moved(state, undefined)
      deleted++
    }
    // On the last page only, because these statements read every old mark and relation.
    const isLast = settled.length < limit && past.length === settled.length && deleted < limit
    const { deleteMarks, deleteRelations } = this.#sql
    const others = isLast ? [deleteMarks, deleteRelations] : []
    const left = others.map((one) => Number(one.run(keysBefore, limit).changes) === limit)
    const hasMore = !isLast || left.includes(true)
    return { erased: past.length, deleted, ...(hasMore && { hasMore }) }
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
    return prepared<StoredLatency>(this.#tables.db, latencySql).all(since, limit, target)
  }

  #toStored(row: StoredRow): StoredEntry {
    const { seq, failures, ...rest } = row
    return {
      ...present(rest),
      // Trust is granted here: the engine wrote the list itself.
      failures: JSON.parse(failures ?? '[]') as readonly EntryFailure[],
      handled: this.#tables.handled(seq),
    }
  }
}

function adminStatements(db: SqliteDatabase) {
  const make = <Row = never>(sql: string) => prepared<Row>(db, sql)
  return {
    addSetting: make('insert into idv_settings values (?, ?) on conflict do nothing'),
    setting: make<{ readonly value: Uint8Array }>('select value from idv_settings where name = ?'),
    setSetting: make('insert or replace into idv_settings values (?, ?)'),
    content: make<object>('select 1 from idv_contents where seq = ?'),
    reason: make<Pick<StoredRow, 'reason'>>('select reason from idv_entries where seq = ?'),
    reopen: make(`update idv_entries set state = 'stored', attempt = 0, due = ?, reason = null,
      failures = null, settled_at = null, generation = generation + 1,
      source = iif(?, 'replay', source) where seq = ?`),
    deleteHandled: make('delete from idv_handled where seq = ?'),
    settled: make<
      Pick<SizedEntry, 'seq' | 'bytes' | 'erased'>
    >(`select seq, bytes, erased from idv_entries
      indexed by idv_entries_settled
      where erased = 0 and state = ? and settled_at is not null and settled_at < ?
      and (state <> 'dead' or not exists
        (select 1 from idv_lanes l where l.lane = idv_entries.lane and l.head = seq)) limit ?`),
    deleteKeys: make(`delete from idv_keys where key in
      (select key from idv_keys where at < ? limit ?)`),
    // `forget` finds the evidence of a conflict through its first entry, so that one stays.
    erased: make<
      Pick<StoredRow, 'seq' | 'state'>
    >(`select seq, state from idv_entries e indexed by idv_entries_erased
      where erased = 1 and stored_at < ? and state in ('done', 'dead', 'skipped') and not exists
        (select 1 from idv_entries c where c.conflict_of = e.id and c.name is null
        and c.erased = 0) limit ?`),
    deleteEntry: make('delete from idv_entries where seq = ?'),
    // The mark stays while an entry of its lane may run again and is compared with it.
    deleteMarks: make(`delete from idv_high_water_marks where lane in
      (select m.lane from idv_high_water_marks m where m.touched < ? and not exists
        (select 1 from idv_entries e where e.lane = m.lane and e.erased = 0) limit ?)`),
    // The relation stays while its lane has entries, because the next one may name no client.
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
