// Takes back all that the journal knows: old subscriptions come again with a secret that is known,
// what was made goes, and what was there before stays.
import { type Means, recreate, type Step } from './apply.ts'
import type { Pair } from './journal.ts'
import type { Subscription } from './plan.ts'

/**
 * Brings the old subscriptions back and removes the new ones, the latest pair first.
 *
 * @throws CliError `SECRET_MISSING` before anything is changed
 */
export async function rollBack(means: Means): Promise<readonly Step[]> {
  const { journal, save } = means
  const found = new Map<Pair, Subscription | undefined>()
  for (const pair of journal.pairs) {
    const one = await means.service.get(pair.replacement)
    found.set(pair, one)
    if (pair.step === 'dropped') means.secrets.for(withSecretOf(pair.old, one))
  }
  const steps: Step[] = []
  for (const [at, pair] of [...journal.pairs.entries()].reverse()) {
    const before = journal.pairs.slice(0, at)
    // Noted at once, so that a second call never brings one back twice.
    const note = (now: Pair) => save({ ...journal, pairs: [...before, now] })
    steps.push(...(await takeBack(means, { pair, found: found.get(pair), note })))
    save({ ...journal, pairs: before })
  }
  return steps
}

interface TakingBack {
  readonly pair: Pair
  /** The replacement, if it is still there. */
  readonly found: Subscription | undefined
  readonly note: (pair: Pair) => void
}

async function takeBack(means: Means, { pair, found, note }: TakingBack): Promise<readonly Step[]> {
  const { service, secrets } = means
  const { old, replacement, step, adopted } = pair
  if (step === 'narrowed') {
    if (!found) return [{ id: old.id, did: 'gone' }]
    await service.setEvents(old.id, old.events)
    return [{ id: old.id, did: 'restored' }]
  }
  const steps: Step[] = []
  if (step === 'dropped') {
    const { id, origin } = await recreate(means, withSecretOf(old, found), old.events)
    note({ ...pair, old: { ...old, id }, step: 'created' })
    steps.push({ id: old.id, did: 'restored', replacement: id, secret: origin })
  }
  if (!found) return [...steps, { id: replacement, did: 'gone' }]
  if (adopted) {
    await service.setEvents(replacement, adopted.events)
    return [...steps, { id: replacement, did: 'kept' }]
  }
  await service.remove(replacement)
  secrets.forget(replacement)
  return [...steps, { id: replacement, did: 'removed' }]
}

/** A replacement signs with the old one's secret, so that nobody need have kept it. */
function withSecretOf(old: Pair['old'], replacement: Subscription | undefined): Subscription {
  const secret = replacement?.secret
  return { ...old, ...(secret !== undefined && { secret }) }
}
