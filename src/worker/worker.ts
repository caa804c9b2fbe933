// createWorker: claims entries, attempts them and settles them, a given number at a time.
import { Finality } from '../dispatch/finality.ts'
import { blamingCaller, WebhookError } from '../errors.ts'
import { checkOptionNames, invalid, kindShown } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import { warnIfItThrows, warnOnce } from '../foundation/warn.ts'
import { stepsOf } from '../host/brands.ts'
import { processState } from '../host/process.ts'
import type { DurableInbox } from '../inbox/inbox.ts'
import type { FailedRequest, SettledWork, Swept, Work } from '../inbox/work.ts'
import { describeError, printable, timed } from '../observe/observe.ts'
import { createWithData } from '../protocol/meanings.ts'
import type { Receiver } from '../receiver.ts'
import type { Steps } from '../steps.ts'
import {
  checkedBounds,
  checkedWorkerOptions,
  checkGrace,
  type RunOnceOptions,
  type RunOnceReport,
  type WorkerOptions,
} from './options.ts'
import { type TakenEntry, WorkerRun } from './run.ts'
import { hour, Retention, runOnce } from './run-once.ts'
import { Signals } from './signals.ts'

/** Handles the entries of an inbox. */
export interface Worker {
  /**
   * Opens the inbox, counts an attempt for each entry that a crash interrupted, and handles entries
   * as they arrive.
   *
   * @throws WebhookError `CLIENT_MISSING`, `STORE_FAILED`, `STORE_OWNED`, `STORE_UNSUITABLE` and the
   * other codes of opening an inbox
   */
  start(): Promise<void>
  /**
   * Claims nothing more. Resolves when the deliveries in flight are answered and all handlers have
   * ended, those of `runOnce` too. After `grace` milliseconds handlers are aborted and their entries
   * released, which counts no attempt. A store that hangs cannot delay it further.
   */
  drain(options?: { readonly grace?: number }): Promise<void>
  /**
   * Handles the due entries and stops, for hosts that run by a schedule or after each reply.
   *
   * @throws WebhookError `OPTION_INVALID`, and the codes of `start`
   */
  runOnce(options?: RunOnceOptions): Promise<RunOnceReport>
}

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
  return blamingCaller(createWorker, () => {
    const steps = stepsOf<Steps>(receiver)
    if (!steps) {
      const call = 'createWorker expects a receiver from createReceiver()'
      throw invalid(`${call}, got ${kindShown(receiver)}`)
    }
    const inbox = steps.keeper
    if (isDurable(inbox)) return new InboxWorker(steps, inbox, options)
    const fix = 'createReceiver({ secret, inbox: createInbox({ store }) })'
    throw invalid(`createWorker needs a receiver with an inbox: ${fix}`, 'INBOX_INVALID')
  })
}

function isDurable(inbox: unknown): inbox is DurableInbox {
  const { leases } = (inbox ?? {}) as { readonly leases?: { readonly claim?: unknown } }
  return typeof leases?.claim === 'function'
}

/** Receivers that observe the operators of their inbox, however many workers they have. */
const operated = new WeakSet<Steps>()

class InboxWorker implements Worker {
  readonly #steps: Steps
  readonly #inbox: DurableInbox
  readonly #options: ReturnType<typeof checkedWorkerOptions>
  readonly #signals: Signals
  readonly #idle: IdleWatch
  readonly #retention: Retention
  #run: WorkerRun | undefined
  #started: Promise<void> | undefined
  #draining: Promise<void> | undefined
  /** Undo what `start` began. */
  #endings: (() => void)[] = []

  constructor(steps: Steps, inbox: DurableInbox, options: WorkerOptions) {
    this.#steps = steps
    this.#inbox = inbox
    this.#options = checkedWorkerOptions(options)
    const active = () => this.#run?.active ?? 0
    this.#signals = new Signals(this.#options, { steps, inbox, worker: this, active })
    this.#idle = new IdleWatch(this.#options.silenceFactor)
    this.#retention = new Retention(inbox, (failed) => this.#failed(failed))
    if (operated.has(steps)) return
    operated.add(steps)
    const { observers } = steps
    inbox.onOperated(({ duration, ...one }) => {
      observers.report({ type: 'operated', ...timed(observers.now(), duration), ...one })
    })
  }

  start(): Promise<void> {
    this.#started ??= this.#start().catch((error: unknown) => {
      this.#started = undefined
      this.#inbox.leases.watch.failed()
      throw error
    })
    return this.#started
  }

  async drain(options: { readonly grace?: number } = {}): Promise<void> {
    checkOptionNames('worker.drain', options, ['grace'])
    const { grace = this.#options.grace } = options
    checkGrace(grace)
    this.#started = undefined
    for (const end of this.#endings.splice(0)) end()
    const run = this.#openRun()
    run.track(this.#steps.quiet())
    this.#draining = run.end(grace)
    await this.#draining
    if (this.#run === run) this.#run = undefined
  }

  async runOnce(options: RunOnceOptions = {}): Promise<RunOnceReport> {
    const bounds = checkedBounds(options)
    const release = this.#signals.listen()
    const run = this.#openRun()
    return runOnce(run, bounds, {
      now: this.#inbox.now,
      ready: () => this.#ready(),
      sweep: (goesOn) => this.#sweepRetention(run, goesOn),
    }).finally(release)
  }

  async #start(): Promise<void> {
    this.#signals.assertSupported()
    const draining = this.#draining
    await draining
    // Another drain began meanwhile.
    if (this.#draining !== draining) return
    const run = this.#openRun()
    try {
      await this.#ready()
    } catch (error) {
      if (run.isOpen) throw error
    }
    if (!run.isOpen) return
    void run.poll()
    const { sweepEvery, place } = this.#inbox
    const timers = [
      setInterval(() => this.#sweep(), sweepEvery),
      setInterval(() => this.#sweepRetention(run), hour),
      setInterval(() => this.#checkIdle(), 10_000),
    ]
    for (const timer of timers) timer.unref?.()
    this.#endings = [
      () => timers.forEach(clearInterval),
      this.#inbox.onWork((keptAt) => {
        if (keptAt !== undefined) this.#idle.arrived(keptAt)
        run.wake()
      }),
      this.#signals.listen(),
    ]
    this.#endings.push(takeOver(place ?? this.#inbox, this.#steps, () => void this.drain()))
    run.wake()
    this.#sweepRetention(run)
  }

  #openRun(): WorkerRun {
    const { reading } = this.#steps
    this.#run ??= new WorkerRun({
      steps: this.#steps,
      finality: new Finality(reading.vendor?.finality),
      withData: createWithData(reading),
      inbox: this.#inbox,
      concurrency: this.#options.concurrency,
      onSettled: this.#reportEnd,
      onStoreError: (failed) => this.#failed(failed),
    })
    return this.#run
  }

  async #ready(): Promise<void> {
    const { dispatcher, fetches, reading } = this.#steps
    dispatcher.freeze()
    if (dispatcher.refetches() && !fetches) {
      throw new WebhookError(
        'CLIENT_MISSING',
        "stale: 'refetch' needs a client: createReceiver({ secret, inbox, client: createClient({ … }) })",
      )
    }
    await this.#inbox.openFor(reading.vendor?.name)
    this.#reportCrashed(await this.#inbox.leases.sweep())
  }

  async #sweep(): Promise<void> {
    const began = performance.now()
    try {
      if (this.#reportCrashed(await this.#inbox.leases.sweep())) this.#run?.wake()
    } catch (error) {
      this.#failed({ asked: 'sweep', error, began })
    }
  }

  /** Ends with the run, and before that when the caller's bounds say so. */
  #sweepRetention(run: WorkerRun, goesOn = () => true): Promise<void> {
    return run.track(this.#retention.sweep(() => run.isOpen && goesOn()))
  }

  /** Asks a shared store too: behind a balancer each process receives a part of the deliveries. */
  async #checkIdle(): Promise<void> {
    const began = performance.now()
    try {
      const now = this.#inbox.now().getTime()
      const silent = this.#idle.check(now)
      if (!silent) return
      const stored = now - (await this.#inbox.sinceStored())
      if (stored > silent.since + 1_000) return this.#idle.arrived(stored)
      const times = timed(this.#steps.observers.now(), now - silent.since)
      const since = times.startedAt
      this.#steps.observers.report({ type: 'silence', ...times, since, usual: silent.usual })
    } catch (error) {
      this.#failed({ asked: 'stats', error, began })
    }
  }

  #reportCrashed(swept: readonly Swept[]): boolean {
    for (const one of swept) this.#reportSettled({ ...one, reason: 'CRASHED' })
    return swept.length > 0
  }

  readonly #reportEnd = ({ work, verdict, began }: TakenEntry, settled: SettledWork): void => {
    // Only the default observer uses these two states.
    const isWarned = settled.state === 'dead' || settled.state === 'retry'
    if (!isWarned && !this.#steps.observers.hearsAll) return
    const { lease, attempt, name, storedAt } = work
    const reason = verdict && 'reason' in verdict ? verdict.reason : undefined
    const duration = performance.now() - began
    const entry = { id: lease.id, attempt, storedAt, duration, ...defined({ name, reason }) }
    // The user's clock may throw.
    warnIfItThrows('the report of an entry', () => this.#reportSettled({ ...entry, ...settled }))
  }

  #reportSettled({ id, storedAt, duration, ...settled }: SettledEntry): void {
    const age = Math.max(0, this.#inbox.now().getTime() - storedAt)
    const at = this.#steps.observers.now()
    const times = duration === undefined ? { at } : timed(at, duration)
    const seen = { type: 'settled' as const, ...times, entryId: id, ...settled, age }
    this.#steps.observers.report(seen, this.#inbox.place)
  }

  #failed({ asked, error, began }: FailedRequest): void {
    const times = timed(this.#steps.observers.now(), performance.now() - began)
    this.#steps.observers.report({ type: 'store', ...times, asked, error: describeError(error) })
  }
}

interface SettledEntry
  extends Pick<Work, 'attempt' | 'name' | 'storedAt'>,
    Omit<SettledWork, 'reason'> {
  readonly id: string
  readonly reason?: string
  /** Unknown if its process crashed. */
  readonly duration?: number
}

const warnOfLost = /* @__PURE__ */ warnOnce()

/**
 * Makes a worker handle the entries of a place (a file, or an inbox) within this process, and stops the
 * workers of other receivers there. A development server loads a module again after an
 * edit, and the new handlers must run. Workers of one receiver share a place. The returned function
 * leaves the place.
 */
function takeOver(place: string | object, receiver: Steps, stop: () => void): () => void {
  const { workers: holders } = processState()
  const before = holders.get(place)
  const handlerIds = receiver.dispatcher.ids
  const holder =
    before?.receiver === receiver ? before : { receiver, handlerIds, stops: new Set<() => void>() }
  holders.set(place, holder)
  holder.stops.add(stop)
  if (before && before !== holder) {
    const lost = before.handlerIds.filter((id) => !handlerIds.includes(id)).map(printable)
    if (lost.length > 0) {
      warnOfLost(
        `a receiver's worker has stopped another receiver's worker on the same inbox, and lacks its handlers (${lost.slice(0, 3).join(', ')}). Give each receiver its own inbox, or register all handlers on one receiver`,
        'NO_WORKER',
      )
    }
    for (const old of [...before.stops]) old()
  }
  return () => {
    holder.stops.delete(stop)
    if (holder.stops.size === 0 && holders.get(place) === holder) holders.delete(place)
  }
}

/** When the last delivery arrived, and the median gap before, in milliseconds. */
export interface Silence {
  readonly since: number
  readonly usual: number
}

const maxGaps = 101
const minGaps = 20

/** Detects that a sender fell silent: no delivery for `factor` times the median gap, or a minute. */
export class IdleWatch {
  readonly #factor: number
  readonly #gaps: number[] = []
  #last: number | undefined
  #isReported = false

  constructor(factor: number) {
    this.#factor = factor
  }

  arrived(at: number): void {
    if (this.#last !== undefined) this.#gaps.push(Math.max(0, at - this.#last))
    if (this.#gaps.length > maxGaps) this.#gaps.shift()
    this.#last = at
    this.#isReported = false
  }

  /** Returns each silence once. */
  check(now: number): Silence | undefined {
    if (this.#isReported || this.#last === undefined || this.#gaps.length < minGaps) {
      return undefined
    }
    const sorted = this.#gaps.toSorted((one, two) => one - two)
    const usual = sorted[Math.floor(sorted.length / 2)] ?? 0
    if (now - this.#last < Math.max(60_000, usual * this.#factor)) return undefined
    this.#isReported = true
    return { since: this.#last, usual }
  }
}
