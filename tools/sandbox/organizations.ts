// The organizations that may call, and how often: seeded plans, API keys (section 5) and rate
// windows (section 8). A key is shown when it is made; afterwards it is masked.

import { limits } from '../../src/protocol/resources.ts'
import { maskSecret } from '../../src/redaction/redact.ts'
import { profile } from './profile.ts'
import type { SeededRandom } from './random.ts'
import type { ApiKey, Organization, PlanName, Snapshot } from './schemas/snapshot.ts'

type MaskedKey = ApiKey & { readonly plan: PlanName }

export type SavedOrganizations = Pick<Snapshot['state'], 'organizations' | 'keys' | 'rates'>

export interface RateVerdict {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Whole seconds until the window resets, at least 1. */
  readonly retryAfter: number
}

const windowMs = profile.rate.windowSeconds * 1000

/** Requests per minute that an organization has by its plan or its agreement (section 8). */
export function rateOf({ plan, ratePerMinute }: Organization): number {
  if (ratePerMinute !== null) return ratePerMinute
  return plan === 'Enterprise' ? profile.rate.enterprisePerMinute : limits.ratePerMinute
}

/** The seeded organizations and keys; `key_limited` always gets 429. */
export function seededOrganizations(now: Date): SavedOrganizations {
  const createdAt = now.toISOString()
  const organizations = [
    seeded('acme', 'Acme', 'Professional'),
    seeded('globex', 'Globex', 'Business'),
    seeded('initech', 'Initech', 'Enterprise'),
    seeded('hooli', 'Hooli', 'Starter'),
    { ...seeded('umbrella', 'Umbrella', 'Professional'), subscriptionActive: false },
    { ...seeded('vandelay', 'Vandelay', 'Professional'), ratePerMinute: 0 },
  ]
  const keys = magicKeys.map(({ key, owner }) => {
    const active = key !== 'key_revoked'
    return { id: key.slice(4), organizationId: `org_${owner}`, key, active, createdAt }
  })
  return { organizations, keys, rates: {} }
}

function seeded(id: string, name: string, plan: PlanName): Organization {
  return {
    id: `org_${id}`,
    name,
    requestorName: `${name} Onboarding`,
    requestorEmail: `onboarding@${id}.example`,
    plan,
    subscriptionActive: true,
    ratePerMinute: null,
  }
}

/** The seeded API keys: the organization of each, and its answer (sections 5 and 8). */
export const magicKeys = [
  { key: 'key_acme', owner: 'acme', effect: 'Acme, Professional plan' },
  { key: 'key_globex', owner: 'globex', effect: 'Globex, Business plan' },
  { key: 'key_initech', owner: 'initech', effect: 'Initech, Enterprise plan' },
  { key: 'key_noplan', owner: 'hooli', effect: '403 FORBIDDEN' },
  { key: 'key_unpaid', owner: 'umbrella', effect: '402 PAYMENT_REQUIRED' },
  { key: 'key_limited', owner: 'vandelay', effect: '429 RATE_LIMITED' },
  { key: 'key_revoked', owner: 'acme', effect: '401 UNAUTHORIZED' },
] as const

export class Organizations {
  readonly #random: SeededRandom
  readonly #organizations = new Map<string, Organization>()
  readonly #keys = new Map<string, ApiKey>()
  #rates: SavedOrganizations['rates'] = {}

  constructor(random: SeededRandom) {
    this.#random = random
  }

  get(id: string): Organization | undefined {
    return this.#organizations.get(id)
  }

  list(): Organization[] {
    return [...this.#organizations.values()]
  }

  update(id: string, patch: Partial<Organization>): Organization | undefined {
    const organization = this.#organizations.get(id)
    if (!organization) return undefined
    const next = { ...organization, ...patch, id }
    this.#organizations.set(id, next)
    return next
  }

  ofKey(key: string): Organization | undefined {
    const found = this.#list().find((one) => one.key === key && one.active)
    return found && this.get(found.organizationId)
  }

  keys(): MaskedKey[] {
    return this.#list().map((key) => this.#masked(key))
  }

  generate(organizationId: string, now: Date): ApiKey {
    const key = `key_${this.#random.token()}`
    const createdAt = now.toISOString()
    return this.#put({ id: this.#random.uuid(), organizationId, key, active: true, createdAt })
  }

  /** Makes a new key for the same organization; the old key stops at once. */
  rotate(id: string, now: Date): ApiKey | undefined {
    const key = this.#keys.get(id)
    if (!key?.active) return undefined
    this.#put({ ...key, active: false })
    return this.generate(key.organizationId, now)
  }

  revoke(id: string): MaskedKey | undefined {
    const key = this.#keys.get(id)
    return key && this.#masked(this.#put({ ...key, active: false }))
  }

  /** Counts a request against the fixed window of section 8; refused requests do not count. */
  takeRate(id: string, limit: number, now: Date): RateVerdict {
    const time = now.getTime()
    const window = this.#rates[id]
    // A clock that was set back must not leave a window that ends far in the future.
    const isFresh = !window || time >= window[0] + windowMs || time < window[0]
    const [start, used] = isFresh ? [time, 0] : window
    const allowed = used < limit
    this.#rates[id] = [start, allowed ? used + 1 : used]
    const retryAfter = Math.max(1, Math.ceil((start + windowMs - time) / 1000))
    return { allowed, limit, remaining: Math.max(0, limit - used - 1), retryAfter }
  }

  load({ organizations, keys, rates }: SavedOrganizations): void {
    this.#rates = { ...rates }
    for (const map of [this.#organizations, this.#keys]) map.clear()
    for (const one of organizations) this.#organizations.set(one.id, one)
    for (const key of keys) this.#put(key)
  }

  dump(): SavedOrganizations {
    return { organizations: this.list(), keys: this.#list(), rates: { ...this.#rates } }
  }

  #list(): ApiKey[] {
    return [...this.#keys.values()]
  }

  #put(key: ApiKey): ApiKey {
    this.#keys.set(key.id, key)
    return key
  }

  #masked(key: ApiKey): MaskedKey {
    const plan = this.get(key.organizationId)?.plan ?? 'Starter'
    return { ...key, key: maskSecret(key.key), plan }
  }
}
