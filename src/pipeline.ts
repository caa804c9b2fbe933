// The inside of a receiver, that every delivery walks through: admit, verify, then keep, or parse
// and dispatch. Everything that a sender can do wrong comes out as an outcome.
import { createPeek, isProbe, toArrival } from './arrival.ts'
import {
  type Delivery,
  HeaderIndex,
  markVerified,
  type VerifiedDelivery,
  withProof,
} from './delivery.ts'
import { Dispatcher } from './dispatch/dispatch.ts'
import { ResourceReads } from './dispatch/fetch-resource.ts'
import { Finality } from './dispatch/finality.ts'
import type { HandlerReport } from './dispatch/handler.ts'
import { InFlight } from './dispatch/in-flight.ts'
import { type ContextServices, RunningHandlers, runTask, type Task } from './dispatch/run.ts'
import type { OutcomeCode } from './errors.ts'
import { checkMilliseconds, invalid, kindShown } from './foundation/check.ts'
import { type Clock, millisecondsOf, systemClock } from './foundation/clock.ts'
import { defined } from './foundation/defined.ts'
import { isPromise } from './host/promises.ts'
import { admit, declaredLength, faultOf, type Incoming, Intake } from './intake/intake.ts'
import type { Observation, Observe } from './observe/observe.ts'
import { Observers } from './observe/observers.ts'
import { checkedOptions, type Keeper, type ReceiverOptions, registrationLimits } from './options.ts'
import { attempted, noDiagnosis, type Outcome, proofRefused, refusal } from './outcome/outcome.ts'
import { Replies, type Reply } from './outcome/reply.ts'
import { createParser, createWithData, type Parsed, type Parser, type WithData } from './parse.ts'
import type { EventSource, WebhookEvent } from './protocol/events.ts'
import { eventNames, probeName } from './protocol/names.ts'
import type { HeaderClaims } from './signature/header-claims.ts'
import type { Arrived, Verifier } from './signature/verifier.ts'
import { createVerifier, isRefusal } from './verify.ts'

/** The inside of a receiver. Its fields are private, so that printing it shows nothing. */
export class Pipeline {
  /** How the sender's decisions hold. */
  readonly finality: Finality
  /** The name of the vendor that it reads. */
  readonly vendor: string | undefined
  readonly parser: Parser
  /** Gives an event its resource as it is now. */
  readonly withData: WithData
  /** Reads an event as it is kept. */
  readonly peek: ReturnType<typeof createPeek>
  readonly #dispatcher: Dispatcher
  readonly #verifier: Verifier
  readonly #intake: Intake
  readonly #keeper: Keeper | undefined
  readonly #reads: ResourceReads
  readonly #replies: Replies
  readonly #observers: Observers
  readonly #milliseconds: () => number
  readonly #limits: ReturnType<typeof checkedOptions>
  readonly #running = new RunningHandlers()
  readonly #inFlight = new InFlight(() => this.abort())
  readonly #services: ContextServices

  constructor(options: ReceiverOptions) {
    this.#limits = checkedOptions(options)
    const { now, observe } = options
    this.#milliseconds = now ? () => millisecondsOf(now) : Date.now
    this.#observers = new Observers(observe, now ?? systemClock)
    const { secret, authenticity, vendor, scheme = vendor?.scheme } = options
    this.#replies = new Replies(options.respond, vendor)
    this.#verifier = createVerifier({ secret, ...defined({ scheme, authenticity }) })
    this.#intake = new Intake(this.#limits)
    this.#keeper = options.inbox
    this.#keeper?.bindVendor?.(vendor?.name)
    this.parser = createParser(options)
    this.peek = createPeek(options)
    this.withData = createWithData(options)
    this.#reads = new ResourceReads(options.client, now)
    this.#services = {
      reads: this.#reads,
      timeout: this.#limits.handlerTimeout,
      running: this.#running,
      around: options.around,
    }
    this.finality = new Finality(vendor?.finality)
    this.vendor = vendor?.name
    const names = [...eventNames, ...Object.keys(options.schemas ?? {})]
    const rules = registrationLimits(options.inbox, this.finality.canReverse)
    this.#dispatcher = new Dispatcher(names, rules)
  }

  get dispatcher(): Dispatcher {
    return this.#dispatcher
  }

  get keeper(): Keeper | undefined {
    return this.#keeper
  }

  get now(): Clock {
    return this.#observers.now
  }

  get tenants(): readonly (string | undefined)[] | undefined {
    return this.#verifier.tenants
  }

  /** Whether `context.fetch()` has a client to ask. */
  get fetches(): boolean {
    return this.#reads.hasClient
  }

  /** Whether an observer gets every observation. */
  get hearAll(): boolean {
    return this.#observers.hearAll
  }

  observe(seen: Observation, place?: string): void {
    this.#observers.report(seen, place)
  }

  /** Adds an observer of everything; the function that it returns removes it. */
  listen(listener: Observe): () => void {
    return this.#observers.listen(listener)
  }

  async handle(incoming: Incoming): Promise<Reply> {
    const reply = this.#replies.beforeDelivery(incoming)
    if (reply) return reply
    const walk = new Walk(incoming, this.#observers.hearAll)
    // Counted until the reply is made: else the process may end, and the sender repeats the delivery.
    return this.#inFlight.during(incoming, async () => {
      const outcome = await this.#walked(walk, incoming)
      return this.#replies.to(outcome, walk.event)
    })
  }

  receive(delivery: Delivery): Promise<Outcome> {
    return this.#walked(new Walk(delivery, this.#observers.hearAll), delivery)
  }

  /** Takes the bytes of an event that was read from the service's API: they have no signature. */
  ingest(body: Uint8Array, tenant?: string): Promise<Outcome> {
    return this.#walked(new Walk({ headers: [] }, this.#observers.hearAll), { body, tenant })
  }

  /** Not async: if nothing waits, one promise is enough. */
  #walked(walk: Walk, source: Delivery | Incoming | Ingested): Promise<Outcome> {
    this.#dispatcher.freeze()
    this.#inFlight.enter(walk)
    try {
      const outcome = this.#begin(walk, source)
      if (isPromise(outcome)) return this.#settled(outcome, walk)
      const observed = this.#observers.outcome(outcome, walk)
      this.#inFlight.leave(walk)
      return Promise.resolve(observed)
    } catch (error) {
      return this.#settled(Promise.reject(error), walk)
    }
  }

  async #settled(outcome: Promise<Outcome>, walk: Walk): Promise<Outcome> {
    try {
      return this.#observers.outcome(await outcome, walk)
    } catch (error) {
      // The user's own envelope or schema threw; what a sender did never gets here.
      return this.#observers.outcome({ kind: 'failed', code: 'HANDLER_FAILED', error }, walk)
    } finally {
      this.#inFlight.leave(walk)
    }
  }

  #begin(walk: Walk, source: Delivery | Incoming | Ingested): Outcome | Promise<Outcome> {
    if ('read' in source) return this.#take(walk, source)
    if ('headers' in source) return this.#receive(walk, source.body)
    walk.bytes = source.body.length
    if (this.#inFlight.isEnding) return refusal('DRAINING')
    const { body, tenant } = source
    const receivedAt = this.#milliseconds()
    return this.#accept(markVerified({ body, headers: [], receivedAt, tenant }), walk, 'reconcile')
  }

  async drain({ grace = 10_000 }: { readonly grace?: number } = {}): Promise<void> {
    checkMilliseconds('grace', grace, 0)
    this.#inFlight.end()
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

  async #take(walk: Walk, { address, read }: Incoming): Promise<Outcome> {
    walk.bytes = declaredLength(walk.headers) ?? 0
    const code = this.#admit(walk)
    if (code) return refusal(code)
    const reading = this.#intake.begin(address)
    try {
      const body = await read(reading)
      if (!(body instanceof Uint8Array)) {
        walk.bytes = reading.bytes
        const { code, message } = faultOf(body)
        return refusal(code, message)
      }
      walk.bytes = body.length
      if (this.#inFlight.isEnding) return refusal('DRAINING')
      // What a parser kept, or another adapter did not count, is counted now.
      const fault = reading.take(body.length - reading.bytes)
      if (fault) return refusal(fault.code)
      reading.done()
      walk.body = body
      return await this.#prove(walk)
    } finally {
      this.#intake.end(reading)
    }
  }

  #receive(walk: Walk, body: Uint8Array): Outcome | Promise<Outcome> {
    if (!(body instanceof Uint8Array)) {
      const message = `delivery.body must be the exact bytes (a Uint8Array), got ${typeof body}: read the request without parsing it`
      return refusal('BODY_CONSUMED', message)
    }
    walk.body = body
    walk.bytes = body.length
    const code = this.#admit(walk)
    return code ? refusal(code) : this.#prove(walk)
  }

  /** Why headers alone refuse a delivery; decided once for each. */
  #admit(walk: Walk): OutcomeCode | undefined {
    if (this.#inFlight.isEnding) return 'DRAINING'
    const code = admit(walk.headers, walk.bytes, this.#limits.maxBytes)
    if (code) return code
    walk.now = this.#milliseconds()
    const claims = this.#verifier.inspect(walk.headers, walk.now)
    walk.claims = claims
    // `verify` decides on a time outside the tolerance: late or forged.
    return claims.ok || claims.late ? undefined : claims.code
  }

  #prove(walk: Walk): Outcome | Promise<Outcome> {
    const judge = (proof: Awaited<ReturnType<Verifier['prove']>>) => {
      if (isRefusal(proof)) return proofRefused(proof)
      return this.#accept(proof, walk, 'webhook')
    }
    const proof = this.#verifier.prove(walk)
    return isPromise(proof) ? proof.then(judge) : judge(proof)
  }

  #accept(delivery: VerifiedDelivery, walk: Walk, source: EventSource): Outcome | Promise<Outcome> {
    if (this.#keeper) return this.#keep(this.#keeper, delivery, walk, source)
    return this.#dispatch(delivery, this.parser(delivery, source), walk)
  }

  async #keep(
    keeper: Keeper,
    delivery: VerifiedDelivery,
    walk: Walk,
    source: EventSource,
  ): Promise<Outcome> {
    const parsed = this.peek(delivery, source)
    if (parsed.ok) walk.event = parsed.event
    try {
      if (isProbe(delivery, parsed)) {
        await keeper.check?.()
        return this.#dispatch(delivery, parsed, walk)
      }
      const kept = await keeper.keep(toArrival(delivery, parsed, source))
      return withProof({ ...kept }, delivery)
    } catch (error) {
      const message = 'the inbox did not keep the delivery'
      const failed = { kind: 'failed', code: 'STORE_UNAVAILABLE', message, error } as const
      return withProof(failed, delivery)
    }
  }

  #dispatch(delivery: VerifiedDelivery, parsed: Parsed, walk: Walk): Outcome | Promise<Outcome> {
    if (!parsed.ok) {
      const { code, issues } = parsed
      const rejected = { kind: 'rejected', code, diagnose: noDiagnosis } as const
      return withProof(issues ? { ...rejected, issues } : rejected, delivery)
    }
    const { event, key } = parsed
    walk.event = event
    const registrations = event.receivedName === probeName ? [] : this.#dispatcher.match(event)
    if (registrations.length === 0) return withProof({ kind: 'ignored', event }, delivery)
    const reports = this.run({ event, key, delivery, registrations, attempt: 1 })
    if (!isPromise(reports)) return withProof(attempted(event, reports), delivery)
    return reports.then((all) => withProof(attempted(event, all), delivery))
  }

  /** One attempt: runs the handlers given, each with its own context. */
  run(task: Task): readonly HandlerReport[] | Promise<readonly HandlerReport[]> {
    return runTask(task, this.#services, this.#observers.attemptsOf(task))
  }
}

/** The bytes of an event that nobody sent. */
interface Ingested {
  readonly body: Uint8Array
  readonly tenant: string | undefined
}

/** One delivery on its way through: each fact about it is worked out once, and handed on here. */
class Walk implements Arrived {
  readonly headers: HeaderIndex
  readonly url: string | undefined
  readonly method: string | undefined
  readonly address: string | undefined
  readonly receivedAt: Date | undefined
  readonly waitUntil: Incoming['waitUntil']
  /** When it began, by `performance.now()`; 0 where nobody observes. */
  readonly began: number
  now = 0
  claims: HeaderClaims = unclaimed
  body: Uint8Array = noBytes
  bytes = 0
  event: WebhookEvent | undefined

  /** @throws WebhookError `OPTION_INVALID` for what is not a delivery at all */
  constructor(of: Omit<Delivery, 'body'> & Pick<Incoming, 'waitUntil'>, isObserved: boolean) {
    if (typeof of?.headers !== 'object' || of.headers === null) {
      throw invalid(
        `expected a delivery { body, headers }, got ${kindShown(of)}. In tests make one by await signedDelivery(event)`,
      )
    }
    this.headers = new HeaderIndex(of.headers)
    this.url = of.url
    this.method = of.method
    this.address = of.address
    this.receivedAt = of.receivedAt
    this.waitUntil = of.waitUntil
    this.began = isObserved ? performance.now() : 0
  }
}

const unclaimed: HeaderClaims = { ok: false, code: 'SIGNATURE_MISSING' }
const noBytes = new Uint8Array()
