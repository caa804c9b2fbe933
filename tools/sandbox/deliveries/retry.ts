// When a delivery that did not arrive is tried again: never before its backoff, later where the
// answer asks for that.
import type { Vendor } from '../../../src/protocol/vendor.ts'
import { profile } from '../profile.ts'
import type { Attempt } from '../schemas/deliveries.ts'

const { retryDelaysSeconds, retryAfterMaxSeconds } = profile.delivery

/** Seconds between attempts: the vendor's, where its documents tell them. */
export function retryDelays(vendor: Vendor | undefined): readonly number[] {
  const delays = vendor?.delivery.retries
  return delays ? delays.map((milliseconds) => milliseconds / 1000) : retryDelaysSeconds
}

/** Whether an answer ends a delivery: some vendors take 200 alone for that. */
export function isSuccess(status: number, vendor: Vendor | undefined): boolean {
  return vendor?.delivery.success === 200 ? status === 200 : status >= 200 && status < 300
}

/** Seconds until the next attempt; undefined when the retries are spent. */
export function waitAfter(
  attempts: readonly Attempt[],
  realTime: () => Date,
  delays: readonly number[] = retryDelaysSeconds,
): number | undefined {
  const backoff = delays[attempts.length - 1]
  const last = attempts.at(-1)
  if (backoff === undefined || !last) return undefined
  return Math.max(backoff, asked(last, realTime) ?? 0)
}

/**
 * Seconds that an answer asks to wait, capped. A date is compared with the answer's own Date: the
 * receiver knows nothing of the sandbox's clock.
 */
function asked({ response }: Attempt, realTime: () => Date): number | undefined {
  const header = (wanted: string) =>
    response?.headers.find(([name]) => name.toLowerCase() === wanted)?.[1]
  const value = header('retry-after')
  if (value === undefined) return undefined
  if (/^\d+$/.test(value)) return Math.min(Number(value), retryAfterMaxSeconds)
  const answered = Date.parse(header('date') ?? '')
  const from = Number.isNaN(answered) ? realTime().getTime() : answered
  const seconds = (Date.parse(value) - from) / 1000
  return Number.isNaN(seconds) ? undefined : Math.min(seconds, retryAfterMaxSeconds)
}
