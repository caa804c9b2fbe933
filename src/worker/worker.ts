// createWorker: claim → attempt → settle, as many entries at a time as it is told; start, drain.
// It shares the receiver's corridor and asks its inbox for work.

import { insideOf, invalid, shown } from '../check.ts'
import { WebhookError } from '../errors.ts'
import type { SettledAs, Swept, Work, WorkSource } from '../inbox/work.ts'
import { describeError } from '../observe.ts'
import type { Pipeline } from '../pipeline.ts'
import type { Receiver } from '../receiver.ts'
import type { Attempted } from './attempt.ts'
import { SilenceWatch } from './idle-watch.ts'
import {
  checkedBounds,
  checkedWorkerOptions,
  checkGrace,
  type DrainOnceOptions,
  type WorkerOptions,
} from './options.ts'
import { hour, Purging } from './retention.ts'
import { WorkerRun } from './run.ts'

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
   * handlers have ended, those of `drainOnce` too. After `grace` milliseconds they are aborted and
   * their entries released: that counts no attempt. A store that hangs is not waited for.
   */
  drain(options?: { readonly grace?: number }): Promise<void>
  /**
   * Handles what is due now and stops, for hosts that run by a schedule.
   *
   * @throws WebhookError `OPTION_INVALID`, `STORE_FAILED`, `STORE_UNSUITABLE`, `CLIENT_MISSING`
   */
  drainOnce(options?: DrainOnceOptions): Promise<DrainOnceReport>
}

/** How many attempts ended how. */
export type DrainOnceReport = Readonly<Record<SettledAs, number>>

const longestSleep = 1_000

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
  const pipeline = insideOf<Pipeline>(receiver)
  if (!pipeline) {
    throw invalid(`createWorker expects a receiver from createReceiver(), got ${shown(receiver)}`)
  }
  const inbox = pipeline.keeper
  if (!isWorkSource(inbox)) {
    throw new WebhookError(
      'INBOX_INVALID',
      'the receiver has no inbox to work on: createReceiver({ secret, inbox: createInbox({ store }) })',
    )
  }
  return new InboxWorker(pipeline, inbox, options)
}

function isWorkSource(inbox: unknown): inbox is WorkSource {
  return typeof (inbox as { claim?: unknown } | undefined)?.claim === 'function'
}

class InboxWorker implements Worker {
  readonly #corridor: Pipeline
  readonly #inbox: WorkSource
  readonly #options: ReturnType<typeof checkedWorkerOptions>
  readonly #silence: SilenceWatch
  readonly #purging: Purging
  /** From the first claim to a drain. */
  #shift: WorkerRun | undefined
  #started: Promise<void> | undefined
  #draining: Promise<void> | undefined
  #endings: (() => void)[] = []
  #isPulling = false
  #again = false
  #sleep: ReturnType<typeof setTimeout> | undefined

  constructor(corridor: Pipeline, inbox: WorkSource, options: WorkerOptions) {
    this.#corridor = corridor
    this.#inbox = inbox
    this.#options = checkedWorkerOptions(options)
    this.#silence = new SilenceWatch(this.#options.silence)
    this.#purging = new Purging(inbox, (asked, error) => this.#trouble(asked, error))
    inbox.onOperated((one) => corridor.observe({ type: 'operated', at: corridor.now(), ...one }))
  }

  start(): Promise<void> {
    this.#started ??= this.#start().catch((error: unknown) => {
      this.#started = undefined
      throw error
    })
    return this.#started
  }

  async drain({ grace = this.#options.grace } = {}): Promise<void> {
    checkGrace(grace)
    this.#started = undefined
    for (const end of this.#endings.splice(0)) end()
    clearTimeout(this.#sleep)
    const shift = this.#openShift()
    shift.track(this.#corridor.quiet())
    this.#draining = shift.end(grace)
    await this.#draining
    if (this.#shift === shift) this.#shift = undefined
  }

  async drainOnce(options: DrainOnceOptions = {}): Promise<DrainOnceReport> {
    const { limit, timeout } = checkedBounds(options)
    const shift = this.#openShift()
    await this.#ready()
    const report = { done: 0, retry: 0, dead: 0, skipped: 0, released: 0, lost: 0 }
    const start = this.#inbox.now().getTime()
    for (let left = limit; left > 0; ) {
      if (!shift.isOpen || this.#inbox.now().getTime() - start >= timeout) break
      const { runs } = await shift.claim(left)
      if (runs.length === 0) break
      left -= runs.length
      for (const state of await Promise.all(runs)) report[state]++
    }
    const left = timeout - (this.#inbox.now().getTime() - start)
    if (shift.isOpen && left > 0) await this.#purge(shift, left)
    return report
  }

  async #start(): Promise<void> {
    await this.#draining
    const shift = this.#openShift()
    try {
      await this.#ready()
    } catch (error) {
      if (shift.isOpen) throw error
    }
    // Drained before it had begun.
    if (!shift.isOpen) return
    const timers = [
      setInterval(() => this.#sweep(), this.#inbox.lease / 3),
      setInterval(() => this.#purge(shift), hour),
      setInterval(() => this.#listen(), 10_000),
    ]
    for (const timer of timers) timer.unref?.()
    this.#endings = [
      this.#corridor.listen((seen) => {
        if (seen.type === 'outcome' && seen.kind === 'accepted') {
          this.#silence.arrived(seen.at.getTime())
        }
      }),
      this.#inbox.onWork(() => this.#pull()),
      () => timers.forEach(clearInterval),
      this.#options.onSignal(() => this.#end()),
    ]
    this.#pull()
    this.#purge(shift)
  }

  #openShift(): WorkerRun {
    this.#shift ??= new WorkerRun({
      corridor: this.#corridor,
      inbox: this.#inbox,
      concurrency: this.#options.concurrency,
      room: () => this.#pull(),
      settled: (work, verdict, state) => this.#settled(work, verdict, state),
      trouble: (asked, error) => this.#trouble(asked, error),
    })
    return this.#shift
  }

  async #ready(): Promise<void> {
    const { dispatcher, fetches } = this.#corridor
    dispatcher.seal()
    if (dispatcher.refetches() && !fetches) {
      throw new WebhookError(
        'CLIENT_MISSING',
        "stale: 'refetch' needs a client: createReceiver({ secret, inbox, client: createClient({ … }) })",
      )
    }
    await this.#inbox.open()
    this.#crashed(await this.#inbox.sweep())
  }

  /** The process is told to end: no new deliveries, no new claims, and the rest in its time. */
  async #end(): Promise<void> {
    const { grace } = this.#options
    const { promise: late, resolve } = Promise.withResolvers<void>()
    setTimeout(resolve, grace + this.#inbox.timeout)
    const quiet = Promise.race([this.#corridor.drain({ grace }), late])
    await Promise.all([this.drain({ grace }), quiet])
    await this.#inbox.close()
  }

  get #isRunning(): boolean {
    return this.#endings.length > 0
  }

  #pull(): void {
    this.#again = true
    const shift = this.#shift
    if (this.#isPulling || !this.#isRunning || !shift) return
    this.#isPulling = true
    clearTimeout(this.#sleep)
    shift.track(this.#pullAll(shift)).finally(() => {
      this.#isPulling = false
      if (this.#again && shift.free > 0) this.#pull()
    })
  }

  async #pullAll(shift: WorkerRun): Promise<void> {
    try {
      while (this.#again && this.#isRunning && shift.free > 0) {
        this.#again = false
        const { isFull, next } = await shift.claim()
        if (isFull) this.#again = true
        else this.#sleepUntil(next)
      }
    } catch (error) {
      this.#again = false
      this.#trouble('claim', error)
      this.#sleepUntil(undefined)
    }
  }

  /** At most a second, so that a clock which was set forward is noticed. */
  #sleepUntil(next: number | undefined): void {
    clearTimeout(this.#sleep)
    if (!this.#isRunning) return
    const wait = next === undefined ? longestSleep : next - this.#inbox.now().getTime()
    const time = Math.min(Math.max(Math.ceil(wait), 1), longestSleep)
    this.#sleep = setTimeout(() => this.#pull(), time)
  }

  #settled({ lease, ...facts }: Work, verdict: Attempted['verdict'], state: SettledAs): void {
    const reason = 'reason' in verdict && { reason: verdict.reason }
    this.#tell({ ...facts, id: lease.id, state, ...reason })
  }

  #crashed(swept: readonly Swept[]): void {
    for (const one of swept) this.#tell({ ...one, reason: 'CRASHED' })
  }

  #tell({ id, state, attempt, name, reason, storedAt }: Told): void {
    this.#corridor.observe({
      type: 'settled',
      at: this.#corridor.now(),
      entryId: id,
      state,
      attempt,
      ...(name !== undefined && { name }),
      ...(reason !== undefined && { reason }),
      age: Math.max(0, this.#inbox.now().getTime() - storedAt),
    })
  }

  async #sweep(): Promise<void> {
    try {
      const swept = await this.#inbox.sweep()
      this.#crashed(swept)
      if (swept.length > 0) this.#pull()
    } catch (error) {
      this.#trouble('sweep', error)
    }
  }

  #purge(shift: WorkerRun, timeout?: number): Promise<void> {
    const bounds = { signal: shift.ending, ...(timeout !== undefined && { timeout }) }
    return shift.track(this.#purging.run(bounds))
  }

  #listen(): void {
    const at = this.#corridor.now()
    const silent = this.#silence.check(at.getTime())
    if (!silent) return
    const { since, usual } = silent
    this.#corridor.observe({ type: 'silence', at, since: new Date(since), usual })
  }

  #trouble(asked: string, error: unknown): void {
    const at = this.#corridor.now()
    this.#corridor.observe({ type: 'store', at, asked, error: describeError(error) })
  }
}

/** What is told of an entry that was settled. */
interface Told extends Pick<Work, 'attempt' | 'name' | 'storedAt'> {
  readonly id: string
  readonly state: SettledAs
  readonly reason?: string
}
