// What a path leads to; a name that leads nowhere is as good as missing, however it fails.
import { type Stats, statSync } from 'node:fs'

/** What stands at a path; undefined where nothing can, such as at a link that leads to itself. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
