// Takes back all that the journal knows: old subscriptions come again with a secret that is known,
// what was made goes, and what was there before stays.
import type { Step } from './apply.ts'
import type { Pair } from './journal.ts'
import type { Subscription } from './plan.ts'
import { type Creating, recreate } from './recreate.ts'

/**
 * Brings the old subscriptions back and removes the new ones, the latest pair first.
 *
 * @throws CliError `SECRET_MISSING` before anything is changed
 */
export async function rollBack(means: Creating): Promise<readonly Step[]> {
  const { ledger, service, secrets } = means
  const work: TakingBack[] = []
  for (const noted of ledger.pairs) {
    const pair = await settled(service, noted)
    const found = await service.get(pair.replacement)
    work.push({ pair, found })
    if (pair.step === 'dropped') secrets.for(withSecretOf(pair.old, found))
  }
  const steps: Step[] = []
  for (const one of work.reverse()) steps.push(...(await takeBack(means, one)))
  return steps
}

interface TakingBack {
  readonly pair: Pair
  /** The replacement, if it is still there. */
  readonly found: Subscription | undefined
}

/** Of one that was about to be dropped nobody heard whether it is gone. */
async function settled(service: Creating['service'], pair: Pair): Promise<Pair> {
  if (pair.step !== 'dropping') return pair
  const isThere = await service.get(pair.old.id)
  return { ...pair, step: isThere ? 'created' : 'dropped' }
}

async function takeBack(means: Creating, taking: TakingBack): Promise<readonly Step[]> {
  const { ledger } = means
  const { old, step } = taking.pair
  if (step === 'narrowed') return widen(means, taking)
  if (step !== 'dropped') {
    const steps = await letGo(means, taking)
    ledger.note(old.id, undefined)
    return steps
  }
  const { id, origin } = await recreate(means, withSecretOf(old, taking.found), old.events)
  // Noted at once, so that a second call never brings one back twice.
  ledger.note(old.id, undefined)
  ledger.note(id, { ...taking.pair, old: { ...old, id }, step: 'created' })
  const steps = await letGo(means, taking)
  ledger.note(id, undefined)
  return [{ id: old.id, did: 'restored', replacement: id, secret: origin }, ...steps]
}

async function widen({ service, ledger }: Creating, { pair, found }: TakingBack): Promise<Step[]> {
  const { old } = pair
  if (found) await service.setEvents(old.id, old.events)
  ledger.note(old.id, undefined)
  return [{ id: old.id, did: found ? 'restored' : 'gone' }]
}

/** The replacement goes, or is again what it was. */
async function letGo(means: Creating, { pair, found }: TakingBack): Promise<readonly Step[]> {
  const { service, secrets } = means
  const { replacement, adopted } = pair
  if (!found) return [{ id: replacement, did: 'gone' }]
  if (adopted) {
    await service.setEvents(replacement, adopted.events)
    return [{ id: replacement, did: 'kept' }]
  }
  await service.remove(replacement)
  secrets.forget(replacement)
  return [{ id: replacement, did: 'removed' }]
}

/** A replacement signs with the old one's secret, so that nobody need have kept it. */
function withSecretOf(old: Pair['old'], replacement: Subscription | undefined): Subscription {
  const secret = replacement?.secret
  return { ...old, ...(secret !== undefined && { secret }) }
}
