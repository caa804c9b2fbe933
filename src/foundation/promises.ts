// Promises of several results.

/** Creates a promise with its resolvers. */
export const deferred = <Value>(): PromiseWithResolvers<Value> => Promise.withResolvers<Value>()

/** The index of the first true result, or -1; if none is true, throws a fault if there was one. */
export async function firstTrue(results: readonly (boolean | Promise<boolean>)[]): Promise<number> {
  const settled = await Promise.allSettled(results)
  const index = settled.findIndex((one) => one.status === 'fulfilled' && one.value === true)
  const fault = settled.find((one) => one.status === 'rejected')
  if (index < 0 && fault) throw fault.reason
  return index
}
