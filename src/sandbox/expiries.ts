// Which verification expires next: a heap of times, with one task on the clock for its head, so
// that 100,000 open verifications cost one timer.
export interface Expiry {
  readonly at: number
  readonly id: string
}

/** The part of the sandbox's clock that expiries use. */
export interface Schedules {
  schedule(at: Date, task: () => void): () => void
}

export interface Expiries {
  add(expiry: Expiry): void
  clear(): void
}

/** `expire` is called for each at its time; it must ignore those that no longer can expire. */
export function createExpiries(
  clock: Schedules & { now(): Date },
  expire: (id: string) => void,
): Expiries {
  const heap: Expiry[] = []
  let cancel: (() => void) | undefined

  const arm = () => {
    cancel?.()
    const head = heap[0]
    cancel = head && clock.schedule(new Date(head.at), fire)
  }
  const fire = () => {
    const now = clock.now().getTime()
    for (let head = heap[0]; head && head.at <= now; head = heap[0]) {
      removeHead(heap)
      expire(head.id)
    }
    arm()
  }
  return {
    add(expiry) {
      push(heap, expiry)
      if (heap[0] === expiry) arm()
    },
    clear() {
      heap.length = 0
      arm()
    },
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
