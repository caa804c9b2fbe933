// Options that may be given several times.
import type { Option } from 'commander'

const collectors = new WeakSet<object>()

/** Reads each value and collects them in order. */
export function repeating<Item>(read: (text: string) => Item) {
  const collect = (text: string, before: readonly Item[] = []): Item[] => [...before, read(text)]
  collectors.add(collect)
  return collect
}

/** Collects texts unchanged. */
export const repeated = repeating((text) => text)

/** Whether an option may be given several times. */
export function isRepeatable({ parseArg }: Option): boolean {
  return parseArg !== undefined && collectors.has(parseArg)
}
