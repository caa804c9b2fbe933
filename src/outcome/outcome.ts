// Outcomes of deliveries, as values.
import type { HandlerFailure, HandlerReport } from '../dispatch/handler.ts'
import type { FailedCode, OutcomeCode, RejectedCode } from '../errors.ts'
import type { Issue, WebhookEvent } from '../protocol/events.ts'
import type { Authenticity } from '../protocol/scheme-definition.ts'
import type { Diagnosis } from '../signature/diagnose.ts'
import type { Refusal } from '../signature/refused.ts'
import { isFailedCode } from './table.ts'

/** The secret that verified the delivery, and the tenant that the secret names. */
interface Proved {
  /** A signature, or no more than a shared token or an address. */
  readonly authenticity?: Authenticity
  readonly secretId?: string
  readonly tenant?: string
}

interface Understood extends Proved {
  readonly event: WebhookEvent
}

/** The result of a delivery; `kind` is literal, and so is the `code` of a refusal or failure. */
export type Outcome =
  | ({ readonly kind: 'handled' } & Understood)
  | ({ readonly kind: 'ignored' } & Understood)
  | ({ readonly kind: 'accepted'; readonly entryId: string } & Proved)
  | ({
      readonly kind: 'duplicate'
      readonly entryId: string
      /**
       * The key was kept before with other bytes: this delivery is kept as evidence and not run.
       */
      readonly conflict?: true
    } & Proved)
  | ({
      readonly kind: 'rejected'
      readonly code: RejectedCode
      /** Names the value of the header that was rejected, for the sender too. */
      readonly message?: string
      readonly issues?: readonly Issue[]
      /** For the operator, never the sender: the proved cause, if there is one. */
      diagnose(): Promise<Diagnosis | undefined>
    } & Proved)
  | ({
      readonly kind: 'failed'
      readonly code: FailedCode
      /** The fix, for the operator. */
      readonly message?: string
      /** Every handler that failed, in the order in which they ran. */
      readonly errors?: readonly HandlerFailure[]
      /** The cause on our side: the look-up of secrets, or the store. */
      readonly error?: unknown
      readonly event?: WebhookEvent
    } & Proved)

export type OutcomeKind = Outcome['kind']

/** Everything that was thrown on our side. */
export function errorsOf(outcome: Outcome): readonly HandlerFailure[] {
  if (outcome.kind !== 'failed') return []
  if (outcome.errors) return outcome.errors
  if (outcome.error === undefined) return []
  return [{ handler: 'receiver', code: 'HANDLER_FAILED' as const, error: outcome.error }]
}

export const noDiagnosis = async () => undefined

/** An outcome that only has a code. */
export function refusal(code: OutcomeCode, message?: string): Outcome {
  if (!isFailedCode(code)) return { kind: 'rejected', code, diagnose: noDiagnosis }
  return message === undefined ? { kind: 'failed', code } : { kind: 'failed', code, message }
}

/** The outcome of a delivery that was not proved. */
export function proofRefused(refused: Refusal): Outcome {
  const { code, error } = refused
  if (code !== 'SECRET_UNAVAILABLE') {
    return { kind: 'rejected', code, diagnose: () => refused.diagnose() }
  }
  return { kind: 'failed', code, message: 'the look-up of secrets failed', error }
}

/** The outcome of an event whose handlers ran. */
export function attempted(event: WebhookEvent, reports: readonly HandlerReport[]): Outcome {
  const errors: HandlerFailure[] = []
  for (const report of reports) if (!report.ok) errors.push(report)
  if (errors.length === 0) return { kind: 'handled', event }
  return { kind: 'failed', code: codeOf(errors), errors, event }
}

/** The outcome of a delivery with several events: a failed one if there is one, else the first. */
export function joinedOutcome(outcomes: readonly Outcome[]): Outcome {
  const failed = outcomes.filter((one) => one.kind === 'failed')
  const [first] = failed
  if (!first) return outcomes.find(({ kind }) => kind === 'handled') ?? (outcomes[0] as Outcome)
  return { ...first, code: codeOf(failed), errors: failed.flatMap(errorsOf) }
}

/** A timeout is named only if nothing worse happened. */
function codeOf(errors: readonly { readonly code: FailedCode }[]): FailedCode {
  const order: readonly FailedCode[] = ['HANDLER_FAILED', 'HANDLER_TIMEOUT', 'DRAINING']
  return order.find((code) => errors.some((one) => one.code === code)) ?? 'HANDLER_FAILED'
}
