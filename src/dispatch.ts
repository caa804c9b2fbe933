// Which handlers run for an event, and what became of each. It knows no HTTP and no store.

import { nearest, optionFault } from './check.ts'
import type { VerifiedDelivery } from './delivery.ts'
import { WebhookError } from './errors.ts'
import type { WebhookEvent } from './protocol/events.ts'
import { canonicalName, covers, isLegacyName } from './protocol/names.ts'
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
  readonly delivery: VerifiedDelivery
  /** An earlier event of the same entity went to the dead letters. */
  readonly gap?: boolean
  /** A newer event of the same entity was already handled. */
  readonly stale?: boolean
  /**
   * The handle of the inbox's store, inside the transaction that writes this handler's checkpoint:
   * what is written through it commits with that, or not at all. Only handlers registered with
   * `{ tx: true }` get it.
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
  /**
   * Gives the handler `context.tx`. SQLite has one transaction at a time, so there such handlers
   * run one after the other. Default false.
   */
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
  #sealed = false

  /** `names` are the canonical names of all events that can be registered. */
  constructor(names: readonly string[]) {
    this.#names = names
  }

  on(patterns: string | readonly string[], handler: Handler, options: HandlerOptions = {}): void {
    const list = typeof patterns === 'string' ? [patterns] : patterns
    if (!Array.isArray(list) || list.length === 0) {
      throw new WebhookError('EVENT_NAME_UNKNOWN', 'on() needs an event name, a family or *')
    }
    const canonical = [...new Set(list.map((pattern) => this.#canonical(pattern)))]
    this.#add(this.#registrations, canonical, handler, options)
  }

  fallback(handler: Handler, options: HandlerOptions = {}): void {
    this.#add(this.#fallbacks, ['fallback'], handler, options)
  }

  /** Ends registration: from now on the set of handlers is what every event meets. */
  seal(): void {
    this.#sealed = true
  }

  /** The handlers of an event, in the order of registration; the fallbacks if none matched. */
  match(event: WebhookEvent): readonly Registration[] {
    const found = this.#registrations.filter(
      ({ patterns }) =>
        patterns.includes('*') ||
        (event.known && patterns.some((pattern) => covers(pattern, event.name))),
    )
    return found.length > 0 ? found : this.#fallbacks
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
    if (this.#sealed) {
      throw new WebhookError(
        'REGISTERED_TOO_LATE',
        `the handler for ${patterns.join(', ')} comes after the first delivery, which it has missed: register at start-up`,
      )
    }
    if (typeof handler !== 'function') {
      throw new WebhookError(
        'HANDLER_INVALID',
        `the handler for ${patterns.join(', ')} is no function`,
      )
    }
    checkHandlerOptions(patterns, options)
    const all = [...this.#registrations, ...this.#fallbacks]
    const name = patterns.join(',')
    const same = all.filter((one) => one.patterns.join(',') === name).length
    const id = options.id ?? `${name}#${same + 1}`
    if (all.some((one) => one.id === id)) {
      throw new WebhookError(
        'HANDLER_INVALID',
        `the handler id '${id}' is taken: each needs its own`,
      )
    }
    list.push({ id, patterns, handler, options })
  }

  #canonical(pattern: string): string {
    if (typeof pattern === 'string' && isLegacyName(pattern)) {
      const canonical = canonicalName(pattern)
      if (!this.#warned.has(pattern)) {
        this.#warned.add(pattern)
        warn(`'${pattern}' is the older name of '${canonical}': register that`, 'IDV_LEGACY_NAME')
      }
      return canonical
    }
    const known = [...this.#names, ...familiesOf(this.#names), '*']
    if (known.includes(pattern)) return pattern
    throw new WebhookError(
      'EVENT_NAME_UNKNOWN',
      `there is no event '${pattern}': did you mean '${nearest(pattern, known)}'? For events that this version does not know use fallback() or '*'`,
    )
  }
}

/** @throws WebhookError `HANDLER_INVALID` */
function checkHandlerOptions(patterns: readonly string[], options: HandlerOptions): void {
  const refuse = (why: string) => new WebhookError('HANDLER_INVALID', why)
  const fault = optionFault(`the handler for ${patterns.join(', ')}`, options, optionNames)
  if (fault !== undefined) throw refuse(fault)
  const { id, stale = 'deliver', tx } = options
  if (!['deliver', 'skip', 'refetch'].includes(stale)) {
    throw refuse(`stale is '${stale}': use 'deliver', 'skip' or 'refetch'`)
  }
  if (id !== undefined && (typeof id !== 'string' || id === '')) {
    throw refuse(`the handler id for ${patterns.join(', ')} is no text: give a name of its own`)
  }
  if (tx !== undefined && typeof tx !== 'boolean') throw refuse('tx is neither true nor false')
}

function familiesOf(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => `${name.split('.', 1)[0]}.*`))]
}

/** What a run of handlers needs. */
export interface Run {
  readonly event: WebhookEvent
  /** Milliseconds for each handler. */
  readonly timeout: number
  /** Aborted when the receiver's grace time is over. */
  readonly drain: AbortSignal
  readonly contextFor: (registration: Registration, signal: AbortSignal) => Context
}

/** Runs handlers one after the other; one that fails does not stop the next. */
export async function runHandlers(
  registrations: readonly Registration[],
  run: Run,
): Promise<readonly HandlerReport[]> {
  const reports: HandlerReport[] = []
  for (const registration of registrations) reports.push(await runHandler(registration, run))
  return reports
}

const givenUp = Symbol('given up')

/** Runs one handler within its time; a late end of it counts for nothing. */
export async function runHandler(registration: Registration, run: Run): Promise<HandlerReport> {
  const { id: handler } = registration
  const limit = new AbortController()
  const signal = AbortSignal.any([limit.signal, run.drain])
  const timedOut = `handler ${handler} took longer than ${run.timeout} ms`
  const timer = setTimeout(
    () => limit.abort(new DOMException(timedOut, 'TimeoutError')),
    run.timeout,
  )
  let stop = () => {}
  const aborted = new Promise<typeof givenUp>((resolve) => {
    stop = () => resolve(givenUp)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  })
  try {
    const context = run.contextFor(registration, signal)
    const work = (async () => registration.handler(run.event, context))()
    if ((await Promise.race([work, aborted])) !== givenUp) return { ok: true, handler }
    const code = limit.signal.aborted ? 'HANDLER_TIMEOUT' : 'DRAINING'
    return { ok: false, handler, code, error: signal.reason }
  } catch (error) {
    return { ok: false, handler, code: 'HANDLER_FAILED', error }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}
