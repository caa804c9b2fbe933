// Promises that the package does not await, and hosts that stop after their reply.

/** True for a promise of any kind, also a query builder that runs when it is awaited. */
export function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

/** Ignores the rejection of a value that turns out to be a promise: unhandled, it ends the process. */
export function ignoreRejection(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  try {
    if (isPromise(value)) Promise.resolve(value).catch(() => {})
  } catch {
    // A proxy or a getter of the user's code.
  }
}

/** Keeps a host awake that stops after its reply. */
export type WaitUntil = (work: Promise<unknown>) => void

/** Keeps the host awake until `work` ends; a host that refuses the call does no harm. */
export function keepAwake(waitUntil: WaitUntil | undefined, work: Promise<unknown>): void {
  try {
    ignoreRejection(waitUntil?.(work))
  } catch {}
}
