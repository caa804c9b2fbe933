// Which started worker handles the entries of an inbox within one process: the newest one. A
// development server loads a module again after an edit, and the new handlers must run.
import { warnOfLostHandlers, warnOfTakeover } from './other-vendor.ts'

/** The inside of a receiver. */
interface Inside {
  readonly vendor: string | undefined
  /** Missing in another copy of this package, of an older version. */
  readonly dispatcher?: { readonly ids: readonly string[] }
}

interface Holder {
  readonly pipeline: Inside
  readonly stops: Set<() => void>
}

const registry = Symbol.for('idv-webhooks.workers')

/**
 * Takes a place over from the workers of an older receiver, which are stopped; several workers of
 * the same receiver share it. The function that it returns leaves the place.
 */
export function takeOver(place: string | object, pipeline: Inside, stop: () => void): () => void {
  const { files, inboxes } = holdersOfProcess()
  const holders: Holders = typeof place === 'string' ? files : inboxes
  const before = holders.get(place)
  const holder = before?.pipeline === pipeline ? before : { pipeline, stops: new Set<() => void>() }
  holders.set(place, holder)
  holder.stops.add(stop)
  if (before && before !== holder) {
    warnOfTakeover(before.pipeline.vendor, pipeline.vendor)
    if (before.pipeline.vendor === pipeline.vendor) {
      warnOfLostHandlers(before.pipeline.dispatcher?.ids, pipeline.dispatcher?.ids)
    }
    for (const old of [...before.stops]) old()
  }
  return () => {
    holder.stops.delete(stop)
    if (holder.stops.size === 0 && holders.get(place) === holder) holders.delete(place)
  }
}

/** A file's by its path, whichever inbox opened it; any other inbox's by itself. */
interface Registry {
  readonly files: Map<string, Holder>
  readonly inboxes: WeakMap<object, Holder>
}

interface Holders {
  get(place: unknown): Holder | undefined
  set(place: unknown, holder: Holder): unknown
  delete(place: unknown): boolean
}

/** One for all copies of this package in a process. */
function holdersOfProcess(): Registry {
  const all = globalThis as { [registry]?: Registry }
  all[registry] ??= { files: new Map(), inboxes: new WeakMap() }
  return all[registry]
}
