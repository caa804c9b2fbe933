// Which handlers run for an event, and what became of each. It knows no HTTP and no store.
import { checkChoice, checkOptionNames, invalid, shown, suggestion } from './check.ts'
import type { VerifiedDelivery } from './delivery.ts'
import type { WebhookEvent } from './protocol/events.ts'
import { canonicalName, covers, isLegacyName } from './protocol/names.ts'
import type { Authenticity } from './protocol/scheme-definition.ts'
import { warn } from './warn.ts'

/** What a handler is told besides the event. */
export interface Context<Resource = unknown, Tx = unknown> {
  /** 1 for the first attempt; with an inbox it counts the retries. */
  readonly attempt: number
  /** The same over all attempts of one event, and of no other; hand it to whatever you call. */
  readonly idempotencyKey: string
  /** Aborted at the handler's time limit and when the receiver drains. */
  readonly signal: AbortSignal
  /** Which of the configured secrets signed it, where that has an id. */
  readonly secretId?: string
  /** Whose secret that is, where it says so. */
  readonly tenant?: string
  /** What proves it: a signature, or no more than a shared token or an address. */
  readonly authenticity?: Authenticity
  readonly delivery: VerifiedDelivery
  /** An earlier event of the same entity went to the dead letters. */
  readonly gap?: boolean
  /** A newer event of the same entity was already handled. */
  readonly stale?: boolean
  /**
   * The handle of the inbox's store, inside the transaction that writes this handler's checkpoint:
   * what is written through it commits with that, or not at all. Only for handlers registered with
   * `{ tx: true }`, and only where the store has transactions.
   */
  readonly tx: Tx
  /**
   * The current resource that the event names, or null when it is gone.
   *
   * @throws WebhookError `CLIENT_MISSING` when the receiver was given no client
   */
  fetch(): Promise<Resource | null>
}

// Method syntax is bivariant, so that handlers of narrower events fit the list of all.
/** User code for an event. */
export type Handler<Event = WebhookEvent, Resource = unknown, Tx = unknown> = {
  handle(event: Event, context: Context<Resource, Tx>): unknown
}['handle']

/** How a handler is registered. */
export interface HandlerOptions {
  /** Its name in outcomes and, with an inbox, in its checkpoints; keep it over releases. */
  readonly id?: string
  /** With an inbox: what to do when a newer event of the same entity was already handled. */
  readonly stale?: 'deliver' | 'skip' | 'refetch'
  /** Whether it gets `context.tx`; with SQLite such handlers run one at a time. Default false. */
  readonly tx?: boolean
}

const optionNames: readonly (keyof HandlerOptions)[] = ['id', 'stale', 'tx']

export interface Registration {
  readonly id: string
  readonly patterns: readonly string[]
  readonly handler: Handler
  readonly options: HandlerOptions
}

/** A handler that failed: its id, and what it threw. */
export interface HandlerFailure {
  readonly handler: string
  readonly code: 'HANDLER_FAILED' | 'HANDLER_TIMEOUT' | 'DRAINING'
  readonly error: unknown
}

/** What became of one handler. */
export type HandlerReport =
  | { readonly ok: true; readonly handler: string }
  | ({ readonly ok: false } & HandlerFailure)

/** The registered handlers of a receiver. */
export class Dispatcher {
  readonly #registrations: Registration[] = []
  readonly #fallbacks: Registration[] = []
  readonly #names: readonly string[]
  readonly #warned = new Set<string>()
  /** The handlers of each known name, from the seal on. */
  readonly #byName = new Map<string, readonly Registration[]>()
  /** Those of `*`, which take unknown names too; else the fallbacks. */
  #ofUnknown: readonly Registration[] = []
  #sealed = false

  /** `names` are the canonical names of all events that can be registered. */
  constructor(names: readonly string[]) {
    this.#names = names
  }

  on(patterns: string | readonly string[], handler: Handler, options: HandlerOptions = {}): void {
    const list = typeof patterns === 'string' ? [patterns] : patterns
    if (!Array.isArray(list) || list.length === 0) {
      throw invalid(
        `on() expects an event name, a list of them, a family or '*', got ${shown(patterns)}`,
        'EVENT_NAME_UNKNOWN',
      )
    }
    const canonical = [...new Set(list.map((pattern) => this.#canonical(pattern)))]
    this.#add(this.#registrations, canonical, handler, options)
  }

  fallback(handler: Handler, options: HandlerOptions = {}): void {
    this.#add(this.#fallbacks, ['fallback'], handler, options)
  }

  /** Ends registration: from now on the set of handlers is what every event meets. */
  seal(): void {
    if (this.#sealed) return
    this.#sealed = true
    for (const name of this.#names) {
      const found = this.#registrations.filter(({ patterns }) =>
        patterns.some((pattern) => covers(pattern, name)),
      )
      this.#byName.set(name, found.length > 0 ? found : this.#fallbacks)
    }
    const all = this.#registrations.filter(({ patterns }) => patterns.includes('*'))
    this.#ofUnknown = all.length > 0 ? all : this.#fallbacks
  }

  /** The handlers of an event, in the order of registration; the fallbacks if none matched. */
  match({ name, known }: Pick<WebhookEvent, 'name' | 'known'>): readonly Registration[] {
    this.seal()
    return (known ? this.#byName.get(name) : undefined) ?? this.#ofUnknown
  }

  /** Whether any handler wants the current resource in place of a stale one. */
  refetches(): boolean {
    const all = [...this.#registrations, ...this.#fallbacks]
    return all.some(({ options }) => options.stale === 'refetch')
  }

  #add(
    list: Registration[],
    patterns: readonly string[],
    handler: Handler,
    options: HandlerOptions,
  ): void {
    const what = `the handler for ${patterns.join(', ')}`
    if (this.#sealed) {
      throw invalid(
        `${what} was registered after the first delivery, which it has missed: register handlers at start-up`,
        'REGISTERED_TOO_LATE',
      )
    }
    if (typeof handler !== 'function') {
      throw invalid(`${what} must be a function, got ${shown(handler)}`, 'HANDLER_INVALID')
    }
    checkHandlerOptions(what, options)
    const all = [...this.#registrations, ...this.#fallbacks]
    const name = patterns.join(',')
    const same = all.filter((one) => one.patterns.join(',') === name).length
    const id = options.id ?? `${name}#${same + 1}`
    if (all.some((one) => one.id === id)) {
      throw invalid(
        `the handler id '${id}' is already in use: give each handler its own id`,
        'HANDLER_INVALID',
      )
    }
    list.push({ id, patterns, handler, options })
  }

  #canonical(pattern: string): string {
    if (typeof pattern === 'string' && isLegacyName(pattern)) {
      const canonical = canonicalName(pattern)
      if (!this.#warned.has(pattern)) {
        this.#warned.add(pattern)
        warn(
          `'${pattern}' is the older name of '${canonical}': register '${canonical}' instead`,
          'IDV_LEGACY_NAME',
        )
      }
      return canonical
    }
    const known = [...this.#names, ...familiesOf(this.#names), '*']
    if (known.includes(pattern)) return pattern
    throw invalid(
      `unknown event name: got ${shown(pattern)}.${suggestionOf(pattern, this.#names, known)} For events that this version does not know, use fallback() or '*'`,
      'EVENT_NAME_UNKNOWN',
    )
  }
}

/** The closest name; `approved` alone is closest to the name that ends with it. */
function suggestionOf(
  pattern: unknown,
  names: readonly string[],
  known: readonly string[],
): string {
  if (typeof pattern !== 'string') return ''
  const whole = names.find((name) => name.endsWith(`.${pattern}`))
  return whole === undefined ? suggestion(pattern, known) : ` Did you mean '${whole}'?`
}

/** @throws WebhookError `HANDLER_INVALID` */
function checkHandlerOptions(what: string, options: HandlerOptions): void {
  checkOptionNames(what, options, optionNames, 'HANDLER_INVALID')
  checkChoice('stale', options.stale, ['deliver', 'skip', 'refetch'], 'HANDLER_INVALID')
  checkChoice('tx', options.tx, [true, false], 'HANDLER_INVALID')
  const { id } = options
  if (id !== undefined && (typeof id !== 'string' || id === '')) {
    throw invalid(
      `the id of ${what} must be a non-empty string, got ${shown(id)}`,
      'HANDLER_INVALID',
    )
  }
}

function familiesOf(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => `${name.split('.', 1)[0]}.*`))]
}

/** The handlers that run at a time, so that a drain can abort them together. */
export class RunningHandlers {
  readonly #running = new Set<HandlerRun>()
  #reason: unknown

  add(run: HandlerRun): void {
    if (this.#reason !== undefined) run.abort(this.#reason)
    else this.#running.add(run)
  }

  delete(run: HandlerRun): void {
    this.#running.delete(run)
  }

  /** Aborts those that run, and all that are still to come. */
  abort(reason: unknown): void {
    this.#reason = reason
    for (const run of this.#running) run.abort(reason)
    this.#running.clear()
  }
}

/** What an inbox adds to a handler's context. */
export interface ContextExtras {
  readonly gap?: boolean
  readonly stale?: boolean
  readonly tx?: unknown
}

/** What the contexts of one attempt are made from, when a handler asks. */
export interface ContextSource {
  readonly attempt: number
  readonly delivery: VerifiedDelivery
  readonly extras?: ContextExtras | undefined
  idempotencyKey(): string
  fetch(signal: AbortSignal): Promise<unknown>
}

/** What costs something is made when a handler asks for it: most ask for nothing. */
class HandlerContext implements Context {
  readonly attempt: number
  readonly delivery: VerifiedDelivery
  declare readonly secretId?: string
  declare readonly tenant?: string
  declare readonly authenticity?: Authenticity
  declare readonly gap?: boolean
  declare readonly stale?: boolean
  readonly tx: unknown
  readonly #source: ContextSource
  readonly #run: HandlerRun

  constructor(source: ContextSource, run: HandlerRun) {
    const { attempt, delivery, extras } = source
    this.attempt = attempt
    this.delivery = delivery
    if (delivery.secretId !== undefined) this.secretId = delivery.secretId
    if (delivery.tenant !== undefined) this.tenant = delivery.tenant
    if (delivery.authenticity !== undefined) this.authenticity = delivery.authenticity
    if (extras?.gap !== undefined) this.gap = extras.gap
    if (extras?.stale !== undefined) this.stale = extras.stale
    this.tx = extras?.tx
    this.#source = source
    this.#run = run
  }

  get signal(): AbortSignal {
    return this.#run.signal
  }

  get idempotencyKey(): string {
    return this.#source.idempotencyKey()
  }

  /** A function of its own, so that it can be taken off the context. */
  get fetch(): () => Promise<unknown> {
    return () => this.#source.fetch(this.#run.signal)
  }
}

/** What a run of handlers needs. */
export interface Run {
  readonly event: WebhookEvent
  readonly source: ContextSource
  /** Milliseconds for each handler. */
  readonly timeout: number
  readonly running: RunningHandlers
  /** Hears what became of each handler, and how many milliseconds it ran. */
  readonly ended: ((report: HandlerReport, duration: number) => void) | undefined
}

/** Runs handlers one after the other; one that fails does not stop the next. */
export function runHandlers(
  registrations: readonly Registration[],
  run: Run,
): readonly HandlerReport[] | Promise<readonly HandlerReport[]> {
  const [first] = registrations
  if (registrations.length !== 1 || !first) return runInTurn(registrations, run)
  const report = runHandler(first, run)
  return report instanceof Promise ? report.then((one) => [one]) : [report]
}

function runHandler(registration: Registration, run: Run): HandlerReport | Promise<HandlerReport> {
  const { ended } = run
  const report = new HandlerRun(registration, run)
  if (!ended) return report.report()
  const began = performance.now()
  const tell = (one: HandlerReport) => {
    ended(one, performance.now() - began)
    return one
  }
  const made = report.report()
  return made instanceof Promise ? made.then(tell) : tell(made)
}

async function runInTurn(
  registrations: readonly Registration[],
  run: Run,
): Promise<readonly HandlerReport[]> {
  const reports: HandlerReport[] = []
  for (const registration of registrations) {
    reports.push(await runHandler(registration, run))
  }
  return reports
}

/** One run of one handler within its time; a late end of it counts for nothing. */
export class HandlerRun {
  readonly #registration: Registration
  readonly #run: Run
  #controller: AbortController | undefined
  #reason: unknown
  #end: ((report: HandlerReport) => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(registration: Registration, run: Run) {
    this.#registration = registration
    this.#run = run
  }

  /** Made when a handler asks for it: most never do. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** A promise only where the handler gave one. */
  report(): HandlerReport | Promise<HandlerReport> {
    const { id: handler, handler: handle } = this.#registration
    try {
      const result = handle(this.#run.event, new HandlerContext(this.#run.source, this))
      if (result instanceof Promise) return this.#settled(result)
      return isThenable(result) ? this.#settled(Promise.resolve(result)) : { ok: true, handler }
    } catch (error) {
      return { ok: false, handler, code: 'HANDLER_FAILED', error }
    }
  }

  #settled(result: Promise<unknown>): Promise<HandlerReport> {
    const { id: handler } = this.#registration
    const { running } = this.#run
    return new Promise((resolve) => {
      this.#end = (report) => {
        this.#end = undefined
        clearTimeout(this.#timer)
        running.delete(this)
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
    const { timeout, running } = this.#run
    this.#timer = setTimeout(() => {
      const text = `handler ${this.#registration.id} took longer than ${timeout} ms`
      this.#abort('HANDLER_TIMEOUT', new DOMException(text, 'TimeoutError'))
    }, timeout)
    running.add(this)
  }

  /** A drain's grace time is over. */
  abort(reason: unknown): void {
    this.#abort('DRAINING', reason)
  }

  #abort(code: HandlerFailure['code'], error: unknown): void {
    this.#reason = error
    this.#controller?.abort(error)
    this.#end?.({ ok: false, handler: this.#registration.id, code, error })
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}
