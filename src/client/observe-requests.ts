// What an operator may see of the client's requests: no key, no query, no body, nobody's data.
import { warn, warnIfItThrows } from '../warn.ts'
import type { RequestFacts } from './api-error.ts'

/** One attempt of one call; safe to log. */
export interface RequestObserved extends RequestFacts {
  readonly type: 'request'
  readonly at: Date
  readonly ok: boolean
  /** How long it took. */
  readonly ms: number
  readonly status?: number
  readonly code?: string
  /** Milliseconds until it is sent again. */
  readonly retryIn?: number
  /** Fields of the answer that are not as documented; it was taken all the same. */
  readonly strange?: readonly string[]
}

/** The `observe` option of a client. */
export type ObserveRequests = (seen: RequestObserved) => void

/** The default observer: a process warning for each field that is not as documented, once. */
export function warnStrangeAnswers(): ObserveRequests {
  const warned = new Set<string>()
  return ({ endpoint, strange = [] }) => {
    const fresh = strange.filter((field) => !warned.has(`${endpoint} ${field}`))
    if (fresh.length === 0) return
    for (const field of fresh) warned.add(`${endpoint} ${field}`)
    warn(
      `the answer of ${endpoint} is not as documented at ${fresh.join(', ')}; it was taken all the same (shown once)`,
      'IDV_ANSWER_STRANGE',
    )
  }
}

/** Keeps an observer's own faults away from the call, also those of an async one. */
export function guardedObserver(observe: ObserveRequests): ObserveRequests {
  return (seen) => warnIfItThrows("the client's observe", () => observe(seen))
}
