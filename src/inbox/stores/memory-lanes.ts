// The lanes of the memory store: which entry is at the head of each, and when it is due.
import { isOpen } from '../entry.ts'
import type { Row } from './memory-row.ts'

/** A lane with open entries; it is held while its head is leased, or dead and in the way. */
interface Lane {
  readonly head: Row
  held: boolean
}

/** When an open row may be claimed. */
export function dueOf({ due, storedAt }: Row): number {
  return due ?? storedAt
}

export class MemoryLanes {
  readonly #rows: ReadonlyMap<string, Row>
  readonly #lanes = new Map<string, Lane>()

  constructor(rows: ReadonlyMap<string, Row>) {
    this.#rows = rows
  }

  arrive(row: Row): void {
    if (!this.#lanes.has(row.lane)) this.#lanes.set(row.lane, { head: row, held: false })
  }

  /** The heads that are due, the longest waiting first, and when the next one is. */
  waiting(now: number, limit: number): { readonly due: readonly Row[]; readonly next?: number } {
    const heads = [...this.#lanes.values()].flatMap(({ head, held }) => (held ? [] : [head]))
    heads.sort((one, two) => dueOf(one) - dueOf(two) || one.seq - two.seq)
    const due = heads.filter((head) => dueOf(head) <= now).slice(0, limit)
    const next = heads[due.length]
    return { due, ...(next && { next: dueOf(next) }) }
  }

  hold(row: Row): void {
    this.#lanes.set(row.lane, { head: row, held: true })
    delete row.due
  }

  wait(row: Row, due: number): void {
    this.#lanes.set(row.lane, { head: row, held: false })
    row.due = due
  }

  /** The oldest open entry becomes the head of its lane; a lane without any is gone. */
  advance(name: string): void {
    const open = [...this.#rows.values()].filter(
      ({ lane, state }) => lane === name && isOpen(state),
    )
    const [head] = open.sort((one, two) => one.seq - two.seq)
    if (head) this.#lanes.set(name, { head, held: head.state === 'leased' })
    else this.#lanes.delete(name)
  }

  /** A row that was reopened takes its place, unless the head stays where it is. */
  enter(row: Row, due: number): void {
    row.due = due
    const head = this.#lanes.get(row.lane)?.head
    if (head?.state !== 'leased' && head?.state !== 'dead') this.advance(row.lane)
  }

  /** A row that ended elsewhere than at the head of its lane leaves it as it is. */
  leave(row: Row): void {
    delete row.due
    if (this.#lanes.get(row.lane)?.head === row) this.advance(row.lane)
  }

  /** When the oldest head was stored. */
  oldest(): number | undefined {
    const heads = [...this.#lanes.values()].map(({ head }) => head)
    return heads.sort((one, two) => one.seq - two.seq)[0]?.storedAt
  }
}
