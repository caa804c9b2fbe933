// The latest occurrence done in each lane of the memory store.
import { defined } from '../../../foundation/defined.ts'
import type { HighWaterMark } from '../../work-store.ts'

export class HighWaterMarks {
  readonly #highWaterMarks = new Map<
    string,
    { readonly highWaterMark: HighWaterMark; readonly touched: number }
  >()

  of(lane: string): HighWaterMark | undefined {
    return this.#highWaterMarks.get(lane)?.highWaterMark
  }

  note(lane: string, { at, final, decision }: HighWaterMark, touched: number): void {
    const known = this.of(lane)
    const times = [known?.at, at].filter((time) => time !== undefined)
    const latest = times.length > 0 && { at: Math.max(...times) }
    const highWaterMark = defined({
      ...latest,
      final: final || known?.final === true,
      decision: decision ?? known?.decision,
    })
    this.#highWaterMarks.set(lane, { highWaterMark, touched })
  }

  /** An entry that may run again is compared with what was done after it. */
  purge(before: number, isNeeded: (lane: string) => boolean): void {
    for (const [lane, { touched }] of this.#highWaterMarks)
      if (touched < before && !isNeeded(lane)) this.#highWaterMarks.delete(lane)
  }
}
