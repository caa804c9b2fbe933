// Pins an iteration over verifications to those that existed when it began, by the service's clock:
// a slow clock of ours would lose the newest of them.
import { parseTime } from '../protocol/json-paths.ts'
import { falling } from './falling.ts'
import type { Page } from './pager.ts'

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
