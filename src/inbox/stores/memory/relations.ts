// The relations of the memory store's lanes, as named by any of their entries.
import type { NewEntry } from '../../work-store.ts'
import type { MemoryRows } from './rows.ts'

export class MemoryRelations {
  readonly #rows: MemoryRows
  readonly #known = new Map<string, { readonly related: string; readonly at: number }>()

  constructor(rows: MemoryRows) {
    this.#rows = rows
  }

  /** Entries that name no relation inherit the one that another entry of their lane names. */
  relate(entry: NewEntry): NewEntry {
    const { lane, related, storedAt: at } = entry
    const known = this.#known.get(lane)
    if (related === undefined) return known ? { ...entry, related: known.related } : entry
    this.#known.set(lane, { related, at })
    if (known) return entry
    for (const row of this.#rows.inLane(lane)) row.related ??= related
    return entry
  }

  /** One of which there are entries stays: what comes next in its lane may name nobody again. */
  purge(before: number): void {
    for (const [lane, { at }] of this.#known) {
      if (at < before && !this.#rows.hasLane(lane)) this.#known.delete(lane)
    }
  }
}
