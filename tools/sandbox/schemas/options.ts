// The options of createSandbox as a schema.
import * as z from 'zod'
import { longestTimer, shown } from '../../../src/foundation/check.ts'
import type { Vendor } from '../../../src/protocol/vendor.ts'
import { isPublicKey } from '../../../src/signature/hmac/hmac.ts'
import { isSandboxTime, secret, subscriptionOption, text } from './control.ts'

const such = (holds: (value: unknown) => boolean, what: string) =>
  z.custom(holds, { error: ({ input }) => `must be ${what}, got ${shown(input)}` })

function isTime(now: unknown): boolean {
  const time: unknown = typeof now === 'function' ? now() : now
  if (!(time instanceof Date) && typeof time !== 'string') return false
  return isSandboxTime(new Date(time).getTime())
}

/** The sandbox has no private key of a vendor. */
function isSignable(value: unknown): boolean {
  const { scheme, fixtures } = (value ?? {}) as Partial<Vendor>
  return Array.isArray(fixtures) && scheme !== undefined && !isPublicKey(scheme.algorithm)
}

const limit = z.union([z.int().min(0), z.literal(false)], {
  error: 'must be a whole number, 0 or more, or false',
})

export const optionsSchema = z
  .object({
    seed: z.union([z.string(), z.number()], { error: 'must be a string or a finite number' }),
    now: such(
      isTime,
      'a Date, an ISO 8601 string or a function returning a Date, from 1970 to 9000',
    ),
    data: text,
    secret,
    subscriptions: z.array(subscriptionOption),
    rateLimit: limit,
    vendor: such(
      isSignable,
      'one of vendors.*() that signs with a shared secret, or signs nothing',
    ),
    deliveryTimeout: z.int().min(1).max(longestTimer),
    hosts: z.array(text),
    fetch: such((value) => typeof value === 'function', 'a function, e.g. toFetch(receiver)'),
  })
  .partial()
