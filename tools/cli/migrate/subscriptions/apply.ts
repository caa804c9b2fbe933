// Takes the next safe step for every subscription: create a replacement beside the old one, and in a
// later run delete the old one once the replacement has delivered.
import { isDeepStrictEqual } from 'node:util'
import { CliError, exitCodes } from '../../exit-code.ts'
import { type Journal, notedIds, type Pair, withoutSecret } from './journal.ts'
import type { Planned, SecretOrigin, Step, Subscription } from './plan.ts'
import type { SigningSecrets } from './signing-secrets.ts'
import { type SubscriptionService, wasNotCreated } from './subscription-routes.ts'
import { countUndelivered } from './undelivered.ts'

/** Dependencies of a run. */
export interface Deps {
  readonly service: SubscriptionService
  readonly journal: Journal
  readonly secrets: SigningSecrets
  readonly signal: AbortSignal
}

/** All subscriptions of the service. Those of the journal are asked for, if its list lacks them. */
export function listAll({ service, journal }: Pick<Deps, 'service' | 'journal'>) {
  return service.list(notedIds(journal))
}

/**
 * Takes one step per planned subscription and yields each as it is done. A failed run can be started
 * again: it continues with what the service and the journal show.
 *
 * @throws CliError `SECRET_MISSING` before anything is changed
 */
export async function* applyPlan(deps: Deps, plan: readonly Planned[]): AsyncGenerator<Step> {
  const work = plan.filter(({ action }) => action === 'recreate' || action === 'covered')
  const listed = plan.map(({ subscription }) => subscription)
  for (const planned of work) {
    const isNew = planned.action === 'recreate' && !replacementFor(deps, planned, listed)
    if (isNew) deps.secrets.for(planned.subscription)
  }
  yield* inactiveOnes(deps, plan)
  for (const planned of work) {
    deps.signal.throwIfAborted()
    yield planned.action === 'covered'
      ? await narrow(deps, planned)
      : await advance(deps, planned, listed)
  }
}

async function narrow({ service, journal }: Deps, { subscription, final }: Planned): Promise<Step> {
  const { id } = subscription
  journal.set({ old: withoutSecret(subscription), replacement: id })
  await service.setEvents(id, final)
  return { id, did: 'narrowed' }
}

async function advance(
  deps: Deps,
  planned: Planned,
  listed: readonly Subscription[],
): Promise<Step> {
  const { journal, service } = deps
  const { subscription } = planned
  const { id } = subscription
  const pair = journal.pairs.find(({ old }) => old.id === id)
  const replacement = replacementFor(deps, planned, listed)
  if (!replacement) return replace(deps, planned)
  const ids = { id, replacement: replacement.id }
  if (pair?.replacement === undefined) {
    const existing = pair ? {} : { existing: replacement.events }
    journal.set({ old: withoutSecret(subscription), replacement: replacement.id, ...existing })
    return { ...ids, did: pair ? 'created' : 'found' }
  }
  if (!replacement.active) {
    const message = `${replacement.id}, the replacement of ${id}, is inactive: activate it, or delete it, then run this again`
    throw new CliError('REPLACEMENT_INACTIVE', message, exitCodes.failed)
  }
  if (!(await service.hasDelivered(replacement.id))) return { ...ids, did: 'waiting' }
  const undelivered = await widen(deps, planned, { pair, replacement })
  if (undelivered > 0) return { ...ids, did: 'waiting', undelivered }
  await service.remove(id)
  journal.set({ ...pair, alone: true })
  return { ...ids, did: 'dropped' }
}

/**
 * Gives the replacement every event of the old one before that is deleted: the other order would lose
 * events. Returns how many deliveries still keep the old one; then the replacement has no more than
 * it had beside it, so that nothing else arrives twice meanwhile.
 */
async function widen(
  deps: Deps,
  { subscription: { id }, beside, final }: Planned,
  { pair, replacement }: { readonly pair: Pair; readonly replacement: Subscription },
): Promise<number> {
  const { service } = deps
  let { events } = replacement
  const setEvents = async (wanted: readonly string[]) => {
    if (!isSameSet(events, wanted)) await service.setEvents(replacement.id, wanted)
    events = wanted
  }
  const open = await service.undelivered(id)
  let undelivered = open.some(({ waits }) => waits) ? open.length : 0
  if (undelivered === 0) {
    await setEvents(final)
    undelivered = await countUndelivered(service, id, deps.signal)
  }
  if (undelivered > 0) await setEvents(pair.existing ?? beside)
  return undelivered
}

/** Reports old subscriptions that somebody made inactive while deliveries of them were open. */
async function* inactiveOnes(
  { service, journal }: Deps,
  plan: readonly Planned[],
): AsyncGenerator<Step> {
  for (const { action, subscription } of plan) {
    const { id } = subscription
    const { replacement, alone } = journal.pairs.find(({ old }) => old.id === id) ?? {}
    // A service may list what was deleted as inactive.
    if (action !== 'inactive' || replacement === undefined || alone) continue
    const { length: undelivered } = await service.undelivered(id)
    if (undelivered > 0) yield { id, did: 'waiting', replacement, undelivered, inactive: true }
  }
}

async function replace(deps: Deps, { subscription, beside }: Planned): Promise<Step> {
  const { id } = subscription
  const old = withoutSecret(subscription)
  // Written first, so that a creation whose answer is lost is looked for by the next run.
  deps.journal.set({ old })
  try {
    const made = await create(deps, subscription, beside)
    deps.journal.set({ old, replacement: made.id })
    return { id, did: 'created', replacement: made.id, secret: made.origin }
  } catch (error) {
    if (wasNotCreated(error)) deps.journal.delete(id)
    throw error
  }
}

/** Creates a subscription like another one, signing with a secret that the receiver can know. */
export async function create(
  { service, secrets }: Deps,
  subscription: Subscription,
  events: readonly string[],
): Promise<{ readonly id: string; readonly origin: SecretOrigin }> {
  const { id: _, secret: __, ...rest } = subscription
  const { origin, secret } = secrets.for(subscription)
  const created = await service.create({ ...rest, events, ...(secret !== undefined && { secret }) })
  try {
    if (origin === 'new') secrets.keep(created)
  } catch (error) {
    await service.remove(created.id)
    throw error
  }
  return { id: created.id, origin }
}

/** The subscription that replaces a planned one, created by this command or by somebody else. */
function replacementFor(
  { journal, secrets }: Deps,
  { subscription, beside, final }: Planned,
  listed: readonly Subscription[],
): Subscription | undefined {
  const pair = journal.pairs.find(({ old }) => old.id === subscription.id)
  const noted = listed.find(({ id }) => id === pair?.replacement)
  if (noted) return noted
  const isBegun = pair !== undefined && pair.replacement === undefined
  const found = findEqual(subscription, { listed, journal, isBegun, events: [beside, final] })
  // Its secret was in the answer that never arrived.
  if (found && isBegun && secrets.for(subscription).origin === 'new') throw secretLost(found)
  return found
}

export function secretLost({ id }: Subscription): CliError {
  const message = `an earlier run created ${id}, but the service's answer with its secret was lost: delete ${id}, then run this again`
  return new CliError('SECRET_LOST', message)
}

interface Search {
  readonly listed: readonly Subscription[]
  readonly journal: Journal
  /** This command asked for it and received no answer; then a hidden secret is not a difference. */
  readonly isBegun: boolean
  readonly events: readonly (readonly string[])[]
}

/** An active subscription with the same address, owner and secret, and one of these filter lists. */
export function findEqual(wanted: Pair['old'] & Pick<Subscription, 'secret'>, search: Search) {
  const { listed, journal, isBegun, events } = search
  const taken = notedIds(journal)
  return listed.find(
    (other) =>
      other.id !== wanted.id &&
      !taken.has(other.id) &&
      other.active &&
      other.url === wanted.url &&
      isDeepStrictEqual(other.others, wanted.others) &&
      (wanted.secret === undefined ? isBegun : other.secret === wanted.secret) &&
      events.some((list) => isSameSet(list, other.events)),
  )
}

export function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((filter) => other.includes(filter))
}
