// Follows a path; one that cannot be followed counts as missing.
import { type Stats, statSync } from 'node:fs'

/** The file at a path; undefined if nothing can be reached, such as for a link to itself. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
