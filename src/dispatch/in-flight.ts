// The deliveries that are at work, counted for those who wait until they have ended.

/** Deliveries that began between two waits of `InFlight`: counted, for a set would cost each more. */
class Generation {
  size = 0
  ended: (() => void) | undefined
  readonly #left: () => void

  constructor(left: () => void) {
    this.#left = left
  }

  leave(): void {
    this.size -= 1
    if (this.size === 0) this.ended?.()
    this.#left()
  }
}

/** A delivery that is counted, until it leaves. */
export interface AtWork {
  leave(): void
}

/** The deliveries that are at work, for those who wait until they have ended. */
export class InFlight {
  #all = 0
  /** Those who wait until nothing is at work. */
  #waiting: (() => void)[] = []
  readonly #left = (): void => {
    this.#all -= 1
    if (this.#all === 0) for (const resolve of this.#waiting.splice(0)) resolve()
  }
  #current = new Generation(this.#left)
  /** Resolves when all generations before the current one have ended. */
  #earlier: Promise<void> | undefined

  /** Counts one delivery more. */
  enter(): AtWork {
    this.#all += 1
    this.#current.size += 1
    return this.#current
  }

  /** Resolves when what is at work now has ended. */
  settled(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const generation = this.#current
    if (generation.size === 0) resolve()
    else generation.ended = resolve
    this.#current = new Generation(this.#left)
    const both = Promise.all([this.#earlier, promise]).then(() => {
      if (this.#earlier === both) this.#earlier = undefined
    })
    this.#earlier = both
    return both
  }

  /** Resolves when nothing is at work. Of those who wait each may be overtaken by another delivery. */
  async none(): Promise<void> {
    while (this.#all > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
