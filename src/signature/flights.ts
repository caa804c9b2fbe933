// Requests that several deliveries wait for. A host may drop the delivery that began one, with all
// that it waits for: such a request never ends, and nobody may wait for it for ever.

/** Milliseconds beyond its time limit after which a request was dropped. */
const patience = 1_000

/** A request that is under way. */
export interface Flight<Answer> {
  readonly answer: Promise<Answer>
  readonly wasDropped: boolean
}

/** Requests by what they ask for. */
export class Flights<Answer> {
  readonly #begun = new Map<string, { readonly answer: Promise<Answer>; readonly at: number }>()
  readonly #timeout: number

  /** `timeout` is the time limit of one request, in milliseconds. */
  constructor(timeout: number) {
    this.#timeout = timeout
  }

  of(key: string): Flight<Answer> | undefined {
    const begun = this.#begun.get(key)
    if (!begun) return undefined
    const { answer, at } = begun
    return { answer, wasDropped: performance.now() - at > this.#timeout + patience }
  }

  /** Begins one; a dropped one that it replaces ends nothing any more. */
  begin(key: string, answer: Promise<Answer>): Promise<Answer> {
    const begun = { answer, at: performance.now() }
    this.#begun.set(key, begun)
    const end = () => {
      if (this.#begun.get(key) === begun) this.#begun.delete(key)
    }
    answer.then(end, end)
    return answer
  }
}
