// Promises whatever the global `Promise` is: an application may have replaced it (zone.js, Bluebird),
// and async functions and the platform go on giving native ones.

/** Tells a promise of any kind by its `then`: one that `instanceof` missed would pass for a result. */
export function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

/** `Promise.withResolvers`, which a replaced `Promise` may lack. */
export function deferred<Value>(): PromiseWithResolvers<Value> {
  let settle: Omit<PromiseWithResolvers<Value>, 'promise'> | undefined
  const promise = new Promise<Value>((resolve, reject) => {
    settle = { resolve, reject }
  })
  // Trust is granted here: a constructor of promises calls its function at once.
  return { promise, ...(settle as Omit<PromiseWithResolvers<Value>, 'promise'>) }
}

/** The place of the first true result, or -1; where none is true a fault is thrown, if there was one. */
export async function firstTrue(results: readonly (boolean | Promise<boolean>)[]): Promise<number> {
  const faults: unknown[] = []
  // Not by `allSettled`, which a replaced `Promise` may lack, or have in a form of its own.
  const all = await Promise.all(
    results.map(async (one) => {
      try {
        return (await one) === true
      } catch (fault) {
        faults.push(fault)
        return false
      }
    }),
  )
  const at = all.indexOf(true)
  if (at < 0 && faults.length > 0) throw faults[0]
  return at
}
