// The inside of a receiver, that every delivery walks through: admit, verify, then keep, or parse
// and dispatch. Everything that a sender can do wrong comes out as an outcome.
import { sha256, sha256Hex } from '#hmac'
import { toArrival } from './arrival.ts'
import { checkMilliseconds } from './check.ts'
import { type Clock, systemClock } from './clock.ts'
import { defined } from './defined.ts'
import {
  type Delivery,
  HeaderIndex,
  idempotencyKeyOf,
  markVerified,
  type VerifiedDelivery,
} from './delivery.ts'
import {
  type ContextExtras,
  type ContextSource,
  Dispatcher,
  type HandlerReport,
  type Registration,
  RunningHandlers,
  runHandlers,
} from './dispatch.ts'
import type { FailedCode, OutcomeCode } from './errors.ts'
import { ResourceReads } from './fetch-resource.ts'
import { admit, declaredLength, type Incoming, InFlight, Intake } from './intake.ts'
import {
  attemptObserved,
  guarded,
  type Observation,
  type Observe,
  outcomeObserved,
  warnFailures,
} from './observe.ts'
import { checkedOptions, type Keeper, type ReceiverOptions } from './options.ts'
import {
  checkRespond,
  isFailedCode,
  methodNotAllowed,
  type Outcome,
  type Reply,
  type Responder,
  type RespondOption,
  respondWith,
  toReply,
} from './outcome.ts'
import { createParser, type Parsed, type Parser } from './parse.ts'
import type { EventSource, WebhookEvent } from './protocol/events.ts'
import { eventNames } from './protocol/names.ts'
import { challengeAnswer, type Vendor } from './protocol/vendor.ts'
import { toHex } from './signature/encoding.ts'
import { type Arrived, createVerifier, provedBy, type Refusal, type Verifier } from './verify.ts'

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
  readonly extras?: ContextExtras
  /** The handlers of the run that it belongs to; the receiver's own by default. */
  readonly running?: RunningHandlers
}

/** What headers alone have decided. */
type Admitted = Pick<Arrived, 'headers' | 'claims' | 'now'>

/** What became of one delivery so far: what its observation tells beside the outcome. */
interface Facts {
  readonly bytes: number
  /** When its walk began, by `performance.now()`. */
  readonly began: number
  readonly event?: WebhookEvent | undefined
}

/** The inside of a receiver. Its fields are private, so that printing it shows nothing. */
export class Pipeline {
  readonly #dispatcher: Dispatcher
  readonly #parser: Parser
  readonly #peek: Parser
  readonly #verifier: Verifier
  readonly #intake: Intake
  readonly #keeper: Keeper | undefined
  readonly #reads: ResourceReads
  readonly #respond: RespondOption | undefined
  readonly #responder: Responder | undefined
  /** The events of outcomes that carry none, for a responder. */
  readonly #events = new WeakMap<Outcome, WebhookEvent>()
  readonly #observer: Observe
  readonly #observesAll: boolean
  readonly #now: Clock
  readonly #milliseconds: () => number
  readonly #limits: ReturnType<typeof checkedOptions>
  readonly #running = new RunningHandlers()
  readonly #listeners = new Set<Observe>()
  readonly #inFlight = new InFlight()
  #draining = false

  constructor(options: ReceiverOptions) {
    this.#limits = checkedOptions(options)
    const { now, observe, secret, authenticity, vendor, scheme = vendor?.scheme } = options
    this.#now = now ?? systemClock
    this.#milliseconds = now ? () => now().getTime() : Date.now
    this.#observer = guarded(observe ?? warnFailures())
    this.#observesAll = observe !== undefined
    const respond = checkRespond(options.respond ?? (vendor && challengeResponder(vendor)))
    this.#respond = typeof respond === 'function' ? undefined : respond
    this.#responder = typeof respond === 'function' ? respond : undefined
    this.#verifier = createVerifier({ secret, ...defined({ scheme, authenticity }) })
    this.#intake = new Intake(this.#limits)
    this.#keeper = options.inbox
    this.#parser = createParser(options)
    this.#peek = createParser({ ...options, validate: 'off' })
    this.#reads = new ResourceReads(options.client, now)
    this.#dispatcher = new Dispatcher([...eventNames, ...Object.keys(options.schemas ?? {})])
  }

  get dispatcher(): Dispatcher {
    return this.#dispatcher
  }

  get parser(): Parser {
    return this.#parser
  }

  get keeper(): Keeper | undefined {
    return this.#keeper
  }

  get now(): Clock {
    return this.#now
  }

  /** Whether `context.fetch()` has a client to ask. */
  get fetches(): boolean {
    return this.#reads.hasClient
  }

  observe(seen: Observation): void {
    this.#observer(seen)
    for (const listener of this.#listeners) listener(seen)
  }

  /** Adds an observer of everything; the function that it returns removes it. */
  listen(listener: Observe): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async handle(incoming: Incoming): Promise<Reply> {
    const handshake = this.#responder?.handshake?.({
      method: incoming.method,
      url: incoming.url,
      headers: incoming.headers,
    })
    if (handshake) return handshake
    if (incoming.method !== 'POST') return methodNotAllowed
    const outcome = await this.#inFlight.track(this.#take(incoming))
    if (!this.#responder) return toReply(outcome, this.#respond)
    return respondWith(this.#responder, outcome, this.#events.get(outcome))
  }

  receive(delivery: Delivery): Promise<Outcome> {
    return this.#inFlight.track(this.#receive(delivery))
  }

  /** Takes the bytes of an event that the service's API showed: nobody sent it, so none signed it. */
  async ingest(body: Uint8Array, tenant?: string): Promise<Outcome> {
    this.#dispatcher.seal()
    const facts = this.#begin(body.length)
    if (this.#draining) return this.#ended(refusal('DRAINING'), facts)
    const receivedAt = this.#milliseconds()
    const delivery = markVerified({ body, headers: [], receivedAt, tenant })
    return this.#inFlight.track(this.#understand(delivery, facts))
  }

  async drain({ grace = 10_000 }: { readonly grace?: number } = {}): Promise<void> {
    checkMilliseconds('grace', grace, 0)
    this.#draining = true
    const timer = setTimeout(() => this.abort(), grace)
    await this.#inFlight.none()
    clearTimeout(timer)
  }

  /** Resolves when the deliveries that are at work now have ended. */
  quiet(): Promise<void> {
    return this.#inFlight.settled()
  }

  /** Aborts the handlers that run and the bodies that are being read. */
  abort(): void {
    this.#running.abort(new DOMException('the receiver is shutting down', 'AbortError'))
    this.#intake.stop('DRAINING')
  }

  async #take({ method, headers: given, url, address, read }: Incoming): Promise<Outcome> {
    this.#dispatcher.seal()
    const headers = new HeaderIndex(given)
    const declared = declaredLength(headers) ?? 0
    const facts = this.#begin(declared)
    const admitted = this.#admit(headers, declared)
    if ('code' in admitted) return this.#ended(refusal(admitted.code), facts)
    const reading = this.#intake.begin(address)
    try {
      const body = await read(reading)
      if (!(body instanceof Uint8Array)) {
        return this.#ended(refusal(body.code, body.message), { ...facts, bytes: reading.bytes })
      }
      const arrived = { ...facts, bytes: body.length }
      if (this.#draining) return this.#ended(refusal('DRAINING'), arrived)
      // What a parser kept, or another adapter did not count, is counted now.
      const fault = reading.take(body.length - reading.bytes)
      if (fault) return this.#ended(refusal(fault.code), arrived)
      reading.done()
      return await this.#walk(
        { ...admitted, body, url, method, address, receivedAt: undefined },
        { ...facts, bytes: body.length },
      )
    } finally {
      this.#intake.end(reading, address)
    }
  }

  async #receive({
    body,
    headers: given,
    url,
    method,
    address,
    receivedAt,
  }: Delivery): Promise<Outcome> {
    this.#dispatcher.seal()
    const facts = this.#begin(body instanceof Uint8Array ? body.length : 0)
    if (!(body instanceof Uint8Array)) {
      const message = 'delivery.body must be the exact bytes (a Uint8Array)'
      return this.#ended(refusal('BODY_CONSUMED', message), facts)
    }
    const headers = new HeaderIndex(given)
    const admitted = this.#admit(headers, body.length)
    if ('code' in admitted) return this.#ended(refusal(admitted.code), facts)
    return this.#walk({ ...admitted, body, url, method, address, receivedAt }, facts)
  }

  /** What headers alone decide, once for each delivery. */
  #admit(headers: HeaderIndex, length: number): Admitted | { readonly code: OutcomeCode } {
    if (this.#draining) return { code: 'DRAINING' }
    const code = admit(headers, length, this.#limits.maxBytes)
    if (code) return { code }
    const now = this.#milliseconds()
    const claims = this.#verifier.inspect(headers, now)
    // A time outside the tolerance is left to `verify`, which tells a late one from a forged one.
    return claims.ok || claims.late ? { headers, claims, now } : { code: claims.code }
  }

  async #walk(arrived: Arrived, facts: Facts): Promise<Outcome> {
    try {
      const arriving = this.#reads.arriving()
      const proof = this.#verifier.prove(arrived)
      const verified = proof instanceof Promise ? await proof : proof
      if ('ok' in verified) return this.#refused(verified, facts)
      return await this.#accept(arriving(verified), facts, 'webhook')
    } catch (error) {
      // The user's own envelope or schema threw; what a sender did never gets here.
      return this.#ended({ kind: 'failed', code: 'HANDLER_FAILED', error }, facts)
    }
  }

  /** Nobody signed it, so there is nothing to verify. */
  async #understand(delivery: VerifiedDelivery, facts: Facts): Promise<Outcome> {
    return this.#accept(delivery, facts, 'reconcile')
  }

  #accept(
    delivery: VerifiedDelivery,
    facts: Facts,
    source: EventSource,
  ): Outcome | Promise<Outcome> {
    if (this.#keeper) return this.#keep(this.#keeper, delivery, { ...facts, source })
    return this.#dispatch(delivery, this.#parser(delivery, source), facts)
  }

  #refused(refused: Refusal, facts: Facts): Outcome {
    const { code, error } = refused
    if (code !== 'SECRET_UNAVAILABLE') {
      return this.#ended({ kind: 'rejected', code, diagnose: () => refused.diagnose() }, facts)
    }
    const message = 'the look-up of secrets failed'
    return this.#ended({ kind: 'failed', code, message, error }, facts)
  }

  async #keep(
    keeper: Keeper,
    delivery: VerifiedDelivery,
    { source, ...facts }: Facts & { readonly source: EventSource },
  ): Promise<Outcome> {
    const parsed = this.#peek(delivery, source)
    const understood = { ...facts, event: parsed.ok ? parsed.event : undefined }
    const by = provedBy(delivery)
    try {
      const kept = await keeper.keep(toArrival(delivery, parsed, source))
      return this.#ended({ ...kept, ...by }, understood)
    } catch (error) {
      const message = 'the inbox did not keep the delivery'
      const failed = { kind: 'failed', code: 'STORE_UNAVAILABLE', message, error } as const
      return this.#ended({ ...failed, ...by }, understood)
    }
  }

  #dispatch(delivery: VerifiedDelivery, parsed: Parsed, facts: Facts): Outcome | Promise<Outcome> {
    const by = provedBy(delivery)
    if (!parsed.ok) {
      const { code, issues } = parsed
      const rejected = { kind: 'rejected', code, diagnose: noDiagnosis, ...by } as const
      return this.#ended(issues ? { ...rejected, issues } : rejected, facts)
    }
    const { event, key } = parsed
    const understood = { ...facts, event }
    const registrations = this.#dispatcher.match(event)
    if (registrations.length === 0)
      return this.#ended({ kind: 'ignored', event, ...by }, understood)
    const judge = (reports: readonly HandlerReport[]) => {
      const errors = reports.filter((report) => !report.ok)
      if (errors.length === 0) return this.#ended({ kind: 'handled', event, ...by }, understood)
      const failed = { kind: 'failed', code: codeOf(errors), errors, event, ...by } as const
      return this.#ended(failed, understood)
    }
    const reports = this.run({ event, key, delivery, registrations, attempt: 1 })
    return reports instanceof Promise ? reports.then(judge) : judge(reports)
  }

  /** One attempt: runs the handlers given, each with its own context. */
  run(task: Task): readonly HandlerReport[] | Promise<readonly HandlerReport[]> {
    if (task.key !== undefined || sha256Hex) return this.#run(task, sha256Hex)
    // WebCrypto only hashes asynchronously, so it is done before a handler can ask.
    return sha256(task.delivery.body).then((hash) => this.#run(task, () => toHex(hash)))
  }

  #run(
    { event, key, delivery, registrations, attempt, entryId, extras, running }: Task,
    hash: ((body: Uint8Array) => string) | undefined,
  ): readonly HandlerReport[] | Promise<readonly HandlerReport[]> {
    const bodyHash = () => hash?.(delivery.body) ?? ''
    const source: ContextSource = {
      attempt,
      delivery,
      extras,
      idempotencyKey: () => idempotencyKeyOf({ id: key, bodyHash }, delivery.tenant),
      fetch: (signal) => this.#reads.current(event, { signal, delivery }),
    }
    return runHandlers(registrations, {
      event,
      source,
      timeout: this.#limits.handlerTimeout,
      running: running ?? this.#running,
      ended: this.#isObserved
        ? (report, duration) =>
            this.observe(
              attemptObserved(report, {
                event,
                delivery,
                attempt,
                entryId,
                duration,
                at: this.#now(),
              }),
            )
        : undefined,
    })
  }

  get #isObserved(): boolean {
    return this.#observesAll || this.#listeners.size > 0
  }

  #begin(bytes: number): Facts {
    return { bytes, began: this.#isObserved ? performance.now() : 0 }
  }

  /** The default observer hears of refusals and failures alone, so nothing is made for the rest. */
  #ended(outcome: Outcome, { bytes, began, event }: Facts): Outcome {
    if (this.#responder && event) this.#events.set(outcome, event)
    if (this.#isObserved || outcome.kind === 'rejected' || outcome.kind === 'failed') {
      const duration = performance.now() - began
      this.observe(outcomeObserved(outcome, { at: this.#now(), bytes, duration, event }))
    }
    return outcome
  }
}

/** Answers the handshake of a vendor; every other reply is the standard one. */
function challengeResponder(vendor: Vendor): Responder | undefined {
  if (!vendor.challenge) return undefined
  return (outcome, event) => {
    const body = challengeAnswer(vendor, event?.raw)
    return body === undefined || outcome.kind === 'rejected' ? undefined : { status: 200, body }
  }
}

const noDiagnosis = async () => undefined

function refusal(code: OutcomeCode, message?: string): Outcome {
  if (!isFailedCode(code)) return { kind: 'rejected', code, diagnose: noDiagnosis }
  return message === undefined ? { kind: 'failed', code } : { kind: 'failed', code, message }
}

/** A timeout is named only where nothing worse happened. */
function codeOf(errors: readonly { readonly code: FailedCode }[]): FailedCode {
  const order: readonly FailedCode[] = ['HANDLER_FAILED', 'HANDLER_TIMEOUT', 'DRAINING']
  return order.find((code) => errors.some((one) => one.code === code)) ?? 'HANDLER_FAILED'
}
