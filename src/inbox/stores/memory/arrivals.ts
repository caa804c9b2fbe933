// Arrivals in the memory store: an entry is kept where its keys are new, and given its lane later
// where it could not be read at first.
import type { EntryState } from '../../entry.ts'
import type { Assigned, Inserted, NewEntry } from '../../work-store.ts'
import type { MemoryKeys } from './keys.ts'
import type { MemoryLanes } from './lanes.ts'
import type { MemoryRelations } from './relations.ts'
import { erase, type Row } from './row.ts'
import type { MemoryRows } from './rows.ts'

interface ArrivalDeps {
  readonly rows: MemoryRows
  readonly keys: MemoryKeys
  readonly lanes: MemoryLanes
  readonly relations: MemoryRelations
}

export class MemoryArrivals {
  readonly #deps: ArrivalDeps
  #seq = 0

  constructor(deps: ArrivalDeps) {
    this.#deps = deps
  }

  insert(entry: NewEntry): Inserted {
    const { keys, lanes, relations } = this.#deps
    const met = keys.meet(entry)
    if (met.kind === 'conflict') {
      this.#keepEvidence(entry, met.entry)
      return { kind: 'conflict', id: met.entry }
    }
    // Perhaps only this duplicate names the person.
    if (met.kind === 'alias') relations.relate(entry)
    if (met.kind !== 'new') return { kind: 'duplicate', id: met.entry }
    const row = this.#add(entry, 'stored')
    lanes.arrive(row)
    return { kind: 'stored', id: entry.id }
  }

  /** The lane of a `duplicate`, which is erased here, goes on when its row is skipped. */
  assign(row: Row, entry: NewEntry, now: number): Exclude<Assigned, 'lost'> {
    const { keys, lanes, relations } = this.#deps
    // Evidence runs where it was named: it is not a copy of what it conflicts with.
    const isNamed = row.conflictOf !== undefined
    const met = isNamed ? ({ kind: 'new', entry: row.id } as const) : keys.meet(entry)
    if (met.kind === 'new') {
      row.attempt = 0
      row.failures = []
      this.#rewrite(row, entry, 'stored', now)
      lanes.enter(row, now)
      return 'stored'
    }
    if (met.kind === 'conflict' && keys.addConflict(entry)) {
      const evidence = { reason: 'CONFLICT', conflictOf: met.entry, settledAt: now } as const
      Object.assign(row, { ...evidence, failures: [] })
      delete row.due
      this.#rewrite(row, entry, 'skipped', now)
      return 'conflict'
    }
    if (met.kind === 'alias') relations.relate(entry)
    keys.forget(row.id)
    erase(row)
    // Its evidence is of the first one by now, whose entity is known.
    for (const one of this.#deps.rows.values()) {
      if (one.conflictOf === row.id) one.conflictOf = met.entry
    }
    return 'duplicate'
  }

  /** Stores all that could be read of it by now; the lane in which it was goes on. */
  #rewrite(row: Row, entry: NewEntry, state: EntryState, now: number): void {
    const { rows, lanes, relations } = this.#deps
    const known = relations.relate(entry)
    const { lane, name, receivedName, occurredAt, metadata, body, related = row.related } = known
    const before = row.lane
    rows.assign(row, lane)
    Object.assign(row, { state, name, receivedName, occurredAt, metadata, body, related })
    lanes.advance(before, now)
  }

  #add(entry: NewEntry, state: EntryState): Row {
    const { key: _, aliases: __, digest: ___, ...metadata } = this.#deps.relations.relate(entry)
    const fresh = { attempt: 0, fence: 0, until: 0, generation: 0, failures: [] }
    const row = { ...metadata, ...fresh, seq: ++this.#seq, state, handled: new Set<string>() }
    this.#deps.rows.add(row)
    return row
  }

  #keepEvidence(entry: NewEntry, conflictOf: string): void {
    if (!this.#deps.keys.addConflict(entry)) return
    const row = this.#add(entry, 'skipped')
    Object.assign(row, { reason: 'CONFLICT', conflictOf, settledAt: entry.storedAt } as const)
  }
}
