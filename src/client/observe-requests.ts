// Observations of the client's requests: never a key, a query, a body or personal data.
import { warn, warnIfItThrows } from '../foundation/warn.ts'
import type { RequestDetails } from './api-error.ts'

/** One attempt of one call; safe to log. */
export interface RequestObserved extends RequestDetails {
  readonly type: 'request'
  readonly at: Date
  readonly ok: boolean
  /** The duration of the attempt in milliseconds. */
  readonly ms: number
  readonly status?: number
  readonly code?: string
  /** Milliseconds until the retry. */
  readonly retryIn?: number
  /** Response fields that are not as documented; the response was used anyway. */
  readonly strange?: readonly string[]
}

/** The `observe` option of a client. */
export type ObserveRequests = (seen: RequestObserved) => void

/** The default observer: one process warning for each field that is not as documented. */
export function warnStrangeAnswers(): ObserveRequests {
  const warned = new Set<string>()
  return ({ endpoint, strange = [] }) => {
    const fresh = strange.filter((field) => !warned.has(`${endpoint} ${field}`))
    if (fresh.length === 0) return
    for (const field of fresh) warned.add(`${endpoint} ${field}`)
    warn(
      `the response of ${endpoint} is not as documented at ${fresh.join(', ')}; it was used anyway (shown once)`,
      'ANSWER_STRANGE',
    )
  }
}

/** Keeps an observer's own errors away from the call, async ones too. */
export function guardedObserver(observe: ObserveRequests): ObserveRequests {
  return (seen) => warnIfItThrows("the client's observe", () => observe(seen))
}
