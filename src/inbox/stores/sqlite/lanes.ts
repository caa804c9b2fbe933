// The heads of lanes: a lane (the ordering key) has one row for as long as it has open entries, so
// that a claim reads as many rows as it takes, however long the backlog.
import { type EntryState, mostEarlier } from '../../entry.ts'
import type { Alignment, NewEntry } from '../../work-store.ts'
import { prepared, type SqliteDatabase } from './driver.ts'

/** Starts at the lane's floor, so that entries that have ended are passed over once. */
export const nextOpenSql = `select seq, state, coalesce(due, stored_at) as due from idv_entries
  where lane = ? and seq >= (select floor from idv_lanes where lane = ?)
  and state in ('stored', 'leased', 'retry') order by seq limit 1`

/** Reads one index, and no more rows than it returns. */
export const dueSql = `select lane, head from idv_lanes
  where tenant = ? and due is not null and due <= ? order by due, head limit ?`

const isDueSql = `select 1 from idv_lanes
  where tenant = ? and due is not null and due <= ? limit 1`

const nextTenantSql = `select tenant from idv_lanes
  where tenant > ? and due is not null order by tenant limit 1`

const storedAheadSql = `update idv_lanes set due = ? where due > ? and exists
  (select 1 from idv_entries e where e.seq = idv_lanes.head and e.state = 'stored')`

const heldSql = `select l.lane from idv_entries e cross join idv_lanes l
  on l.lane = e.lane and l.head = e.seq
  where e.state = 'dead'`

/** Finds open entries whose lane a recovered file has lost: no claim would see them. */
const lanelessSql = `select e.lane, min(e.seq) as seq from idv_entries e
  where e.state in ('stored', 'leased', 'retry')
  and not exists (select 1 from idv_lanes l where l.lane = e.lane) group by e.lane`

interface LanePlace {
  readonly lane: string
  readonly seq: number
}

/** A lane that is due, with the entry at its head. */
export interface DueLane {
  readonly lane: string
  readonly head: number
}

interface NextOpen {
  readonly seq: number
  readonly state: EntryState
  readonly due: number
}

/** The most tenants that one claim serves and reads; the next claim goes on after them. */
const maxTenants = 32
const maxLooked = 256

export class Lanes {
  readonly #sql: ReturnType<typeof laneStatements>
  /** The tenant that was served last. */
  #served = ''

  constructor(db: SqliteDatabase) {
    this.#sql = laneStatements(db)
  }

  /** Makes a new entry the head of its lane unless the lane has one. */
  arrive(lane: string, seq: number, due: number): void {
    this.#sql.arrive.run(lane, seq, due, seq, tenantOf(lane))
  }

  /** Returns the heads that are due, the longest waiting first; tenants take turns. */
  due(now: number, limit: number): readonly DueLane[] {
    const { tenants, last } = this.#dueTenants(now)
    const waiting: (readonly DueLane[])[] = []
    for (const tenant of tenants) waiting.push(this.#sql.due.all(tenant, now, limit))
    const taken: DueLane[] = []
    for (let round = 0, isOver = false; !isOver; round++) {
      isOver = true
      for (const [at, lanes] of waiting.entries()) {
        const lane = lanes[round]
        if (!lane || taken.length === limit) continue
        isOver = false
        taken.push(lane)
        this.#served = tenants[at] ?? ''
      }
    }
    if (taken.length === 0 && last !== undefined) this.#served = last
    return taken
  }

  /** When the next waiting lane is due. */
  next(): number | undefined {
    return this.#sql.nextDue.get()?.due
  }

  /** Holds the lane while its head is leased. */
  hold(lane: string): void {
    this.#sql.hold.run(lane)
  }

  /** Makes the oldest open entry the head of its lane; deletes a lane without open entries. */
  advance(lane: string, now: number): void {
    const next = this.#sql.nextOpen.get(lane, lane)
    if (!next) {
      this.#sql.delete.run(lane)
      return
    }
    const { seq, state } = next
    // The clock that stored the entry may have been ahead.
    const due = state === 'stored' ? Math.min(next.due, now) : next.due
    this.#sql.move.run(seq, seq, state === 'leased' ? null : due, lane)
  }

  /** Gives a reopened entry its place in its lane. */
  enter({ lane, seq }: LanePlace, now: number): void {
    this.#sql.enter.run(lane, seq, seq, tenantOf(lane))
    // A head that is leased, or dead and holds the lane, stays.
    const state = this.#sql.headState.get(lane)?.state
    if (state !== 'leased' && state !== 'dead') this.advance(lane, now)
  }

  /** Adds the lanes that a recovered file has lost. */
  restore(now: number): void {
    for (const head of this.#sql.laneless.all()) this.enter(head, now)
  }

  align({ now, latest, free }: Alignment): void {
    this.restore(now)
    this.#sql.storedAhead.run(now, now)
    this.#sql.retryAhead.run(now, latest)
    this.#sql.laneAhead.run(now, latest)
    if (free) for (const { lane } of this.#sql.held.all()) this.advance(lane, now)
  }

  isHead({ lane, seq }: LanePlace): boolean {
    return this.#sql.head.get(lane)?.head === seq
  }

  /** Returns the relation of an entry: its own, or the one that another entry of its lane named. */
  relate({ lane, related, storedAt }: Pick<NewEntry, 'lane' | 'related' | 'storedAt'>) {
    const known = this.#sql.related.get(lane)?.related ?? null
    if (related === undefined) return known
    this.#sql.relate.run(lane, related, storedAt)
    if (known === null) this.#sql.relateEarlier.run(related, lane)
    return related
  }

  /**
   * Returns tenants with due lanes, starting after the one that was served last; `last` is the last
   * one read, if the round was not finished.
   */
  #dueTenants(now: number): { readonly tenants: readonly string[]; readonly last?: string } {
    const tenants: string[] = []
    let after = this.#served
    let isRound = false
    for (let looked = 0; looked < maxLooked && tenants.length < maxTenants; looked++) {
      const next = this.#sql.nextTenant.get(after)?.tenant
      if (isRound && (next === undefined || next > this.#served)) return { tenants }
      // Lanes without a tenant come before those with one.
      const tenant = next ?? ''
      if (next === undefined) isRound = true
      if (this.#sql.isDue.get(tenant, now)) tenants.push(tenant)
      after = tenant
    }
    return { tenants, last: after }
  }
}

function laneStatements(db: SqliteDatabase) {
  const make = <Row = never>(sql: string) => prepared<Row>(db, sql)
  return {
    arrive: make('insert into idv_lanes values (?, ?, ?, ?, ?) on conflict do nothing'),
    due: make<DueLane>(dueSql),
    isDue: make<object>(isDueSql),
    nextTenant: make<{ readonly tenant: string }>(nextTenantSql),
    nextDue: make<{ readonly due: number }>(
      'select due from idv_lanes where due is not null order by due limit 1',
    ),
    nextOpen: make<NextOpen>(nextOpenSql),
    delete: make('delete from idv_lanes where lane = ?'),
    move: make('update idv_lanes set head = ?, floor = ?, due = ? where lane = ?'),
    enter: make(`insert into idv_lanes values (?, ?, null, ?, ?)
      on conflict do update set floor = min(floor, excluded.floor)`),
    hold: make('update idv_lanes set due = null where lane = ?'),
    storedAhead: make(storedAheadSql),
    retryAhead: make("update idv_entries set due = ? where state = 'retry' and due > ?"),
    laneAhead: make('update idv_lanes set due = ? where due > ?'),
    held: make<{ readonly lane: string }>(heldSql),
    laneless: make<LanePlace>(lanelessSql),
    headState: make<{ readonly state: EntryState }>(
      'select e.state from idv_lanes l join idv_entries e on e.seq = l.head where l.lane = ?',
    ),
    head: make<{ readonly head: number }>('select head from idv_lanes where lane = ?'),
    related: make<{ readonly related: string }>('select related from idv_relations where lane = ?'),
    relate: make('insert or replace into idv_relations values (?, ?, ?)'),
    relateEarlier: make(
      `update idv_entries set related = ? where seq in (select seq from idv_entries
        where lane = ? and related is null order by seq desc limit ${mostEarlier})`,
    ),
  }
}

/** The tenant of a lane `<lane>.<tenant>`, or empty. */
export function tenantOf(lane: string): string {
  const dot = lane.indexOf('.')
  return dot === -1 ? '' : lane.slice(dot + 1)
}
