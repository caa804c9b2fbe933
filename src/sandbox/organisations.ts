// Who may call: the seeded organisations with their plans, and their API keys (section 5). A key
// is shown when it is made; afterwards only masked.
import { limits } from '../protocol/resources.ts'
import type { EngineRandom } from './engine.ts'
import { profile } from './profile.ts'

/** Sections 1 and 5: the three plans with API access, and any without. */
export const plans = ['Professional', 'Business', 'Enterprise', 'Starter'] as const
export type Plan = (typeof plans)[number]

export interface Organisation {
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
  readonly organisationId: string
  readonly key: string
  readonly active: boolean
  readonly createdAt: string
}

/** What of a key may be shown later on. */
export interface MaskedKey extends Omit<ApiKey, 'key'> {
  readonly key: string
  readonly plan: Plan
}

export interface Organisations {
  get(id: string): Organisation | undefined
  list(): readonly Organisation[]
  update(id: string, patch: Partial<Omit<Organisation, 'id'>>): Organisation | undefined
  /** The organisation of a key that is active. */
  ofKey(key: string): Organisation | undefined
  keys(): readonly MaskedKey[]
  generate(organisationId: string, now: Date): ApiKey
  /** A new key for the same organisation; the old one stops at once. */
  rotate(id: string, now: Date): ApiKey | undefined
  revoke(id: string): MaskedKey | undefined
  load(saved: SavedOrganisations): void
  dump(): SavedOrganisations
}

export interface SavedOrganisations {
  readonly organisations: readonly Organisation[]
  readonly keys: readonly ApiKey[]
}

/** Requests per minute that an organisation has by its plan or its agreement (section 8). */
export function rateOf({ plan, ratePerMinute }: Organisation): number {
  if (ratePerMinute !== null) return ratePerMinute
  return plan === 'Enterprise' ? profile.rate.enterprisePerMinute : limits.ratePerMinute
}

/** The seeded organisations and keys; `key_limited` always gets 429. */
export function seededOrganisations(now: Date): SavedOrganisations {
  const createdAt = now.toISOString()
  const organisations = [
    seeded('acme', 'Acme', 'Professional'),
    seeded('globex', 'Globex', 'Business'),
    seeded('initech', 'Initech', 'Enterprise'),
    seeded('hooli', 'Hooli', 'Starter'),
    { ...seeded('umbrella', 'Umbrella', 'Professional'), subscriptionActive: false },
    { ...seeded('vandelay', 'Vandelay', 'Professional'), ratePerMinute: 0 },
  ]
  const key = (id: string, organisation: string, active = true): ApiKey => ({
    id,
    organisationId: `org_${organisation}`,
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
  return { organisations, keys }
}

function seeded(id: string, name: string, plan: Plan): Organisation {
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

export function createOrganisations(
  saved: SavedOrganisations,
  random: EngineRandom,
): Organisations {
  const organisations = new Map<string, Organisation>()
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
    plan: organisations.get(key.organisationId)?.plan ?? 'Starter',
  })
  const generate = (organisationId: string, now: Date) => {
    const key = { id: random.uuid(), organisationId, key: `key_${random.token()}`, active: true }
    return put({ ...key, createdAt: now.toISOString() })
  }
  const load = (next: SavedOrganisations) => {
    for (const map of [organisations, keys, byKey]) map.clear()
    for (const one of next.organisations) organisations.set(one.id, one)
    for (const key of next.keys) put(key)
  }
  load(saved)

  return {
    get: (id) => organisations.get(id),
    list: () => [...organisations.values()],
    update(id, patch) {
      const organisation = organisations.get(id)
      if (!organisation) return undefined
      const next = { ...organisation, ...patch }
      organisations.set(id, next)
      return next
    },
    ofKey(key) {
      const found = byKey.get(key)
      return found?.active ? organisations.get(found.organisationId) : undefined
    },
    keys: () => [...keys.values()].map(masked),
    generate,
    rotate(id, now) {
      const key = keys.get(id)
      if (!key?.active) return undefined
      put({ ...key, active: false })
      return generate(key.organisationId, now)
    },
    revoke(id) {
      const key = keys.get(id)
      return key && masked(put({ ...key, active: false }))
    },
    load,
    dump: () => ({ organisations: [...organisations.values()], keys: [...keys.values()] }),
  }
}

/** The ends of a secret, so that people can tell which one it is and nobody can use it. */
export function mask(secret: string): string {
  return secret.length > 12 ? `${secret.slice(0, 6)}…${secret.slice(-3)}` : `${secret.slice(0, 4)}…`
}
