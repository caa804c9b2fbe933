// The plan for subscriptions with legacy filters: what replaces each, and in which order.
import { migrateFilters } from '../../../protocol/index.ts'
import { CliError } from '../../exit-code.ts'
import { legacyPrefix, replacementOf } from '../legacy.ts'

/** A subscription, as exports and services show it. */
export interface Subscription {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly active: boolean
  readonly secret?: string
  /** Whatever else it has and a replacement must have too, such as whose events it hears. */
  readonly others?: Readonly<Record<string, unknown>>
}

/** What becomes of one subscription. */
export interface Planned {
  readonly subscription: Subscription
  /**
   * `current` needs nothing; `recreate` gets a replacement beside it; `covered` has the current
   * names already and only loses the legacy ones; `inactive` is left to its owner.
   */
  readonly action: 'current' | 'recreate' | 'covered' | 'inactive'
  readonly legacy: readonly string[]
  /** Filters of the replacement while both run: only what is renamed, so that nothing comes twice. */
  readonly beside: readonly string[]
  /** Filters once the old one is gone. */
  readonly final: readonly string[]
  /** Filters that begin like legacy names and are none. */
  readonly doubtful: readonly string[]
}

/** Plans every subscription. */
export function planSubscriptions(subscriptions: readonly Subscription[]): readonly Planned[] {
  return subscriptions.map((subscription) => {
    const { events, active } = subscription
    const legacy = events.filter((filter) => replacementOf(filter) !== undefined)
    const kept = events.filter((filter) => !legacy.includes(filter))
    const beside = migrateFilters(legacy).filter((name) => !coveredBy(kept, name))
    const doubtful = kept.filter((filter) => filter.startsWith(`${legacyPrefix}.`))
    const plan = { subscription, legacy, beside, final: migrateFilters(events), doubtful }
    if (legacy.length === 0) return { ...plan, action: 'current' }
    if (!active) return { ...plan, action: 'inactive' }
    return { ...plan, action: beside.length === 0 ? 'covered' : 'recreate' }
  })
}

function coveredBy(filters: readonly string[], name: string): boolean {
  const family = name.replace(/\.[^.]*$/, '.*')
  return filters.some((filter) => filter === '*' || filter === name || filter === family)
}

/** The steps for one subscription, in their order, for people. */
export function stepsOf({ action, subscription, beside, final }: Planned): readonly string[] {
  const { id } = subscription
  const list = (filters: readonly string[]) => filters.join(', ')
  if (action === 'covered') return [`take the legacy names out of ${id}: ${list(final)}`]
  if (action === 'inactive')
    return [`${id} is not active: delete it, or activate it and plan again`]
  if (action === 'current') return []
  const widened = final.length > beside.length
  return [
    `create a subscription beside it: ${list(beside)}`,
    'let both run until the new one has delivered; the receiver takes both names, and its inbox drops the second of a pair (without an inbox both are handled)',
    ...(widened ? [`widen the new one: ${list(final)}`] : []),
    `drop ${id}`,
  ]
}

/**
 * Reads subscriptions from an export or an answer: a list, or one under `data` or `subscriptions`.
 *
 * @throws CliError when there is none
 */
export function readSubscriptions(json: unknown): readonly Subscription[] {
  const record = json as { readonly data?: unknown; readonly subscriptions?: unknown } | null
  const list = [json, record?.data, record?.subscriptions].find(Array.isArray)
  if (!list) {
    throw new CliError(
      'EXPORT_INVALID',
      'there is no list of subscriptions: give [{ id, url, events }, …], or one under `data`',
    )
  }
  return (list as readonly unknown[]).map(readSubscription)
}

const masked = /[*•…]|\.{3}|^x{4,}|^(hidden|masked|redacted)?$/i

export function readSubscription(json: unknown, at?: number): Subscription {
  const { id, url, events, active, secret, createdAt, updatedAt, ...rest } = (json ??
    {}) as Readonly<Record<string, unknown>>
  const texts = (value: unknown): value is readonly string[] =>
    Array.isArray(value) && value.every((one) => typeof one === 'string')
  if (typeof id !== 'string' || typeof url !== 'string' || !texts(events)) {
    const which = at === undefined ? 'the subscription' : `subscription ${at + 1}`
    throw new CliError('EXPORT_INVALID', `${which} has no id, url or events`)
  }
  // A masked secret is none: signing with it would break the receiver.
  const shown = typeof secret === 'string' && !masked.test(secret) ? { secret } : {}
  const others = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null))
  const more = Object.keys(others).length > 0 ? { others } : {}
  return { id, url, events, active: active !== false, ...shown, ...more }
}
