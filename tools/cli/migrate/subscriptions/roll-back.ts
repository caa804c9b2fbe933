// The inverse of the plan: restores every old subscription of the journal and removes what was
// created for it.
import { create, type Deps, findEqual, isSameSet, listAll, secretLost } from './apply.ts'
import type { Pair } from './journal.ts'
import { planSubscription, type Step, type Subscription } from './plan.ts'
import { wasNotCreated } from './subscription-routes.ts'
import { countUndelivered } from './undelivered.ts'

/** A pair with what the service still has of it. */
interface FoundPair {
  readonly pair: Pair
  readonly old: Subscription | undefined
  readonly replacement: Subscription | undefined
}

/**
 * Rolls back every pair of the journal, the latest first, and yields each step as it is done.
 *
 * @throws CliError `SECRET_MISSING` before anything is changed
 */
export async function* rollBack(deps: Deps, listed: readonly Subscription[]): AsyncGenerator<Step> {
  const { journal, secrets, signal } = deps
  const byId = (wanted: string | undefined) => listed.find(({ id }) => id === wanted)
  const work = journal.pairs.map((pair): FoundPair => {
    const isBegun = pair.replacement === undefined
    const listedOld = byId(pair.old.id)
    // A service may keep and list what was deleted.
    const old = listedOld?.active || !pair.old.active ? listedOld : undefined
    const begun = { listed, journal, isBegun, events: [planSubscription(pair.old).beside] }
    const replacement = isBegun ? findEqual(old ?? pair.old, begun) : byId(pair.replacement)
    return { pair, old, replacement }
  })
  for (const found of work) if (isGone(found)) secrets.for(withSecret(found))
  for (const found of work.reverse()) {
    signal.throwIfAborted()
    yield* takeBack(deps, found)
  }
}

const isNarrowed = ({ old, replacement }: Pair) => old.id === replacement
const isGone = ({ pair, old }: FoundPair) => old === undefined && !isNarrowed(pair)

async function* takeBack(deps: Deps, found: FoundPair): AsyncGenerator<Step> {
  const { service, journal } = deps
  const { pair } = found
  let { old } = pair
  if (isNarrowed(pair)) {
    if (found.old) await service.setEvents(old.id, old.events)
    yield { id: old.id, did: found.old ? 'restored' : 'gone' }
  } else {
    if (isGone(found)) {
      const { id, origin } = await restore(deps, found)
      // Written at once, so that a second rollback does not create it again.
      yield { id: old.id, did: 'restored', replacement: id, secret: origin }
      old = { ...old, id }
    }
    const undelivered = await keptBy(deps, found)
    if (undelivered > 0) {
      const { id, active } = found.replacement ?? old
      yield { id, did: 'waiting', undelivered, ...(!active && { inactive: true }) }
      return
    }
    yield* removeReplacement(deps, found)
  }
  journal.delete(old.id)
}

async function restore(deps: Deps, found: FoundPair) {
  const { journal } = deps
  const { pair } = found
  const { old } = pair
  const beside = (await listAll(deps)).filter(({ url }) => url === old.url)
  // Written first, so that a creation whose answer is lost is looked for by the next run.
  journal.set({ ...pair, restoring: beside.map(({ id }) => id) })
  try {
    const made = await create(deps, withSecret(found), old.events)
    setRestored(deps, pair, made.id)
    return made
  } catch (error) {
    if (wasNotCreated(error)) journal.set(withoutMark(pair))
    throw error
  }
}

const withoutMark = ({ restoring: _, ...pair }: Pair): Pair => pair

function setRestored({ journal }: Deps, pair: Pair, id: string): void {
  journal.set({ ...withoutMark(pair), old: { ...pair.old, id }, alone: true }, pair.old.id)
}

/**
 * Finds what an earlier rollback restored without receiving the service's answer, and yields it.
 *
 * @throws CliError `SECRET_LOST`, `SECRET_MISSING`
 */
export function* findRestored(deps: Deps, listed: readonly Subscription[]): Generator<Step> {
  const { journal, secrets } = deps
  for (const pair of journal.pairs) {
    const { old, restoring } = pair
    if (!restoring) continue
    const replacement = listed.find(({ id }) => id === pair.replacement)
    const wanted = withSecret({ pair, replacement })
    const later = listed.filter(({ id }) => !restoring.includes(id))
    const search = { listed: later, journal, isBegun: true, events: [old.events] }
    const found = findEqual(wanted, search)
    if (!found) continue
    const { origin } = secrets.for(wanted)
    if (origin === 'new') throw secretLost(found)
    setRestored(deps, pair, found.id)
    yield { id: old.id, did: 'restored', replacement: found.id, secret: origin }
  }
}

/**
 * How many deliveries keep a replacement. One that always ran beside the old one is kept by none: the
 * old one had the same events.
 */
async function keptBy({ service, signal }: Deps, found: FoundPair): Promise<number> {
  const { pair, replacement } = found
  if (!replacement || pair.existing || !(isGone(found) || pair.alone)) return 0
  const undelivered = await countUndelivered(service, replacement.id, signal)
  const { beside } = planSubscription(pair.old)
  // Both run on, so it keeps only the events that an inbox recognizes under their two names.
  if (undelivered > 0 && !isSameSet(replacement.events, beside)) {
    await service.setEvents(replacement.id, beside)
  }
  return undelivered
}

async function* removeReplacement(
  deps: Deps,
  { pair, replacement }: FoundPair,
): AsyncGenerator<Step> {
  const { service, secrets } = deps
  if (!replacement) {
    if (pair.replacement !== undefined) yield { id: pair.replacement, did: 'gone' }
    return
  }
  const { id } = replacement
  if (pair.existing) {
    await service.setEvents(id, pair.existing)
    yield { id, did: 'kept' }
    return
  }
  await service.remove(id)
  secrets.forget(id)
  yield { id, did: 'removed' }
}

/** The replacement signs with the secret of the old one, so nobody needs to have kept that. */
function withSecret({ pair, replacement }: Omit<FoundPair, 'old'>): Subscription {
  const secret = replacement?.secret
  return { ...pair.old, ...(secret !== undefined && { secret }) }
}
