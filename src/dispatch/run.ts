// One attempt at an event: runs its handlers in turn, each within its time limit, with a context that
// computes costly values when a handler asks for them.
import { sha256, sha256Hex } from '#hmac'
import type { VerifiedDelivery } from '../delivery.ts'
import { WebhookError } from '../errors.ts'
import { isPromise } from '../host/promises.ts'
import type { Superseded, WebhookEvent } from '../protocol/events.ts'
import type { Authenticity } from '../protocol/scheme-definition.ts'
import { toHex } from '../signature/encoding.ts'
import type {
  Around,
  Context,
  Handler,
  HandlerFailure,
  HandlerReport,
  Registration,
} from './handler.ts'

/** Handlers that have not ended, so that a drain can abort them. */
export class RunningHandlers {
  readonly #running = new Set<HandlerRun>()
  #reason: unknown
  #timeout = Number.POSITIVE_INFINITY

  /** Why they were aborted; undefined while they may run. */
  get reason(): unknown {
    return this.#reason
  }

  /** True if handlers time out when they are aborted, so that other failures count. */
  get isTimed(): boolean {
    return this.#timeout !== Number.POSITIVE_INFINITY
  }

  add(run: HandlerRun): void {
    if (this.#reason !== undefined) run.abort(this.#reason, this.#timeout)
    else this.#running.add(run)
  }

  delete(run: HandlerRun): void {
    this.#running.delete(run)
  }

  /** Aborts the handlers that run, and all later ones; those that ran for `timeout` ms time out. */
  abort(reason: unknown, timeout = Number.POSITIVE_INFINITY): void {
    this.#reason = reason
    this.#timeout = timeout
    for (const run of [...this.#running]) run.abort(reason, timeout)
    this.#running.clear()
  }
}

/** Additions of an inbox to a handler's context. */
export interface ContextExtras {
  readonly gap?: boolean
  readonly stale?: boolean
  readonly supersedes?: Superseded | undefined
  readonly tx?: unknown
}

/** One attempt at an event. */
export interface Task {
  readonly event: WebhookEvent
  readonly key?: string | undefined
  readonly delivery: VerifiedDelivery
  readonly registrations: readonly Registration[]
  readonly attempt: number
  /** The inbox's id of it. */
  readonly entryId?: string
  readonly extras?: ContextExtras
  /** The handlers of the run that it belongs to; the receiver's own by default. */
  readonly running?: RunningHandlers
}

/** Services that all attempts of a receiver share. */
export interface ContextServices {
  readonly reads: {
    current(
      event: WebhookEvent,
      asking: { readonly signal: AbortSignal; readonly delivery: VerifiedDelivery },
    ): Promise<unknown>
  }
  /** Milliseconds for each handler. */
  readonly timeout: number
  readonly running: RunningHandlers
  readonly around: Around | undefined
}

/** Creates costly values only when a handler asks for them: most ask for none. */
class HandlerContext implements Context {
  readonly attempt: number
  readonly delivery: VerifiedDelivery
  declare readonly secretId?: string
  declare readonly tenant?: string
  declare readonly authenticity?: Authenticity
  declare readonly gap?: boolean
  declare readonly stale?: boolean
  declare readonly supersedes?: Superseded
  readonly tx: unknown
  readonly handler: string
  readonly #run: Run
  #controller: AbortController | undefined
  #reason: unknown

  constructor(run: Run, handler: string) {
    const { attempt, delivery, extras } = run.task
    this.handler = handler
    this.attempt = attempt
    this.delivery = delivery
    const { secretId, tenant, authenticity } = delivery
    if (secretId !== undefined) this.secretId = secretId
    if (tenant !== undefined) this.tenant = tenant
    if (authenticity !== undefined) this.authenticity = authenticity
    if (extras?.gap !== undefined) this.gap = extras.gap
    if (extras?.stale !== undefined) this.stale = extras.stale
    if (extras?.supersedes !== undefined) this.supersedes = extras.supersedes
    this.tx = extras?.tx
    this.#run = run
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  get idempotencyKey(): string {
    return this.#run.idempotencyKey
  }

  /** A function of its own, so that it can be taken off the context. */
  get fetch(): () => Promise<unknown> {
    const run = this.#run
    return () => run.fetch(this.signal)
  }

  /** No method of the object: handlers do not abort themselves. */
  static abort(context: HandlerContext, reason: unknown): void {
    context.#reason = reason
    context.#controller?.abort(reason)
  }
}

interface KeySource {
  /** The id of the event. */
  readonly id?: string | undefined
  /** The inbox's id of the entry. */
  readonly entryId?: string | undefined
  readonly bodyHash: () => string
}

/**
 * Returns the key that every attempt of an event has, and no other event of any tenant. An event
 * without an id and an inbox has the hash of its body, which other events may share. The tenant's
 * part is escaped, so that no id passes for another kind of key.
 */
function idempotencyKeyOf(
  { id, entryId, bodyHash }: KeySource,
  tenant: string | undefined,
): string {
  const unnamed = () => (entryId === undefined ? `sha256=${bodyHash()}` : `entry=${entryId}`)
  const key = id === undefined ? unnamed() : id.replace(/^(?=(?:sha256|entry|id)=)/, 'id=')
  if (tenant !== undefined) return `${encodeURIComponent(tenant)}:${key}`
  return key.includes(':') ? `:${key}` : key
}

/** Receives the report of each handler, and how many milliseconds it ran. */
export type HearAttempt = (report: HandlerReport, task: Task, duration: number) => void

/** Runs an attempt; returns a promise only if a handler does, or the runtime hashes asynchronously. */
export function runTask(
  task: Task,
  services: ContextServices,
  ended: HearAttempt | undefined,
): readonly HandlerReport[] | Promise<readonly HandlerReport[]> {
  const run = new Run(task, services, ended)
  if ((task.key ?? task.entryId) !== undefined || sha256Hex) return run.all(task.registrations)
  // WebCrypto only hashes asynchronously, so it is done before a handler can ask.
  return sha256(task.delivery.body).then((hash) => {
    run.bodyHash = toHex(hash)
    return run.all(task.registrations)
  })
}

/** One attempt: runs its handlers in turn; a handler that fails does not stop the others. */
class Run {
  readonly task: Task
  /** The body's SHA-256 in hex, where it had to be made before a handler can ask. */
  bodyHash: string | undefined
  readonly #services: ContextServices
  readonly #ended: HearAttempt | undefined

  constructor(task: Task, services: ContextServices, ended: HearAttempt | undefined) {
    this.task = task
    this.#services = services
    this.#ended = ended
  }

  get timeout(): number {
    return this.#services.timeout
  }

  get running(): RunningHandlers {
    return this.task.running ?? this.#services.running
  }

  get idempotencyKey(): string {
    const { key: id, entryId, delivery } = this.task
    const bodyHash = () => this.bodyHash ?? sha256Hex?.(delivery.body) ?? ''
    return idempotencyKeyOf({ id, entryId, bodyHash }, delivery.tenant)
  }

  fetch(signal: AbortSignal): Promise<unknown> {
    const { event, delivery } = this.task
    return this.#services.reads.current(event, { signal, delivery })
  }

  /** Returns a promise only if a handler does. */
  all(
    registrations: readonly Registration[],
  ): readonly HandlerReport[] | Promise<readonly HandlerReport[]> {
    const [first] = registrations
    if (registrations.length !== 1 || !first) return this.#inTurn(registrations)
    const report = this.#one(first)
    return isPromise(report) ? report.then((one) => [one]) : [report]
  }

  async #inTurn(registrations: readonly Registration[]): Promise<readonly HandlerReport[]> {
    const reports: HandlerReport[] = []
    for (const registration of registrations) reports.push(await this.#one(registration))
    return reports
  }

  #one(registration: Registration): HandlerReport | Promise<HandlerReport> {
    const ended = this.#ended
    const began = performance.now()
    const report = this.#report(registration, began)
    if (!ended) return report
    const tell = (report: HandlerReport) => {
      ended(report, this.task, performance.now() - began)
      return report
    }
    return isPromise(report) ? report.then(tell) : tell(report)
  }

  /** Returns a promise only if the handler does. */
  #report(registration: Registration, began: number): HandlerReport | Promise<HandlerReport> {
    const { id: handler, handler: handle } = registration
    const { reason } = this.running
    // A handler that began now would be aborted in the same turn.
    if (reason !== undefined) return { ok: false, handler, code: 'DRAINING', error: reason }
    const context = new HandlerContext(this, handler)
    const args = { event: this.task.event, context }
    const { around } = this.#services
    try {
      const result = around ? runAround(around, handle, args) : callWebhookHandler(handle, args)
      if (!isPromise(result)) return { ok: true, handler }
      const promise = Promise.resolve(result)
      return new HandlerRun({ run: this, handler, context, began }).settled(promise)
    } catch (error) {
      return { ok: false, handler, code: 'HANDLER_FAILED', error }
    }
  }
}

interface Started {
  readonly run: Run
  /** Its id. */
  readonly handler: string
  readonly context: HandlerContext
  /** By `performance.now()`. */
  readonly began: number
}

/** A handler that returned a promise. What it does after its time limit has no effect. */
class HandlerRun {
  readonly #started: Started
  #end: ((report: HandlerReport) => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(started: Started) {
    this.#started = started
  }

  settled(result: Promise<unknown>): Promise<HandlerReport> {
    const { run, handler } = this.#started
    return new Promise((resolve) => {
      this.#end = (report) => {
        this.#end = undefined
        clearTimeout(this.#timer)
        run.running.delete(this)
        resolve(report)
      }
      const fail = (error: unknown) =>
        this.#end?.({ ok: false, handler, code: 'HANDLER_FAILED', error })
      try {
        result.then(() => this.#end?.({ ok: true, handler }), fail)
      } catch (error) {
        fail(error)
      }
      // A handler that waits for nothing has ended by then, and needs no timer.
      queueMicrotask(() => this.#end && this.#limit())
    })
  }

  #limit(): void {
    const { run, began } = this.#started
    const { timeout, running } = run
    // The handler's synchronous part counts too.
    const left = timeout - (performance.now() - began)
    if (left <= 0) {
      this.#expire(timeout)
      return
    }
    this.#timer = setTimeout(() => this.#expire(timeout), left)
    running.add(this)
  }

  #expire(timeout: number): void {
    const text = `handler ${this.#started.handler} took longer than ${Math.round(timeout)} ms`
    this.#abort('HANDLER_TIMEOUT', new DOMException(text, 'TimeoutError'))
  }

  /** A drain's grace time is over. */
  abort(reason: unknown, timeout: number): void {
    if (performance.now() - this.#started.began >= timeout) this.#expire(timeout)
    else this.#abort('DRAINING', reason)
  }

  #abort(code: HandlerFailure['code'], error: unknown): void {
    const { handler, context } = this.#started
    HandlerContext.abort(context, error)
    this.#end?.({ ok: false, handler, code, error })
  }
}

interface HandlerArguments {
  readonly event: WebhookEvent
  readonly context: Context
}

/** Calls a handler. `inspectError` cuts stacks at the name of this function. */
function callWebhookHandler(handle: Handler, { event, context }: HandlerArguments): unknown {
  return handle(event, context)
}

/** @throws WebhookError `HANDLER_INVALID` when `around` did not call `run`; what either threw */
async function runAround(around: Around, handle: Handler, args: HandlerArguments): Promise<void> {
  let result: Promise<unknown> | undefined
  const run = () => {
    // A second call returns the result of the first.
    result ??= (async () => callWebhookHandler(handle, args))()
    // `around` need not await it; its failure is awaited below.
    result.catch(() => {})
    return result
  }
  await around(run, args.event, args.context)
  if (!result) {
    throw new WebhookError(
      'HANDLER_INVALID',
      'around returned without calling run(), so the handler did not run: call it, e.g. around: (run) => run()',
    )
  }
  await result
}
