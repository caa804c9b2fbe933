// Promises where a plain value is expected: an async function in place of a plain one.

/** Hears the rejection of a value that turns out to be a promise: unhandled it ends the process. */
export function unawaited(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  try {
    if ('then' in value) Promise.resolve(value).catch(() => {})
  } catch {
    // A proxy or a getter of the user's own.
  }
}

/** Keeps a host awake that stops after its answer. */
export type WaitUntil = (work: Promise<unknown>) => void

/** The same where there is such a host; one that refuses the call does no harm. */
export function keepAwake(waitUntil: WaitUntil | undefined, work: Promise<unknown>): void {
  try {
    unawaited(waitUntil?.(work))
  } catch {}
}
