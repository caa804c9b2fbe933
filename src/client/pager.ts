// Reads a list page by page, each record once, until a page says that it is the last. Counts decide
// nothing: an empty page is not the end, and totals change during the reading.
import { invalid } from '../foundation/check.ts'
import type { Pagination } from '../protocol/api-schemas.ts'

/** One page of a list (section 2.5). */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly pagination: Pagination
}

/**
 * Every record of a list, once; each iteration starts again from the first page.
 *
 * @example for await (const verification of client.verifications.iterate({ status: 'approved' })) …
 */
export interface Pager<Item> extends AsyncIterable<Item> {
  /** Yields pages instead of records, without records that were already yielded. */
  pages(): AsyncIterable<Page<Item>>
  /**
   * The first `max` records.
   *
   * @throws WebhookError `OPTION_INVALID` without `max`: a list can be larger than memory
   */
  toArray(options: { readonly max: number }): Promise<Item[]>
}

type ReadPage<Item> = (page: number) => Promise<Page<Item>>

export function createPager<Item extends { readonly id: string }>(
  read: ReadPage<Item>,
): Pager<Item> {
  const pages = () => walk(read)
  async function* items() {
    for await (const { data } of pages()) yield* data
  }
  return {
    pages,
    [Symbol.asyncIterator]: items,
    async toArray({ max } = { max: Number.NaN }) {
      if (!Number.isSafeInteger(max) || max < 0) {
        throw invalid('toArray needs a limit: toArray({ max: 1000 })')
      }
      const all: Item[] = []
      if (max === 0) return all
      for await (const item of items()) {
        all.push(item)
        if (all.length >= max) break
      }
      return all
    },
  }
}

async function* walk<Item extends { readonly id: string }>(
  read: ReadPage<Item>,
): AsyncGenerator<Page<Item>> {
  const seen = new Set<string>()
  for (let page = 1; ; page++) {
    const got = await read(page)
    yield { ...got, data: got.data.filter(({ id }) => !seen.has(id) && seen.add(id)) }
    if (!got.pagination.hasNext) return
  }
}
