// The deadline of a body. A process that stood still runs its timers before it reads its sockets, in
// which all of the body may lie.

/** Milliseconds after its time: the process stood still. */
const late = 1_000

/**
 * Calls `end` after `ms` milliseconds. Where the timer comes late, it waits as long once more.
 * Returns how it is given up.
 */
export function bodyDeadline(ms: number, end: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>
  const begin = (isLast: boolean) => {
    const due = performance.now() + ms
    timer = setTimeout(() => {
      if (isLast || performance.now() - due < late) end()
      else begin(true)
    }, ms)
  }
  begin(false)
  return () => clearTimeout(timer)
}
