// Who gets in: the key, the plan, the subscription and the rate, in this order (sections 5 and 8).
// The result is the organization that every look-up is then bound to.
import { HttpError } from './http-error.ts'
import { rateOf } from './organizations.ts'
import type { RateVerdict } from './rate-limit.ts'
import type { Organization } from './schemas/snapshot.ts'
import type { State } from './state.ts'

/** Requests per minute for everybody; false for no limit; undefined for what each plan gives. */
export type RateOption = number | false | undefined

/** Returns the organization of a request, or throws its 401, 402, 403 or 429. */
export function authenticate(state: State, request: Request, rate: RateOption): Organization {
  const key = request.headers.get('x-api-key')
  const organization = key ? state.organizations.ofKey(key) : undefined
  if (!organization) throw new HttpError(401, 'Missing or invalid API key')
  if (organization.plan === 'Starter') throw new HttpError(403, 'The plan has no API access')
  if (!organization.subscriptionActive) throw new HttpError(402, 'The subscription is not active')
  const limit =
    rate !== undefined && organization.ratePerMinute === null ? rate : rateOf(organization)
  if (limit === false) return organization
  const verdict = state.takeRate(organization.id, limit)
  if (!verdict.allowed) throw rateLimited(verdict)
  return organization
}

/** 429 with the three headers of section 8. */
export function rateLimited({ limit, remaining, retryAfter }: Omit<RateVerdict, 'allowed'>) {
  return new HttpError(429, 'Too many requests', {
    headers: {
      'retry-after': String(retryAfter),
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
    },
  })
}
