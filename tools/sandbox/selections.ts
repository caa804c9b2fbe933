// The filters, sorts and pages of the two lists (sections 2.5, 4.2 and 4.5).
import type { Pagination } from '../../src/protocol/api-schemas.ts'
import type { Client, Verification } from '../../src/protocol/resources.ts'
import { verificationStatuses } from '../../src/protocol/values.ts'
import type { ClientsQuery, VerificationsQuery } from './schemas/api.ts'

/** One page of a list, with the pagination of section 2.5. */
export function pageOf<Item>(
  items: readonly Item[],
  { page, limit }: { readonly page: number; readonly limit: number },
): { readonly data: readonly Item[]; readonly pagination: Pagination } {
  const total = items.length
  const totalPages = Math.ceil(total / limit)
  const hasPrev = page > 1 && totalPages > 0
  return {
    data: items.slice((page - 1) * limit, page * limit),
    pagination: { page, limit, total, totalPages, hasNext: page < totalPages, hasPrev },
  }
}

/** A record of either list, by the fields that filters and sorts read. */
type Listed = Readonly<Partial<Omit<Verification, 'type' | 'status'> & Client>> & {
  readonly createdAt: string
  readonly updatedAt: string
  readonly type?: string
  readonly status?: string
}
type ListedFilters = Partial<Omit<VerificationsQuery, 'sort'> & Omit<ClientsQuery, 'sort'>> & {
  readonly sort?: string | undefined
}

/** Filters whose text a record has as it is, in either case. */
const exact = ['type', 'clientId', 'matterId', 'memberType', 'active'] as const

/** The resources of an organization that a query asks for, in its order; ties newest first. */
export function selected<Resource extends Listed>(
  rows: ReadonlyMap<string, { readonly resource: Resource }>,
  orgId: string,
  query: ListedFilters,
): Resource[] {
  const { status, dateFrom, dateTo, sort = 'created_at' } = query
  const from = dateFrom === undefined ? Number.NEGATIVE_INFINITY : Date.parse(dateFrom)
  const to = dateTo === undefined ? Number.POSITIVE_INFINITY : Date.parse(dateTo)
  const search = query.search?.toLowerCase() ?? ''
  const all = [...rows.values()].map(({ resource }) => resource)
  const kept = all.filter((one) => {
    const created = Date.parse(one.createdAt)
    return (
      one.orgId === orgId &&
      exact.every((name) => query[name] === undefined || lower(query[name]) === lower(one[name])) &&
      (status === undefined || status.some((wanted) => wanted === one.status)) &&
      from <= created &&
      created <= to &&
      (search === '' || searched(one).some((text) => text?.toLowerCase().includes(search)))
    )
  })
  return kept.reverse().sort(orders.created_at).sort(orders[sort])
}

const lower = (value: unknown) => String(value).toLowerCase()

const searched = (one: Listed) => {
  const { subjectName, subjectEmail, businessName, email, externalId } = one
  return [subjectName, subjectEmail, personOf(one), businessName, email, externalId]
}

type Order = (one: Listed, other: Listed) => number

const orders: Readonly<Record<string, Order>> = {
  created_at: (one, other) => compare(other.createdAt, one.createdAt),
  updated_at: (one, other) => compare(other.updatedAt, one.updatedAt),
  status: (one, other) => rankOf(one) - rankOf(other),
  name: (one, other) => sortName(one).localeCompare(sortName(other), 'en'),
  request_count: (one, other) => (other.requestCount ?? 0) - (one.requestCount ?? 0),
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)
const statuses: readonly string[] = verificationStatuses
const rankOf = ({ status = '' }: Listed) => statuses.indexOf(status)

/** A person's full name; empty without a person. */
const personOf = ({ nameFirst, nameLast }: Listed) =>
  [nameFirst, nameLast].filter(Boolean).join(' ')

/** Sorts a business by its own name, and a person by the person's name, not the employer's. */
function sortName(client: Listed): string {
  const { memberType, businessName } = client
  const person = personOf(client)
  return (memberType === 'business' ? businessName || person : person || businessName) ?? ''
}
