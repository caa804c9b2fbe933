// What the lanes of the memory store are related to, as any of their entries has said.
import type { NewEntry } from '../store.ts'
import type { Row } from './memory-row.ts'

export class MemoryRelations {
  readonly #rows: ReadonlyMap<string, Row>
  readonly #known = new Map<string, { readonly related: string; readonly at: number }>()

  constructor(rows: ReadonlyMap<string, Row>) {
    this.#rows = rows
  }

  /** What one entry of a lane names, the others get that name none. */
  relate(entry: NewEntry): NewEntry {
    const { lane, related, storedAt: at } = entry
    const known = this.#known.get(lane)
    if (related === undefined) return known ? { ...entry, related: known.related } : entry
    this.#known.set(lane, { related, at })
    if (known) return entry
    for (const row of this.#rows.values()) if (row.lane === lane) row.related ??= related
    return entry
  }

  purge(before: number): void {
    for (const [lane, { at }] of this.#known) if (at < before) this.#known.delete(lane)
  }
}
