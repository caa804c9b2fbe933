// Whether the records of a paginated list come newest first, which alone allows stopping early.
import { parseTime } from '../protocol/json-paths.ts'

/** Observes whether the times of records never rise, over all pages. */
export function falling<Item>(timeOf: (item: Item) => string) {
  let last = Number.POSITIVE_INFINITY
  let first: number | undefined
  let holds = true
  return {
    holds(items: readonly Item[]): boolean {
      for (const item of items) {
        const time = parseTime(timeOf(item))
        first ??= time
        if (!(time <= last)) holds = false
        last = time
      }
      return holds
    },
    /** Everything that follows is older; records of one time alone prove no order. */
    isBefore: (time: number) => last < time && first !== undefined && last < first,
  }
}
