// The registered handlers, and which of them run for an event.
import { checkChoice, checkOptionNames, hint, invalid, shown } from '../foundation/check.ts'
import { warnOnce } from '../foundation/warn.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import { canonicalName, covers, isLegacyName, reversalName } from '../protocol/names.ts'
import { attemptSteps, type Handler, type HandlerOptions, type Registration } from './handler.ts'

const optionNames: readonly (keyof HandlerOptions)[] = ['id', 'stale', 'tx']

/** The handlers that can be registered. */
export interface DispatcherOptions {
  /** False if the sender reverses decisions and nothing remembers them. Default true. */
  readonly hearsReversals?: boolean
  /** Why no handler can have `context.tx`; undefined if handlers can. */
  readonly withoutTx?: string | undefined
}

/** The registered handlers of a receiver. */
export class Dispatcher {
  readonly #registrations: Registration[] = []
  readonly #fallbacks: Registration[] = []
  readonly #names: readonly string[]
  readonly #hearsReversals: boolean
  readonly #withoutTx: string | undefined
  readonly #warn = warnOnce('')
  /** The handlers of each known name, once registration has ended. */
  readonly #byName = new Map<string, readonly Registration[]>()
  /** The handlers of unknown names: those registered for `*`, else the fallbacks. */
  #ofUnknown: readonly Registration[] = []
  /** Registration has ended. */
  isFrozen = false

  /** `names` are the canonical names of all events that can be registered. */
  constructor(
    names: readonly string[],
    { hearsReversals = true, withoutTx }: DispatcherOptions = {},
  ) {
    this.#names = names
    this.#hearsReversals = hearsReversals
    this.#withoutTx = withoutTx
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

  /** Ends registration. */
  freeze(): void {
    if (this.isFrozen) return
    this.isFrozen = true
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
    if (!this.isFrozen) this.freeze()
    return (known ? this.#byName.get(name) : undefined) ?? this.#ofUnknown
  }

  /** The handlers of a decision that replaces another: its own handlers, and those of reversals. */
  matchReversal(event: Pick<WebhookEvent, 'name' | 'known'>): readonly Registration[] {
    const all = this.#registrations.filter(
      (one) => takesReversal(one) || one.patterns.some((pattern) => covers(pattern, event.name)),
    )
    return all.length > 0 ? all : this.match(event)
  }

  get #all(): readonly Registration[] {
    return [...this.#registrations, ...this.#fallbacks]
  }

  /** The ids of all handlers. */
  get ids(): readonly string[] {
    return this.#all.map(({ id }) => id)
  }

  /** Tells whether a handler has this id. */
  has(id: string): boolean {
    return this.ids.includes(id)
  }

  /** True if any handler takes reversals. */
  get awaitsReversals(): boolean {
    return this.#registrations.some(takesReversal)
  }

  /** Tells whether a handler wants the current resource instead of a stale one. */
  refetches(): boolean {
    return this.#all.some(({ options }) => options.stale === 'refetch')
  }

  #add(
    list: Registration[],
    patterns: readonly string[],
    handler: Handler,
    options: HandlerOptions,
  ): void {
    const what = `the handler for ${patterns.join(', ')}`
    if (this.isFrozen) {
      throw invalid(
        `${what} was registered after the first delivery or the start of a worker: register all handlers first, then start the worker and the server`,
        'REGISTERED_TOO_LATE',
      )
    }
    if (typeof handler !== 'function') {
      throw invalid(`${what} must be a function, got ${shown(handler)}`, 'HANDLER_INVALID')
    }
    checkHandlerOptions(what, options)
    if (options.tx && this.#withoutTx !== undefined) {
      throw invalid(`{ tx: true } of ${what} ${this.#withoutTx}`, 'HANDLER_INVALID')
    }
    const name = patterns.join(',')
    const same = this.#all.filter((one) => one.patterns.join(',') === name).length
    const id = options.id ?? `${name}#${same + 1}`
    if (this.has(id)) {
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
      const message = `'${pattern}' is the older name of '${canonical}': register '${canonical}' instead`
      this.#warn(message, 'LEGACY_NAME')
      return canonical
    }
    if (pattern === reversalName && !this.#hearsReversals) {
      throw invalid(
        `'${reversalName}' needs an inbox, which remembers the last decision of each verification: pass inbox`,
        'INBOX_INVALID',
      )
    }
    const known = [...this.#names, ...familiesOf(this.#names), reversalName, '*']
    if (known.includes(pattern)) return pattern
    // A bundle for production has no hints: it names what begins alike.
    const begin = String(pattern).replace(/(\..).*$/, '$1')
    const near = known.filter((one) => one.startsWith(begin)).join(', ')
    const next = hint(pattern, known) || (near && ` Known: ${near}.`)
    throw invalid(
      `unknown event name: got ${shown(pattern)}.${next} For events that this version does not know, use fallback() or '*'`,
      'EVENT_NAME_UNKNOWN',
    )
  }
}

const takesReversal = ({ patterns }: Registration) => patterns.includes(reversalName)

/** @throws WebhookError `HANDLER_INVALID` */
function checkHandlerOptions(what: string, options: HandlerOptions): void {
  checkOptionNames(what, options, optionNames, 'HANDLER_INVALID')
  checkChoice('stale', options.stale, ['deliver', 'skip', 'refetch'], 'HANDLER_INVALID')
  checkChoice('tx', options.tx, [true, false], 'HANDLER_INVALID')
  checkId(what, options.id)
}

/** Postgres stores no NUL and no lone surrogate. */
const unstorable = /[\p{Cc}\p{Cs}]/u

/** @throws WebhookError `HANDLER_INVALID` */
function checkId(what: string, id: unknown): void {
  const isText = typeof id === 'string' && id !== '' && !unstorable.test(id)
  if (id === undefined || (isText && !Object.hasOwn(attemptSteps, id))) return
  const reserved = Object.keys(attemptSteps).join(', ')
  throw invalid(
    `the id of ${what} must be text without control characters, and none of ${reserved}, got ${shown(id)}`,
    'HANDLER_INVALID',
  )
}

function familiesOf(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => `${name.split('.', 1)[0]}.*`))]
}
