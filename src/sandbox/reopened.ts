// A data file that is opened again with options: what they say anew is applied, what can no longer
// be chosen is refused. Options that are as they were leave everything as it has become.

import { refuseUnless, type SandboxOptions } from './options.ts'
import type { EngineDeliveries, EngineSubscription } from './ports.ts'
import type { SavedState } from './saved-state.ts'
import type { Told } from './schemas/snapshot.ts'

/** What options say that a later start is compared with. */
export function toldBy({ now, secret, subscriptions = [] }: SandboxOptions): Told {
  return {
    ...(now !== undefined && typeof now !== 'function' && { now: new Date(now).toISOString() }),
    ...(secret !== undefined && { secret }),
    subscriptions: subscriptions.map(({ url, events, secret: own }) => ({
      url,
      ...(events && { events: [...events] }),
      ...(own !== undefined && { secret: own }),
    })),
  }
}

/**
 * Refuses a seed or a time other than the file's own: both decide how a state begins, and it has.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function refuseOther({ seed, now }: SandboxOptions, { snapshot, told }: SavedState): void {
  refuseUnless(
    seed === undefined || String(seed) === String(snapshot.seed),
    `the data file began with the seed ${snapshot.seed}: leave seed out, or use another file`,
  )
  const wanted = toldBy({ ...(now !== undefined && { now }) }).now
  const began = told.now === undefined ? 'with the system’s time' : `at ${told.now}`
  refuseUnless(
    wanted === undefined || wanted === told.now,
    `the data file began ${began} and goes on from where it stands: leave now (--at) out and set the clock, or use another file`,
  )
}

/** What a later start is compared with: the beginning stays, the rest is what was said last. */
export function toldAgain(before: Told, now: Told): Told {
  const { secret = before.secret } = now
  const urls = new Set(now.subscriptions.map(({ url }) => url))
  const others = before.subscriptions.filter(({ url }) => !urls.has(url))
  return {
    ...(before.now !== undefined && { now: before.now }),
    ...(secret !== undefined && { secret }),
    subscriptions: [...others, ...now.subscriptions],
  }
}

/** Which secret the sandbox goes on with; one that the options say anew replaces the file's. */
export function secretOf({ snapshot, told }: SavedState, { secret }: Told): string {
  return secret === undefined || secret === told.secret ? snapshot.secret : secret
}

/** Gives the subscriptions what the options say anew; returns the urls that it knew. */
export function applyAgain(
  subscriptions: EngineDeliveries['subscriptions'],
  saved: SavedState,
  now: Told,
): ReadonlySet<string> {
  const { snapshot, told } = saved
  const secret = secretOf(saved, now)
  const known = new Set<string>()
  for (const one of subscriptions.list()) {
    known.add(one.url)
    const before = told.subscriptions.find(({ url }) => url === one.url)
    const wanted = now.subscriptions.find(({ url }) => url === one.url)
    const patch = {
      ...(one.secret === snapshot.secret && secret !== one.secret && { secret }),
      ...(wanted && anew(before, { events: ['*'], ...wanted })),
    }
    if (differs(one, patch)) subscriptions.update(one.id, patch)
  }
  return known
}

type Wanted = Told['subscriptions'][number]

/** What a subscription's options say that they did not say before. */
function anew(before: Wanted | undefined, { events, secret }: Wanted) {
  const same = before && String(before.events ?? '*') === String(events)
  return {
    ...(events && !same && { events }),
    ...(secret !== undefined && secret !== before?.secret && { secret }),
  }
}

function differs(
  one: EngineSubscription,
  patch: { readonly events?: readonly string[]; readonly secret?: string },
): boolean {
  const events = patch.events !== undefined && String(patch.events) !== String(one.events)
  return events || (patch.secret !== undefined && patch.secret !== one.secret)
}
