// One attempt at one entry of the inbox: parse → match → the handlers that have not succeeded →
// verdict. Handlers throw what they like; it ends as a verdict.

import type { Dispatcher } from '../dispatch/dispatch.ts'
import { namesResource } from '../dispatch/fetch-resource.ts'
import { type Decision, type Replaced, toSuperseded } from '../dispatch/finality.ts'
import { attemptSteps, type HandlerFailure, type Registration } from '../dispatch/handler.ts'
import type { RunningHandlers } from '../dispatch/running.ts'
import { isNonRetryable } from '../errors.ts'
import { defined } from '../foundation/defined.ts'
import type { EntryFailure } from '../inbox/entry.ts'
import type { Verdict, Work, WorkSource } from '../inbox/work.ts'
import type { StoreTx } from '../inbox/work-store.ts'
import type { Parsed } from '../parse.ts'
import type { Pipeline } from '../pipeline.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import { covers, type DecisionName, reversalName } from '../protocol/names.ts'
import {
  isDrained,
  ofStep,
  toCut,
  toFailure,
  toInterrupted,
  toMissing,
  toUnrun,
} from './failures.ts'
import { keptForAnother, unreadHere } from './other-vendor.ts'
import { readLate } from './read-late.ts'

/** The result of an attempt: the verdict, and the handlers that succeeded. */
export interface Attempted {
  readonly verdict: Verdict
  readonly handled: readonly string[]
}

/** Makes attempts. */
export interface Attempter {
  readonly pipeline: Pipeline
  readonly inbox: WorkSource
  /** The handlers that are aborted when the worker's grace time is over. */
  readonly running: RunningHandlers
}

/** Handles one entry. */
export async function attempt(work: Work, by: Attempter): Promise<Attempted> {
  if (!work.delivery) {
    return ended({ ...failed('UNREADABLE'), fatal: work.isHopeless === true })
  }
  const { vendor } = by.pipeline
  const kept = keptForAnother(work.vendor, vendor)
  if (kept) return leftToAnother(work, kept)
  let parsed: Parsed | undefined
  let thrown: unknown
  try {
    parsed = by.pipeline.parser(work.delivery, work.source, work.name)
  } catch (error) {
    thrown = error
  }
  // Data that a schema refuses belong to its entity as well.
  const arrival = readLate(work, parsed, by.pipeline)
  if (arrival) return ended({ kind: 'assigned', arrival })
  if (!parsed) {
    const failures = [ofStep('schema', thrown)]
    return ended({ ...failed('HANDLER_FAILED'), failures, fatal: false })
  }
  if (!parsed.ok) {
    const unread = parsed.code === 'ENVELOPE_INVALID' ? unreadHere(work.vendor, vendor) : undefined
    if (unread) return leftToAnother(work, unread)
    // Who kept it could read it: in a deployment old and new ones work side by side.
    const isUnfit = work.unfit === true && parsed.code === 'EVENT_INVALID'
    return ended({ ...failed(parsed.code), fatal: work.name === undefined || isUnfit })
  }
  const { event, key } = parsed
  const { dispatcher, finality } = by.pipeline
  const place = { entryId: work.lease.id, seq: work.seq }
  const last = work.highWaterMark?.decision
  const replaced = finality.replaced(event, place, last)
  const decision = finality.decided(event, place, last)
  const matching = replaced ? dispatcher.matchReversal(event) : dispatcher.match(event)
  // Nobody hears this decision, and somebody would hear that it is reversed: it is remembered.
  const isAwaited = decision !== undefined && dispatcher.awaitsReversals
  const missing = missingHere(work, dispatcher)
  if (matching.length === 0 && !isAwaited && missing.length === 0) {
    return ended({ kind: 'skipped', reason: 'NO_HANDLER' })
  }
  const todo = matching.filter(({ id }) => !work.handled.includes(id))
  // An event that replaces a decision is never stale, whatever was handled in between.
  const stale = replaced === undefined && finality.isStale(event, place, work.highWaterMark)
  const subject = { event, key, stale, replaced, decision, missing }
  return new AttemptRun(work, by, subject).through(todo)
}

/**
 * Handlers that failed before and that this process does not have: in a deployment old and new ones
 * work side by side, and an event is not done while one of them has not succeeded.
 */
function missingHere(work: Work, dispatcher: Dispatcher): readonly string[] {
  return unfinished(work).filter((id) => !dispatcher.has(id))
}

/** The handlers that failed at the attempt before, and have not succeeded. */
function unfinished({ failed, handled }: Work): readonly string[] {
  return failed.filter((id) => !Object.hasOwn(attemptSteps, id) && !handled.includes(id))
}

/** An attempt that ran nothing: a worker of another receiver may do better, and so it is retried. */
function leftToAnother(work: Work, failure: EntryFailure): Attempted {
  const failures = [failure, ...unfinished(work).map(toUnrun)]
  return ended({ ...failed('ENVELOPE_INVALID'), failures, fatal: false })
}

interface Subject {
  readonly event: WebhookEvent
  readonly key: string | undefined
  readonly stale: boolean
  /** The decision that this one replaces. */
  readonly replaced: Replaced | undefined
  /** The last decision of the entity once this is done. */
  readonly decision: Decision | undefined
  /** Handlers of other processes that have not succeeded. */
  readonly missing: readonly string[]
}

class AttemptRun {
  readonly #work: Work
  readonly #by: Attempter
  readonly #subject: Subject
  readonly #handled: string[] = []
  readonly #failures: HandlerFailure[] = []

  constructor(work: Work, by: Attempter, subject: Subject) {
    this.#work = work
    this.#by = by
    this.#subject = subject
  }

  async through(todo: readonly Registration[]): Promise<Attempted> {
    for (const [index, registration] of todo.entries()) {
      const isDone = await this.#one(registration)
      const left = todo.slice(index + 1)
      if (left.length === 0) break
      if (await this.#isHeld(isDone ? registration.id : undefined)) continue
      // Somebody else's by now, or forgotten: no further handler may see it.
      return { verdict: this.#cutShort(left), handled: this.#handled }
    }
    return { verdict: this.#verdict(), handled: this.#handled }
  }

  /**
   * Where the store did not answer, the entry is still this one's: nothing is final before all have
   * had their turn. A failure that repeats itself counts: released it would come back at once, for
   * as long as the store answers everything else.
   */
  #cutShort(left: readonly Registration[]): Verdict {
    const own = this.#failures.filter((one) => !isDrained(one))
    const unrun = left
      .filter(({ id }) => this.#work.failed.includes(id))
      .map(({ id }) => toUnrun(id))
    const failures = [...own.map(toFailure), ...this.#before(), ...unrun]
    if (own.length === 0) return { kind: 'released' }
    if (!own.every((one) => this.#failedBefore(one))) return { kind: 'released', failures }
    return { kind: 'failed', reason: 'HANDLER_FAILED', failures, fatal: false }
  }

  /** Records a handler that succeeded; false where the entry is not known to be held. */
  #isHeld(handler: string | undefined): Promise<boolean> {
    // Settling tells a store that does not answer now of those that succeeded.
    return this.#by.inbox.checkpoint(this.#work, handler).catch(() => false)
  }

  /** Runs one handler; true when it succeeded. */
  async #one(registration: Registration): Promise<boolean> {
    const { key, stale, replaced } = this.#subject
    const { delivery, attempt, gap } = this.#work
    if (!delivery) return false
    const policy = stale ? registration.options.stale : undefined
    if (policy === 'skip') {
      this.#handled.push(registration.id)
      return true
    }
    let tx: StoreTx | undefined
    let handler =
      policy === 'refetch' ? refetching(registration, this.#by.pipeline) : registration.handler
    try {
      // Waits for its turn before the handler's time begins.
      if (registration.options.tx) {
        tx = await this.#by.inbox.transaction?.(this.#work, registration.id)
      }
      if (tx) handler = within(tx, handler)
    } catch (error) {
      // This handler has failed; those before it have succeeded and must not run again.
      handler = () => Promise.reject(error)
    }
    const run = { ...registration, handler }
    const supersedes = replaced && toSuperseded(replaced)
    const [report] = await this.#by.pipeline.run({
      event: this.#eventFor(registration),
      key,
      delivery,
      registrations: [run],
      attempt,
      entryId: this.#work.lease.id,
      extras: { gap, stale, supersedes, ...(tx && { tx: tx.handle }) },
      running: this.#by.running,
    })
    if (report?.ok) this.#handled.push(registration.id)
    else if (report) this.#failures.push(report)
    if (!report?.ok) await tx?.rollback()
    return report?.ok === true
  }

  /** A handler of reversals alone hears the decision as one. */
  #eventFor({ patterns }: Registration): WebhookEvent {
    const { event, replaced } = this.#subject
    if (!replaced || !patterns.includes(reversalName)) return event
    if (patterns.some((pattern) => covers(pattern, event.name))) return event
    // Trust is granted here: only a decision replaces another.
    const decision = event.name as DecisionName
    const supersedes = toSuperseded(replaced)
    return { ...event, name: reversalName, decision, supersedes } as unknown as WebhookEvent
  }

  #verdict(): Verdict {
    const { event, decision, missing } = this.#subject
    if (this.#failures.length === 0 && missing.length === 0) {
      const { name, occurredAt } = event
      return { kind: 'done', occurrence: defined({ name, occurredAt, decision }) }
    }
    // A drain is not the handler's fault: the entry is released and no attempt is counted.
    const own = this.#failures.filter((one) => !isDrained(one))
    const isDrain = own.length < this.#failures.length
    if (isDrain && !(own.length > 0 && this.#by.running.isTimed)) return this.#released(own)
    // Handlers that were cut have not had their turn: nothing is final before that.
    const fatal = !isDrain && own.some(({ error }) => isNonRetryable(error))
    const timedOut = missing.length === 0 && own.every(({ code }) => code === 'HANDLER_TIMEOUT')
    const reason = fatal ? 'NON_RETRYABLE' : timedOut ? 'HANDLER_TIMEOUT' : 'HANDLER_FAILED'
    const cut = this.#failures.filter((one) => isDrained(one) && !this.#failedBefore(one))
    const failures = [...own.map(toFailure), ...cut.map(toCut), ...this.#before()]
    return { kind: 'failed', reason, failures, fatal }
  }

  /** Failures beside the drain stay known, together with earlier ones that were not made good. */
  #released(own: readonly HandlerFailure[]): Verdict {
    if (own.length === 0) return { kind: 'released' }
    return { kind: 'released', failures: [...own.map(toFailure), ...this.#before()] }
  }

  #before(): readonly EntryFailure[] {
    const again = this.#failures.filter((one) => isDrained(one) && this.#failedBefore(one))
    return [...again.map(toInterrupted), ...this.#subject.missing.map(toMissing)]
  }

  #failedBefore({ handler }: HandlerFailure): boolean {
    return this.#work.failed.includes(handler)
  }
}

function ended(verdict: Verdict): Attempted {
  return { verdict, handled: [] }
}

function failed<Reason extends string>(reason: Reason) {
  return { kind: 'failed', reason, failures: [] } as const
}

/** The handler, and then its effects committed. */
function within(tx: StoreTx, handler: Registration['handler']): Registration['handler'] {
  return async (event, context) => {
    await handler(event, context)
    if (!(await tx.commit()))
      throw new Error('the lease was lost before the effects were committed')
  }
}

/**
 * The event with its resource as it is now; as it came where it names none that can be read. Nothing
 * is run for what is gone, but its deletion itself.
 */
function refetching({ handler }: Registration, { withData }: Pipeline): Registration['handler'] {
  return async (event, context) => {
    const current = namesResource(event) ? await context.fetch() : undefined
    const isItsEnd = event.name.endsWith('.deleted')
    if (current === null && !isItsEnd) return
    await handler(current ? withData(event, current) : event, context)
  }
}
