// Takes the next safe step for every subscription, noting each in the journal as it is taken, and
// takes the steps of a run back that failed.
import { type Journal, type Pair, toPair } from './journal.ts'
import type { Planned, Subscription } from './plan.ts'
import { adopt, findTwin, hasDelivered, notedPair } from './replacement.ts'
import type { SecretOrigin, SigningSecrets } from './signing-secrets.ts'
import type { SubscriptionService } from './subscription-routes.ts'

/** What was done, or why not. */
export interface Step {
  readonly id: string
  readonly did:
    | 'adopted'
    | 'created'
    | 'dropped'
    | 'gone'
    | 'kept'
    | 'narrowed'
    | 'removed'
    | 'restored'
    | 'waiting'
  readonly replacement?: string
  /** Where the secret of what was created comes from. */
  readonly secret?: SecretOrigin
}

/** What steps are taken with. */
export interface Means {
  readonly service: SubscriptionService
  readonly journal: Journal
  readonly secrets: SigningSecrets
  readonly save: (journal: Journal) => void
}

/** What steps are taken on. */
export interface ApplyOptions extends Means {
  readonly plan: readonly Planned[]
  readonly signal: AbortSignal
}

/** Undoes a step; gives the pair that the journal is to have afterwards, if any. */
type Undo = () => Promise<Pair | undefined>

interface Taken {
  readonly step: Step
  readonly pair: Pair
  /** The newest first. */
  readonly undo: readonly Undo[]
}

/**
 * Takes the next step for every planned subscription: creates replacements, and drops the old ones
 * whose replacement has delivered. When a step fails, those of this run are taken back.
 *
 * @throws CliError of the service, after taking back
 */
export async function applyPlan(options: ApplyOptions): Promise<readonly Step[]> {
  const { plan, journal, signal, save } = options
  const work = plan.filter(({ action }) => action === 'recreate' || action === 'covered')
  needSecrets(options, work)
  const undo: (() => Promise<void>)[] = []
  const steps: Step[] = []
  let { pairs } = journal
  const note = (id: string, pair: Pair | undefined) => {
    const others = pairs.filter(({ old }) => old.id !== id)
    pairs = pair ? [...others, pair] : others
    save({ ...journal, pairs })
  }
  try {
    for (const planned of work) {
      signal.throwIfAborted()
      const { id } = planned.subscription
      const before = pairs.find(({ old }) => old.id === id)
      const taken = await next(options, planned, { plan, pairs, before })
      undo.push(async () => {
        let back = before
        for (const one of taken.undo) back = (await one()) ?? back
        note(id, back)
      })
      steps.push(taken.step)
      note(id, taken.pair)
    }
  } catch (error) {
    // What cannot be taken back stays in the journal, so that --rollback can try again.
    for (const back of undo.reverse()) await back().catch(() => {})
    throw error
  }
  return steps
}

/** Asks for every secret before anything is changed. */
function needSecrets({ plan, journal, secrets }: ApplyOptions, work: readonly Planned[]): void {
  for (const planned of work) {
    const noted = journal.pairs.some(({ old }) => old.id === planned.subscription.id)
    if (planned.action === 'covered' || noted) continue
    if (!findTwin(planned, { plan, pairs: journal.pairs })) secrets.for(planned.subscription)
  }
}

interface Known {
  readonly plan: readonly Planned[]
  readonly pairs: readonly Pair[]
  readonly before: Pair | undefined
}

async function next(means: Means, planned: Planned, known: Known): Promise<Taken> {
  const { service } = means
  const { subscription } = planned
  if (planned.action === 'covered') return narrow(service, planned)
  const noted = await notedPair(service, planned, known)
  if (noted) return advance(means, planned, noted)
  const twin = findTwin(planned, known)
  if (!twin) return create(means, planned)
  const pair = await adopt(service, subscription, twin)
  return { step: { id: subscription.id, did: 'adopted', replacement: twin.id }, pair, undo: [] }
}

async function narrow(service: SubscriptionService, planned: Planned): Promise<Taken> {
  const { subscription, final } = planned
  const { id } = subscription
  await service.setEvents(id, final)
  return {
    step: { id, did: 'narrowed' },
    pair: toPair(subscription, { replacement: id, step: 'narrowed' }),
    undo: [() => service.setEvents(id, subscription.events).then(() => undefined)],
  }
}

async function create(means: Means, { subscription, beside }: Planned): Promise<Taken> {
  const { id, origin } = await recreate(means, subscription, beside)
  const back: Undo = async () => {
    await means.service.remove(id)
    means.secrets.forget(id)
    return undefined
  }
  return {
    step: { id: subscription.id, did: 'created', replacement: id, secret: origin },
    pair: toPair(subscription, { replacement: id, step: 'created' }),
    undo: [back],
  }
}

/** Creates a subscription like another one, with a secret that somebody knows. */
export async function recreate(
  { service, secrets }: Pick<Means, 'service' | 'secrets'>,
  subscription: Subscription,
  events: readonly string[],
): Promise<{ readonly id: string; readonly origin: SecretOrigin }> {
  const { id: _, secret: __, ...rest } = subscription
  const { origin, secret } = secrets.for(subscription)
  const created = await service.create({
    ...rest,
    events,
    ...(secret !== undefined && { secret }),
  })
  try {
    if (origin === 'new') secrets.keep(created)
  } catch (error) {
    await service.remove(created.id).catch(() => {})
    throw error
  }
  return { id: created.id, origin }
}

/** Drops the old one, but never before the new one has delivered. */
async function advance(means: Means, planned: Planned, pair: Pair): Promise<Taken> {
  const { service } = means
  const { subscription, beside, final } = planned
  const { replacement, adopted } = pair
  const facts = { id: subscription.id, replacement }
  if (!(await hasDelivered(service, pair))) {
    return { step: { ...facts, did: 'waiting' }, pair, undo: [] }
  }
  const undo: Undo[] = []
  // Widened before the old one goes: a moment of doubles, where the other order would lose events.
  if (final.length > beside.length) {
    const narrower = adopted?.events ?? beside
    undo.unshift(() => service.setEvents(replacement, narrower).then(() => undefined))
    await service.setEvents(replacement, final)
  }
  try {
    await service.remove(subscription.id)
  } catch (error) {
    for (const back of undo) await back().catch(() => {})
    throw error
  }
  undo.unshift(async () => {
    const { id } = await recreate(means, subscription, subscription.events)
    return { ...pair, old: { ...pair.old, id } }
  })
  return { step: { ...facts, did: 'dropped' }, pair: { ...pair, step: 'dropped' }, undo }
}
