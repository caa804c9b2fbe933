// The plan for subscriptions with legacy filters: what replaces each, and in which order.
import { migrateFilters } from '../../../../src/protocol/index.ts'
import { CliError } from '../../exit-code.ts'
import { legacyPrefix, replacementOf } from '../legacy.ts'

/** A subscription, as exports and services list it. */
export interface Subscription {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly active: boolean
  readonly secret?: string
  /** Every other field, such as its organization; a replacement gets the same ones. */
  readonly others?: Readonly<Record<string, unknown>>
}

/** The plan for one subscription. */
export interface Planned {
  readonly subscription: Subscription
  /**
   * `current` needs no change; `recreate` gets a replacement beside it; `covered` already has the
   * current names and only loses the legacy ones; `inactive` is left to its owner.
   */
  readonly action: 'current' | 'recreate' | 'covered' | 'inactive'
  readonly legacy: readonly string[]
  /** Filters of the replacement while both run: only the renamed ones, so nothing else is doubled. */
  readonly beside: readonly string[]
  /** Filters after the old one is deleted. */
  readonly final: readonly string[]
  /** Filters that look like legacy names but are not. */
  readonly doubtful: readonly string[]
}

/** Where the secret of a new subscription comes from. */
export type SecretOrigin = 'same' | 'given' | 'new'

/** A completed step for one subscription. */
export interface Step {
  readonly id: string
  readonly did:
    | 'created'
    | 'dropped'
    | 'found'
    | 'gone'
    | 'kept'
    | 'narrowed'
    | 'removed'
    | 'restored'
    | 'waiting'
  readonly replacement?: string
  /** Why it waits: its deliveries that are still being retried or held. A deletion would drop them. */
  readonly undelivered?: number
  /** It is inactive, so that its deliveries are held until somebody activates it. */
  readonly inactive?: true
  /** Where the secret of a created subscription comes from. */
  readonly secret?: SecretOrigin
}

/** Plans one subscription. */
export function planSubscription(subscription: Subscription): Planned {
  const { events, active } = subscription
  const legacy = events.filter((filter) => replacementOf(filter) !== undefined)
  const kept = events.filter((filter) => !legacy.includes(filter))
  const beside = migrateFilters(legacy).filter((name) => !isCovered(kept, name))
  const doubtful = kept.filter((filter) => filter.startsWith(`${legacyPrefix}.`))
  const plan = { subscription, legacy, beside, final: migrateFilters(events), doubtful }
  if (legacy.length === 0) return { ...plan, action: 'current' }
  if (!active) return { ...plan, action: 'inactive' }
  return { ...plan, action: beside.length === 0 ? 'covered' : 'recreate' }
}

function isCovered(filters: readonly string[], name: string): boolean {
  const family = name.replace(/\.[^.]*$/, '.*')
  return filters.some((filter) => filter === '*' || filter === name || filter === family)
}

/** The steps for one subscription in order, for people. */
export function stepsOf({ action, subscription, beside, final }: Planned): readonly string[] {
  const { id } = subscription
  const list = (filters: readonly string[]) => filters.join(', ')
  if (action === 'current') return []
  if (action === 'covered') return [`remove the legacy names from ${id}: ${list(final)}`]
  if (action === 'inactive') {
    return [
      `${id} is inactive: activate it and plan again, or delete it with the deliveries that it holds`,
    ]
  }
  return [
    `create a subscription beside it: ${list(beside)}`,
    'run both until the new one has delivered (an inbox drops the second copy of an event that states a time; without one, handlers run twice)',
    ...(final.length > beside.length ? [`widen the new one: ${list(final)}`] : []),
    `delete ${id} once none of its deliveries is being retried`,
  ]
}

/**
 * Reads subscriptions from an export or a response: a list, or one under `data` or `subscriptions`.
 *
 * @throws CliError `EXPORT_INVALID`
 */
export function readSubscriptions(json: unknown): readonly Subscription[] {
  const record = json as { readonly data?: unknown; readonly subscriptions?: unknown } | null
  const list = [json, record?.data, record?.subscriptions].find(Array.isArray)
  if (list) return (list as readonly unknown[]).map(readSubscription)
  throw new CliError(
    'EXPORT_INVALID',
    'no list of subscriptions found: expected [{ id, url, events }, …], or that list under `data`',
  )
}

/** Whether the service says that more pages follow a response. */
export function hasNextPage(json: unknown): boolean {
  const page = json as { readonly pagination?: { readonly hasNext?: unknown } | null } | null
  return page?.pagination?.hasNext === true
}

const masked = /[*•…]|\.{3}|^x{4,}|^(hidden|masked|redacted)?$/i

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

export function readSubscription(json: unknown, at?: number): Subscription {
  const fields = (json ?? {}) as Readonly<Record<string, unknown>>
  const { id, url, events, active, secret, createdAt, updatedAt, ...rest } = fields
  if (typeof id !== 'string' || typeof url !== 'string' || !isTexts(events)) {
    const which = at === undefined ? 'the subscription' : `subscription ${at + 1}`
    throw new CliError('EXPORT_INVALID', `${which} has no id, url or events`)
  }
  // Signing with a masked secret would break the receiver.
  const shown = typeof secret === 'string' && !masked.test(secret) ? { secret } : {}
  const others = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null))
  const more = Object.keys(others).length > 0 ? { others } : {}
  return { id, url, events, active: active !== false, ...shown, ...more }
}
