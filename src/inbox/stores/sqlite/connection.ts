// The rows behind the engine: prepared statements, the counts by state, and the heads of lanes.
import type { EntryState } from '../../entry.ts'
import type { Alignment, NewEntry } from '../../work-store.ts'
import type { SqliteDatabase, SqliteStatement, SqliteValue } from './driver.ts'

export type Row = Readonly<Record<string, SqliteValue>>

/** The part of an entry that decides about it. */
export interface Head {
  readonly seq: number
  readonly id: string
  readonly lane: string
  readonly state: EntryState
  readonly attempt: number
  readonly fence: number
  /** 1 once it was forgotten or is past its retention. */
  readonly erased: number
}

/** Reads on from the lane's floor in its index; what has ended since is passed over once. */
export const nextOpenSql = `select seq, state, coalesce(due, stored_at) as due from idv_entries
  where lane = ? and seq >= (select floor from idv_lanes where lane = ?)
  and state in ('stored', 'leased', 'retry') order by seq limit 1`

const storedAheadSql = `update idv_lanes set due = ? where due > ? and exists
  (select 1 from idv_entries e where e.seq = idv_lanes.head and e.state = 'stored')`

const heldSql = `select l.lane from idv_entries e cross join idv_lanes l on l.head = e.seq
  where e.state = 'dead'`

/** One connection's statements, and what one transaction changes in the counts. */
export class Connection {
  readonly db: SqliteDatabase
  readonly #statements = new Map<string, SqliteStatement>()
  readonly #moved = new Map<EntryState, number>()

  constructor(db: SqliteDatabase) {
    this.db = db
  }

  run(sql: string, ...values: readonly SqliteValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes)
  }

  get(sql: string, ...values: readonly SqliteValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined
  }

  all(sql: string, ...values: readonly SqliteValue[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[]
  }

  /** Writes the change of an entry's state down for the counts; undefined is not there. */
  moved(from: EntryState | undefined, to: EntryState | undefined): void {
    if (from) this.#moved.set(from, (this.#moved.get(from) ?? 0) - 1)
    if (to) this.#moved.set(to, (this.#moved.get(to) ?? 0) + 1)
  }

  /** Brings the counts up to date; the last statement of a transaction. */
  writeCounts(): void {
    for (const [state, by] of this.#moved) {
      if (by !== 0) this.run('update idv_counts set count = count + ? where state = ?', by, state)
    }
    this.#moved.clear()
  }

  forgetCounts(): void {
    this.#moved.clear()
  }

  head(id: string): Head | undefined {
    const sql = 'select seq, id, lane, state, attempt, fence, erased from idv_entries where id = ?'
    return this.get(sql, id) as unknown as Head | undefined
  }

  /** The oldest open entry becomes the head of its lane; a lane without any is gone. */
  advance(lane: string, now: number): void {
    const next = this.get(nextOpenSql, lane, lane)
    if (!next) {
      this.run('delete from idv_lanes where lane = ?', lane)
      return
    }
    const { seq = 0, state } = next
    // The clock that stored it may have been ahead of this one.
    const due = state === 'stored' ? Math.min(Number(next.due), now) : (next.due ?? null)
    this.run(
      'update idv_lanes set head = ?, floor = ?, due = ? where lane = ?',
      seq,
      seq,
      state === 'leased' ? null : due,
      lane,
    )
  }

  /** An entry that was opened again takes its place, unless the head stays where it is. */
  enter({ lane, seq }: Head, now: number): void {
    const sql = `insert into idv_lanes values (?, ?, null, ?)
      on conflict do update set floor = min(floor, excluded.floor)`
    this.run(sql, lane, seq, seq)
    if (!this.#isHeld(lane)) this.advance(lane, now)
  }

  align({ now, latest, free }: Alignment): void {
    this.run(storedAheadSql, now, now)
    const retries = "update idv_entries set due = ? where state = 'retry' and due > ?"
    this.run(retries, latest, latest)
    this.run('update idv_lanes set due = ? where due > ?', latest, latest)
    if (!free) return
    for (const { lane } of this.all(heldSql)) this.advance(String(lane), now)
  }

  /** A lane's head stays where it is while it is leased, or dead and in the way. */
  #isHeld(lane: string): boolean {
    const sql = `select e.state from idv_lanes l join idv_entries e on e.seq = l.head
      where l.lane = ?`
    const state = this.get(sql, lane)?.state
    return state === 'leased' || state === 'dead'
  }

  isHead({ lane, seq }: Head): boolean {
    return this.get('select head from idv_lanes where lane = ?', lane)?.head === seq
  }

  /** What one entry of a lane names, the others get that name none. */
  relate({
    lane,
    related,
    storedAt,
  }: Pick<NewEntry, 'lane' | 'related' | 'storedAt'>): string | null {
    const sql = 'select related from idv_relations where lane = ?'
    const known = this.get(sql, lane)?.related ?? null
    if (related === undefined) return known as string | null
    this.run('insert or replace into idv_relations values (?, ?, ?)', lane, related, storedAt)
    if (known === null) {
      const earlier = 'update idv_entries set related = ? where lane = ? and related is null'
      this.run(earlier, related, lane)
    }
    return related
  }

  #prepare(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}
