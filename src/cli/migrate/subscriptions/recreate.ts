// Creates subscriptions so that none is ever lost sight of: what is about to be created is noted
// first, and where the answer is lost, what the service has made of it is looked for and removed.
import { CliError } from '../../exit-code.ts'
import type { Connection, Intent } from './journal.ts'
import type { Subscription } from './plan.ts'
import { sameSet } from './replacement.ts'
import type { SecretOrigin, SigningSecrets } from './signing-secrets.ts'
import { type SubscriptionService, wasNeverSent, wasRefused } from './subscription-routes.ts'

/** What creating takes. */
export interface Creating {
  readonly service: SubscriptionService
  readonly ledger: Connection
  readonly secrets: SigningSecrets
}

/** Creates a subscription like another one, with a secret that somebody knows. */
export async function recreate(
  { service, ledger, secrets }: Creating,
  subscription: Subscription,
  events: readonly string[],
): Promise<{ readonly id: string; readonly origin: SecretOrigin }> {
  const { id, secret: _, ...rest } = subscription
  const { origin, secret } = secrets.for(subscription)
  const before = (await service.list()).map((one) => one.id)
  const intent: Intent = { of: id, url: subscription.url, events, before }
  ledger.begin(intent)
  let created: Subscription
  try {
    created = await service.create({ ...rest, events, ...(secret !== undefined && { secret }) })
  } catch (error) {
    if (wasNeverSent(error) || wasRefused(error)) ledger.end(intent)
    // Where even the list cannot be had, the intent stays for the next run.
    else await removeOrphan({ service, ledger }, intent, error).catch(() => {})
    throw error
  }
  try {
    if (origin === 'new') secrets.keep(created)
  } catch (error) {
    await service.remove(created.id).then(
      () => ledger.end(intent),
      () => {},
    )
    throw error
  }
  ledger.end(intent)
  return { id: created.id, origin }
}

/** An answer, if only of a failure, is the end of it; without one it may still be created. */
async function removeOrphan(
  means: Omit<Creating, 'secrets'>,
  intent: Intent,
  error: unknown,
): Promise<void> {
  const removed = await removeNew(means.service, intent)
  const isAnswered = error instanceof CliError && error.code === 'SERVICE_FAILED'
  if (removed.length > 0 || isAnswered) means.ledger.end(intent)
}

/** Removes what earlier runs have created without ever hearing of it; gives the ids. */
export async function settleIntents({
  service,
  ledger,
}: Omit<Creating, 'secrets'>): Promise<readonly string[]> {
  const removed: string[] = []
  for (const intent of ledger.begun) {
    // What a pair knows was heard of after all.
    const known = new Set(ledger.pairs.flatMap(({ old, replacement }) => [old.id, replacement]))
    removed.push(...(await removeNew(service, { ...intent, before: [...intent.before, ...known] })))
    ledger.end(intent)
  }
  return removed
}

async function removeNew(service: SubscriptionService, intent: Intent): Promise<readonly string[]> {
  const { before, url, events } = intent
  const ours = (await service.list()).filter(
    (one) => !before.includes(one.id) && one.url === url && sameSet(one.events, events),
  )
  for (const { id } of ours) await service.remove(id)
  return ours.map(({ id }) => id)
}
