// Walks a list page by page, each record once, to the page that says it is the last. Counting
// decides nothing: an empty page is not the end, and totals change while one reads.
import { WebhookError } from '../errors.ts'
import type { Pagination } from '../protocol/resources.ts'

/** One page of a list (section 2.5). */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly pagination: Pagination
}

/**
 * Every record of a list, each once; each walk starts anew.
 *
 * @example for await (const verification of client.verifications.iterate({ status: 'approved' })) …
 */
export interface Pager<Item> extends AsyncIterable<Item> {
  /** The same by pages, less the records that were given already. */
  pages(): AsyncIterable<Page<Item>>
  /**
   * The first `max` records.
   *
   * @throws WebhookError `OPTION_INVALID` without a cap: a list can be longer than memory
   */
  toArray(options: { readonly max: number }): Promise<Item[]>
}

/** How a list is read. */
export interface Reading<Item, Query> {
  readonly query: Query
  readonly read: (query: Query & { readonly page: number }) => Promise<Page<Item>>
  /** Before the first page: the query that later records cannot shift, where one can be known. */
  readonly pinBefore?: (query: Query) => Promise<Query>
  /** The same, from the first page. */
  readonly pinAfter?: (query: Query, first: Page<Item>) => Query
  /** What a list that never ends is told by. */
  readonly endless: () => Error
}

/** So many pages without a new record are no drift; the list does not end. */
const mostIdle = 1000

export function createPager<Item extends { readonly id: string }, Query extends object>(
  reading: Reading<Item, Query>,
): Pager<Item> {
  const pages = () => walk(reading)
  async function* items() {
    for await (const { data } of pages()) yield* data
  }
  return {
    pages,
    [Symbol.asyncIterator]: items,
    async toArray({ max } = { max: Number.NaN }) {
      if (!Number.isSafeInteger(max) || max < 0) {
        throw new WebhookError('OPTION_INVALID', 'toArray needs a cap: toArray({ max: 1000 })')
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
}: Reading<Item, Query>): AsyncGenerator<Page<Item>> {
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
