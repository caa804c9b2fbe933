// createWorker: claim → attempt → settle, as many entries at a time as it is told; start, drain.
// It shares the receiver's corridor and asks its inbox for work.
import { type Attempted, attempt } from './attempt.ts'
import { Corridor } from './corridor.ts'
import { WebhookError } from './errors.ts'
import type { SettledAs, Work, WorkSource } from './inbox/work.ts'
import { describeError } from './observe.ts'
import type { Receiver } from './receiver.ts'
import { SilenceWatch } from './silence.ts'
import { checkedWorkerOptions, type WorkerOptions } from './worker-options.ts'

/** Handles what the inbox keeps. */
export interface Worker {
  /**
   * Opens the inbox, counts what a crash interrupted, and handles entries as they come.
   *
   * @throws WebhookError `STORE_FAILED`, `STORE_UNSUITABLE`, `CLIENT_MISSING`
   */
  start(): Promise<void>
  /**
   * Claims nothing more; resolves when the deliveries that are being received are answered and the
   * handlers have ended. After `grace` milliseconds they are aborted and their entries released:
   * that counts no attempt.
   */
  drain(options?: { readonly grace?: number }): Promise<void>
  /** Handles what is due now and stops, for hosts that run by a schedule. */
  drainOnce(options?: DrainOnceOptions): Promise<DrainOnceReport>
}

/** Bounds of `drainOnce`. */
export interface DrainOnceOptions {
  /** The most entries. */
  readonly limit?: number
  /** Milliseconds after which nothing more is claimed. */
  readonly timeout?: number
}

/** How many attempts ended how. */
export type DrainOnceReport = Readonly<Record<SettledAs, number>>

const longestSleep = 1_000
const hour = 60 * 60 * 1000

/**
 * Creates a worker for a receiver that has an inbox.
 *
 * @throws WebhookError `INBOX_INVALID`, `OPTION_INVALID`
 * @example
 * const worker = createWorker(receiver, { concurrency: 16, signals: ['SIGTERM'] })
 * await worker.start()
 */
export function createWorker(
  receiver: Pick<Receiver, 'receive'>,
  options: WorkerOptions = {},
): Worker {
  if (!(receiver instanceof Corridor)) {
    throw new WebhookError('OPTION_INVALID', 'createWorker needs what createReceiver() gave')
  }
  const inbox = receiver.options.inbox
  if (!isWorkSource(inbox)) {
    throw new WebhookError(
      'INBOX_INVALID',
      'the receiver has no inbox to work on: createReceiver({ secret, inbox: createInbox({ store }) })',
    )
  }
  return new InboxWorker(receiver, inbox, options)
}

function isWorkSource(inbox: unknown): inbox is WorkSource {
  return typeof (inbox as { claim?: unknown } | undefined)?.claim === 'function'
}

class InboxWorker implements Worker {
  readonly #corridor: Corridor
  readonly #inbox: WorkSource
  readonly #options: ReturnType<typeof checkedWorkerOptions>
  readonly #silence: SilenceWatch
  readonly #active = new Set<Work>()
  /** Everything that a drain waits for: handlers at work, commits on their way. */
  readonly #pending = new Set<Promise<unknown>>()
  #abort = new AbortController()
  #endings: (() => void)[] = []
  #running = false
  #pulling = false
  #again = false
  #sleep: ReturnType<typeof setTimeout> | undefined

  constructor(corridor: Corridor, inbox: WorkSource, options: WorkerOptions) {
    this.#corridor = corridor
    this.#inbox = inbox
    this.#options = checkedWorkerOptions(options)
    this.#silence = new SilenceWatch(this.#options.silence)
  }

  async start(): Promise<void> {
    if (this.#running) return
    await this.#ready()
    this.#running = true
    this.#abort = new AbortController()
    const timers = [
      setInterval(() => this.#beat(), this.#inbox.lease / 3),
      setInterval(() => this.#ask('purge', () => this.#inbox.purge()), hour),
      setInterval(() => this.#listen(), 10_000),
    ]
    for (const timer of timers) timer.unref?.()
    this.#corridor.onArrival = (seen) => {
      if (seen.type === 'outcome' && seen.kind === 'accepted') {
        this.#silence.arrived(seen.at.getTime())
      }
    }
    this.#endings = [
      this.#inbox.onWork(() => this.#pull()),
      () => timers.forEach(clearInterval),
      this.#options.onSignal(() => this.#end()),
    ]
    this.#pull()
  }

  async drain({ grace = this.#options.grace } = {}): Promise<void> {
    this.#running = false
    for (const end of this.#endings.splice(0)) end()
    clearTimeout(this.#sleep)
    const timer = setTimeout(() => {
      this.#abort.abort(new DOMException('the worker is shutting down', 'AbortError'))
    }, grace)
    await this.#corridor.quiet()
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending)
    clearTimeout(timer)
  }

  async drainOnce(options: DrainOnceOptions = {}): Promise<DrainOnceReport> {
    const { limit = Number.POSITIVE_INFINITY, timeout = Number.POSITIVE_INFINITY } = options
    await this.#ready()
    const report = { done: 0, retry: 0, dead: 0, skipped: 0, released: 0, lost: 0 }
    const start = this.#inbox.now().getTime()
    let left = limit
    while (left > 0 && this.#inbox.now().getTime() - start < timeout) {
      const { works } = await this.#inbox.claim(Math.min(left, this.#options.concurrency))
      if (works.length === 0) break
      left -= works.length
      for (const state of await Promise.all(works.map((work) => this.#work(work)))) report[state]++
    }
    return report
  }

  async #ready(): Promise<void> {
    const { dispatcher, options } = this.#corridor
    dispatcher.seal()
    if (dispatcher.refetches() && !options.client) {
      throw new WebhookError(
        'CLIENT_MISSING',
        "stale: 'refetch' needs a client: createReceiver({ secret, inbox, client: createClient({ … }) })",
      )
    }
    await this.#inbox.open()
    await this.#inbox.sweep()
  }

  /** The process is told to end: no new deliveries, no new claims, and the rest in its time. */
  async #end(): Promise<void> {
    const { grace } = this.#options
    await Promise.all([this.drain({ grace }), this.#corridor.drain({ grace })])
    await this.#inbox.close()
  }

  #pull(): void {
    this.#again = true
    if (this.#pulling || !this.#running) return
    this.#pulling = true
    clearTimeout(this.#sleep)
    this.#track(this.#pullAll()).finally(() => {
      this.#pulling = false
      if (this.#again && this.#free() > 0) this.#pull()
    })
  }

  async #pullAll(): Promise<void> {
    try {
      while (this.#again && this.#running && this.#free() > 0) {
        this.#again = false
        const free = this.#free()
        const { works, next } = await this.#inbox.claim(free)
        for (const work of works) {
          // A drain began while the claim was on its way: the entry goes back as it came.
          const released = { verdict: { kind: 'released' }, handled: [] } as const
          this.#track(this.#running ? this.#work(work) : this.#settle(work, released))
        }
        if (works.length === free) this.#again = true
        else this.#sleepUntil(next)
      }
    } catch (error) {
      this.#again = false
      this.#trouble('claim', error)
      this.#sleepUntil(undefined)
    }
  }

  #free(): number {
    return this.#options.concurrency - this.#active.size
  }

  /** At most a second, so that a clock which was set forward is noticed. */
  #sleepUntil(next: number | undefined): void {
    clearTimeout(this.#sleep)
    if (!this.#running) return
    const wait = next === undefined ? longestSleep : next - this.#inbox.now().getTime()
    const time = Math.min(Math.max(Math.ceil(wait), 1), longestSleep)
    this.#sleep = setTimeout(() => this.#pull(), time)
  }

  async #work(work: Work): Promise<SettledAs> {
    this.#active.add(work)
    const attempted: Attempted = this.#abort.signal.aborted
      ? { verdict: { kind: 'released' }, handled: [] }
      : await attempt(work, {
          corridor: this.#corridor,
          inbox: this.#inbox,
          signal: this.#abort.signal,
        })
    const settling = this.#settle(work, attempted)
    this.#active.delete(work)
    // Asked at once, so that the claim of the next shares the commit that settles this one.
    this.#pull()
    return settling
  }

  /** Until the store takes it: a handler that has succeeded must not run again for a full disk. */
  async #settle(work: Work, { verdict, handled }: Attempted): Promise<SettledAs> {
    for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        const state = await this.#inbox.settle(work, verdict, handled)
        this.#settled(work, verdict, state)
        return state
      } catch (error) {
        this.#trouble('settle', error)
        if (this.#abort.signal.aborted) return 'lost'
        await pause(wait, this.#abort.signal)
      }
    }
  }

  #settled(work: Work, verdict: Attempted['verdict'], state: SettledAs): void {
    const at = this.#corridor.now()
    this.#corridor.observe({
      type: 'settled',
      at,
      entryId: work.lease.id,
      state,
      attempt: work.attempt,
      ...(work.name !== undefined && { name: work.name }),
      ...('reason' in verdict && { reason: verdict.reason }),
      age: Math.max(0, this.#inbox.now().getTime() - work.storedAt),
    })
  }

  #beat(): void {
    this.#ask('renew', async () => {
      await this.#inbox.renew([...this.#active])
      if ((await this.#inbox.sweep()) > 0) this.#pull()
    })
  }

  #listen(): void {
    const at = this.#corridor.now()
    const silent = this.#silence.check(at.getTime())
    if (!silent) return
    const { since, usual } = silent
    this.#corridor.observe({ type: 'silence', at, since: new Date(since), usual })
  }

  #ask(asked: string, work: () => Promise<unknown>): void {
    this.#track(work().catch((error: unknown) => this.#trouble(asked, error)))
  }

  #trouble(asked: string, error: unknown): void {
    const at = this.#corridor.now()
    this.#corridor.observe({ type: 'store', at, asked, error: describeError(error) })
  }

  async #track(work: Promise<unknown>): Promise<void> {
    this.#pending.add(work)
    try {
      await work
    } finally {
      this.#pending.delete(work)
    }
  }
}

function pause(time: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, time)
    const stop = () => {
      clearTimeout(timer)
      resolve()
    }
    signal.addEventListener('abort', stop, { once: true })
  })
}
