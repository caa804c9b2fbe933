// What an operator may see: every outcome and attempt, without the event's data, and two ready
// observers. An observer that throws never reaches a delivery.
import { checkFunction, checkOptionNames, invalid, shown } from './check.ts'
import { defined } from './defined.ts'
import type { VerifiedDelivery } from './delivery.ts'
import type { HandlerFailure, HandlerReport } from './dispatch.ts'
import { isWebhookError, type OutcomeCode, type WebhookError } from './errors.ts'
import { errorsOf, type Outcome, type OutcomeKind } from './outcome.ts'
import type { EventSource, WebhookEvent } from './protocol/events.ts'
import { isLegacyName } from './protocol/names.ts'
import type { Authenticity } from './protocol/scheme-definition.ts'
import type { Diagnosis } from './signature/diagnose.ts'
import { unharmed, warn } from './warn.ts'

/** What became of a delivery; safe to log, for it holds no data of the event. */
export interface OutcomeObserved {
  readonly type: 'outcome'
  readonly at: Date
  readonly kind: OutcomeKind
  readonly code?: OutcomeCode
  readonly message?: string
  /** The canonical name and the one that arrived, once the delivery was understood. */
  readonly name?: string
  readonly receivedName?: string
  /** The event came under a legacy name. */
  readonly legacy: boolean
  readonly eventId?: string
  readonly source?: EventSource
  readonly vendor?: string
  /** What proved it: a signature, or no more than a shared token or an address. */
  readonly authenticity?: Authenticity
  readonly secretId?: string
  readonly tenant?: string
  readonly conflict?: true
  readonly bytes: number
  /** Milliseconds from its arrival to its outcome. */
  readonly duration: number
  /** What handlers threw. It may hold the event's data, so it is not enumerable. */
  readonly errors: readonly HandlerFailure[]
  diagnose(): Promise<Diagnosis | undefined>
}

/** One run of one handler. */
export interface AttemptObserved {
  readonly type: 'attempt'
  readonly at: Date
  readonly name: string
  readonly eventId?: string
  readonly tenant?: string
  readonly handler: string
  readonly attempt: number
  readonly ok: boolean
  /** Milliseconds that the handler ran. */
  readonly duration: number
  readonly code?: HandlerFailure['code']
  /** Class and place of what it threw, not the text. */
  readonly error?: string
  /** With an inbox: the entry that was handled. */
  readonly entryId?: string
}

/** With an inbox: what became of one attempt at an entry, one that a crash ended too. */
export interface SettledObserved {
  readonly type: 'settled'
  readonly at: Date
  readonly entryId: string
  /** `released` by a drain; `lost` when another held the entry by then. */
  readonly state: 'done' | 'retry' | 'dead' | 'skipped' | 'released' | 'lost'
  readonly attempt: number
  readonly name?: string
  readonly reason?: string
  /** Milliseconds since it was kept. */
  readonly age: number
}

/** With a worker: somebody moved entries by the methods of this process's inbox. */
export interface OperatedObserved {
  readonly type: 'operated'
  readonly at: Date
  readonly asked: 'redrive' | 'replay' | 'dismiss' | 'forget'
  /** How many. */
  readonly entries: number
  /** Where one was named. */
  readonly entryId?: string
}

/** With a worker: nothing came for much longer than usual. */
export interface SilenceObserved {
  readonly type: 'silence'
  readonly at: Date
  /** When the last delivery came. */
  readonly since: Date
  /** The median gap before, in milliseconds. */
  readonly usual: number
}

/** With a worker: the store did not do what it was asked; the worker tries again. */
export interface StoreObserved {
  readonly type: 'store'
  readonly at: Date
  readonly asked: string
  readonly error: string
}

export type Observation =
  | OutcomeObserved
  | AttemptObserved
  | SettledObserved
  | OperatedObserved
  | SilenceObserved
  | StoreObserved

/** The `observe` option. */
export type Observe = (seen: Observation) => void

/** What an observation tells beside the outcome. */
export interface OutcomeFacts {
  readonly at: Date
  readonly bytes: number
  readonly duration: number
  readonly event: WebhookEvent | undefined
}

/** An outcome as observers see it. What may hold the event's data cannot be enumerated. */
export function outcomeObserved(
  outcome: Outcome,
  { at, bytes, duration, event }: OutcomeFacts,
): OutcomeObserved {
  const { kind, authenticity, secretId, tenant } = outcome
  const seen = defined({
    type: 'outcome' as const,
    at,
    kind,
    code: 'code' in outcome ? outcome.code : undefined,
    message: 'message' in outcome ? outcome.message : undefined,
    name: event && observedName(event.name, event.known),
    receivedName: event && observedName(event.receivedName, event.known),
    source: event?.source,
    eventId: event?.id,
    legacy: event !== undefined && isLegacyName(event.receivedName),
    vendor: event?.vendor,
    authenticity,
    secretId,
    tenant,
    conflict: 'conflict' in outcome ? outcome.conflict : undefined,
    bytes,
    duration,
  })
  const diagnose = async () => ('diagnose' in outcome ? outcome.diagnose() : undefined)
  const hidden = { errors: { value: errorsOf(outcome) }, diagnose: { value: diagnose } }
  return Object.defineProperties(seen, hidden) as OutcomeObserved
}

/** What an observation of an attempt tells beside the report. */
export interface AttemptFacts {
  readonly at: Date
  readonly event: WebhookEvent
  readonly delivery: Pick<VerifiedDelivery, 'tenant'>
  readonly attempt: number
  readonly entryId: string | undefined
  readonly duration: number
}

/** One run of one handler as observers see it. */
export function attemptObserved(
  report: HandlerReport,
  { at, event, delivery, attempt, entryId, duration }: AttemptFacts,
): AttemptObserved {
  return defined({
    type: 'attempt' as const,
    at,
    name: observedName(event.name, event.known),
    eventId: event.id,
    tenant: delivery.tenant,
    entryId,
    handler: report.handler,
    attempt,
    ok: report.ok,
    duration,
    code: report.ok ? undefined : report.code,
    error: report.ok ? undefined : describeError(report.error),
  })
}

/** What an observer may be shown as a name: a person's name is not an event's name. */
export function observedName(name: string, known: boolean): string {
  return known || /^(?=.{1,100}$)[a-z][\w-]*(?:\.[\w-]+)+$/i.test(name) ? name : unrecognised
}

const unrecognised = '(unrecognised)'

/** Options of `logOutcomes`. */
export interface LogOptions {
  /** Takes one line of JSON; `console.error` by default. */
  readonly write?: (line: string) => void
  /** How many mismatches a minute are diagnosed, so that a flood of forgeries costs little. */
  readonly diagnosesPerMinute?: number
}

/**
 * An observer that writes one line of JSON for each outcome, with the proved cause of a mismatch,
 * and for each failure and each entry that an inbox settled.
 * No line holds data of an event, or the text of an error that is not this package's own.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example createReceiver({ secret, observe: logOutcomes() })
 */
export function logOutcomes(options: LogOptions = {}): Observe {
  checkOptionNames('logOutcomes', options, ['write', 'diagnosesPerMinute'])
  const { write = console.error, diagnosesPerMinute = 10 } = options
  checkFunction('write', write, '(line) => stream.write(line)')
  if (typeof diagnosesPerMinute !== 'number' || !(diagnosesPerMinute >= 0)) {
    throw invalid(`diagnosesPerMinute must be a number from 0, got ${shown(diagnosesPerMinute)}`)
  }
  const mayDiagnose = perMinute(diagnosesPerMinute)
  return (seen) => {
    if (seen.type === 'attempt' && seen.ok) return
    if (seen.type !== 'outcome') return write(toLine(seen))
    const handlers = seen.errors.map(({ handler, code, error }) => ({
      handler,
      code,
      error: describeError(error),
    }))
    const facts = { ...seen, ...(handlers.length > 0 && { handlers }) }
    if (!isDiagnosable(seen) || !mayDiagnose(seen.at)) return write(toLine(facts))
    const line = (more?: object) => write(toLine({ ...facts, ...more }))
    const written = seen.diagnose().then(
      (diagnosis) => line(diagnosis && { diagnosis }),
      () => line(),
    )
    unharmed(() => written, warnOf)
  }
}

/** Other refusals have no diagnosis, and must not use up the budget. */
function isDiagnosable({ code }: OutcomeObserved): boolean {
  return code === 'SIGNATURE_MISMATCH' || code === 'TIMESTAMP_OUTSIDE_TOLERANCE'
}

/** Tells whether one more may be made in the minute of `at`. */
function perMinute(most: number): (at: Date) => boolean {
  let minute = 0
  let spent = 0
  return (at) => {
    const now = Math.floor(at.getTime() / 60_000)
    if (now !== minute) {
      minute = now
      spent = 0
    }
    spent += 1
    return spent <= most
  }
}

const longestText = 320

/** One line of JSON: texts cut at 320 characters, no control or bidi characters. */
function toLine(seen: object): string {
  const line = JSON.stringify(seen, (_, value: unknown) =>
    typeof value === 'string' && value.length > longestText
      ? `${value.slice(0, longestText)}…`
      : value,
  )
  return line.replace(unprintable, escaped)
}

/** Control, format and bidi characters, which a terminal would obey. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const escaped = (letter: string) =>
  Array.from({ length: letter.length }, (_, at) => {
    return `\\u${letter.charCodeAt(at).toString(16).padStart(4, '0')}`
  }).join('')

const mostWarned = 100

/**
 * The default observer: a process warning for each kind of failure on our side and, in development
 * (NODE_ENV is not `production`), for the first refusal of each code with its diagnosis.
 */
export function warnFailures(): Observe {
  const warned = new Set<string>()
  const once = (text: string, code: string, more = '') => {
    if (warned.has(text) || warned.size >= mostWarned) return
    warned.add(text)
    warn(`${text}${more} (shown once; see all with the observe option)`, code)
  }
  return (seen) => {
    if (seen.type === 'settled' && seen.state === 'dead') {
      const about = seen.name ? ` (${printable(seen.name)})` : ''
      const attempts = seen.attempt === 1 ? '1 attempt' : `${seen.attempt} attempts`
      return warn(
        `entry ${seen.entryId}${about} is a dead letter: ${seen.reason} after ${attempts}`,
        'IDV_DEAD_LETTER',
      )
    }
    if (seen.type !== 'outcome') return
    if (seen.kind === 'rejected' && seen.code && isDevelopment()) {
      if (warned.has(seen.code)) return
      warned.add(seen.code)
      const text = `webhook refused: ${seen.code}`
      unharmed(
        () => seen.diagnose().then((found) => once(text, `IDV_${seen.code}`, diagnosed(found))),
        warnOf,
      )
    }
    if (seen.kind !== 'failed') return
    const describe = isDevelopment() ? inspectError : describeError
    const failures = seen.errors.map((one) => `${one.handler}: ${describe(one.error)}`)
    const what = [seen.message, ...failures].filter(Boolean).join('; ')
    const about = seen.name ? ` for ${printable(seen.name)}` : ''
    once(`webhook ${seen.code}${about}${what && `: ${what}`}`, `IDV_${seen.code}`)
  }
}

const diagnosed = (found: Diagnosis | undefined) =>
  found ? `: ${found.message}. To fix it, ${found.fix}` : ''

/** A runtime without a process is treated as production. */
function isDevelopment(): boolean {
  const { env } =
    (globalThis as { process?: { env?: Record<string, string | undefined> } }).process ?? {}
  return env !== undefined && env.NODE_ENV !== 'production'
}

const printable = (text: string) => text.slice(0, longestText).replace(unprintable, escaped)

/** An error with its text and stack, for a developer's own machine. */
function inspectError(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? String(error)) : String(error)
  } catch {
    return 'unreadable'
  }
}

/**
 * Class and place of an error, without its text: that may hold a person's data. Our own errors
 * describe how the package is set up, and how to fix that.
 */
export function describeError(error: unknown): string {
  try {
    if (!(error instanceof Error)) return typeof error
    if (isOurs(error)) return printable(`${error.name} ${error.code}: ${withoutValue(error)}`)
    const name = nameOf(error)
    const frame = frameOf(error)
    return frame === undefined ? name : `${name} ${frame}`
  } catch {
    // A revoked proxy, a getter that throws: handlers throw what they like.
    return 'unreadable'
  }
}

/** The name of its class, or one that ends as names of errors do: another may be data. */
function nameOf(error: Error): string {
  const { name } = error
  if (typeof name !== 'string' || !className.test(name)) return 'Error'
  return name === error.constructor.name || /(?:Error|Exception)$/.test(name) ? name : 'Error'
}

const className = /^[A-Za-z_$][\w$]{0,60}$/
/** A line of a stack as V8 writes it, and no text that somebody else put into a message. */
const frame =
  /^at (?:async )?(?:[\w.$<>[\] #]{1,80} )?\(?(?:file:\/\/|node:|\/|[A-Za-z]:[\\/]|webpack)[^\s()]{1,160}:\d+:\d+\)?$/

const stackHead = /^[\w$.]{1,80}(?: \[\w{1,60}\])?(?:: |(?=\n|$))/

/** Where it was thrown. A stack begins with the message, which is cut off before anybody looks. */
function frameOf({ stack, message }: Error): string | undefined {
  if (typeof stack !== 'string' || typeof message !== 'string') return undefined
  const head = stackHead.exec(stack)?.[0]
  if (head === undefined || !stack.startsWith(message, head.length)) return undefined
  const lines = stack.slice(head.length + message.length).split('\n', 20)
  return lines.map((line) => line.trim()).find((line) => line.length <= 240 && frame.test(line))
}

/** Our messages quote the value that was refused last, and a handler may have passed data. */
function withoutValue({ message }: WebhookError): string {
  return message.replace(/got string '[\s\S]*$/, 'got a string')
}

/** Not an error that somebody derived from ours, whose text is unknown. */
function isOurs(error: Error): error is WebhookError {
  // By its prototypes, for bundlers change the names of classes.
  const parent: unknown = Object.getPrototypeOf(Object.getPrototypeOf(error))
  return isWebhookError(error) && parent === Error.prototype
}

/** Keeps an observer's own faults away from the delivery, also those of an async one. */
export function guarded(observe: Observe): Observe {
  return (seen) => unharmed(() => observe(seen), warnOf)
}

function warnOf(error: unknown): void {
  warn(`observe threw ${describeError(error)}`, 'IDV_OBSERVE_FAILED')
}
