// The steps of a receiver, prepared once by its options, and the delivery that passes through them.
import { createPeek } from './arrival.ts'
import { type Delivery, HeaderIndex } from './delivery.ts'
import { Dispatcher } from './dispatch/dispatch.ts'
import { ResourceReads } from './dispatch/fetch-resource.ts'
import { attemptSteps, type HandlerFailure, type HandlerReport } from './dispatch/handler.ts'
import { InFlight } from './dispatch/in-flight.ts'
import { type ContextServices, RunningHandlers, runTask, type Task } from './dispatch/run.ts'
import { checkMilliseconds, invalid, kindShown } from './foundation/check.ts'
import { millisecondsOf, systemClock } from './foundation/clock.ts'
import { defined } from './foundation/defined.ts'
import { type Incoming, Intake } from './intake/intake.ts'
import { Observers } from './observe/observers.ts'
import { checkedOptions, type Keeper, type ReceiverOptions, registrationLimits } from './options.ts'
import { Replies } from './outcome/reply.ts'
import { createParser, type Parser } from './parse.ts'
import type { WebhookEvent } from './protocol/events.ts'
import { eventNames } from './protocol/names.ts'
import { codeOf, type Decisions } from './protocol/vendor.ts'
import type { HeaderClaims } from './signature/header-claims.ts'
import { createVerifier, type ReadDelivery, type Verifier } from './verify.ts'

/** The steps of one receiver. */
export class Steps {
  readonly replies: Replies
  readonly intake: Intake
  readonly verifier: Verifier
  readonly keeper: Keeper | undefined
  readonly parser: Parser
  /** Reads an event as an inbox keeps it. */
  readonly peek: ReturnType<typeof createPeek>
  readonly dispatcher: Dispatcher
  readonly observers: Observers
  readonly inFlight = new InFlight(() => this.abort())
  /** Reads what its events lack. */
  readonly decisions: Decisions | undefined
  /** The options by which a worker reads events; never the secret. */
  readonly reading: Pick<ReceiverOptions, 'vendor' | 'schemas' | 'validate' | 'legacy'>
  /** The time of the receiver's clock, in milliseconds since the epoch. */
  readonly milliseconds: () => number
  readonly maxBytes: number
  readonly #reads: ResourceReads
  readonly #running = new RunningHandlers()
  readonly #services: ContextServices

  constructor(options: ReceiverOptions) {
    const limits = checkedOptions(options)
    const { schemas, validate, legacy } = options
    this.reading = defined({ vendor: options.vendor, schemas, validate, legacy })
    const { now, observe, secret, authenticity, vendor, scheme = vendor?.scheme, inbox } = options
    const code = codeOf(vendor)
    this.maxBytes = limits.maxBytes
    this.milliseconds = now ? () => millisecondsOf(now) : Date.now
    this.observers = new Observers(observe, now ?? systemClock)
    this.replies = new Replies(options.respond, code?.respond)
    this.verifier = createVerifier({ secret, ...defined({ scheme, authenticity }) })
    this.intake = new Intake(limits)
    this.keeper = inbox
    this.parser = createParser(options)
    inbox?.bind?.(vendor?.name, this.parser)
    this.peek = createPeek(options)
    this.decisions = code?.decisions(options)
    this.#reads = new ResourceReads(options.client, this.decisions)
    const { handlerTimeout: timeout } = limits
    this.#services = {
      ...{ reads: this.#reads, timeout, running: this.#running, around: options.around },
    }
    const names = [...eventNames, ...Object.keys(options.schemas ?? {})]
    this.dispatcher = new Dispatcher(names, registrationLimits(inbox, vendor))
  }

  get tenants(): readonly (string | undefined)[] | undefined {
    return this.verifier.tenants
  }

  /** True if `context.fetch()` has a client to ask. */
  get fetches(): boolean {
    return this.#reads.hasClient
  }

  /**
   * Reads the decision of an event as a step of its attempt, with the time limit of a handler; gives
   * the event that it becomes, or the failure.
   */
  async decide(task: Omit<Task, 'registrations'>): Promise<WebhookEvent | HandlerFailure> {
    let { event } = task
    const handler = async (hint: WebhookEvent, { signal }: { readonly signal: AbortSignal }) => {
      event = (await this.decisions?.decided(hint, signal)) ?? hint
    }
    const step = { id: attemptSteps.decision, patterns: [], handler, options: {} }
    const [report] = await this.run({ ...task, registrations: [step] })
    return report && !report.ok ? report : event
  }

  /** One attempt: runs the given handlers, each with its own context. */
  run(task: Task): readonly HandlerReport[] | Promise<readonly HandlerReport[]> {
    return runTask(task, this.#services, this.observers.attemptsOf(task))
  }

  async drain({ grace = 10_000 }: { readonly grace?: number } = {}): Promise<void> {
    checkMilliseconds('grace', grace, 0)
    this.inFlight.end()
    const timer = setTimeout(() => this.abort(), grace)
    await this.inFlight.none()
    clearTimeout(timer)
  }

  /** Resolves when the deliveries that are in flight now have ended. */
  quiet(): Promise<void> {
    return this.inFlight.settled()
  }

  /** Aborts the handlers that run and the bodies that are being read. */
  abort(): void {
    this.#running.abort(new DOMException('the receiver is shutting down', 'AbortError'))
    this.intake.stop('DRAINING')
  }
}

export type Source = Omit<Delivery, 'body'> & Pick<Incoming, 'waitUntil'>

/** One delivery on its way: each part is worked out once, and handed on here. */
export interface Passage extends ReadDelivery {
  readonly source: Source
  /** When it began, by `performance.now()`. */
  readonly began: number
  now: number
  claims: HeaderClaims
  body: Uint8Array
  bytes: number
  /** False if the receiver drains. */
  isCounted: boolean
  event: WebhookEvent | undefined
}

const unclaimed: HeaderClaims = { ok: false, code: 'SIGNATURE_MISSING' }
const noBytes = /* @__PURE__ */ new Uint8Array()

/** @throws WebhookError `OPTION_INVALID` for what is not a delivery at all */
export function toPassage(source: Source): Passage {
  if (typeof source?.headers !== 'object' || source.headers === null) {
    throw invalid(
      `receive() needs a delivery { body, headers }, got ${kindShown(source)}: in tests, await signedDelivery(event)`,
    )
  }
  const began = performance.now()
  const headers = new HeaderIndex(source.headers)
  return {
    source,
    headers,
    began,
    now: 0,
    claims: unclaimed,
    body: noBytes,
    bytes: 0,
    isCounted: false,
    event: undefined,
  }
}
