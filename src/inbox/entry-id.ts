// Ids of entries: UUIDs of version 7, so that they grow with time and say nothing of the event.
import { randomBytes } from 'node:crypto'
import type { Clock } from '../foundation/clock.ts'

/** Ids that grow within one process even when the clock stands still or goes back. */
export function createEntryIds(now: Clock): () => string {
  let last = 0
  let count = 0
  return () => {
    const time = Math.floor(now().getTime())
    if (time > last) {
      last = time
      count = 0
    } else if (++count > 0xfff) {
      last++
      count = 0
    }
    const random = randomBytes(8)
    random[0] = ((random[0] ?? 0) & 0x3f) | 0x80
    const digits =
      last.toString(16).padStart(12, '0') + (0x7000 | count).toString(16) + random.toString('hex')
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  }
}
