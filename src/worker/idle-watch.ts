// Whether a sender fell silent: no delivery for many times the usual gap. Pure but for its memory.

const remembered = 101
const fewest = 20

/** Remembers when deliveries came. */
export class IdleWatch {
  readonly #factor: number
  readonly #gaps: number[] = []
  #last: number | undefined
  #isReported = false

  /** `factor` times the median gap is silence, but never less than a minute. */
  constructor(factor: number) {
    this.#factor = factor
  }

  arrived(at: number): void {
    if (this.#last !== undefined) this.#gaps.push(Math.max(0, at - this.#last))
    if (this.#gaps.length > remembered) this.#gaps.shift()
    this.#last = at
    this.#isReported = false
  }

  /** Reports each silence once. */
  check(now: number): { readonly since: number; readonly usual: number } | undefined {
    if (this.#isReported || this.#last === undefined || this.#gaps.length < fewest) return undefined
    // A clock that was set back would hold a report until it has caught up.
    this.#last = Math.min(this.#last, now)
    const sorted = this.#gaps.toSorted((one, two) => one - two)
    const usual = sorted[Math.floor(sorted.length / 2)] ?? 0
    if (now - this.#last < Math.max(60_000, usual * this.#factor)) return undefined
    this.#isReported = true
    return { since: this.#last, usual }
  }
}
