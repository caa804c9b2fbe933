// The deliveries in flight, for callers that wait until they have ended.
import { processState } from '../host/process.ts'

/** Makes every receiver of this process reject deliveries; `false` undoes it. */
export function endProcess(isEnding = true): void {
  processState().isEnding = isEnding
}

/** Resolves when no receiver of the process has a delivery in flight. */
export async function noneInProcess(): Promise<void> {
  const { busy, onIdle } = processState()
  while (busy.size > 0) await new Promise<void>((resolve) => onIdle.push(resolve))
}

/** Aborts the handlers of every receiver. */
export function abortInProcess(): void {
  for (const abort of [...processState().busy]) abort()
}

/** Deliveries that began between two waits: counted, because a set of them would cost each more. */
export interface InFlightGroup {
  size: number
  /** Called once all have ended. */
  readonly onEmpty: (() => void)[]
}

/** The deliveries of one receiver that are in flight. */
export class InFlight {
  readonly #process = processState()
  readonly #abort: () => void
  #size = 0
  /** Deliveries since the last wait. */
  #latest: InFlightGroup = { size: 0, onEmpty: [] }
  /** Deliveries of before, and whom they keep waiting. */
  #earlier: InFlightGroup[] = []
  #isEnding = false

  /** `abort` ends the handlers of the receiver. */
  constructor(abort: () => void) {
    this.#abort = abort
  }

  /** Makes the receiver reject deliveries. */
  end(): void {
    this.#isEnding = true
  }

  /** True once the receiver drains, or the process is about to exit. */
  get isEnding(): boolean {
    return this.#isEnding || this.#process.isEnding
  }

  /**
   * Counts a delivery until it leaves the group that this returns; undefined once the receiver
   * drains, because unauthenticated clients could then keep the process from ending.
   */
  enter(): InFlightGroup | undefined {
    if (this.#isEnding || this.#process.isEnding) return undefined
    if (this.#size === 0) this.#process.busy.add(this.#abort)
    this.#size += 1
    this.#latest.size += 1
    return this.#latest
  }

  leave(group: InFlightGroup): void {
    group.size -= 1
    this.#size -= 1
    if (group.size === 0) for (const resolve of group.onEmpty) resolve()
    if (this.#size > 0) return
    const { busy, onIdle } = this.#process
    busy.delete(this.#abort)
    if (busy.size > 0 || onIdle.length === 0) return
    for (const resolve of onIdle.splice(0)) resolve()
  }

  /** Resolves when the deliveries that are in flight now have ended. */
  async settled(): Promise<void> {
    this.#earlier = [...this.#earlier, this.#latest].filter(({ size }) => size > 0)
    this.#latest = { size: 0, onEmpty: [] }
    const empty = ({ onEmpty }: InFlightGroup) =>
      new Promise<void>((resolve) => void onEmpty.push(resolve))
    await Promise.all(this.#earlier.map(empty))
  }

  /** Resolves when no delivery is in flight. New deliveries can delay it. */
  async none(): Promise<void> {
    while (this.#size > 0) await this.settled()
  }
}
