// Reads a list page by page, each record once, until a page says that it is the last. Counts decide
// nothing: an empty page is not the end, and totals change during the reading.
import { invalid } from '../foundation/check.ts'
import { parseTime } from '../protocol/json-paths.ts'
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

interface Dated {
  readonly createdAt: string
}

/** The part of a query that pinning reads and changes. */
export interface DatedQuery {
  readonly sort?: string | undefined
  readonly page?: number | undefined
  readonly limit?: number | undefined
  readonly dateTo?: Date | string | undefined
}

const second = 1000
/** The times that a query can name: its years have four digits. */
const first = Date.parse('0000-01-01T00:00:00Z')
const last = Date.parse('9999-12-31T23:59:59.999Z')

/** The newest time of a page, if falling times prove that the newest come first. */
function newestOf(items: readonly Dated[]): number | undefined {
  const order = falling<Dated>(({ createdAt }) => createdAt)
  const proved = order.holds(items) && order.isBefore(Number.POSITIVE_INFINITY)
  return proved ? parseTime(items[0]?.createdAt ?? '') : undefined
}

/**
 * The query with `dateTo` at the newest record, unless it ends earlier. A service may store times
 * more precisely than it shows them, so it ends with the next second: a date that is too early
 * would remove records from the list and shift others past the iteration. A record of a time that no
 * query can name pins nothing.
 */
function pinTo<Query extends DatedQuery>(query: Query, newest: number | undefined): Query {
  if (newest === undefined) return query
  const end = (Math.floor(newest / second) + 1) * second
  if (end < first || end > last) return query
  const { dateTo } = query
  if (dateTo !== undefined && +new Date(dateTo) <= end) return query
  return { ...query, dateTo: new Date(end).toISOString() }
}

/** How a list of verifications is pinned: by its first page, or by one request for the newest. */
export function pinning<Query extends DatedQuery, Item extends Dated>(
  query: Query,
  read: (query: Query) => Promise<Page<Item>>,
) {
  const byCreation = query.sort === undefined || query.sort === 'created_at'
  // A single record proves no order.
  if (byCreation && query.limit !== 1) {
    return { pinAfter: (own: Query, { data }: Page<Item>) => pinTo(own, newestOf(data)) }
  }
  return {
    async pinBefore(own: Query) {
      // Only the default order has a documented direction (section 4.2).
      const { data } = await read({ ...own, sort: undefined, page: undefined, limit: undefined })
      return pinTo(own, newestOf(data))
    },
  }
}
