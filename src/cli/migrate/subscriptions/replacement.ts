// Which subscription replaces an old one: the one that the journal names, or another that does the
// very same already. One of another organization, or with another secret, is somebody else's.
import type { Pair } from './journal.ts'
import { toPair } from './journal.ts'
import type { Planned, Subscription } from './plan.ts'
import type { SubscriptionService } from './subscription-routes.ts'

/** What is known of the service and of earlier runs. */
export interface Known {
  readonly plan: readonly Planned[]
  readonly pairs: readonly Pair[]
}

/** The pair that the journal has, where its replacement is still there. */
export async function notedPair(
  service: SubscriptionService,
  { subscription }: Planned,
  { pairs }: Known,
): Promise<Pair | undefined> {
  const noted = pairs.find(({ old }) => old.id === subscription.id)
  return noted && (await service.get(noted.replacement)) ? noted : undefined
}

/** A subscription that somebody has made already, and that does what the replacement would do. */
export function findTwin(
  { subscription, beside, final }: Planned,
  { plan, pairs }: Known,
): Subscription | undefined {
  const taken = new Set(pairs.map(({ replacement }) => replacement))
  return plan
    .map((one) => one.subscription)
    .find(
      (other) =>
        other.id !== subscription.id &&
        other.active &&
        !taken.has(other.id) &&
        other.url === subscription.url &&
        // Two secrets that are not shown are not known to be the same.
        subscription.secret !== undefined &&
        other.secret === subscription.secret &&
        spelled(other.others) === spelled(subscription.others) &&
        [beside, final].some((events) => sameSet(events, other.events)),
    )
}

/** Takes a twin as the replacement; what it has delivered before is noted, since it proves nothing. */
export async function adopt(
  service: SubscriptionService,
  subscription: Subscription,
  twin: Subscription,
): Promise<Pair> {
  const adopted = { events: twin.events, deliveries: await service.delivered(twin.id) }
  return toPair(subscription, { replacement: twin.id, step: 'created', adopted })
}

/** Whether a replacement has delivered since it became one. */
export async function hasDelivered(service: SubscriptionService, pair: Pair): Promise<boolean> {
  const before = new Set(pair.adopted?.deliveries)
  return (await service.delivered(pair.replacement)).some((id) => !before.has(id))
}

/** Whether two lists of filters have the same ones. */
export function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one) => b.includes(one))
}

/** A value as text that does not depend on the order of keys. */
function spelled(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
