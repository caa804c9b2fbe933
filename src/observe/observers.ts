// The observers of a receiver: two that this package has, and the hub that calls all of them. An
// observer that throws never harms a delivery.

import type { HeaderIndex } from '../delivery.ts'
import type { HearAttempt, Task } from '../dispatch/run.ts'
import { isWebhookError, type OutcomeCode } from '../errors.ts'
import { isBytes } from '../foundation/bytes.ts'
import {
  checkFunction,
  checkOptionNames,
  invalid,
  minSecretLength,
  shown,
} from '../foundation/check.ts'
import { type Clock, millisecondsOf, systemClock } from '../foundation/clock.ts'
import { unharmed, warn, warnOnce } from '../foundation/warn.ts'
import { keepAwake } from '../host/promises.ts'
import { isDevelopment, isTest } from '../host/runtime.ts'
import type { Incoming } from '../intake/intake.ts'
import type { Outcome } from '../outcome/outcome.ts'
import { probeAgent } from '../protocol/names.ts'
import type { Diagnosis } from '../signature/diagnose.ts'
import { testSecret } from '../signature/secrets.ts'
import {
  attemptObserved,
  describeError,
  escaped,
  longestText,
  type Observation,
  type Observe,
  type OutcomeDetails,
  type OutcomeObserved,
  printable,
  SeenOutcome,
  type SettledObserved,
  timed,
  unprintable,
} from './observe.ts'

/** Options of `logOutcomes`. */
export interface LogOptions {
  /** Takes one line of JSON; `console.error` by default. */
  readonly write?: (line: string) => void
  /** The maximum of diagnoses a minute, so that a flood of forgeries costs little. */
  readonly diagnosesPerMinute?: number
}

/**
 * An observer that writes one line of JSON for each outcome, with the proved cause of a mismatch,
 * and for each failure and each entry that an inbox settled. No line holds data of an event, or the
 * text of an error that this package did not make.
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
    const details = { ...seen, ...(handlers.length > 0 && { handlers }) }
    if (!isDiagnosable(seen) || !mayDiagnose(seen.at.getTime())) return write(toLine(details))
    const line = (more?: object) => write(toLine({ ...details, ...more }))
    return seen.diagnose().then(
      (diagnosis) => line(diagnosis ? { diagnosis } : hintFor(seen)),
      () => line(),
    )
  }
}

/** Hints if a diagnosis proved nothing. */
const hints: Readonly<Partial<Record<OutcomeCode, string>>> = {
  SIGNATURE_MISMATCH:
    'no configured secret signed this body, and no known change explains it. Compare the secret and the scheme with those of the sender, or the delivery is forged',
  SIGNATURE_MISSING:
    'the signature header of the scheme did not arrive. A proxy drops it, or the sender signs in another way: idv-webhooks capture --raw, then discover, finds the scheme',
  SIGNATURE_MALFORMED:
    'the signature header does not fit the scheme. The sender uses another scheme or algorithm (Sumsub: see X-Payload-Digest-Alg): idv-webhooks capture --raw, then discover, finds it',
  HEADER_AMBIGUOUS:
    'a header that the scheme reads (signature, time or id) arrived more than once. A proxy or a middleware adds it again, or the delivery is forged',
}

function hintFor({ code }: OutcomeObserved): { readonly hint: string } | undefined {
  const hint = code && hints[code]
  return hint ? { hint } : undefined
}

/** Other refusals have no diagnosis, and must not use up the budget. */
function isDiagnosable({ code }: OutcomeObserved): boolean {
  return code === 'SIGNATURE_MISMATCH' || code === 'TIMESTAMP_OUTSIDE_TOLERANCE'
}

/** Limits calls to `max` in each minute of `at`, in milliseconds. */
function perMinute(max: number): (at: number) => boolean {
  let minute = 0
  let spent = 0
  return (at) => {
    const now = Math.floor(at / 60_000)
    if (now !== minute) {
      minute = now
      spent = 0
    }
    spent += 1
    return spent <= max
  }
}

/** One line of JSON: texts cut at 320 characters, no control or bidi characters. */
function toLine(seen: object): string {
  const line = JSON.stringify(seen, (_, value: unknown) =>
    typeof value === 'string' && value.length > longestText
      ? `${value.slice(0, longestText)}…`
      : value,
  )
  return line.replace(unprintable, escaped)
}

/** The refusals that are diagnosed a minute on a developer's machine. */
const refusalsPerMinute = 10

/** Details for the warnings, which no observer of the user gets. */
interface Beside {
  /** The file of the inbox, for the command that a warning prints. */
  readonly place?: string | undefined
  /** The whole error of an attempt, for a developer's own machine. */
  readonly whole?: string | undefined
}

type Warnings = (seen: Observation, beside?: Beside) => unknown

/**
 * The default observer: a process warning for each kind of failure on our side and, in development
 * (NODE_ENV is not `production`), for the first refusal of each code and cause. Kinds differ
 * by class and place: the text of an error may differ each time.
 */
function warnFailures(): Warnings {
  const settled = settledWarnings()
  const once = warnOnce('\n(shown once; see all with the observe option)')
  return (seen, { place, whole } = {}) => {
    if (seen.type === 'settled') return settled(seen, place)
    if (seen.type === 'attempt' && seen.code) {
      const { handler, name, error } = seen
      const text = `handler ${handler} failed for ${printable(name)}: ${whole ?? error}`
      return once(text, seen.code, `${handler}: ${error}`)
    }
    if (seen.type === 'store') {
      const text = `the inbox's store failed at ${seen.asked}: ${seen.error}. The worker tries again`
      return once(text, 'STORE_UNAVAILABLE')
    }
    if (seen.type !== 'outcome') return
    if (seen.conflict) return once(conflictOf(seen), 'CONFLICT', 'id')
    const { code } = seen
    if (!code) return
    if (seen.kind === 'rejected') {
      const say = (found: Diagnosis | undefined) => {
        const why = found ? `${found.message}. To fix it, ${found.fix}` : hintFor(seen)?.hint
        once(`webhook refused: ${code}${why === undefined ? '' : `: ${why}`}`, code, found?.cause)
      }
      return seen.diagnose().then(say)
    }
    if (seen.kind !== 'failed') return
    const failures = seen.errors.map(({ handler, error }) => {
      // The text of our own errors is enough.
      const isOwn = handler === 'receiver' && isWebhookError(error)
      return `${handler}: ${isDevelopment() && !isOwn ? inspectError(error) : describeError(error)}`
    })
    const what = [seen.message, ...failures].filter(Boolean).join('; ')
    const about = seen.name ? ` for ${printable(seen.name)}` : ''
    const kinds = seen.errors.map(({ handler, error }) => `${handler}: ${describeError(error)}`)
    const kind = [seen.message, ...kinds].join('; ')
    once(`webhook ${code}${about}${what && `: ${what}`}`, code, kind)
  }
}

const warnOfGuessable = /* @__PURE__ */ warnOnce()

/** Warns of the public secret in production, and of a secret that can be guessed outside tests. */
export function warnIfWeak(secrets: unknown): void {
  const values = [secrets].flat().map((one) => (one as { value?: unknown } | null)?.value ?? one)
  if (values.includes(testSecret) && !isDevelopment()) {
    const why = 'anyone can sign deliveries with it. Leave it out in production'
    warn(`a receiver takes the public testSecret: ${why}`, 'SECRET_WEAK')
  }
  const isShort = (one: unknown) =>
    (typeof one === 'string' || isBytes(one)) && one.length < minSecretLength
  if (isTest() || !values.some(isShort)) return
  const text = `a secret has fewer than ${minSecretLength} characters and can be guessed: use a longer one, e.g. from openssl rand -hex 32`
  warnOfGuessable(text, 'SECRET_WEAK')
}

/** Shows that later events of a sender do not run, although it gets 200 for each. */
function conflictOf({ name }: OutcomeObserved): string {
  const about = name ? ` (${printable(name)})` : ''
  return `a delivery${about} has the id of an earlier event and other bytes: it is kept, not handled. If it is another event, name the path of its id: envelope: { id }`
}

/** The parts of a delivery's walk that are observed. */
interface Observed extends Pick<OutcomeDetails, 'bytes' | 'event'> {
  readonly began: number
  readonly headers: HeaderIndex
  readonly source: Pick<Incoming, 'waitUntil'>
}

/** Calls all observers of a receiver; makes no observation that no observer gets. */
export class Observers {
  readonly #observer: (seen: Observation, beside?: Beside) => Promise<unknown> | undefined
  /** True if the user observes: some observations are only for the default observer. */
  readonly hearsAll: boolean
  /** The receiver's clock; the system's if that throws. */
  readonly now: Clock
  readonly #mayWarn = perMinute(refusalsPerMinute)

  constructor(observe: Observe | undefined, now: Clock) {
    // An observer of the user gets no further details: it may be a logger.
    const observer: Warnings = observe ? (seen) => observe(seen) : warnFailures()
    // Refusals of forged deliveries are observed: a warning for each would have no end.
    const once = warnOnce()
    const warnOf = (error: unknown) =>
      once(`observe threw ${describeError(error)}`, 'OBSERVE_FAILED')
    this.#observer = (seen, beside) => unharmed(() => observer(seen, beside), warnOf)
    this.hearsAll = observe !== undefined
    this.now = guardedClock(now, once)
  }

  /** Reports an observation, with the file of the inbox. */
  report(seen: Observation, place?: string): void {
    this.#observer(seen, { place })
  }

  /** The default observer gets failures, conflicts and, in development, some refusals only. */
  outcome(outcome: Outcome, passage: Observed): Outcome {
    const isConflict = outcome.kind === 'duplicate' && outcome.conflict === true
    const isRejected = outcome.kind === 'rejected' && this.#warnsOfRejection(passage)
    const isWarned = outcome.kind === 'failed' || isConflict || isRejected
    if (isWarned || this.hearsAll) {
      const { bytes, began, event, source } = passage
      const duration = performance.now() - began
      const observed = { ...timed(this.now(), duration), bytes, event }
      const seen = new SeenOutcome(outcome, observed)
      const pending = this.#observer(seen)
      if (pending) keepAwake(source.waitUntil, pending)
    }
    return outcome
  }

  /** The default observer gets the failed attempts of an inbox; outcomes report the others. */
  attemptsOf({ entryId }: Task): HearAttempt | undefined {
    if (this.hearsAll) return this.#attempt
    return entryId === undefined ? undefined : this.#failedAttempt
  }

  readonly #failedAttempt: HearAttempt = (report, task, duration) => {
    if (!report.ok) this.#attempt(report, task, duration)
  }

  readonly #attempt: HearAttempt = (report, task, duration) => {
    const { event, delivery, attempt, entryId } = task
    const details = { ...timed(this.now(), duration), event, delivery, attempt, entryId }
    const seen = attemptObserved(report, details)
    // On a developer's own machine the warning shows the whole error, if no observer could log it.
    const isWhole = !this.hearsAll && !report.ok && isDevelopment()
    this.#observer(seen, isWhole ? { whole: inspectError(report.error) } : {})
  }

  #warnsOfRejection({ began, headers }: Observed): boolean {
    // The budget first: a flood of forgeries must not read the environment each time.
    if (this.hearsAll || !this.#mayWarn(began) || !isDevelopment()) return false
    // `doctor` reports its probes itself.
    return headers.values('user-agent')[0] !== probeAgent
  }
}

/** Reads the system's clock if the user's clock fails: no outcome depends on an observation. */
function guardedClock(now: Clock, once: ReturnType<typeof warnOnce>): Clock {
  return () => {
    try {
      return new Date(millisecondsOf(now))
    } catch (error) {
      once(`now threw ${describeError(error)}: using the system clock instead`, 'OBSERVE_FAILED')
      return systemClock()
    }
  }
}

const ofPackage = /^\s+at .*[\\/]idv-webhooks[\\/]dist[\\/]/
// The calls of a handler and of `around`. An unminified bundle keeps their names, and has no folder.
const ofCall = /^\s+at (?:async )?(?:callWebhookHandler|runAround)\d* \(/
const ofNode = /^\s+at (?:.*\()?node:/

/** A whole error with its text and stack, for a developer's own machine, without our own frames. */
function inspectError(error: unknown): string {
  try {
    if (!(error instanceof Error)) return String(error)
    const { stack } = error
    if (typeof stack !== 'string') return String(error)
    let isBelow = false
    const kept = stack.split('\n').filter((line) => {
      isBelow = /^\s+at /.test(line) && (isBelow || ofCall.test(line))
      return !isBelow && !ofPackage.test(line)
    })
    const hasPlace = kept.some((line) => /^\s+at /.test(line) && !ofNode.test(line))
    return hasPlace ? kept.join('\n') : stack
  } catch {
    return 'unreadable'
  }
}

/** Milliseconds; a shorter wait is over before a developer has read of it. */
const minWait = 1_000

/** Warns of each dead letter and, in development, of each entry that waits for its next attempt. */
export function settledWarnings(): (seen: SettledObserved, place?: string) => void {
  const bounded = warnOnce('')
  return ({ state, entryId, name, reason, attempt, at, dueAt }, place = '') => {
    const what = name === undefined ? '' : ` ${printable(name)}`
    // The time and the counter of a UUIDv7. A place is printed if a shell reads it as it is.
    const inbox = /^\/[\w@+=:,./-]+$/.test(place) ? ` --inbox ${place}` : ''
    const run = (verb: string) => `npx idv-webhooks inbox ${verb} ${entryId.slice(0, 18)}${inbox}`
    const dead = `dead letter${what} (${reason}): ${run('show')}`
    if (state === 'dead') return warn(dead, 'DEAD_LETTER')
    if (state !== 'retry' || !dueAt || !isDevelopment()) return
    const wait = dueAt.getTime() - at.getTime()
    if (wait < minWait) return
    const due = `entry${what} failed at attempt ${attempt} and runs again in ${spanOf(wait)}, or now by`
    bounded(`${due} ${run('redrive')}`, 'RETRY_WAITS', `${entryId} ${attempt}`)
  }
}

/** "4 s", "1 min 40 s", "2 h 5 min". */
function spanOf(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)]
  const parts =
    hours > 0 ? [`${hours} h`, `${minutes} min`] : [`${minutes} min`, `${seconds % 60} s`]
  return parts.filter((part) => !part.startsWith('0 ')).join(' ')
}
