// A store in the memory of one process, for tests: every rule of the port, nothing that lasts.

import { defined } from '../../../foundation/defined.ts'
import type {
  LatencyQuery,
  Purge,
  Purged,
  Reopening,
  StoredEntry,
  StoreQuery,
  StoreStats,
} from '../../admin-store.ts'
import { type EntryReason, entryStates, isOpen, isOwnLane, isSetAside } from '../../entry.ts'
import type { InboxStore } from '../../store.ts'
import type {
  Alignment,
  Assigned,
  Assignment,
  ClaimRequest,
  ClaimResult,
  Inserted,
  Lapsed,
  Lease,
  NewEntry,
  Settlement,
} from '../../work-store.ts'
import { MemoryArrivals } from './arrivals.ts'
import { HighWaterMarks } from './high-water-marks.ts'
import { MemoryKeys } from './keys.ts'
import { MemoryLanes } from './lanes.ts'
import { latencyOf } from './latency.ts'
import { MemoryRelations } from './relations.ts'
import { erase, fits, isAbout, type Row, tenantOf, toClaimed, toStored } from './row.ts'
import { MemoryRows } from './rows.ts'

/** A store that forgets everything with its process; it has no `context.tx`. */
export function memoryStore(): InboxStore<undefined> {
  return new MemoryStore()
}

class MemoryStore implements InboxStore<undefined> {
  readonly name = 'memory'
  readonly capabilities = {
    order: 'entity',
    survives: 'nothing',
    dedupeDays: Number.POSITIVE_INFINITY,
    tx: false,
    shared: false,
    fairness: 'tenants',
    erases: 'unlinked',
  } as const
  readonly #settings = new Map<string, Uint8Array>()
  readonly #rows = new MemoryRows()
  readonly #keys = new MemoryKeys()
  readonly #lanes = new MemoryLanes(this.#rows)
  readonly #highWaterMarks = new HighWaterMarks()
  readonly #relations = new MemoryRelations(this.#rows)
  readonly #arrivals = new MemoryArrivals({
    rows: this.#rows,
    keys: this.#keys,
    lanes: this.#lanes,
    relations: this.#relations,
  })

  async open(): Promise<void> {}

  async close(): Promise<void> {}

  async recall(name: string, initial: Uint8Array): Promise<Uint8Array> {
    const kept = this.#settings.get(name) ?? initial
    this.#settings.set(name, kept)
    return kept
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    this.#settings.set(name, value)
  }

  async insert(entry: NewEntry): Promise<Inserted> {
    return this.#arrivals.insert(entry)
  }

  async claim({ now, limit, until }: ClaimRequest): Promise<ClaimResult> {
    const due = this.#lanes.due(now, limit)
    const entries = due.map(({ head: row }) => {
      this.#lanes.hold(row)
      row.state = 'leased'
      row.attempt++
      row.fence++
      row.until = until
      const gap = this.#rows
        .inLane(row.lane)
        .some((one) => one.state === 'dead' && one.seq < row.seq)
      return toClaimed(row, gap, this.#highWaterMarks.of(row.lane))
    })
    return defined({ entries, next: this.#lanes.next() })
  }

  async align(alignment: Alignment): Promise<void> {
    this.#lanes.align(alignment)
  }

  async renew(leases: readonly Lease[], until: number): Promise<void> {
    for (const lease of leases) {
      const row = this.#held(lease)
      if (row) row.until = until
    }
  }

  async lapsed(now: number): Promise<readonly Lapsed[]> {
    const rows = [...this.#rows.values()]
    return rows
      .filter(({ state, until }) => state === 'leased' && until <= now)
      .map(({ id, fence, attempt, name, storedAt }) => {
        return { id, fence, attempt, storedAt, ...(name !== undefined && { name }) }
      })
  }

  async checkpoint(lease: Lease, handler?: string): Promise<boolean> {
    const row = this.#held(lease)
    if (!row?.metadata) return false
    if (handler !== undefined) row.handled.add(handler)
    return true
  }

  async settle(settlement: Settlement): Promise<boolean> {
    const row = this.#held(settlement.lease)
    if (!row) return settlement.sweeps !== true && this.#isSettled(settlement)
    if (!row.metadata) {
      this.#skip(row, 'FORGOTTEN', settlement.at)
      return false
    }
    for (const handler of settlement.handled) row.handled.add(handler)
    const { to, at } = settlement
    const { failures = [] } = 'failures' in settlement ? settlement : {}
    // A crash or a drain says nothing of handlers: those that failed before stay known.
    if (!isOpen(to === 'released' ? 'stored' : to) || failures.length > 0) row.failures = failures
    if (to === 'released') {
      row.attempt--
      row.state = 'stored'
      this.#lanes.wait(row, at, at)
      return true
    }
    row.state = to
    if ('reason' in settlement) row.reason = settlement.reason
    if (to === 'retry') {
      this.#lanes.wait(row, settlement.due, at)
      return true
    }
    row.settledAt = at
    if (to === 'done') {
      delete row.reason
      if (settlement.highWaterMark)
        this.#highWaterMarks.note(row.lane, settlement.highWaterMark, at)
    }
    const isHeld = to === 'dead' && settlement.hold && !isOwnLane(row)
    if (!isHeld) this.#lanes.advance(row.lane, at)
    return true
  }

  async assign({ lease, at, entry }: Assignment): Promise<Assigned> {
    const row = this.#held(lease)
    if (!row?.metadata) {
      if (row) this.#skip(row, 'FORGOTTEN', at)
      return 'lost'
    }
    const assigned = this.#arrivals.assign(row, entry, at)
    if (assigned === 'duplicate') this.#skip(row, 'FORGOTTEN', at)
    return assigned
  }

  async find(query: StoreQuery): Promise<readonly StoredEntry[]> {
    const rows = [...this.#rows.values()]
    if (!query.oldestFirst) rows.reverse()
    // After an entry that is not there comes nothing.
    const after = rows.findIndex(({ id }) => id === query.after)
    const from = query.after === undefined ? 0 : after === -1 ? rows.length : after + 1
    return rows
      .slice(from)
      .filter((row) => fits(row, query, (key, id) => this.#keys.isKeyOf(key, id)))
      .slice(0, query.limit)
      .map((row) => toStored(row, query.withBody === true))
  }

  async reopen({ ids, from, now, replay, setAside = false }: Reopening): Promise<number> {
    let reopened = 0
    for (const id of ids) {
      const row = this.#rows.get(id)
      if (!row?.metadata || !from.includes(row.state)) continue
      if (!setAside && isSetAside(row.reason)) continue
      row.state = 'stored'
      row.attempt = 0
      row.generation++
      row.failures = []
      delete row.reason
      delete row.settledAt
      if (replay) {
        row.source = 'replay'
        row.handled.clear()
      }
      this.#lanes.enter(row, now)
      reopened++
    }
    return reopened
  }

  async dismiss(id: string, now: number): Promise<boolean> {
    const row = this.#rows.get(id)
    if (row?.state !== 'dead') return false
    this.#skip(row, 'DISMISSED', now)
    return true
  }

  async forget(lane: string, now: number, ofNone = false): Promise<number> {
    let erased = 0
    // Whole lanes: a verification may have named one client first, and another one later.
    const meant = new Set<string>()
    for (const row of this.#rows.values()) {
      if (isAbout(row, lane) && !(ofNone && tenantOf(row.lane))) meant.add(row.lane)
    }
    // Evidence that nobody could read is in a lane of its own.
    const ids = new Set([...meant].flatMap((one) => this.#rows.inLane(one).map(({ id }) => id)))
    for (const row of this.#rows.values()) {
      const { conflictOf = '', name } = row
      const isEvidence = name === undefined && ids.has(conflictOf)
      if ((!meant.has(row.lane) && !isEvidence) || !row.metadata) continue
      this.#keys.forget(row.id)
      erase(row)
      erased++
      // A leased entry keeps its lane until its holder is gone: a lane never has two at work.
      if (row.state === 'leased') continue
      if (isOpen(row.state) || row.state === 'dead') this.#skip(row, 'FORGOTTEN', now)
    }
    return erased
  }

  async purge({ doneBefore, deadBefore, keysBefore, limit }: Purge): Promise<Purged> {
    let erased = 0
    for (const row of this.#rows.values()) {
      const before = row.state === 'done' ? doneBefore : deadBefore
      if (!row.metadata || row.settledAt === undefined || row.settledAt >= before) continue
      if (row.state === 'dead' && this.#lanes.isHead(row)) continue
      if (++erased > limit) return { erased: limit, deleted: 0 }
      erase(row)
    }
    let deleted = this.#keys.purge(keysBefore, limit)
    const rows = [...this.#rows.values()]
    // By it the evidence of its conflicts is forgotten.
    const unread = rows.filter(({ metadata, name }) => metadata && name === undefined)
    const named = new Set(unread.map(({ conflictOf }) => conflictOf))
    for (const row of rows) {
      if (row.metadata || isOpen(row.state) || row.storedAt >= keysBefore || deleted >= limit)
        continue
      if (named.has(row.id)) continue
      this.#rows.delete(row)
      deleted++
    }
    this.#highWaterMarks.purge(keysBefore, (lane) =>
      this.#rows.inLane(lane).some(({ metadata }) => metadata),
    )
    this.#relations.purge(keysBefore)
    return { erased, deleted }
  }

  async stats(now: number, latency?: LatencyQuery): Promise<StoreStats> {
    const counts = { stored: 0, leased: 0, retry: 0, done: 0, dead: 0, skipped: 0 }
    const rows = [...this.#rows.values()]
    for (const state of entryStates) {
      counts[state] = rows.filter((row) => row.state === state).length
    }
    const oldest = this.#lanes.oldest()
    const newest = rows.at(-1)?.storedAt
    const next = this.#lanes.next()
    const due = next !== undefined && next <= now ? next : undefined
    return defined({ counts, oldest, due, newest, latency: latency && latencyOf(rows, latency) })
  }

  #held({ id, fence }: Lease): Row | undefined {
    const row = this.#rows.get(id)
    return row?.state === 'leased' && row.fence === fence ? row : undefined
  }

  /** Whether it is as this settlement has left it. */
  #isSettled({ lease, to }: Settlement): boolean {
    const row = this.#rows.get(lease.id)
    const state = to === 'released' ? 'stored' : to
    return row?.metadata !== undefined && row.state === state && row.fence === lease.fence
  }

  #skip(row: Row, reason: EntryReason, now: number): void {
    row.state = 'skipped'
    row.reason = reason
    row.settledAt = now
    this.#lanes.leave(row, now)
  }
}
