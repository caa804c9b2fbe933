// The values that the service's document does not show, decided in this file only; assumptions.ts
// states them in sentences.
import { schemes } from '../../src/protocol/scheme.ts'

export const profile = {
  /** The receiver's default scheme (section 6, rules 1 and 4). */
  scheme: schemes.service(),
  delivery: {
    timeoutMs: 10_000,
    /** The number of one subscription's deliveries that may be in flight at once. */
    concurrency: 8,
    /** Seconds before the second, third, … attempt. */
    retryDelaysSeconds: [5, 30, 120, 600, 3600, 21_600, 86_400],
    /** A longer `Retry-After` is cut to this. */
    retryAfterMaxSeconds: 86_400,
  },
  /** Seconds for which the old secret signs beside the new one after a rotation. */
  rotationOverlapSeconds: 86_400,
  rate: {
    windowSeconds: 60,
    /** Section 8 leaves the Enterprise figure to an agreement; this is the sandbox's. */
    enterprisePerMinute: 1000,
  },
  /** Bytes of a request body beyond which the answer is 413 (section 8: not shown). */
  maxBodyBytes: 1_048_576,
} as const
