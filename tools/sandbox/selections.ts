// The filters, sorts and pages of the two lists (sections 2.5, 4.2 and 4.5).
import type { Pagination } from '../../src/protocol/api-schemas.ts'
import { verificationStatuses } from '../../src/protocol/values.ts'
import type { ClientsQuery, VerificationsQuery } from './schemas/api.ts'
import type { ClientRow, VerificationRow } from './schemas/snapshot.ts'

/** Which rows a list shows, and in which order: newest first if `compare` is left out. */
interface Selection<Kind> {
  readonly keep: (row: Kind) => boolean
  readonly compare?: ((one: Kind, other: Kind) => number) | undefined
}

/** The resources of an organization that a selection keeps, in its order; ties newest first. */
export function selected<Kind extends VerificationRow | ClientRow>(
  rows: ReadonlyMap<string, Kind>,
  orgId: string,
  { keep, compare: order }: Selection<Kind>,
): readonly Kind['resource'][] {
  const kept = [...rows.values()].filter((row) => row.resource.orgId === orgId && keep(row))
  kept.reverse().sort((one, other) => compare(other.resource.createdAt, one.resource.createdAt))
  if (order) kept.sort(order)
  return kept.map(({ resource }) => resource)
}

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

export function selectVerifications(query: VerificationsQuery): Selection<VerificationRow> {
  const { type, status, clientId, matterId, search, dateFrom, dateTo, sort } = query
  const from = dateFrom === undefined ? Number.NEGATIVE_INFINITY : Date.parse(dateFrom)
  const to = dateTo === undefined ? Number.POSITIVE_INFINITY : Date.parse(dateTo)
  const keep = ({ resource }: VerificationRow) => {
    const created = Date.parse(resource.createdAt)
    return (
      fits(type, resource.type) &&
      (status === undefined || status.includes(resource.status)) &&
      fits(clientId?.toLowerCase(), resource.clientId?.toLowerCase()) &&
      fits(matterId?.toLowerCase(), resource.matterId?.toLowerCase()) &&
      from <= created &&
      created <= to &&
      matches(search, [resource.subjectName, resource.subjectEmail])
    )
  }
  return { keep, compare: verificationOrders[sort ?? ''] }
}

export function selectClients(query: ClientsQuery): Selection<ClientRow> {
  const { search, memberType, active, sort } = query
  const keep = ({ resource }: ClientRow) => {
    const { businessName, email, externalId } = resource
    return (
      fits(memberType, resource.memberType) &&
      fits(active, String(resource.active)) &&
      matches(search, [nameOf({ resource }), businessName, email, externalId])
    )
  }
  return { keep, compare: clientOrders[sort ?? ''] }
}

const fits = (wanted: unknown, value: unknown) => wanted === undefined || wanted === value

/** Tells whether one of the texts contains the search, in either case. */
function matches(search: string | undefined, texts: readonly (string | null)[]): boolean {
  if (!search) return true
  return texts.some((text) => text?.toLowerCase().includes(search.toLowerCase()))
}

const rank = new Map(verificationStatuses.map((status, at) => [status, at]))
const rankOf = ({ resource }: VerificationRow) =>
  rank.get(resource.status) ?? verificationStatuses.length

/** The default order is newest first; ties keep it. */
const verificationOrders: Readonly<
  Record<string, (one: VerificationRow, other: VerificationRow) => number>
> = {
  updated_at: (one, other) => compare(other.resource.updatedAt, one.resource.updatedAt),
  status: (one, other) => rankOf(one) - rankOf(other),
}

const clientOrders: Readonly<Record<string, (one: ClientRow, other: ClientRow) => number>> = {
  name: (one, other) => sortName(one).localeCompare(sortName(other), 'en'),
  request_count: (one, other) => other.resource.requestCount - one.resource.requestCount,
}

/** A person's full name; null without a person. */
function nameOf({ resource }: Pick<ClientRow, 'resource'>): string | null {
  const { nameFirst, nameLast } = resource
  return nameFirst || nameLast ? [nameFirst, nameLast].filter(Boolean).join(' ') : null
}

/** Sorts a business by its own name, and a person by the person's name, not the employer's. */
function sortName(row: ClientRow): string {
  const { memberType, businessName } = row.resource
  const person = nameOf(row)
  return (memberType === 'business' ? businessName || person : person || businessName) ?? ''
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)
