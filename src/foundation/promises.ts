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
