// Pins a walk over verifications to those that existed when it began, by the service's own clock:
// a clock of ours that is slow would lose the newest of them.
import type { Page } from './pager.ts'

interface Dated {
  readonly createdAt: string
}

/** The part of a query that pinning reads and changes. */
export interface DatedQuery {
  readonly sort?: string | undefined
  readonly dateTo?: Date | string | undefined
}

/** The time of the newest record of a page that has the newest first; undefined for any other. */
export function newestOf(items: readonly Dated[]): string | undefined {
  const times = items.map(({ createdAt }) => Date.parse(createdAt))
  const [first] = times
  if (first === undefined || times.some((time, at) => !(time <= (times[at - 1] ?? time)))) {
    return undefined
  }
  return items[0]?.createdAt
}

/** The query with `dateTo` at the newest record, unless it ends before. */
export function pinTo<Query extends DatedQuery>(query: Query, newest: string | undefined): Query {
  if (newest === undefined) return query
  const { dateTo } = query
  if (dateTo !== undefined && +new Date(dateTo) <= Date.parse(newest)) return query
  return { ...query, dateTo: newest }
}

/** How a list of verifications is pinned: by its first page, or by one look at the newest. */
export function pinning<Query extends DatedQuery, Item extends Dated>(
  query: Query,
  readNewest: (query: Query) => Promise<Page<Item>>,
) {
  if (query.sort === undefined || query.sort === 'created_at') {
    return { pinAfter: (own: Query, { data }: Page<Item>) => pinTo(own, newestOf(data)) }
  }
  return {
    pinBefore: async (own: Query) => pinTo(own, newestOf((await readNewest(own)).data)),
  }
}
