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
  readonly #running = new Set<HandlerContext>()
  /** Why they were aborted; undefined while they may run. */
  reason: unknown
  #timeout = Number.POSITIVE_INFINITY

  /** True if handlers time out when they are aborted, so that other failures count. */
  get isTimed(): boolean {
    return this.#timeout !== Number.POSITIVE_INFINITY
  }

  add(run: HandlerContext): void {
    if (this.reason !== undefined) HandlerContext.abort(run, this.reason, this.#timeout)
    else this.#running.add(run)
  }

  delete(run: HandlerContext): void {
    this.#running.delete(run)
  }

  /**
   * Aborts the running handlers, and all later ones; a handler that ran for `timeout` ms times out.
   */
  abort(reason: unknown, timeout = Number.POSITIVE_INFINITY): void {
    this.reason = reason
    this.#timeout = timeout
    for (const run of [...this.#running]) HandlerContext.abort(run, reason, timeout)
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
  readonly entryId?: string
  /** The event's part of a body that holds several: without an id its key is the hash of this. */
  readonly lasting?: Uint8Array | undefined
  /** The SHA-256 of these bytes in hex, on runtimes that only hash asynchronously. */
  readonly bodyHash?: string
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

/**
 * A run of one handler, and the context that the handler gets. It creates costly values only when a
 * handler asks for them, because most ask for none.
 */
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
  readonly #task: Task
  readonly #services: ContextServices
  /** When the handler began, by `performance.now()`. */
  readonly #began: number
  #controller: AbortController | undefined
  #reason: unknown
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Resolves the report; undefined once the handler has ended. */
  #end: ((report: HandlerReport) => void) | undefined

  constructor(handler: string, task: Task, services: ContextServices) {
    const { attempt, delivery, extras } = task
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
    this.#task = task
    this.#services = services
    this.#began = performance.now()
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  get idempotencyKey(): string {
    return idempotencyKeyOf(this.#task)
  }

  /** Returns a function, so that it can be taken off the context. */
  get fetch(): () => Promise<unknown> {
    const { event, delivery } = this.#task
    return () => this.#services.reads.current(event, { signal: this.signal, delivery })
  }

  // Static, because handlers must not reach them.

  /** Milliseconds since the handler began. */
  static duration(run: HandlerContext): number {
    return performance.now() - run.#began
  }

  /** Waits for a handler that returned a promise. What it does after its time limit has no effect. */
  static settled(run: HandlerContext, result: Promise<unknown>): Promise<HandlerReport> {
    const { handler } = run
    return new Promise((resolve) => {
      run.#end = resolve
      result.then(
        () => run.#report({ ok: true, handler }),
        (error) => run.#report({ ok: false, handler, code: 'HANDLER_FAILED', error }),
      )
      // A handler that waits for nothing has ended by then, and needs no timer.
      queueMicrotask(() => run.#end && run.#limit())
    })
  }

  /** The grace time of a drain is over. */
  static abort(run: HandlerContext, reason: unknown, timeout: number): void {
    if (HandlerContext.duration(run) >= timeout) run.#expire(timeout)
    else run.#abort('DRAINING', reason)
  }

  get #running(): RunningHandlers {
    return this.#task.running ?? this.#services.running
  }

  #limit(): void {
    // The handler's synchronous part counts too.
    const { timeout } = this.#services
    const left = timeout - HandlerContext.duration(this)
    if (left <= 0) {
      this.#expire(timeout)
      return
    }
    this.#timer = setTimeout(() => this.#expire(timeout), left)
    this.#running.add(this)
  }

  #expire(timeout: number): void {
    const text = `handler ${this.handler} took longer than ${Math.round(timeout)} ms`
    this.#abort('HANDLER_TIMEOUT', new DOMException(text, 'TimeoutError'))
  }

  #abort(code: HandlerFailure['code'], error: unknown): void {
    this.#reason = error
    this.#controller?.abort(error)
    this.#report({ ok: false, handler: this.handler, code, error })
  }

  #report(report: HandlerReport): void {
    const end = this.#end
    this.#end = undefined
    if (this.#timer !== undefined) {
      clearTimeout(this.#timer)
      this.#running.delete(this)
    }
    end?.(report)
  }
}

/**
 * Returns the key that every attempt of an event has, and no other event of any tenant. An event
 * without an id and an inbox has the hash of its body, which other events may share. The tenant's
 * part is escaped, so that no id passes for another kind of key. A decision that is read again may have
 * changed, so its key names it.
 */
function idempotencyKeyOf({ key: id, entryId, bodyHash, lasting, delivery, event }: Task): string {
  const unnamed = () =>
    entryId === undefined
      ? `sha256=${bodyHash ?? sha256Hex?.(lasting ?? delivery.body) ?? ''}`
      : `entry=${entryId}`
  const own = id === undefined ? unnamed() : id.replace(/^(?=(?:sha256|entry|id)=)/, 'id=')
  const key = event.decidedBy === 'api' ? `${own} ${event.name}` : own
  const { tenant } = delivery
  if (tenant !== undefined) return `${encodeURIComponent(tenant)}:${key}`
  return key.includes(':') ? `:${key}` : key
}

/** Receives the report of each handler, and how many milliseconds it ran. */
export type HearAttempt = (report: HandlerReport, task: Task, duration: number) => void

/**
 * Runs the handlers of an attempt in turn; a failed handler does not stop the others. Returns a promise
 * only if a handler does, or the runtime hashes asynchronously.
 */
export function runTask(
  task: Task,
  services: ContextServices,
  ended: HearAttempt | undefined,
): readonly HandlerReport[] | Promise<readonly HandlerReport[]> {
  // WebCrypto only hashes asynchronously, so it is done before a handler can ask.
  if (!sha256Hex && (task.key ?? task.entryId ?? task.bodyHash) === undefined) {
    return sha256(task.lasting ?? task.delivery.body).then((hash) =>
      runTask({ ...task, bodyHash: toHex(hash) }, services, ended),
    )
  }
  const [only, another] = task.registrations
  if (!only || another) return runInTurn(task, services, ended)
  const report = runHandler(only, task, { services, ended })
  return 'then' in report ? report.then((one) => [one]) : [report]
}

async function runInTurn(
  task: Task,
  services: ContextServices,
  ended: HearAttempt | undefined,
): Promise<readonly HandlerReport[]> {
  const reports: HandlerReport[] = []
  for (const registration of task.registrations) {
    reports.push(await runHandler(registration, task, { services, ended }))
  }
  return reports
}

interface Running {
  readonly services: ContextServices
  readonly ended: HearAttempt | undefined
}

function runHandler(
  { id: handler, handler: handle }: Registration,
  task: Task,
  { services, ended }: Running,
): HandlerReport | Promise<HandlerReport> {
  const context = new HandlerContext(handler, task, services)
  const report = reportOf(context, handle, { task, services })
  if (!ended) return report
  const tell = (one: HandlerReport) => {
    ended(one, task, HandlerContext.duration(context))
    return one
  }
  return 'then' in report ? report.then(tell) : tell(report)
}

/** Calls the handler; returns a promise only if the handler does. */
function reportOf(
  context: HandlerContext,
  handle: Handler,
  { task, services }: { readonly task: Task; readonly services: ContextServices },
): HandlerReport | Promise<HandlerReport> {
  const { handler } = context
  const { reason } = task.running ?? services.running
  // A handler that began now would be aborted in the same turn.
  if (reason !== undefined) return { ok: false, handler, code: 'DRAINING', error: reason }
  const args = { event: task.event, context }
  try {
    const result = services.around
      ? runAround(services.around, handle, args)
      : callWebhookHandler(handle, args)
    if (!(result instanceof Promise) && !isPromise(result)) return { ok: true, handler }
    return HandlerContext.settled(context, Promise.resolve(result))
  } catch (error) {
    return { ok: false, handler, code: 'HANDLER_FAILED', error }
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
