// Unproved bodies that refusals hold for their diagnosis, for as long as somebody holds the refusal:
// an observer may keep many. The latest ones keep theirs.

/** Holds a stranger's bytes until they are dropped. */
interface Holder {
  drop(): void
}

interface Held {
  readonly holder: WeakRef<Holder>
  readonly bytes: number
}

/** The most of them, and of their bytes: as many as may be read at a time. */
const most = 1_000
const mostBytes = 64 * 1_048_576

let held: Held[] = []
let total = 0

/** Counts what a refusal holds; the oldest beyond the bounds drop theirs. */
export function holdEvidence(holder: Holder, bytes: number): void {
  // Some hosts have none: there a refusal holds its own for as long as it lives.
  if (typeof WeakRef !== 'function') return
  held.push({ holder: new WeakRef(holder), bytes })
  total += bytes
  if (held.length <= most && total <= mostBytes) return
  let gone = 0
  // In steps, so that not every refusal moves the whole list.
  const [few, less] = [most * 0.9, mostBytes * 0.9]
  for (const one of held) {
    if (held.length - gone <= few && total <= less) break
    total -= one.bytes
    gone++
    one.holder.deref()?.drop()
  }
  held = held.slice(gone)
}
