// The latest occurrence done in each lane of the memory store.
import type { Mark } from '../../store.ts'

export class MemoryMarks {
  readonly #marks = new Map<string, { readonly mark: Mark; readonly touched: number }>()

  of(lane: string): Mark | undefined {
    return this.#marks.get(lane)?.mark
  }

  note(lane: string, { at, final }: Mark, touched: number): void {
    const known = this.of(lane)
    const times = [known?.at, at].filter((time) => time !== undefined)
    const latest = times.length > 0 && { at: Math.max(...times) }
    const mark = { ...latest, final: final || known?.final === true }
    this.#marks.set(lane, { mark, touched })
  }

  purge(before: number): void {
    for (const [lane, { touched }] of this.#marks) if (touched < before) this.#marks.delete(lane)
  }
}
