// Who may call: the seeded organizations with their plans, and their API keys (section 5). A key
// is shown when it is made; afterwards only masked.
import { limits } from '../protocol/resources.ts'
import type { EngineRandom } from './ports.ts'
import { profile } from './profile.ts'

/** Sections 1 and 5: the three plans with API access, and any without. */
export const plans = ['Professional', 'Business', 'Enterprise', 'Starter'] as const
export type Plan = (typeof plans)[number]

export interface Organization {
  readonly id: string
  readonly name: string
  readonly requestorName: string
  readonly requestorEmail: string
  readonly plan: Plan
  /** Whether its subscription is paid; otherwise 402. */
  readonly subscriptionActive: boolean
  /** Requests per minute; null for what its plan gives. */
  readonly ratePerMinute: number | null
}

export interface ApiKey {
  readonly id: string
  readonly organizationId: string
  readonly key: string
  readonly active: boolean
  readonly createdAt: string
}

/** What of a key may be shown later on. */
export interface MaskedKey extends Omit<ApiKey, 'key'> {
  readonly key: string
  readonly plan: Plan
}

export interface Organizations {
  get(id: string): Organization | undefined
  list(): readonly Organization[]
  update(id: string, patch: Partial<Omit<Organization, 'id'>>): Organization | undefined
  /** The organization of a key that is active. */
  ofKey(key: string): Organization | undefined
  keys(): readonly MaskedKey[]
  generate(organizationId: string, now: Date): ApiKey
  /** A new key for the same organization; the old one stops at once. */
  rotate(id: string, now: Date): ApiKey | undefined
  revoke(id: string): MaskedKey | undefined
  load(saved: SavedOrganizations): void
  dump(): SavedOrganizations
}

export interface SavedOrganizations {
  readonly organizations: readonly Organization[]
  readonly keys: readonly ApiKey[]
}

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
  const key = (id: string, organization: string, active = true): ApiKey => ({
    id,
    organizationId: `org_${organization}`,
    key: `key_${id}`,
    active,
    createdAt,
  })
  const keys = [
    key('acme', 'acme'),
    key('globex', 'globex'),
    key('initech', 'initech'),
    key('noplan', 'hooli'),
    key('unpaid', 'umbrella'),
    key('limited', 'vandelay'),
    key('revoked', 'acme', false),
  ]
  return { organizations, keys }
}

function seeded(id: string, name: string, plan: Plan): Organization {
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

export function createOrganizations(
  saved: SavedOrganizations,
  random: EngineRandom,
): Organizations {
  const organizations = new Map<string, Organization>()
  const keys = new Map<string, ApiKey>()
  const byKey = new Map<string, ApiKey>()

  const put = (key: ApiKey): ApiKey => {
    keys.set(key.id, key)
    byKey.set(key.key, key)
    return key
  }
  const masked = (key: ApiKey): MaskedKey => ({
    ...key,
    key: mask(key.key),
    plan: organizations.get(key.organizationId)?.plan ?? 'Starter',
  })
  const generate = (organizationId: string, now: Date) => {
    const key = { id: random.uuid(), organizationId, key: `key_${random.token()}`, active: true }
    return put({ ...key, createdAt: now.toISOString() })
  }
  const load = (next: SavedOrganizations) => {
    for (const map of [organizations, keys, byKey]) map.clear()
    for (const one of next.organizations) organizations.set(one.id, one)
    for (const key of next.keys) put(key)
  }
  load(saved)

  return {
    get: (id) => organizations.get(id),
    list: () => [...organizations.values()],
    update(id, patch) {
      const organization = organizations.get(id)
      if (!organization) return undefined
      const next = { ...organization, ...patch }
      organizations.set(id, next)
      return next
    },
    ofKey(key) {
      const found = byKey.get(key)
      return found?.active ? organizations.get(found.organizationId) : undefined
    },
    keys: () => [...keys.values()].map(masked),
    generate,
    rotate(id, now) {
      const key = keys.get(id)
      if (!key?.active) return undefined
      put({ ...key, active: false })
      return generate(key.organizationId, now)
    },
    revoke(id) {
      const key = keys.get(id)
      return key && masked(put({ ...key, active: false }))
    },
    load,
    dump: () => ({ organizations: [...organizations.values()], keys: [...keys.values()] }),
  }
}

/** The ends of a secret, so that people can tell which one it is and nobody can use it. */
export function mask(secret: string): string {
  return secret.length > 12 ? `${secret.slice(0, 6)}…${secret.slice(-3)}` : `${secret.slice(0, 4)}…`
}
