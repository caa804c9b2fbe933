// Which verification expires next: a heap of times, with one task on the clock for its head, so
// that 100,000 open verifications cost one timer.
import type { VirtualClock } from './clock.ts'

export interface Expiry {
  readonly at: number
  readonly id: string
}

export class Expiries {
  readonly #clock: VirtualClock
  readonly #expire: (id: string) => void
  readonly #heap: Expiry[] = []
  #cancel: (() => void) | undefined

  /** `expire` is called for each at its time; it must ignore those that can no longer expire. */
  constructor(clock: VirtualClock, expire: (id: string) => void) {
    this.#clock = clock
    this.#expire = expire
  }

  add(expiry: Expiry): void {
    push(this.#heap, expiry)
    if (this.#heap[0] === expiry) this.#arm()
  }

  clear(): void {
    this.#heap.length = 0
    this.#arm()
  }

  #arm(): void {
    this.#cancel?.()
    const head = this.#heap[0]
    this.#cancel = head && this.#clock.schedule(new Date(head.at), () => this.#fire())
  }

  #fire(): void {
    const now = this.#clock.now().getTime()
    for (let head = this.#heap[0]; head && head.at <= now; head = this.#heap[0]) {
      removeHead(this.#heap)
      this.#expire(head.id)
    }
    this.#arm()
  }
}

function push(heap: Expiry[], expiry: Expiry): void {
  let at = heap.push(expiry) - 1
  while (at > 0) {
    const above = (at - 1) >> 1
    if (!swapIfLater(heap, above, at)) return
    at = above
  }
}

function removeHead(heap: Expiry[]): void {
  const last = heap.pop()
  if (heap.length === 0 || !last) return
  heap[0] = last
  for (let at = 0; ; ) {
    const left = at * 2 + 1
    const right = left + 1
    const sooner = isLater(heap[left], heap[right]) ? right : left
    if (!swapIfLater(heap, at, sooner)) return
    at = sooner
  }
}

function isLater(one: Expiry | undefined, other: Expiry | undefined): boolean {
  return one !== undefined && other !== undefined && one.at > other.at
}

function swapIfLater(heap: Expiry[], above: number, below: number): boolean {
  const [one, other] = [heap[above], heap[below]]
  if (!one || !other || one.at <= other.at) return false
  heap[above] = other
  heap[below] = one
  return true
}
