// Who gets in: the key, the plan, the subscription and the rate, in this order (sections 5 and 8).
// What passes is the organisation that every look-up is then bound to.
import { type Organisation, rateOf } from './organisations.ts'
import { Refusal } from './refusal.ts'
import type { World } from './world.ts'

/** Requests per minute for everybody; false for no limit; undefined for what each plan gives. */
export type RateOption = number | false | undefined

/** Gives the organisation of a request, or throws the refusal 401, 402, 403 or 429. */
export function admitted(world: World, request: Request, rate: RateOption): Organisation {
  const key = request.headers.get('x-api-key')
  const organisation = key ? world.organisations.ofKey(key) : undefined
  if (!organisation) throw new Refusal(401, 'Missing or invalid API key')
  if (organisation.plan === 'Starter') throw new Refusal(403, 'The plan has no API access')
  if (!organisation.subscriptionActive) throw new Refusal(402, 'The subscription is not active')
  const limit =
    rate !== undefined && organisation.ratePerMinute === null ? rate : rateOf(organisation)
  if (limit === false) return organisation
  const verdict = world.takeRate(organisation.id, limit, world.clock.now())
  if (!verdict.allowed) throw rateLimited(verdict)
  return organisation
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
}): Refusal {
  return new Refusal(429, 'Too many requests', {
    headers: {
      'retry-after': String(retryAfter),
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
    },
  })
}
