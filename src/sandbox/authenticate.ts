// Who gets in: the key, the plan, the subscription and the rate, in this order (sections 5 and 8).
// What passes is the organization that every look-up is then bound to.

import { HttpError } from './http-error.ts'
import { type Organization, rateOf } from './organizations.ts'
import type { World } from './state.ts'

/** Requests per minute for everybody; false for no limit; undefined for what each plan gives. */
export type RateOption = number | false | undefined

/** Gives the organization of a request, or throws the refusal 401, 402, 403 or 429. */
export function admitted(world: World, request: Request, rate: RateOption): Organization {
  const key = request.headers.get('x-api-key')
  const organization = key ? world.organizations.ofKey(key) : undefined
  if (!organization) throw new HttpError(401, 'Missing or invalid API key')
  if (organization.plan === 'Starter') throw new HttpError(403, 'The plan has no API access')
  if (!organization.subscriptionActive) throw new HttpError(402, 'The subscription is not active')
  const limit =
    rate !== undefined && organization.ratePerMinute === null ? rate : rateOf(organization)
  if (limit === false) return organization
  const verdict = world.takeRate(organization.id, limit, world.clock.now())
  if (!verdict.allowed) throw rateLimited(verdict)
  return organization
}

/** 429 with the three headers of section 8. */
export function rateLimited({
  limit,
  remaining,
  retryAfter,
}: {
  readonly limit: number
  readonly remaining: number
  readonly retryAfter: number
}): HttpError {
  return new HttpError(429, 'Too many requests', {
    headers: {
      'retry-after': String(retryAfter),
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
    },
  })
}
