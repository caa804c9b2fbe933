// Waiting that ends when a signal is aborted, and leaves no listener behind.
import { longestTimer } from './check.ts'

/**
 * Resolves after `ms` milliseconds; rejects with the signal's reason when that comes first. Without
 * `ref` it keeps no process alive.
 */
export function sleep(ms: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const end = () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }
    const timer = setTimeout(end, Math.min(ms, longestTimer))
    // Timers of browsers and workers are numbers.
    if (!ref) (timer as { unref?(): void }).unref?.()
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** The result of `work`, or a `TimeoutError` after `ms` milliseconds: for work that may never end. */
export async function inTime<Value>(
  work: PromiseLike<Value>,
  ms: number,
  what: string,
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const message = `${what} took longer than ${ms} ms`
    timer = setTimeout(() => reject(new DOMException(message, 'TimeoutError')), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The result of `work`, or a rejection with the signal's reason when that comes first. For work
 * that may ignore the signal. The signal keeps nothing of it once either has happened.
 */
export function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).then(() => signal.removeEventListener('abort', stop))
  })
}
