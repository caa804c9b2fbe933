// The corridor that a delivery walks down: verify; with an inbox keep; else dispatch what parse
// understood. Everything that a sender can do wrong comes out as an outcome.
import { sha256 } from '#hmac'
import { admit } from './admit.ts'
import { toArrival } from './arrival.ts'
import { type Clock, systemClock } from './clock.ts'
import {
  type Delivery,
  headerList,
  idempotencyKeyOf,
  markVerified,
  provedBy,
  type VerifiedDelivery,
} from './delivery.ts'
import {
  type Context,
  Dispatcher,
  type Handler,
  type HandlerOptions,
  type HandlerReport,
  type Registration,
  runHandlers,
} from './dispatch.ts'
import type { FailedCode, OutcomeCode } from './errors.ts'
import { ResourceReads } from './fetch-resource.ts'
import { type Incoming, Intake } from './intake.ts'
import { describeError, guarded, type Observe, warnFailures } from './observe.ts'
import { checkedOptions, type ReceiverOptions } from './options.ts'
import {
  checkRespond,
  errorsOf,
  isFailedCode,
  methodNotAllowed,
  type Outcome,
  type Reply,
  toReply,
} from './outcome.ts'
import { createParser, type Parsed, type Parser } from './parse.ts'
import type { EventSource, WebhookEvent } from './protocol/events.ts'
import { eventNames, isLegacyName } from './protocol/names.ts'
import { toHex } from './signature/encoding.ts'
import { createVerifier, type Verifier } from './verify.ts'

/** One attempt at an event. */
export interface Task {
  readonly event: WebhookEvent
  readonly key?: string | undefined
  readonly delivery: VerifiedDelivery
  readonly registrations: readonly Registration[]
  readonly attempt: number
  /** The inbox's id of it. */
  readonly entryId?: string
  /** What an inbox adds to the context. */
  readonly extras?: Partial<Context>
  /** Aborted when whoever runs it drains; the receiver's own by default. */
  readonly signal?: AbortSignal
}

/** The receiver's inside; a worker shares it. */
export class Pipeline {
  readonly options: ReceiverOptions
  readonly parser: Parser
  readonly dispatcher: Dispatcher
  readonly observe: Observe
  readonly now: Clock
  readonly handlerTimeout: number
  /** Set by a worker that watches for silence. */
  onArrival: Observe | undefined
  readonly #maxBytes: number
  readonly #peek: Parser
  readonly #reads: ResourceReads
  readonly #verifier: Verifier
  readonly #intake: Intake
  readonly #grace = new AbortController()
  readonly #atWork = new Set<Promise<unknown>>()
  #draining = false

  constructor(options: ReceiverOptions) {
    const limits = checkedOptions(options)
    this.options = options
    this.now = options.now ?? systemClock
    const observe = guarded(options.observe ?? warnFailures())
    this.observe = (seen) => {
      observe(seen)
      this.onArrival?.(seen)
    }
    this.handlerTimeout = limits.handlerTimeout
    this.#maxBytes = limits.maxBytes
    checkRespond(options.respond)
    this.#verifier = createVerifier({ ...options, now: this.now })
    this.#intake = new Intake(limits, this.#verifier)
    this.parser = createParser(options)
    this.#peek = createParser({ ...options, validate: 'off' })
    this.#reads = new ResourceReads(options.client, options.now)
    this.dispatcher = new Dispatcher([...eventNames, ...Object.keys(options.schemas ?? {})])
  }

  on(pattern: string | readonly string[], handler: Handler, options?: HandlerOptions): this {
    this.dispatcher.on(pattern, handler, options)
    return this
  }

  fallback(handler: Handler, options?: HandlerOptions): this {
    this.dispatcher.fallback(handler, options)
    return this
  }

  async handle(incoming: Incoming): Promise<Reply> {
    if (incoming.method !== 'POST') return methodNotAllowed
    const outcome = this.#intake.take(incoming, async (arrived) => {
      if ('body' in arrived) return this.#receive(arrived)
      const { code, message, bytes } = arrived
      return this.#ended(refusal(code, message), bytes)
    })
    return toReply(await this.#track(outcome), this.options.respond)
  }

  receive(delivery: Delivery): Promise<Outcome> {
    return this.#track(this.#receive(delivery))
  }

  /** Takes the bytes of an event that the service's API showed: nobody sent it, so none signed it. */
  async feed(body: Uint8Array, tenant?: string): Promise<Outcome> {
    this.dispatcher.seal()
    if (this.#draining) return this.#ended(refusal('DRAINING'), body.length)
    const whose = tenant === undefined ? {} : { tenant }
    const delivery = markVerified({ body, headers: [], receivedAt: this.now(), ...whose })
    return this.#track(this.#accept(delivery, 'reconcile'))
  }

  async drain({ grace = 10_000 } = {}): Promise<void> {
    this.#draining = true
    const timer = setTimeout(() => this.abort(), grace)
    while (this.#atWork.size > 0) await Promise.allSettled(this.#atWork)
    clearTimeout(timer)
  }

  /** Resolves when the deliveries that are at work now have ended. */
  async quiet(): Promise<void> {
    await Promise.allSettled([...this.#atWork])
  }

  /** Aborts the handlers that are at work. */
  abort(): void {
    this.#grace.abort(new DOMException('the receiver is shutting down', 'AbortError'))
  }

  async #receive(delivery: Delivery): Promise<Outcome> {
    this.dispatcher.seal()
    const bytes = delivery.body instanceof Uint8Array ? delivery.body.length : 0
    if (this.#draining) return this.#ended(refusal('DRAINING'), bytes)
    if (!(delivery.body instanceof Uint8Array)) {
      return this.#ended(refusal('BODY_CONSUMED', 'delivery.body must be the exact bytes'), bytes)
    }
    try {
      const headers = headerList(delivery.headers)
      const refused = admit(headers, bytes, this.#maxBytes)
      if (refused) return this.#ended(refusal(refused), bytes)
      return await this.#prove({ ...delivery, headers })
    } catch (error) {
      // The user's own envelope or schema threw; what a sender did never gets here.
      return this.#ended({ kind: 'failed', code: 'HANDLER_FAILED', error }, bytes)
    }
  }

  async #prove(arrived: Delivery): Promise<Outcome> {
    const arriving = this.#reads.arriving()
    const verified = await this.#verifier.verify(arrived)
    if (!verified.ok) return this.#refused(verified, arrived.body.length)
    return this.#accept(arriving(verified.delivery))
  }

  async #accept(delivery: VerifiedDelivery, source: EventSource = 'webhook'): Promise<Outcome> {
    if (this.options.inbox) return this.#keep(delivery, source)
    return this.#dispatch(delivery, this.parser(delivery, source))
  }

  #refused(
    { code, error, diagnose }: Exclude<Awaited<ReturnType<Verifier['verify']>>, { ok: true }>,
    bytes: number,
  ): Outcome {
    if (code !== 'SECRET_UNAVAILABLE')
      return this.#ended({ kind: 'rejected', code, diagnose }, bytes)
    const message = 'the look-up of secrets failed'
    return this.#ended({ kind: 'failed', code, message, error }, bytes)
  }

  async #keep(delivery: VerifiedDelivery, source: EventSource): Promise<Outcome> {
    const parsed = this.#peek(delivery, source)
    const event = parsed.ok ? parsed.event : undefined
    const bytes = delivery.body.length
    try {
      const kept = await this.options.inbox?.keep(toArrival(delivery, parsed, source))
      if (kept) return this.#ended({ ...kept, ...provedBy(delivery) }, bytes, event)
      throw new TypeError('the inbox answered nothing')
    } catch (error) {
      const message = 'the inbox did not keep the delivery'
      const failed = { kind: 'failed', code: 'STORE_UNAVAILABLE', message, error } as const
      return this.#ended({ ...failed, ...provedBy(delivery) }, bytes, event)
    }
  }

  async #dispatch(delivery: VerifiedDelivery, parsed: Parsed): Promise<Outcome> {
    const bytes = delivery.body.length
    const ids = provedBy(delivery)
    if (!parsed.ok) {
      const issues = parsed.issues && { issues: parsed.issues }
      return this.#ended({ ...refusal(parsed.code), ...issues, ...ids } as Outcome, bytes)
    }
    const { event, key } = parsed
    const registrations = this.dispatcher.match(event)
    if (registrations.length === 0) {
      return this.#ended({ kind: 'ignored', event, ...ids }, bytes, event)
    }
    const reports = await this.run({ event, key, delivery, registrations, attempt: 1 })
    const errors = reports.filter((report) => !report.ok)
    const outcome: Outcome =
      errors.length === 0
        ? { kind: 'handled', event, ...ids }
        : { kind: 'failed', code: codeOf(errors), errors, event, ...ids }
    return this.#ended(outcome, bytes, event)
  }

  /** One attempt: runs the handlers given, each with its own context. */
  async run(task: Task): Promise<readonly HandlerReport[]> {
    const { event, delivery, attempt } = task
    const key = task.key ?? toHex(await sha256(delivery.body))
    const idempotencyKey = idempotencyKeyOf(key, delivery)
    const facts = { attempt, idempotencyKey, delivery, ...provedBy(delivery) }
    const reports = await runHandlers(task.registrations, {
      event,
      timeout: this.handlerTimeout,
      drain: task.signal ?? this.#grace.signal,
      contextFor: (_, signal) => ({
        ...facts,
        tx: undefined,
        signal,
        fetch: () => this.#reads.current(event, { signal, delivery }),
        ...task.extras,
      }),
    })
    for (const report of reports) {
      this.observe({
        type: 'attempt',
        at: this.now(),
        name: event.name,
        ...(event.id !== undefined && { eventId: event.id }),
        ...(delivery.tenant !== undefined && { tenant: delivery.tenant }),
        ...(task.entryId !== undefined && { entryId: task.entryId }),
        handler: report.handler,
        attempt,
        ok: report.ok,
        ...(!report.ok && { code: report.code, error: describeError(report.error) }),
      })
    }
    return reports
  }

  async #track<Result>(work: Promise<Result>): Promise<Result> {
    this.#atWork.add(work)
    try {
      return await work
    } finally {
      this.#atWork.delete(work)
    }
  }

  #ended(outcome: Outcome, bytes: number, event?: WebhookEvent): Outcome {
    this.observe({
      type: 'outcome',
      at: this.now(),
      kind: outcome.kind,
      ...('code' in outcome && { code: outcome.code }),
      ...('message' in outcome && outcome.message !== undefined && { message: outcome.message }),
      ...(event && { name: event.name, receivedName: event.receivedName, source: event.source }),
      ...(event?.id !== undefined && { eventId: event.id }),
      legacy: event !== undefined && isLegacyName(event.receivedName),
      ...provedBy(outcome),
      ...('conflict' in outcome && { conflict: true as const }),
      bytes,
      errors: errorsOf(outcome),
      diagnose: 'diagnose' in outcome ? outcome.diagnose : noDiagnosis,
    })
    return outcome
  }
}

const noDiagnosis = async () => undefined

function refusal(code: OutcomeCode, message?: string): Outcome {
  if (isFailedCode(code)) return { kind: 'failed', code, ...(message !== undefined && { message }) }
  return { kind: 'rejected', code, diagnose: noDiagnosis }
}

/** A timeout is named only where nothing worse happened. */
function codeOf(errors: readonly { readonly code: FailedCode }[]): FailedCode {
  const order: readonly FailedCode[] = ['HANDLER_FAILED', 'HANDLER_TIMEOUT', 'DRAINING']
  return order.find((code) => errors.some((one) => one.code === code)) ?? 'HANDLER_FAILED'
}
