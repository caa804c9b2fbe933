// Takes the next safe step for every subscription, and takes steps back: what was done in a run
// that failed, or on demand all that the journal knows.
import type { Journal, Pair } from './journal.ts'
import type { Planned, Subscription } from './plan.ts'
import type { SubscriptionService } from './subscription-routes.ts'

/** What was done, or why not. */
export interface Step {
  readonly id: string
  readonly did: 'created' | 'dropped' | 'narrowed' | 'waiting' | 'restored' | 'removed'
  readonly replacement?: string
}

/** What a run of steps left behind. */
export interface Applied {
  readonly steps: readonly Step[]
  readonly journal: Journal
}

/** Something to be done when a later step fails. */
type Undo = () => Promise<unknown>

/** What steps are taken on. */
export interface ApplyOptions {
  readonly service: SubscriptionService
  readonly plan: readonly Planned[]
  readonly journal: Journal
  readonly signal: AbortSignal
}

/**
 * Takes the next step for every planned subscription: creates replacements, and drops the old ones
 * whose replacement has delivered. When a step fails, those of this run are taken back.
 *
 * @throws CliError of the service, after taking back
 */
export async function applyPlan(options: ApplyOptions): Promise<Applied> {
  const { service, plan, journal, signal } = options
  const undo: Undo[] = []
  const steps: Step[] = []
  let { pairs } = journal
  try {
    for (const planned of plan) {
      signal.throwIfAborted()
      if (planned.action === 'current' || planned.action === 'inactive') continue
      const { step, pair } = await next(service, planned, { plan, pairs, undo })
      steps.push(step)
      pairs = [...pairs.filter(({ old }) => old.id !== pair.old.id), pair]
    }
  } catch (error) {
    for (const back of undo.reverse()) await back().catch(() => {})
    throw error
  }
  return { steps, journal: { ...journal, pairs } }
}

interface Known {
  readonly plan: readonly Planned[]
  readonly pairs: readonly Pair[]
  readonly undo: Undo[]
}

interface Taken {
  readonly step: Step
  readonly pair: Pair
}

async function next(service: SubscriptionService, planned: Planned, known: Known): Promise<Taken> {
  const { undo } = known
  if (planned.action === 'covered') return narrow(service, planned, undo)
  const pair = await pairOf(service, planned, known)
  return pair ? advance(service, { planned, pair }, undo) : create(service, planned, undo)
}

async function narrow(
  service: SubscriptionService,
  planned: Planned,
  undo: Undo[],
): Promise<Taken> {
  const { subscription, final } = planned
  const { id } = subscription
  undo.push(() => service.setEvents(id, subscription.events))
  await service.setEvents(id, final)
  return { step: { id, did: 'narrowed' }, pair: toPair(subscription, id, 'narrowed') }
}

/** The replacement that an earlier run has made, or that somebody else has. */
async function pairOf(
  service: SubscriptionService,
  { subscription, beside, final }: Planned,
  known: Pick<Known, 'plan' | 'pairs'>,
): Promise<Pair | undefined> {
  const noted = known.pairs.find(({ old }) => old.id === subscription.id)
  if (noted && (await service.get(noted.replacement))) return noted
  const taken = new Set(known.pairs.map(({ replacement }) => replacement))
  const same = known.plan.find(
    ({ subscription: other }) =>
      other.id !== subscription.id &&
      other.active &&
      !taken.has(other.id) &&
      other.url === subscription.url &&
      [beside, final].some((events) => sameSet(events, other.events)),
  )
  return same && toPair(subscription, same.subscription.id, 'created')
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one) => b.includes(one))
}

async function create(
  service: SubscriptionService,
  planned: Planned,
  undo: Undo[],
): Promise<Taken> {
  const { subscription, beside } = planned
  const { id } = await service.create({ ...withoutId(subscription), events: beside })
  undo.push(() => service.remove(id))
  const step: Step = { id: subscription.id, did: 'created', replacement: id }
  return { step, pair: toPair(subscription, id, 'created') }
}

/** Drops the old one, but never before the new one has delivered. */
async function advance(
  service: SubscriptionService,
  { planned, pair }: { readonly planned: Planned; readonly pair: Pair },
  undo: Undo[],
): Promise<Taken> {
  const { subscription, beside, final } = planned
  const { replacement } = pair
  const facts = { id: subscription.id, replacement }
  if ((await service.delivered(replacement)) === 0) {
    return { step: { ...facts, did: 'waiting' }, pair }
  }
  // Widened before the old one goes: a moment of doubles, where the other order would lose events.
  if (final.length > beside.length) {
    undo.push(() => service.setEvents(replacement, beside))
    await service.setEvents(replacement, final)
  }
  await service.remove(subscription.id)
  undo.push(() => service.create(withoutId(subscription)))
  return { step: { ...facts, did: 'dropped' }, pair: { ...pair, step: 'dropped' } }
}

/** Brings the old subscriptions back and removes the new ones, the latest pair first. */
export async function rollBack(
  service: SubscriptionService,
  journal: Journal,
  save: (journal: Journal) => void,
): Promise<readonly Step[]> {
  const steps: Step[] = []
  for (const [at, pair] of [...journal.pairs.entries()].reverse()) {
    steps.push(...(await takeBack(service, pair)))
    // Noted at once, so that a second call never brings one back twice.
    save({ ...journal, pairs: journal.pairs.slice(0, at) })
  }
  return steps
}

async function takeBack(service: SubscriptionService, pair: Pair): Promise<readonly Step[]> {
  const { old, replacement, step } = pair
  if (step === 'narrowed') {
    await service.setEvents(old.id, old.events)
    return [{ id: old.id, did: 'restored' }]
  }
  const found = await service.get(replacement)
  const steps: Step[] = []
  if (step === 'dropped') {
    // The replacement signs with the old one's secret, so that nobody need have kept it.
    const secret = found?.secret
    const { id } = await service.create({
      ...withoutId(old),
      ...(secret !== undefined && { secret }),
    })
    steps.push({ id: old.id, did: 'restored', replacement: id })
  }
  if (found) await service.remove(replacement)
  return [...steps, { id: replacement, did: 'removed' }]
}

function toPair(subscription: Subscription, replacement: string, step: Pair['step']): Pair {
  const { secret: _, ...old } = subscription
  return { old, replacement, step }
}

function withoutId(subscription: Subscription): Omit<Subscription, 'id'> {
  const { id: _, ...rest } = subscription
  return rest
}
