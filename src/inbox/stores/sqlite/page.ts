// How much is erased in one commit: whatever arrives meanwhile waits for it.
import type { Head } from './connection.ts'

/** An entry with the bytes of its body as it was received. */
export type Sized = Head & { readonly bytes: number }

/** Entries of a page. */
export const atOnce = 500
/** Bytes that a page erases: what held them in the file is overwritten. */
const mostErased = 4 * 2 ** 20

/** How many of a page come before one that is beyond those bytes: one at least. */
export function countWithin(page: readonly Pick<Sized, 'bytes' | 'erased'>[]): number {
  let sum = 0
  const beyond = page.findIndex(({ bytes, erased }, at) => {
    sum += erased ? 0 : bytes
    return at > 0 && sum > mostErased
  })
  return beyond === -1 ? page.length : beyond
}
