// One attempt at one entry of the inbox: read the entry, plan which handlers run, run them, and say how
// the attempt ends. Handlers may throw anything; an attempt always ends with a verdict.
import { toArrivals } from '../arrival.ts'
import { namesResource } from '../dispatch/fetch-resource.ts'
import { type Decision, type Finality, type Replaced, toSuperseded } from '../dispatch/finality.ts'
import { attemptSteps, type HandlerFailure, type Registration } from '../dispatch/handler.ts'
import type { RunningHandlers } from '../dispatch/run.ts'
import { isNonRetryable } from '../errors.ts'
import { defined } from '../foundation/defined.ts'
import type { Arrival, EntryFailure } from '../inbox/entry.ts'
import type { DurableInbox } from '../inbox/inbox.ts'
import type { Verdict, Work } from '../inbox/work.ts'
import type { StoreTx } from '../inbox/work-store.ts'
import { describeError } from '../observe/observe.ts'
import type { Parsed } from '../parse.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import type { WithData } from '../protocol/meanings.ts'
import { covers, type DecisionName, isEventName, reversalName } from '../protocol/names.ts'
import type { Steps } from '../steps.ts'

export interface Attempted {
  readonly verdict: Verdict
  readonly handled: readonly string[]
}

export interface AttemptDeps {
  readonly steps: Steps
  readonly inbox: DurableInbox
  /** Tells which decisions of the sender a later one may replace. */
  readonly finality: Finality
  /** Gives an event its resource as it is now. */
  readonly withData: WithData
}

interface Attempter extends AttemptDeps {
  /** The handlers that are aborted together. */
  readonly running: RunningHandlers
}

export async function attempt(work: Work, by: Attempter): Promise<Attempted> {
  try {
    const entry = readEntry(work, by.steps)
    if ('kind' in entry) {
      // Before it gets its own lane: a crash between the two would lose the others.
      if (entry.kind === 'assigned' && entry.others) await by.inbox.keepAll(entry.others)
      return ended(entry)
    }
    const decided = by.steps.decisions ? await decidedEntry(work, entry, by) : entry
    if ('kind' in decided) return ended(decided)
    const plan = planAttempt(work, decided, by)
    if ('kind' in plan) return ended(plan)
    return await new AttemptRun(work, by, plan).run()
  } catch (error) {
    return ended(stepFailed('worker', error))
  }
}

type ReadEntry = Pick<Extract<Parsed, { readonly ok: true }>, 'event' | 'key'>

/** Parses an entry, or returns the verdict if it cannot be handled as it is. */
function readEntry(work: Work, steps: Steps): ReadEntry | Verdict {
  if (!work.delivery) return { ...failed('UNREADABLE'), fatal: work.isUnrecoverable === true }
  let parsed: Parsed | undefined
  let thrown: unknown
  try {
    parsed = steps.parser(work.delivery, work.source, work)
  } catch (error) {
    thrown = error
  }
  // Data that a schema rejects belongs to its entity too.
  const [arrival, ...others] = assignable(work, parsed, steps)
  if (arrival) return { kind: 'assigned', arrival, ...(others.length > 0 && { others }) }
  if (!parsed) return stepFailed('schema', thrown)
  if (parsed.ok) return parsed
  // The process that stored it could parse it: during a rolling deployment, retry.
  const isRejected = work.schemaRejected === true && parsed.code === 'EVENT_INVALID'
  return { ...failed(parsed.code), fatal: work.name === undefined || isRejected }
}

/** The entry as it reads now, if it lacks its lane because it could not be read on arrival. */
function assignable(
  { delivery, source, name, part }: Work,
  read: Parsed | undefined,
  { peek }: Pick<Steps, 'peek'>,
): readonly Arrival[] {
  // A replay runs the entry as it is.
  if (!delivery || source === 'replay') return []
  if (name !== undefined && (isEventName(name) || (read?.ok && read.event.name === name))) {
    return []
  }
  // Read as on arrival: the data of a schema may lack what the sender sent.
  const parsed = peek(delivery, source, { part })
  if (!parsed.ok) return []
  // Never back to an unknown name: old and new processes side by side would take turns.
  if (name !== undefined && !isEventName(parsed.event.name)) return []
  return toArrivals(delivery, parsed, source)
}

/** The entry with the decision that its event lacks, or the verdict if that was not read. */
async function decidedEntry(
  work: Work,
  entry: ReadEntry,
  { steps, running }: Attempter,
): Promise<ReadEntry | Verdict> {
  const { delivery, attempt, failed: before } = work
  if (!delivery || !steps.decisions?.awaits(entry.event)) return entry
  const entryId = work.lease.id
  const found = await steps.decide({ ...entry, delivery, attempt, entryId, running })
  if (!('handler' in found)) return { ...entry, event: found }
  if (isDrained(found)) return { kind: 'released' }
  const unrun = before.filter((id) => !Object.hasOwn(attemptSteps, id))
  const failures = [
    toFailure(found),
    ...unrun.map((id) => failedBefore(id, 'was not run by this attempt')),
  ]
  const { retryAfter: asked } = Object(found.error) as { readonly retryAfter?: unknown }
  const retryAfter = typeof asked === 'number' ? asked : undefined
  const reason = found.code === 'HANDLER_TIMEOUT' ? 'HANDLER_TIMEOUT' : 'HANDLER_FAILED'
  return { kind: 'failed', reason, failures, fatal: false, retryAfter }
}

interface Plan {
  readonly event: WebhookEvent
  readonly key: string | undefined
  /** The handlers to run, in order. */
  readonly todo: readonly Registration[]
  /** Follows the id of a handler in the name of its checkpoint. */
  readonly mark: string
  /** A newer event of the entity was done already. */
  readonly stale: boolean
  readonly replaced: Replaced | undefined
  /** The last decision of the entity once this event is done. */
  readonly decision: Decision | undefined
  /** Handlers that failed before and that this process lacks. */
  readonly missing: readonly string[]
}

/** Plans which handlers run, or returns the verdict if none does. */
function planAttempt(
  work: Work,
  { event, key }: ReadEntry,
  { steps: { dispatcher }, finality }: Attempter,
): Plan | Verdict {
  const place = { entryId: work.lease.id, seq: work.seq }
  const last = work.highWaterMark?.decision
  const replaced = finality.replaced(event, place, last)
  const decision = finality.decided(event, place, last)
  const matching = replaced ? dispatcher.matchReversal(event) : dispatcher.match(event)
  // A decision without a handler is remembered if a handler awaits its reversal.
  const isAwaited = decision !== undefined && dispatcher.awaitsReversals
  const missing = missingHere(work, dispatcher)
  if (matching.length === 0 && !isAwaited && missing.length === 0) {
    return { kind: 'skipped', reason: 'NO_HANDLER' }
  }
  const isRead = event.decidedBy === 'api'
  const isNew = !isRead || work.source === 'replay' || !isRepeated(event, work)
  // A decision that is read again may have changed: a handler of the earlier one runs again.
  const mark = isRead ? ` ${event.name}` : ''
  const todo = isNew ? matching.filter(({ id }) => !work.handled.includes(id + mark)) : []
  // An event that replaces a decision is never stale.
  const stale = replaced === undefined && finality.isStale(event, place, work.highWaterMark)
  return { event, key, todo, mark, stale, replaced, decision, missing }
}

/** Tells whether a decision of the API was handled already: hints come more often than decisions. */
function isRepeated({ name }: WebhookEvent, work: Work): boolean {
  const last = work.highWaterMark?.decision
  return last?.name === name && last.entryId !== work.lease.id
}

/** Handlers that failed before and that only other processes of a rolling deployment have. */
function missingHere(
  { failed, handled }: Work,
  dispatcher: Steps['dispatcher'],
): readonly string[] {
  return failed.filter(
    (id) => !Object.hasOwn(attemptSteps, id) && !handled.includes(id) && !dispatcher.has(id),
  )
}

class AttemptRun {
  readonly #work: Work
  readonly #by: Attempter
  readonly #plan: Plan
  readonly #handled: string[] = []
  readonly #failures: HandlerFailure[] = []

  constructor(work: Work, by: Attempter, plan: Plan) {
    this.#work = work
    this.#by = by
    this.#plan = plan
  }

  async run(): Promise<Attempted> {
    const { todo } = this.#plan
    for (const [index, registration] of todo.entries()) {
      const isDone = await this.#runOne(registration)
      const left = todo.slice(index + 1)
      if (left.length === 0) break
      if (await this.#checkpoint(isDone ? registration.id + this.#plan.mark : undefined)) continue
      // Another worker may hold the entry, or it was forgotten: no further handler may see it.
      return { verdict: this.#cutShort(left), handled: this.#handled }
    }
    return { verdict: this.#verdict(), handled: this.#handled }
  }

  /**
   * The verdict if the store did not confirm the lease. The entry may still be leased here, so nothing
   * is final before all handlers had their turn. A failure that repeats itself counts: a released
   * entry would come back at once, for as long as only checkpoints fail.
   */
  #cutShort(left: readonly Registration[]): Verdict {
    const own = this.#failures.filter((one) => !isDrained(one))
    const unrun = left
      .filter(({ id }) => this.#work.failed.includes(id))
      .map(({ id }) => failedBefore(id, 'was not run by this attempt'))
    const failures = [...own.map(toFailure), ...this.#before(), ...unrun]
    if (own.length === 0) return { kind: 'released' }
    if (!own.every((one) => this.#failedBefore(one))) return { kind: 'released', failures }
    return { kind: 'failed', reason: 'HANDLER_FAILED', failures, fatal: false }
  }

  #checkpoint(handler: string | undefined): Promise<boolean> {
    // If the store does not answer now, settling tells it which handlers succeeded.
    return this.#by.inbox.leases.checkpoint(this.#work, handler).catch(() => false)
  }

  async #runOne(registration: Registration): Promise<boolean> {
    const { key, stale, replaced } = this.#plan
    const mark = registration.id + this.#plan.mark
    const { delivery, attempt, gap } = this.#work
    if (!delivery) return false
    const policy = stale ? registration.options.stale : undefined
    if (policy === 'skip') {
      this.#handled.push(mark)
      return true
    }
    const { steps, inbox, running } = this.#by
    let tx: StoreTx | undefined
    let handler = policy === 'refetch' ? refetching(registration, this.#by) : registration.handler
    try {
      // Waits for its turn before the handler's time begins.
      if (registration.options.tx) tx = await inbox.leases.transaction(this.#work, mark)
      if (tx) handler = within(tx, handler)
    } catch (error) {
      // Only this handler fails; earlier ones have succeeded and must not run again.
      handler = () => Promise.reject(error)
    }
    const [report] = await steps.run({
      event: this.#eventFor(registration),
      key,
      delivery,
      registrations: [{ ...registration, handler }],
      attempt,
      entryId: this.#work.lease.id,
      extras: {
        gap,
        stale,
        supersedes: replaced && toSuperseded(replaced),
        ...(tx && { tx: tx.handle }),
      },
      running,
    })
    if (report?.ok) this.#handled.push(mark)
    else if (report) this.#failures.push(report)
    if (!report?.ok) await tx?.rollback()
    return report?.ok === true
  }

  /** Gives a handler of reversals alone the decision as a reversal. */
  #eventFor({ patterns }: Registration): WebhookEvent {
    const { event, replaced } = this.#plan
    if (!replaced || !patterns.includes(reversalName)) return event
    if (patterns.some((pattern) => covers(pattern, event.name))) return event
    // Trust is granted here: only a decision replaces another.
    const decision = event.name as DecisionName
    const supersedes = toSuperseded(replaced)
    return { ...event, name: reversalName, decision, supersedes } as unknown as WebhookEvent
  }

  #verdict(): Verdict {
    const { event, decision, missing } = this.#plan
    if (this.#failures.length === 0 && missing.length === 0) {
      const { name, occurredAt } = event
      return { kind: 'done', occurrence: defined({ name, occurredAt, decision }) }
    }
    const own = this.#failures.filter((one) => !isDrained(one))
    const isDrain = own.length < this.#failures.length
    // A drain is not the handler's fault: the entry is released, and no attempt is counted.
    if (isDrain && !(own.length > 0 && this.#by.running.isTimed)) {
      if (own.length === 0) return { kind: 'released' }
      return { kind: 'released', failures: [...own.map(toFailure), ...this.#before()] }
    }
    // Handlers that were cut have not had their turn: nothing is final before.
    const fatal = !isDrain && own.some(({ error }) => isNonRetryable(error))
    const timedOut = missing.length === 0 && own.every(({ code }) => code === 'HANDLER_TIMEOUT')
    const reason = fatal ? 'NON_RETRYABLE' : timedOut ? 'HANDLER_TIMEOUT' : 'HANDLER_FAILED'
    const cut = this.#failures.filter((one) => isDrained(one) && !this.#failedBefore(one))
    const failures = [...own.map(toFailure), ...cut.map(toCut), ...this.#before()]
    return { kind: 'failed', reason, failures, fatal }
  }

  #before(): readonly EntryFailure[] {
    const again = this.#failures.filter((one) => isDrained(one) && this.#failedBefore(one))
    return [
      ...again.map(({ handler }) => failedBefore(handler, 'was interrupted by a drain')),
      ...this.#plan.missing.map((id) => failedBefore(id, 'this process has no handler of that id')),
    ]
  }

  #failedBefore({ handler }: HandlerFailure): boolean {
    return this.#work.failed.includes(handler)
  }
}

const isDrained = ({ code }: HandlerFailure): boolean => code === 'DRAINING'

function ended(verdict: Verdict): Attempted {
  return { verdict, handled: [] }
}

function failed<Reason extends string>(reason: Reason) {
  return { kind: 'failed', reason, failures: [] } as const
}

function stepFailed(step: keyof typeof attemptSteps, error: unknown): Verdict {
  const failure = { handler: step, code: 'HANDLER_FAILED', error: describeError(error) }
  return { kind: 'failed', reason: 'HANDLER_FAILED', failures: [failure], fatal: false }
}

function toFailure({ handler, code, error }: HandlerFailure): EntryFailure {
  return { handler, code, error: describeError(error) }
}

function toCut({ handler }: HandlerFailure): EntryFailure {
  return { handler, code: 'HANDLER_FAILED', error: 'was cut by the end of the run' }
}

/** Keeps an earlier failure known, so that the entry is not done before the handler succeeds. */
function failedBefore(handler: string, why: string): EntryFailure {
  return { handler, code: 'HANDLER_FAILED', error: `failed before, and ${why}` }
}

function within(tx: StoreTx, handler: Registration['handler']): Registration['handler'] {
  return async (event, context) => {
    await handler(event, context)
    if (!(await tx.commit()))
      throw new Error('the lease was lost before the effects were committed')
  }
}

/** Passes the event with its current resource, and skips the handler if the resource is gone. */
function refetching(
  { handler }: Registration,
  { steps: { decisions }, withData }: Attempter,
): Registration['handler'] {
  const refreshed = (event: WebhookEvent, current: unknown) =>
    decisions?.hasApi ? decisions.refreshed(event, current) : withData(event, current)
  return async (event, context) => {
    const current = namesResource(event) ? await context.fetch() : undefined
    const isDeletion = event.name.endsWith('.deleted')
    if (current === null && !isDeletion) return
    await handler(current ? refreshed(event, current) : event, context)
  }
}
