// Whether a sender fell silent: no delivery for many times the usual gap. Pure but for its memory.

import type { Observation } from '../observe/observe.ts'

const remembered = 101
const fewest = 20

/** How long none has come, and the usual gap: milliseconds. */
export interface Silence {
  readonly since: number
  readonly usual: number
}

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
  check(now: number): Silence | undefined {
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

export function toSilence({ since: last, usual }: Silence, at: Date): Observation {
  const since = new Date(last)
  return { type: 'silence', at, startedAt: since, duration: at.getTime() - last, since, usual }
}
