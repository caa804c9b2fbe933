// The lanes of the memory store: which entry is at the head of each, and when it is due.
import { isOpen } from '../../entry.ts'
import type { Alignment } from '../../work-store.ts'
import { type Row, tenantOf } from './row.ts'
import type { MemoryRows } from './rows.ts'

/** A lane with open entries; it is held while its head is leased, or dead and in the way. */
interface Lane {
  readonly head: Row
  readonly held: boolean
  readonly due: number
}

export class MemoryLanes {
  readonly #rows: MemoryRows
  readonly #lanes = new Map<string, Lane>()
  /** The tenant that was served last. */
  #served = ''

  constructor(rows: MemoryRows) {
    this.#rows = rows
  }

  arrive(row: Row): void {
    if (this.#lanes.has(row.lane)) return
    this.#lanes.set(row.lane, { head: row, held: false, due: row.storedAt })
  }

  /** The heads that are due, the longest waiting first; tenants take turns. */
  due(now: number, limit: number): readonly Lane[] {
    const free = this.#free()
    const tenants = [...new Set(free.map(servedOf))].sort()
    const after = tenants.filter((tenant) => tenant > this.#served)
    const order = [...after, ...tenants.slice(0, tenants.length - after.length)]
    const due = free.filter((lane) => lane.due <= now)
    const waiting = order.map((tenant) => due.filter((lane) => servedOf(lane) === tenant))
    const rounds = Math.max(0, ...waiting.map(({ length }) => length))
    const turns = Array.from({ length: rounds }, (_, round) =>
      waiting.flatMap((lanes) => lanes[round] ?? []),
    )
    const taken = turns.flat().slice(0, limit)
    const last = taken.at(-1)
    if (last) this.#served = servedOf(last)
    return taken
  }

  /** When the next waiting lane is due. */
  next(): number | undefined {
    return this.#free()[0]?.due
  }

  hold(row: Row): void {
    this.#lanes.set(row.lane, { head: row, held: true, due: 0 })
    delete row.due
  }

  /** An attempt gave the row back; an older one may have been opened again meanwhile. */
  wait(row: Row, due: number, now: number): void {
    row.due = due
    this.advance(row.lane, now)
  }

  isHead(row: Row): boolean {
    return this.#lanes.get(row.lane)?.head === row
  }

  /** The oldest open entry becomes the head of its lane; a lane without any is gone. */
  advance(name: string, now: number): void {
    const head = this.#rows.inLane(name).find(({ state }) => isOpen(state))
    if (!head) {
      this.#lanes.delete(name)
      return
    }
    const since = head.due ?? head.storedAt
    // The clock that stored it may have been ahead of this one.
    const due = head.state === 'stored' ? Math.min(since, now) : since
    this.#lanes.set(name, { head, held: head.state === 'leased', due })
  }

  align({ now, latest, free }: Alignment): void {
    for (const row of this.#rows.values()) {
      if (row.state === 'retry' && row.due !== undefined && row.due > latest) row.due = now
    }
    for (const [name, lane] of [...this.#lanes]) {
      if (free && lane.head.state === 'dead') this.advance(name, now)
      const isAhead = lane.due > (lane.head.state === 'stored' ? now : latest)
      if (isAhead && !lane.held) this.#lanes.set(name, { ...lane, due: now })
    }
  }

  /** A row that was reopened takes its place, unless the head stays where it is. */
  enter(row: Row, due: number): void {
    row.due = due
    const head = this.#lanes.get(row.lane)?.head
    if (head?.state !== 'leased' && head?.state !== 'dead') this.advance(row.lane, due)
  }

  /** A row that ended elsewhere than at the head of its lane leaves it as it is. */
  leave(row: Row, now: number): void {
    delete row.due
    if (this.isHead(row)) this.advance(row.lane, now)
  }

  /** The lanes that wait, the longest waiting first. */
  #free(): Lane[] {
    const free = [...this.#lanes.values()].filter(({ held }) => !held)
    return free.sort((one, two) => one.due - two.due || one.head.seq - two.head.seq)
  }

  /** When the oldest head was stored. */
  oldest(): number | undefined {
    const heads = [...this.#lanes.values()].map(({ head }) => head)
    return heads.sort((one, two) => one.seq - two.seq)[0]?.storedAt
  }
}

const servedOf = ({ head }: Lane) => tenantOf(head.lane)
