// The options of createSandbox as a schema.
import * as z from 'zod'
import { longestTimer, shown, suggestion } from '../../../src/foundation/check.ts'
import type { Vendor } from '../../../src/protocol/vendor.ts'
import { vendorNames } from '../vendor.ts'
import { isSandboxTime, secret, subscriptionOption, text } from './control.ts'

const such = (holds: (value: unknown) => boolean, what: string) =>
  z.custom(holds, { error: ({ input }) => `must be ${what}, got ${shown(input)}` })

function isTime(now: unknown): boolean {
  const time: unknown = typeof now === 'function' ? now() : now
  if (!(time instanceof Date) && typeof time !== 'string') return false
  return isSandboxTime(new Date(time).getTime())
}

/** The sandbox makes no key pair of RSA. */
function isSignable(value: unknown): boolean {
  if (typeof value === 'string') return vendorNames.includes(value)
  const { scheme, fixtures } = (value ?? {}) as Partial<Vendor>
  return Array.isArray(fixtures) && scheme !== undefined && scheme.algorithm !== 'rs256'
}

const vendor = z.custom(isSignable, {
  error: ({ input }) => {
    const near = typeof input === 'string' ? suggestion(input, vendorNames) : ''
    return `must be one of vendors.*(), not with rs256, or a name of ${vendorNames.join(', ')}, got ${shown(input)}.${near}`
  },
})

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
    vendor,
    deliveryTimeout: z.int().min(1).max(longestTimer),
    hosts: z.array(text),
    fetch: such((value) => typeof value === 'function', 'a function, e.g. toFetch(receiver)'),
  })
  .partial()
