// The steps of a receiver, prepared once by its options, and the end of its work.
import { createPeek } from './arrival.ts'
import { Dispatcher } from './dispatch/dispatch.ts'
import { ResourceReads } from './dispatch/fetch-resource.ts'
import { Finality } from './dispatch/finality.ts'
import type { HandlerReport } from './dispatch/handler.ts'
import { InFlight } from './dispatch/in-flight.ts'
import { type ContextServices, RunningHandlers, runTask, type Task } from './dispatch/run.ts'
import { checkMilliseconds } from './foundation/check.ts'
import { type Clock, millisecondsOf, systemClock } from './foundation/clock.ts'
import { defined } from './foundation/defined.ts'
import { Intake } from './intake/intake.ts'
import type { Observation, Observe } from './observe/observe.ts'
import { Observers } from './observe/observers.ts'
import { checkedOptions, type Keeper, type ReceiverOptions, registrationLimits } from './options.ts'
import { Replies } from './outcome/reply.ts'
import { createParser, createWithData, type Parser, type WithData } from './parse.ts'
import { eventNames } from './protocol/names.ts'
import { createVerifier, type Verifier } from './verify.ts'

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
  /** Tells which decisions of the sender a later one may replace. */
  readonly finality: Finality
  /** The name of the vendor whose events it reads. */
  readonly vendor: string | undefined
  /** Gives an event its resource as it is now. */
  readonly withData: WithData
  /** The time of the receiver's clock, in milliseconds since the epoch. */
  readonly milliseconds: () => number
  readonly maxBytes: number
  readonly #reads: ResourceReads
  readonly #running = new RunningHandlers()
  readonly #services: ContextServices

  constructor(options: ReceiverOptions) {
    const limits = checkedOptions(options)
    const { now, observe, secret, authenticity, vendor, scheme = vendor?.scheme, inbox } = options
    this.maxBytes = limits.maxBytes
    this.milliseconds = now ? () => millisecondsOf(now) : Date.now
    this.observers = new Observers(observe, now ?? systemClock)
    this.replies = new Replies(options.respond, vendor)
    this.verifier = createVerifier({ secret, ...defined({ scheme, authenticity }) })
    this.intake = new Intake(limits)
    this.keeper = inbox
    inbox?.bindVendor?.(vendor?.name)
    this.parser = createParser(options)
    this.peek = createPeek(options)
    this.withData = createWithData(options)
    this.#reads = new ResourceReads(options.client, now)
    const { handlerTimeout: timeout } = limits
    this.#services = {
      ...{ reads: this.#reads, timeout, running: this.#running, around: options.around },
    }
    this.finality = new Finality(vendor?.finality)
    this.vendor = vendor?.name
    const names = [...eventNames, ...Object.keys(options.schemas ?? {})]
    this.dispatcher = new Dispatcher(names, registrationLimits(inbox, this.finality.canReverse))
  }

  get now(): Clock {
    return this.observers.now
  }

  get tenants(): readonly (string | undefined)[] | undefined {
    return this.verifier.tenants
  }

  /** Whether `context.fetch()` has a client to ask. */
  get fetches(): boolean {
    return this.#reads.hasClient
  }

  /** Whether an observer gets every observation. */
  get hearAll(): boolean {
    return this.observers.hearAll
  }

  observe(seen: Observation, place?: string): void {
    this.observers.report(seen, place)
  }

  /** Adds an observer of everything; the function that it returns removes it. */
  listen(listener: Observe): () => void {
    return this.observers.listen(listener)
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
