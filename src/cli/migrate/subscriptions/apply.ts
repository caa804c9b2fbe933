// Takes the next safe step for every subscription, noting each in the journal as it is taken, and
// takes the steps of a run back that failed or was interrupted.
import { type Pair, toPair } from './journal.ts'
import type { Planned } from './plan.ts'
import { type Creating, recreate } from './recreate.ts'
import { adopt, findTwin, hasDelivered, notedPair } from './replacement.ts'
import type { SecretOrigin } from './signing-secrets.ts'
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

/** What steps are taken on. */
export interface ApplyOptions extends Creating {
  readonly plan: readonly Planned[]
  readonly signal: AbortSignal
}

/** What came of a run. */
export interface Applied {
  readonly steps: readonly Step[]
  /** Why the steps were taken back; missing where they stand. */
  readonly failure?: { readonly error: unknown; readonly takenBack: number }
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
 * whose replacement has delivered. When a step fails, or the run is interrupted, what was begun is
 * ended and the steps of this run are taken back; what cannot be taken back stays in the journal.
 *
 * @throws CliError `SECRET_MISSING` before anything is changed
 */
export async function applyPlan(options: ApplyOptions): Promise<Applied> {
  const { plan, ledger, signal } = options
  const work = plan.filter(({ action }) => action === 'recreate' || action === 'covered')
  needSecrets(options, work)
  const undo: (() => Promise<void>)[] = []
  const steps: Step[] = []
  try {
    for (const planned of work) {
      signal.throwIfAborted()
      const { id } = planned.subscription
      const { pairs } = ledger
      const before = pairs.find(({ old }) => old.id === id)
      const taken = await next(options, planned, { plan, pairs })
      undo.push(async () => {
        let back = before
        for (const one of taken.undo) back = (await one()) ?? back
        ledger.note(id, back)
      })
      steps.push(taken.step)
      ledger.note(id, taken.pair)
    }
  } catch (error) {
    return { steps, failure: { error, takenBack: await takeBack(undo.reverse()) } }
  }
  return { steps }
}

/** Takes back as many as can be, and gives how many that were. */
async function takeBack(undo: readonly (() => Promise<void>)[]): Promise<number> {
  let taken = 0
  for (const back of undo) {
    const isBack = await back().then(
      () => true,
      () => false,
    )
    if (isBack) taken += 1
  }
  return taken
}

/** Asks for every secret before anything is changed. */
function needSecrets({ plan, ledger, secrets }: ApplyOptions, work: readonly Planned[]): void {
  for (const planned of work) {
    const noted = ledger.pairs.some(({ old }) => old.id === planned.subscription.id)
    if (planned.action === 'covered' || noted) continue
    if (!findTwin(planned, { plan, pairs: ledger.pairs })) secrets.for(planned.subscription)
  }
}

interface Known {
  readonly plan: readonly Planned[]
  readonly pairs: readonly Pair[]
}

async function next(means: Creating, planned: Planned, known: Known): Promise<Taken> {
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

async function create(means: Creating, { subscription, beside }: Planned): Promise<Taken> {
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

/** Drops the old one, but never before the new one has delivered. */
async function advance(means: Creating, planned: Planned, pair: Pair): Promise<Taken> {
  const { service, ledger } = means
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
  ledger.note(subscription.id, { ...pair, step: 'dropping' })
  try {
    await drop(service, subscription.id)
  } catch (error) {
    const isThere = await service.get(subscription.id).catch(() => undefined)
    for (const back of undo) await back().catch(() => {})
    // Where nobody knows whether it is gone, the journal goes on saying that it was about to go.
    if (isThere) ledger.note(subscription.id, pair)
    throw error
  }
  undo.unshift(async () => {
    const { id } = await recreate(means, subscription, subscription.events)
    return { ...pair, old: { ...pair.old, id } }
  })
  return { step: { ...facts, did: 'dropped' }, pair: { ...pair, step: 'dropped' }, undo }
}

/** Where the answer is lost, what counts is whether it is still there. */
async function drop(service: SubscriptionService, id: string): Promise<void> {
  try {
    await service.remove(id)
  } catch (error) {
    const isGone = await service.get(id).then(
      (found) => found === undefined,
      () => false,
    )
    if (!isGone) throw error
  }
}
