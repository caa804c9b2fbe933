// Reads a list page by page, each record once, until a page says that it is the last. Counts decide
// nothing: an empty page is not the end, and totals change during the reading.
import { invalid } from '../foundation/check.ts'
import type { Pagination } from '../protocol/resources.ts'

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
  /** The same page by page, without records that were already yielded. */
  pages(): AsyncIterable<Page<Item>>
  /**
   * The first `max` records.
   *
   * @throws WebhookError `OPTION_INVALID` without `max`: a list can be larger than memory
   */
  toArray(options: { readonly max: number }): Promise<Item[]>
}

/** How a list is read. */
export interface PagerOptions<Item, Query> {
  readonly query: Query
  readonly read: (query: Query & { readonly page: number }) => Promise<Page<Item>>
  /** Before the first page: the query that later records cannot shift, if one can be known. */
  readonly pinBefore?: (query: Query) => Promise<Query>
  /** The same, from the first page. */
  readonly pinAfter?: (query: Query, first: Page<Item>) => Query
  /** The error for a list that never ends. */
  readonly endless: () => Error
}

/** After this many pages without a new record the list is not drifting: it does not end. */
const mostIdle = 1000

export function createPager<Item extends { readonly id: string }, Query extends object>(
  options: PagerOptions<Item, Query>,
): Pager<Item> {
  const pages = () => walk(options)
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

async function* walk<Item extends { readonly id: string }, Query extends object>({
  query,
  read,
  pinBefore,
  pinAfter,
  endless,
}: PagerOptions<Item, Query>): AsyncGenerator<Page<Item>> {
  const seen = new Set<string>()
  let pinned = pinBefore ? await pinBefore(query) : query
  let idle = 0
  for (let page = 1; idle < mostIdle; page++) {
    const got = await read({ ...pinned, page })
    if (page === 1 && pinAfter) pinned = pinAfter(pinned, got)
    const data = got.data.filter(({ id }) => !seen.has(id) && seen.add(id))
    idle = data.length > 0 ? 0 : idle + 1
    yield { ...got, data }
    if (!got.pagination.hasNext) return
  }
  throw endless()
}
