// Which started worker handles the entries of a file within one process: the newest one. A
// development server loads the program again after an edit, and the new handlers must run.

interface Holder {
  readonly inbox: object
  readonly stops: Set<() => void>
}

const registry = Symbol.for('idv-webhooks.workers')

/**
 * Takes a place over from the workers of an older inbox, which are stopped; several workers of the
 * same inbox share it. The function that it returns leaves the place.
 */
export function takeOver(place: string, inbox: object, stop: () => void): () => void {
  const holders = holdersOfProcess()
  const before = holders.get(place)
  const holder = before?.inbox === inbox ? before : { inbox, stops: new Set<() => void>() }
  holders.set(place, holder)
  holder.stops.add(stop)
  if (before && before !== holder) for (const old of [...before.stops]) old()
  return () => {
    holder.stops.delete(stop)
    if (holder.stops.size === 0 && holders.get(place) === holder) holders.delete(place)
  }
}

/** One for all copies of this package in a process. */
function holdersOfProcess(): Map<string, Holder> {
  const all = globalThis as { [registry]?: Map<string, Holder> }
  all[registry] ??= new Map()
  return all[registry]
}
