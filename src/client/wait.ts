// Waiting that ends at once when its signal is aborted.

/** The longest that a timer takes; a longer one would fire at once. */
const longest = 2 ** 31 - 1

/** Resolves after so many milliseconds; rejects with the signal's reason when that comes first. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      },
      Math.min(ms, longest),
    )
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** The work's end, or the signal's: for work that may not listen to the signal itself. */
export async function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
    work.catch(() => {})
  }
}
