// Observations of outcomes, attempts and failures: never data of an event, nor the text
// of an error that is not this package's own.

import type { VerifiedDelivery } from '../delivery.ts'
import type { HandlerFailure, HandlerReport } from '../dispatch/handler.ts'
import { isWebhookError, type OutcomeCode, type WebhookError } from '../errors.ts'
import { defined } from '../foundation/defined.ts'
import { errorsOf, type Outcome, type OutcomeKind } from '../outcome/outcome.ts'
import type { EventSource, WebhookEvent } from '../protocol/events.ts'
import { isLegacyName } from '../protocol/names.ts'
import type { Authenticity } from '../protocol/scheme-definition.ts'
import type { Diagnosis } from '../signature/diagnose.ts'

/** When it was over, when it began, and the milliseconds between. */
export interface Timed {
  readonly at: Date
  readonly startedAt: Date
  readonly duration: number
}

/**
 * The result of a delivery, timed from its arrival to its outcome; safe to log, because it holds no
 * data of the event.
 */
export interface OutcomeObserved extends Timed {
  readonly type: 'outcome'
  readonly kind: OutcomeKind
  readonly code?: OutcomeCode
  readonly message?: string
  /** The canonical name, and the name that arrived, if the delivery was parsed. */
  readonly name?: string
  readonly receivedName?: string
  /** The event came under a legacy name. */
  readonly legacy: boolean
  readonly eventId?: string
  readonly source?: EventSource
  readonly vendor?: string
  /** The proof of origin: `signature`, `timestamp`, `token` or `ip`. */
  readonly authenticity?: Authenticity
  readonly secretId?: string
  readonly tenant?: string
  readonly conflict?: true
  readonly bytes: number
  /** The errors that handlers threw. They may hold the event's data, so this is not enumerable. */
  readonly errors: readonly HandlerFailure[]
  diagnose(): Promise<Diagnosis | undefined>
}

/** One run of one handler. */
export interface AttemptObserved extends Timed {
  readonly type: 'attempt'
  readonly name: string
  readonly eventId?: string
  readonly vendor?: string
  /** The proof of origin: `signature`, `timestamp`, `token` or `ip`. */
  readonly authenticity?: Authenticity
  readonly tenant?: string
  readonly handler: string
  readonly attempt: number
  readonly ok: boolean
  /** Milliseconds from the occurrence of the event to this success; replays have none. */
  readonly lag?: number
  readonly code?: HandlerFailure['code']
  /** Class and place of the error that the handler threw, without its text. */
  readonly error?: string
  /** With an inbox: the entry that was handled. */
  readonly entryId?: string
}

/**
 * With an inbox: the result of one attempt at an entry, timed from its claim. If a crash ended the
 * attempt, its start is unknown.
 */
export interface SettledObserved extends Partial<Timed> {
  readonly type: 'settled'
  readonly at: Date
  readonly entryId: string
  /** `released` by a drain, or into its own lane once it can be read; `lost` when another held it. */
  readonly state: 'done' | 'retry' | 'dead' | 'skipped' | 'released' | 'lost'
  readonly attempt: number
  readonly name?: string
  readonly reason?: string
  /** When the next attempt of a `retry` is due; later events of the same entity wait for it. */
  readonly dueAt?: Date
  /** Milliseconds since it was kept. */
  readonly age: number
}

/** With a worker: an operator changed entries by the methods of this process's inbox. */
export interface OperatedObserved extends Timed {
  readonly type: 'operated'
  readonly asked: 'redrive' | 'replay' | 'dismiss' | 'forget'
  /** The number of changed entries. */
  readonly entries: number
  /** The entry, if the request named one. */
  readonly entryId?: string
}

/** With a worker: nothing came for much longer than usual. */
export interface SilenceObserved extends Timed {
  readonly type: 'silence'
  /** When the last delivery came. */
  readonly since: Date
  /** The median gap before, in milliseconds. */
  readonly usual: number
}

/** With a worker: the store did not do what the worker asked; the worker tries again. */
export interface StoreObserved extends Timed {
  readonly type: 'store'
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

/**
 * The `observe` option. The receiver does not wait for a promise that it returns, but hosts that stop
 * after the reply stay awake for it.
 */
export type Observe = (seen: Observation) => void

/** The times of what ended at `at`. */
export function timed(at: Date, duration: number): Timed {
  return { at, startedAt: new Date(at.getTime() - duration), duration }
}

/** Details of an observation beside the outcome. */
export interface OutcomeDetails extends Timed {
  readonly bytes: number
  readonly event: WebhookEvent | undefined
}

/** An outcome as observers see it. What may hold the event's data cannot be enumerated. */
export class SeenOutcome implements OutcomeObserved {
  readonly type = 'outcome'
  readonly at: Date
  readonly startedAt: Date
  readonly duration: number
  readonly kind: OutcomeKind
  declare readonly code?: OutcomeCode
  declare readonly message?: string
  declare readonly name?: string
  declare readonly receivedName?: string
  declare readonly source?: EventSource
  declare readonly eventId?: string
  readonly legacy: boolean
  declare readonly vendor?: string
  declare readonly authenticity?: Authenticity
  declare readonly secretId?: string
  declare readonly tenant?: string
  declare readonly conflict?: true
  readonly bytes: number
  readonly #outcome: Outcome

  constructor(outcome: Outcome, { at, startedAt, duration, bytes, event }: OutcomeDetails) {
    const { kind, authenticity, secretId, tenant } = outcome
    this.at = at
    this.startedAt = startedAt
    this.duration = duration
    this.kind = kind
    if ('code' in outcome) this.code = outcome.code
    if ('message' in outcome && outcome.message !== undefined) this.message = outcome.message
    if (event) {
      this.name = observedName(event.name, event.known)
      this.receivedName = observedName(event.receivedName, event.known)
      this.source = event.source
      if (event.id !== undefined) this.eventId = event.id
      if (event.vendor !== undefined) this.vendor = event.vendor
    }
    this.legacy = event !== undefined && isLegacyName(event.receivedName)
    if (authenticity !== undefined) this.authenticity = authenticity
    if (secretId !== undefined) this.secretId = secretId
    if (tenant !== undefined) this.tenant = tenant
    if ('conflict' in outcome && outcome.conflict) this.conflict = outcome.conflict
    this.bytes = bytes
    this.#outcome = outcome
  }

  get errors(): readonly HandlerFailure[] {
    return errorsOf(this.#outcome)
  }

  /** A getter, so that callers may detach the function. */
  get diagnose(): OutcomeObserved['diagnose'] {
    const outcome = this.#outcome
    return async () => ('diagnose' in outcome ? outcome.diagnose() : undefined)
  }
}

/** Details of an observation beside the report of the attempt. */
export interface AttemptDetails extends Timed {
  readonly event: WebhookEvent
  readonly delivery: Pick<VerifiedDelivery, 'tenant' | 'authenticity'>
  readonly attempt: number
  readonly entryId: string | undefined
}

/** One run of one handler as observers see it. */
export function attemptObserved(
  report: HandlerReport,
  { at, startedAt, duration, event, delivery, attempt, entryId }: AttemptDetails,
): AttemptObserved {
  return defined({
    type: 'attempt' as const,
    at,
    startedAt,
    duration,
    name: observedName(event.name, event.known),
    eventId: event.id,
    vendor: event.vendor,
    authenticity: delivery.authenticity,
    tenant: delivery.tenant,
    entryId,
    handler: report.handler,
    attempt,
    ok: report.ok,
    lag: report.ok ? lagOf(event, at) : undefined,
    code: report.ok ? undefined : report.code,
    error: report.ok ? undefined : describeError(report.error),
  })
}

function lagOf({ occurredAt, source }: WebhookEvent, at: Date): number | undefined {
  if (!occurredAt || source === 'replay') return undefined
  return Math.max(0, at.getTime() - occurredAt.getTime())
}

/** Returns the name that observers may see: a person's name is not an event's name. */
export function observedName(name: string, known: boolean): string {
  return known || /^(?=.{1,100}$)[a-z][\w-]*(?:\.[\w-]+)+$/i.test(name) ? name : unrecognised
}

const unrecognised = '(unrecognised)'

/** Texts of a sender are cut at this length. */
export const longestText = 320

/** Control, format and bidi characters, which a terminal would obey. */
export const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
export const escaped = (letter: string) =>
  Array.from({ length: letter.length }, (_, at) => {
    return `\\u${letter.charCodeAt(at).toString(16).padStart(4, '0')}`
  }).join('')

/** Cuts a text, and removes characters that control a terminal. */
export const printable = (text: string) => text.slice(0, longestText).replace(unprintable, escaped)

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
    // A handler may throw a revoked proxy, or an object whose getter throws.
    return 'unreadable'
  }
}

/** The name of its class, or a name that ends as names of errors do: others may be data. */
function nameOf(error: Error): string {
  const { name } = error
  if (typeof name !== 'string' || !className.test(name)) return 'Error'
  return name === error.constructor.name || /(?:Error|Exception)$/.test(name) ? name : 'Error'
}

const className = /^[A-Za-z_$][\w$]{0,60}$/
/** Matches a line of a stack as V8 writes it, and no text of a message. */
const frame =
  /^at (?:async )?(?:[\w.$<>[\] #]{1,80} )?\(?(?:file:\/\/|node:|\/|[A-Za-z]:[\\/]|webpack)[^\s()]{1,160}:\d+:\d+\)?$/

const stackHead = /^[\w$.]{1,80}(?: \[\w{1,60}\])?(?:: |(?=\n|$))/

/** Frames of this package and of Node: a driver's error passes through them. */
const inside = /[\\/]idv-webhooks[\\/]dist[\\/]|[ (]node:/

/**
 * The place where the error was thrown, in the application if the stack has a frame of it. A stack
 * begins with the message, which is removed first.
 */
function frameOf({ stack, message }: Error): string | undefined {
  if (typeof stack !== 'string' || typeof message !== 'string') return undefined
  const head = stackHead.exec(stack)?.[0]
  if (head === undefined || !stack.startsWith(message, head.length)) return undefined
  const lines = stack.slice(head.length + message.length).split('\n', 20)
  const frames = lines
    .map((line) => line.trim())
    .filter((line) => line.length <= 240 && frame.test(line))
  return frames.find((line) => !inside.test(line)) ?? frames[0]
}

/** Our messages quote the value that was refused last, and a handler may have passed data. */
function withoutValue({ reason }: WebhookError): string {
  return reason.replace(/got string '[\s\S]*$/, 'got a string')
}

/** False for an error that user code derived from ours: its text is unknown. */
function isOurs(error: Error): error is WebhookError {
  // The class is found by its prototypes, because bundlers rename classes.
  const parent: unknown = Object.getPrototypeOf(Object.getPrototypeOf(error))
  return isWebhookError(error) && parent === Error.prototype
}
