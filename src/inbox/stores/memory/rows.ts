// The rows of the memory store, by their id and by their lane.
import type { Row } from './row.ts'

export class MemoryRows {
  readonly #rows = new Map<string, Row>()
  readonly #lanes = new Map<string, Set<Row>>()

  get(id: string): Row | undefined {
    return this.#rows.get(id)
  }

  add(row: Row): void {
    this.#rows.set(row.id, row)
    const lane = this.#lanes.get(row.lane)
    if (lane) lane.add(row)
    else this.#lanes.set(row.lane, new Set([row]))
  }

  delete(row: Row): void {
    this.#rows.delete(row.id)
    this.#leave(row)
  }

  /** Gives a row another lane; its place is that of its arrival. */
  assign(row: Row, lane: string): void {
    this.#leave(row)
    row.lane = lane
    const rows = [...this.inLane(lane), row].sort((one, two) => one.seq - two.seq)
    this.#lanes.set(lane, new Set(rows))
  }

  /** In the order in which they came. */
  values(): MapIterator<Row> {
    return this.#rows.values()
  }

  /** Those of one lane, in the order in which they came. */
  inLane(lane: string): readonly Row[] {
    return [...(this.#lanes.get(lane) ?? [])]
  }

  hasLane(lane: string): boolean {
    return this.#lanes.has(lane)
  }

  #leave(row: Row): void {
    const lane = this.#lanes.get(row.lane)
    lane?.delete(row)
    if (lane?.size === 0) this.#lanes.delete(row.lane)
  }
}
