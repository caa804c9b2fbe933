// What is due now and what is on its way: at most so many for each subscription, one at a time in
// each lane. It knows ids alone, and is thrown away with the state that it serves.

/** Something that is due; what shares a lane goes one after the other. */
export interface Due {
  readonly id: string
  readonly subscriptionId: string
  readonly lane: string
}

export interface Queue {
  add(due: Due): void
  remove(due: Pick<Due, 'id' | 'subscriptionId'>): void
  /** Resolves when nothing is due and nothing on its way, or when it has ended. */
  idle(): Promise<void>
  /** Whether something is due or on its way. */
  readonly busy: boolean
  /** Starts nothing more and breaks off what is on its way. */
  end(why: string): void
}

export interface QueueOptions {
  /** How many of one subscription may be on their way at once. */
  readonly perSubscription: number
  /** Brings one; must end soon once the signal is aborted, and change nothing then. */
  readonly bring: (id: string, ended: AbortSignal) => Promise<void>
}

export function createQueue({ perSubscription, bring }: QueueOptions): Queue {
  const due = new Map<string, Map<string, Due>>()
  const busy = new Map<string, number>()
  const onTheirWay = new Set<Promise<void>>()
  const lanes = new Set<string>()
  const ended = new AbortController()
  let starting = false

  const begin = (one: Due) => {
    const { id, subscriptionId, lane } = one
    due.get(subscriptionId)?.delete(id)
    lanes.add(lane)
    busy.set(subscriptionId, (busy.get(subscriptionId) ?? 0) + 1)
    const work = bring(id, ended.signal).finally(() => {
      onTheirWay.delete(work)
      lanes.delete(lane)
      busy.set(subscriptionId, (busy.get(subscriptionId) ?? 1) - 1)
      startOf(subscriptionId)
    })
    onTheirWay.add(work)
  }
  const startOf = (subscriptionId: string) => {
    const waiting = due.get(subscriptionId)
    if (!waiting || ended.signal.aborted) return
    for (const one of waiting.values()) {
      if ((busy.get(subscriptionId) ?? 0) >= perSubscription) return
      if (!lanes.has(one.lane)) begin(one)
    }
    if (waiting.size === 0) due.delete(subscriptionId)
  }
  const start = () => {
    for (const subscriptionId of [...due.keys()]) startOf(subscriptionId)
  }
  const anyDue = () => [...due.values()].some(({ size }) => size > 0)
  return {
    add(one) {
      const waiting = due.get(one.subscriptionId) ?? new Map<string, Due>()
      due.set(one.subscriptionId, waiting.set(one.id, one))
      if (starting) return
      starting = true
      // Not at once: what was emitted is kept and answered for first.
      setTimeout(() => {
        starting = false
        start()
      })
    },
    remove({ id, subscriptionId }) {
      due.get(subscriptionId)?.delete(id)
    },
    async idle() {
      do {
        start()
        while (!ended.signal.aborted && (onTheirWay.size > 0 || starting)) {
          await Promise.all(onTheirWay)
          await new Promise((resolve) => setTimeout(resolve))
        }
      } while (!ended.signal.aborted && anyDue())
    },
    get busy() {
      return !ended.signal.aborted && (starting || onTheirWay.size > 0 || anyDue())
    },
    end(why) {
      ended.abort(new Error(why))
    },
  }
}
