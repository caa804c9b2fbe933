// The event names of the service (section 6) and the only file that spells a legacy name.

/** The nine event names (section 6). */
export const eventNames = [
  'verification.created',
  'verification.submitted',
  'verification.approved',
  'verification.rejected',
  'verification.canceled',
  'verification.expired',
  'client.created',
  'client.updated',
  'client.deleted',
] as const

/** The six older names that `verification.*` replaced (section 6, rule 2; section 9). */
export const legacyNames = [
  'request.created',
  'request.submitted',
  'request.approved',
  'request.rejected',
  'request.canceled',
  'request.expired',
] as const

/** The event of a probe by `idv-webhooks doctor`: it is proved and answered, never kept or handled. */
export const probeName = 'idv-webhooks.doctor'
/**
 * The user agent of doctor's probes. It only suppresses a warning, so a forged one does no harm.
 */
export const probeAgent = 'idv-webhooks-doctor'

/** The two families of events, as patterns. */
export const families = ['verification.*', 'client.*'] as const

/** The family pattern that `verification.*` replaced. */
export const legacyFamily = 'request.*'

export type EventName = (typeof eventNames)[number]
export type LegacyName = (typeof legacyNames)[number]
export type EventFamily = (typeof families)[number]
export type LegacyFamily = typeof legacyFamily
export type EntityType = 'verification' | 'client'

/** The canonical name of a legacy name. */
export type CanonicalName<Name extends string> = Name extends `request.${infer Rest}`
  ? Name extends LegacyName | LegacyFamily
    ? `verification.${Rest}`
    : Name
  : Name

const known: ReadonlySet<string> = /* @__PURE__ */ new Set(eventNames)
const canonical: ReadonlyMap<string, string> = /* @__PURE__ */ (() =>
  new Map(
    [...legacyNames, legacyFamily].map((name) => [name, name.replace('request.', 'verification.')]),
  ))()

/**
 * The canonical form of an event name or filter; other names are returned unchanged.
 *
 * @example canonicalName('request.approved') // 'verification.approved'
 */
export function canonicalName<const Name extends string>(name: Name): CanonicalName<Name> {
  return (canonical.get(name) ?? name) as CanonicalName<Name>
}

/** Tells one of the nine event names. */
export function isEventName(name: string): name is EventName {
  return known.has(name)
}

/** Tells one of the six legacy names, or the legacy family. */
export function isLegacyName(name: string): name is LegacyName | LegacyFamily {
  return canonical.has(name)
}

/** The legacy name of a canonical name, if it has one. */
export function legacyNameOf(name: string): LegacyName | undefined {
  return legacyNames.find((legacy) => canonical.get(legacy) === name)
}

const repeated: ReadonlySet<string> = new Set<EventName>(['client.updated'])

/** Tells an event that happens once to its resource, as a rule (sections 3 and 6). */
export function happensOnce(name: string): boolean {
  return known.has(name) && !repeated.has(name)
}

const first: ReadonlySet<string> = new Set<EventName>(['verification.created', 'client.created'])

/** Tells an event that can happen again: the document shows no transitions (section 3). */
export function canRecur(name: string): boolean {
  return known.has(name) && !first.has(name)
}

/** The events that decide a verification (section 3: the terminal statuses). */
export const decisionNames = [
  'verification.approved',
  'verification.rejected',
  'verification.canceled',
  'verification.expired',
] as const satisfies readonly EventName[]

export type DecisionName = (typeof decisionNames)[number]

/** Tells an event that decides a verification. */
export function isDecision(name: string): name is DecisionName {
  return (decisionNames as readonly string[]).includes(name)
}

/** The name to register with `on` for decisions that replace another. */
export const reversalName = 'verification.reversed'
export type ReversalName = typeof reversalName

/** Tells an event that ends the life of its resource (section 3): no later event changes it. */
export function isFinal(name: string): boolean {
  return isDecision(name) || name === 'client.deleted'
}

/** Tells whether a pattern (a name, a family or `*`) covers a canonical event name. */
export function covers(pattern: string, name: string): boolean {
  return (
    pattern === '*' ||
    pattern === name ||
    (pattern.endsWith('.*') && name.startsWith(pattern.slice(0, -1)))
  )
}

/**
 * The event filters of a subscription in canonical form, without duplicates, in their order.
 *
 * @example migrateFilters(['request.*', 'client.created']) // ['verification.*', 'client.created']
 */
export function migrateFilters(filters: readonly string[]): string[] {
  return [...new Set(filters.map((filter) => canonicalName(filter)))]
}
