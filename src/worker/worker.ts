// createWorker: claim → attempt → settle, a given number of entries at a time; start, drain.

import { WebhookError } from '../errors.ts'
import { checkOptionNames, insideOf, invalid, kindShown } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import type { FailedRequest, SettledWork, Swept, Work, WorkSource } from '../inbox/work.ts'
import { describeError, type Observation, timed } from '../observe/observe.ts'
import type { Pipeline } from '../pipeline.ts'
import type { Receiver } from '../receiver.ts'
import { IdleWatch, toSilence } from './idle-watch.ts'
import {
  checkedWorkerOptions,
  checkGrace,
  type RunOnceOptions,
  type RunOnceReport,
  type WorkerOptions,
} from './options.ts'
import { Poll } from './poll.ts'
import { hour, Retention } from './retention.ts'
import { WorkerRun } from './run.ts'
import { DrainOnce } from './run-once.ts'
import { Signals } from './signals.ts'
import { takeOver } from './takeover.ts'

/** Handles what the inbox keeps. */
export interface Worker {
  /**
   * Opens the inbox, counts what a crash interrupted, and handles entries as they come.
   *
   * @throws WebhookError `CLIENT_MISSING`, `STORE_FAILED`, `STORE_OWNED`, `STORE_UNSUITABLE` and the
   * other codes of opening an inbox
   */
  start(): Promise<void>
  /**
   * Claims nothing more; resolves when the deliveries that are being received are answered and the
   * handlers have ended, those of `runOnce` too. After `grace` milliseconds they are aborted and
   * their entries released: that counts no attempt. A store that hangs is not waited for.
   */
  drain(options?: { readonly grace?: number }): Promise<void>
  /**
   * Handles what is due now and stops, for hosts that run by a schedule. Without bounds it joins a call
   * that waits for a place: it ends with that, and reports nothing of its own.
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
  const pipeline = insideOf<Pipeline>(receiver)
  if (!pipeline) {
    throw invalid(
      `createWorker expects a receiver from createReceiver(), got ${kindShown(receiver)}`,
    )
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

/** Receivers whose observer hears of operators: once, however many workers they have. */
const operated = new WeakSet<Pipeline>()

class InboxWorker implements Worker {
  readonly #pipeline: Pipeline
  readonly #inbox: WorkSource
  readonly #options: ReturnType<typeof checkedWorkerOptions>
  readonly #signals: Signals
  readonly #idle: IdleWatch
  readonly #retention: Retention
  readonly #once: DrainOnce
  /** From the first claim to a drain. */
  #run: WorkerRun | undefined
  #poll: Poll | undefined
  #started: Promise<void> | undefined
  #draining: Promise<void> | undefined
  #endings: (() => void)[] = []

  constructor(pipeline: Pipeline, inbox: WorkSource, options: WorkerOptions) {
    this.#pipeline = pipeline
    this.#inbox = inbox
    this.#options = checkedWorkerOptions(options)
    const active = () => this.#run?.active ?? 0
    this.#signals = new Signals(this.#options, { pipeline, inbox, worker: this, active })
    this.#idle = new IdleWatch(this.#options.silenceFactor)
    this.#retention = new Retention(inbox, (failed) => this.#failed(failed))
    this.#once = new DrainOnce({
      now: inbox.now,
      openRun: () => this.#openRun(),
      ready: () => this.#ready(),
      obey: () => this.#signals.obey(),
      sweepRetention: (run, goesOn) => this.#sweepRetention(run, goesOn),
    })
    if (operated.has(pipeline)) return
    operated.add(pipeline)
    inbox.operations.listen(({ duration, ...one }) => {
      pipeline.observe({ type: 'operated', ...timed(pipeline.now(), duration), ...one })
    })
  }

  start(): Promise<void> {
    this.#started ??= this.#start().catch((error: unknown) => {
      this.#started = undefined
      this.#inbox.watch.failed()
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
    run.track(this.#pipeline.quiet())
    this.#draining = run.end(grace)
    await this.#draining
    if (this.#run === run) this.#run = undefined
  }

  runOnce(options?: RunOnceOptions): Promise<RunOnceReport> {
    return this.#once.run(options)
  }

  async #start(): Promise<void> {
    this.#signals.assertSupported()
    const draining = this.#draining
    await draining
    // Another drain has come since.
    if (this.#draining !== draining) return
    const run = this.#openRun()
    try {
      await this.#ready()
    } catch (error) {
      if (run.isOpen) throw error
    }
    // Drained before it had begun.
    if (!run.isOpen) return
    const poll = this.#startPoll(run)
    const { sweepEvery, place } = this.#inbox
    const timers = [
      setInterval(() => this.#sweep(), sweepEvery),
      setInterval(() => this.#sweepRetention(run), hour),
      setInterval(() => this.#checkIdle(), 10_000),
    ]
    for (const timer of timers) timer.unref?.()
    this.#endings = [
      () => poll.stop(),
      () => timers.forEach(clearInterval),
      this.#pipeline.listen((seen) => this.#noteArrival(seen)),
      this.#inbox.onWork(() => poll.wake()),
      this.#signals.obey(),
    ]
    this.#endings.push(takeOver(place ?? this.#inbox, this.#pipeline, () => void this.drain()))
    poll.wake()
    this.#sweepRetention(run)
  }

  #startPoll(run: WorkerRun): Poll {
    const poll = new Poll({
      now: this.#inbox.now,
      hasRoom: () => run.free > 0,
      claim: () => run.claim(),
      failed: (error, began) => this.#failed({ asked: 'claim', error, began }),
    })
    this.#poll = poll
    return poll
  }

  #openRun(): WorkerRun {
    this.#run ??= new WorkerRun({
      pipeline: this.#pipeline,
      inbox: this.#inbox,
      concurrency: this.#options.concurrency,
      onCapacity: () => this.#poll?.wake(),
      onSettled: ({ lease, ...work }, { verdict, ...settled }) => {
        const reason = 'reason' in verdict ? verdict.reason : undefined
        this.#reportSettled({ ...work, reason, ...settled, id: lease.id })
      },
      onStoreError: (failed) => this.#failed(failed),
    })
    return this.#run
  }

  async #ready(): Promise<void> {
    const { dispatcher, fetches } = this.#pipeline
    dispatcher.freeze()
    if (dispatcher.refetches() && !fetches) {
      throw new WebhookError(
        'CLIENT_MISSING',
        "stale: 'refetch' needs a client: createReceiver({ secret, inbox, client: createClient({ … }) })",
      )
    }
    await this.#inbox.open()
    this.#reportCrashed(await this.#inbox.sweep())
  }

  async #sweep(): Promise<void> {
    const began = performance.now()
    try {
      if (this.#reportCrashed(await this.#inbox.sweep())) this.#poll?.wake()
    } catch (error) {
      this.#failed({ asked: 'sweep', error, began })
    }
  }

  #sweepRetention(run: WorkerRun, goesOn?: () => boolean): Promise<boolean> {
    return run.track(this.#retention.sweep({ signal: run.ending, goesOn }))
  }

  #noteArrival(seen: Observation): void {
    if (seen.type === 'outcome' && seen.kind === 'accepted') this.#idle.arrived(seen.at.getTime())
  }

  /** Behind a balancer each process sees a part of what arrives: a shared store has seen it all. */
  async #checkIdle(): Promise<void> {
    const now = this.#pipeline.now().getTime()
    const silent = this.#idle.check(now)
    if (!silent) return
    const began = performance.now()
    try {
      // By its own clock: ages compare, to a second, and times of two clocks do not.
      const heard = now - (await this.#inbox.sinceStored())
      if (heard > silent.since + 1_000) return this.#idle.arrived(heard)
    } catch (error) {
      return this.#failed({ asked: 'stats', error, began })
    }
    this.#pipeline.observe(toSilence(silent, this.#pipeline.now()))
  }

  #reportCrashed(swept: readonly Swept[]): boolean {
    for (const one of swept) this.#reportSettled({ ...one, reason: 'CRASHED' })
    return swept.length > 0
  }

  #reportSettled({ id, storedAt, duration, ...work }: SettledEntry): void {
    const age = Math.max(0, this.#inbox.now().getTime() - storedAt)
    const { state, attempt, name, reason, dueAt } = work
    const at = this.#pipeline.now()
    const times = duration === undefined ? { at } : timed(at, duration)
    const seen = { type: 'settled' as const, ...times, entryId: id, state, attempt, name, reason }
    this.#pipeline.observe(defined({ ...seen, dueAt, age }), this.#inbox.place)
  }

  #failed({ asked, error, began }: FailedRequest): void {
    const times = timed(this.#pipeline.now(), performance.now() - began)
    this.#pipeline.observe({ type: 'store', ...times, asked, error: describeError(error) })
  }
}

interface SettledEntry
  extends Pick<Work, 'attempt' | 'name' | 'storedAt'>,
    Omit<SettledWork, 'reason'> {
  readonly id: string
  readonly reason?: string | undefined
  /** Unknown where its process crashed. */
  readonly duration?: number
}
