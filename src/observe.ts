// What an operator may see: every outcome and attempt, without the event's data, and two ready
// observers. An observer that throws never reaches a delivery.

import { checkOptionNames } from './check.ts'
import type { HandlerFailure } from './dispatch.ts'
import { isWebhookError, type OutcomeCode, WebhookError } from './errors.ts'
import type { OutcomeKind } from './outcome.ts'
import type { EventSource } from './protocol/events.ts'
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
  readonly secretId?: string
  readonly tenant?: string
  readonly conflict?: true
  readonly bytes: number
  /** What handlers threw; may hold the event's data, so it does not serialise. */
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

/** Options of `logOutcomes`. */
export interface LogOptions {
  /** Takes one line of JSON; `console.error` by default. */
  readonly write?: (line: string) => void
  /** How many mismatches a minute are diagnosed, so that a flood of forgeries costs little. */
  readonly diagnosesPerMinute?: number
}

/**
 * An observer that writes one line of JSON for each outcome, with the proved cause of a mismatch,
 * and for what went wrong or was settled in an inbox.
 * No line holds data of an event, or the text of an error that is not this package's own.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example createReceiver({ secret, observe: logOutcomes() })
 */
export function logOutcomes(options: LogOptions = {}): Observe {
  checkOptionNames('logOutcomes', options, ['write', 'diagnosesPerMinute'])
  const { write = console.error, diagnosesPerMinute = 10 } = options
  if (typeof write !== 'function') {
    throw new WebhookError('OPTION_INVALID', 'write is no function: give (line) => …')
  }
  if (!(diagnosesPerMinute >= 0)) {
    throw new WebhookError('OPTION_INVALID', 'diagnosesPerMinute is no number from 0')
  }
  let minute = 0
  let spent = 0
  const mayDiagnose = (at: Date) => {
    const now = Math.floor(at.getTime() / 60_000)
    if (now !== minute) {
      minute = now
      spent = 0
    }
    spent += 1
    return spent <= diagnosesPerMinute
  }
  return (seen) => {
    if (seen.type === 'attempt' && seen.ok) return
    if (seen.type !== 'outcome') return write(JSON.stringify(seen))
    const { errors, diagnose, ...outcome } = seen
    const handlers = errors.map(({ handler, code, error }) => ({
      handler,
      code,
      error: describeError(error),
    }))
    const facts = { ...outcome, ...(handlers.length > 0 && { handlers }) }
    if (seen.kind !== 'rejected' || !mayDiagnose(seen.at)) return write(JSON.stringify(facts))
    const line = (more?: object) => write(JSON.stringify({ ...facts, ...more }))
    const told = diagnose().then(
      (diagnosis) => line(diagnosis && { diagnosis }),
      () => line(),
    )
    unharmed(() => told, warnOf)
  }
}

/** The default observer: a process warning for each kind of failure on our side, once. */
export function warnFailures(): Observe {
  const warned = new Set<string>()
  return (seen) => {
    if (seen.type === 'settled' && seen.state === 'dead') {
      const about = seen.name ? ` (${seen.name})` : ''
      const why = `${seen.reason} after ${seen.attempt} attempts`
      return warn(`entry ${seen.entryId}${about} is a dead letter: ${why}`, 'IDV_DEAD_LETTER')
    }
    if (seen.type !== 'outcome' || seen.kind !== 'failed') return
    const failures = seen.errors.map((one) => `${one.handler}: ${describeError(one.error)}`)
    const what = [seen.message, ...failures].filter(Boolean).join('; ')
    const text = `webhook ${seen.code}${seen.name ? ` for ${seen.name}` : ''}${what && `: ${what}`}`
    if (warned.has(text)) return
    warned.add(text)
    warn(`${text} (shown once; see all with the observe option)`, `IDV_${seen.code}`)
  }
}

/**
 * Class and place of an error, without its text: that may hold a person's data. Our own speak of
 * how the package is set up, and say how to mend that.
 */
export function describeError(error: unknown): string {
  try {
    if (!(error instanceof Error)) return typeof error
    const { name, stack } = error
    if (isOurs(error)) return `${name} ${error.code}: ${error.message}`
    const lines = typeof stack === 'string' ? stack.split('\n') : []
    const frame = lines.find((line) => /^\s+at /.test(line))?.trim()
    return [typeof name === 'string' && name, frame].filter(Boolean).join(' ') || 'Error'
  } catch {
    // A revoked proxy, a getter that throws: handlers throw what they like.
    return 'unreadable'
  }
}

/** Not what somebody else has derived from it: who knows what that says. */
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
