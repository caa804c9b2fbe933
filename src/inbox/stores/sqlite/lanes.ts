// The heads of lanes: a lane (the ordering key) has one row for as long as it has open entries, so
// that a claim reads as many rows as it takes, however long the backlog.
import { type EntryState, maxEarlier } from '../../entry.ts'
import type { Alignment, NewEntry } from '../../work-store.ts'
import type { PrepareSql } from './driver.ts'

/** Starts at the lane's floor, so that entries that have ended are passed over once. */
export const nextOpenSql = `select seq, state, coalesce(due, stored_at) as due from idv_entries
  where lane = ? and seq >= (select floor from idv_lanes where lane = ?)
  and state in ('stored', 'leased', 'retry') order by seq limit 1`

/** Reads one index, and only the rows that it returns. */
export const dueSql = `select lane, head from idv_lanes
  where tenant = ? and due is not null and due <= ? order by due, head limit ?`

interface LanePlace {
  readonly lane: string
  readonly seq: number
}

export interface DueLane {
  readonly lane: string
  readonly head: number
}

interface NextOpen {
  readonly seq: number
  readonly state: EntryState
  readonly due: number
}

/** A claim reads and serves at most this many tenants; the next claim continues after them. */
const maxTenants = 32
const maxLooked = 256

export class Lanes {
  readonly #sql: PrepareSql
  #served = ''

  constructor(sql: PrepareSql) {
    this.#sql = sql
  }

  /** Makes a new entry the head of its lane unless the lane has one. */
  arrive(lane: string, seq: number, due: number): void {
    const sql = 'insert into idv_lanes values (?, ?, ?, ?, ?) on conflict do nothing'
    this.#sql(sql).run(lane, seq, due, seq, tenantOf(lane))
  }

  /** Returns the heads that are due, the longest waiting first; tenants take turns. */
  due(now: number, limit: number): readonly DueLane[] {
    const { tenants, last } = this.#dueTenants(now)
    const due = this.#sql<DueLane>(dueSql)
    const waiting = tenants.map((tenant) => due.all(tenant, now, limit))
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

  next(): number | undefined {
    const sql = 'select due from idv_lanes where due is not null order by due limit 1'
    return this.#sql<{ readonly due: number }>(sql).get()?.due
  }

  hold(lane: string): void {
    this.#sql('update idv_lanes set due = null where lane = ?').run(lane)
  }

  /** Makes the oldest open entry the head of its lane; deletes a lane without open entries. */
  advance(lane: string, now: number): void {
    const next = this.#sql<NextOpen>(nextOpenSql).get(lane, lane)
    if (!next) {
      this.#sql('delete from idv_lanes where lane = ?').run(lane)
      return
    }
    const { seq, state } = next
    // The clock that stored the entry may have been ahead.
    const due = state === 'stored' ? Math.min(next.due, now) : next.due
    const sql = 'update idv_lanes set head = ?, floor = ?, due = ? where lane = ?'
    this.#sql(sql).run(seq, seq, state === 'leased' ? null : due, lane)
  }

  /** Gives a reopened entry its place in its lane. */
  enter({ lane, seq }: LanePlace, now: number): void {
    const sql = `insert into idv_lanes values (?, ?, null, ?, ?)
      on conflict do update set floor = min(floor, excluded.floor)`
    this.#sql(sql).run(lane, seq, seq, tenantOf(lane))
    const head = this.#sql<{ readonly state: EntryState }>(
      'select e.state from idv_lanes l join idv_entries e on e.seq = l.head where l.lane = ?',
    )
    // A head that is leased, or dead and holds the lane, stays.
    const state = head.get(lane)?.state
    if (state !== 'leased' && state !== 'dead') this.advance(lane, now)
  }

  align({ now, latest, free }: Alignment): void {
    const sql = this.#sql
    // A recovered file may have lost lanes: no claim would see their entries.
    const laneless = sql<LanePlace>(`select e.lane, min(e.seq) as seq from idv_entries e
      where e.state in ('stored', 'leased', 'retry')
      and not exists (select 1 from idv_lanes l where l.lane = e.lane) group by e.lane`)
    for (const head of laneless.all()) this.enter(head, now)
    sql(`update idv_lanes set due = ? where due > ? and exists (select 1 from idv_entries e
      where e.seq = idv_lanes.head and e.state = 'stored')`).run(now, now)
    sql("update idv_entries set due = ? where state = 'retry' and due > ?").run(now, latest)
    sql('update idv_lanes set due = ? where due > ?').run(now, latest)
    if (!free) return
    const held = sql<{ readonly lane: string }>(`select l.lane from idv_entries e
      cross join idv_lanes l on l.lane = e.lane and l.head = e.seq where e.state = 'dead'`)
    for (const { lane } of held.all()) this.advance(lane, now)
  }

  isHead({ lane, seq }: LanePlace): boolean {
    const sql = 'select head from idv_lanes where lane = ?'
    return this.#sql<{ readonly head: number }>(sql).get(lane)?.head === seq
  }

  /** Returns the relation that the entry names, or that another entry of its lane named. */
  relate({ lane, related, storedAt }: Pick<NewEntry, 'lane' | 'related' | 'storedAt'>) {
    const sql = 'select related from idv_relations where lane = ?'
    const known = this.#sql<{ readonly related: string }>(sql).get(lane)?.related ?? null
    if (related === undefined) return known
    this.#sql('insert or replace into idv_relations values (?, ?, ?)').run(lane, related, storedAt)
    if (known === null) {
      const earlier = `update idv_entries set related = ? where seq in (select seq from idv_entries
        where lane = ? and related is null order by seq desc limit ${maxEarlier})`
      this.#sql(earlier).run(related, lane)
    }
    return related
  }

  /** Returns tenants with due lanes after the last one served; `last` if more were not read. */
  #dueTenants(now: number): { readonly tenants: readonly string[]; readonly last?: string } {
    const nextTenant = this.#sql<{ readonly tenant: string }>(`select tenant from idv_lanes
      where tenant > ? and due is not null order by tenant limit 1`)
    const isDue = this.#sql<object>(`select 1 from idv_lanes
      where tenant = ? and due is not null and due <= ? limit 1`)
    const tenants: string[] = []
    let after = this.#served
    let isRound = false
    for (let looked = 0; looked < maxLooked && tenants.length < maxTenants; looked++) {
      const next = nextTenant.get(after)?.tenant
      if (isRound && (next === undefined || next > this.#served)) return { tenants }
      // Lanes without a tenant come before those with one.
      const tenant = next ?? ''
      if (next === undefined) isRound = true
      if (isDue.get(tenant, now)) tenants.push(tenant)
      after = tenant
    }
    return { tenants, last: after }
  }
}

/** The tenant of a lane `<lane>.<tenant>`, or empty. */
export function tenantOf(lane: string): string {
  const dot = lane.indexOf('.')
  return dot === -1 ? '' : lane.slice(dot + 1)
}
