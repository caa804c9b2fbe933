// Watches a walk over pages: whether the newest come first, which alone allows stopping early.

/** Watches whether the times of records fall, over all pages. */
export function falling<Item>(timeOf: (item: Item) => string) {
  let last = Number.POSITIVE_INFINITY
  let first: number | undefined
  let holds = true
  return {
    holds(items: readonly Item[]): boolean {
      for (const item of items) {
        const time = Date.parse(timeOf(item))
        first ??= time
        if (!(time <= last)) holds = false
        last = time
      }
      return holds
    },
    /** All that follows is older; records of one time alone prove no order. */
    isBefore: (time: number) => last < time && first !== undefined && last < first,
  }
}
