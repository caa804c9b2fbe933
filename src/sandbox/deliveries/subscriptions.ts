// Who wants to hear of what, where, and with which secrets it is signed for them.
import {
  canonicalName,
  covers,
  type EventName,
  isLegacyName,
  legacyNameOf,
} from '../../protocol/names.ts'
import type { EngineDeliveries, SubscriptionInput, SubscriptionRow } from '../ports.ts'
import { profile } from '../profile.ts'
import type { SandboxRandom } from '../random.ts'

/** What subscriptions need of their surroundings. */
export interface SubscriptionParts {
  readonly now: () => Date
  readonly random: Pick<SandboxRandom, 'uuid' | 'token'>
  /** Called with each row that was made or changed, and with undefined for one removed. */
  readonly changed: (id: string, row: SubscriptionRow | undefined) => void
}

export interface Subscriptions extends Pick<EngineDeliveries, 'subscriptions'> {
  readonly rows: ReadonlyMap<string, SubscriptionRow>
  load(rows: readonly SubscriptionRow[]): void
}

export function createSubscriptions({ now, random, changed }: SubscriptionParts): Subscriptions {
  const rows = new Map<string, SubscriptionRow>()
  const put = (row: SubscriptionRow) => {
    rows.set(row.id, row)
    changed(row.id, row)
    return shown(row)
  }
  const change = (id: string, patch: (row: SubscriptionRow) => SubscriptionRow) => {
    const row = rows.get(id)
    return row && put(patch(row))
  }
  return {
    rows,
    load(saved) {
      rows.clear()
      for (const row of saved) rows.set(row.id, row)
    },
    subscriptions: {
      list: () => [...rows.values()].map(shown),
      get: (id) => {
        const row = rows.get(id)
        return row && shown(row)
      },
      create: ({ url, events, secret, active, organizationId }: SubscriptionInput) =>
        put({
          id: random.uuid(),
          url,
          events: events ?? ['*'],
          secret: secret ?? random.token(),
          active: active ?? true,
          createdAt: now().toISOString(),
          organizationId: organizationId ?? null,
        }),
      update: (id, { url, events, secret, active }) =>
        change(id, (row) => ({
          ...row,
          url: url ?? row.url,
          events: events ?? row.events,
          secret: secret ?? row.secret,
          active: active ?? row.active,
        })),
      remove(id) {
        const was = rows.delete(id)
        if (was) changed(id, undefined)
        return was
      },
      rotateSecret: (id, { secret, overlapSeconds = profile.rotationOverlapSeconds } = {}) =>
        change(id, (row) => {
          const until = new Date(now().getTime() + overlapSeconds * 1000).toISOString()
          const next = secret ?? random.token()
          return { ...row, secret: next, previous: { secret: row.secret, until } }
        }),
    },
  }
}

function shown({ previous: _, ...subscription }: SubscriptionRow) {
  return subscription
}

/** The secrets that sign now: the current one, and the one before it while they overlap. */
export function signingSecrets({ secret, previous }: SubscriptionRow, now: Date): string[] {
  const overlaps = previous !== undefined && now.getTime() < Date.parse(previous.until)
  return overlaps ? [secret, previous.secret] : [secret]
}

/**
 * The names under which a subscription hears of an event: a filter of the older form gives the
 * older name (section 6, rule 2), filters of both forms give both.
 */
export function namesFor(filters: readonly string[], name: EventName): string[] {
  const [older, current] = [
    filters.filter(isLegacyName),
    filters.filter((one) => !isLegacyName(one)),
  ]
  const legacy = legacyNameOf(name)
  return [
    ...(current.some((filter) => covers(filter, name)) ? [name] : []),
    ...(legacy && older.some((filter) => covers(canonicalName(filter), name)) ? [legacy] : []),
  ]
}
