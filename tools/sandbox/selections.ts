// The filters, sorts and pages of the two lists (sections 2.5, 4.2 and 4.5).
import type { Pagination } from '../../src/protocol/resources.ts'
import { verificationStatuses } from '../../src/protocol/values.ts'
import type { ClientsQuery, VerificationsQuery } from './schemas/api.ts'
import type { ClientRow, VerificationRow } from './schemas/snapshot.ts'

type Test<Kind> = (row: Kind) => boolean

/** Which rows a list shows, and in which order: newest first if `compare` is left out. */
interface Selection<Kind> {
  readonly keep: Test<Kind>
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
  const tests: Test<VerificationRow>[] = []
  if (type !== undefined) tests.push(({ resource }) => resource.type === type)
  if (status !== undefined) tests.push(({ resource }) => status.includes(resource.status))
  if (clientId !== undefined) tests.push(({ resource }) => sameId(resource.clientId, clientId))
  if (matterId !== undefined) tests.push(({ resource }) => sameId(resource.matterId, matterId))
  if (dateFrom !== undefined) {
    const { time, finer } = utc(dateFrom)
    tests.push(({ resource: { createdAt } }) => createdAt > time || (createdAt === time && !finer))
  }
  if (dateTo !== undefined) {
    const { time } = utc(dateTo)
    tests.push(({ resource }) => resource.createdAt <= time)
  }
  if (search) {
    const matches = matcher(search)
    tests.push(({ resource }) => matches(resource.subjectName) || matches(resource.subjectEmail))
  }
  return { keep: all(tests), compare: verificationOrders[sort ?? ''] }
}

export function selectClients(query: ClientsQuery): Selection<ClientRow> {
  const { search, memberType, active, sort } = query
  const tests: Test<ClientRow>[] = []
  if (memberType !== undefined) tests.push(({ resource }) => resource.memberType === memberType)
  if (active !== undefined) tests.push(({ resource }) => resource.active === (active === 'true'))
  if (search) {
    const matches = matcher(search)
    tests.push(({ resource }) => {
      const { businessName, email, externalId } = resource
      return [nameOf({ resource }), businessName, email, externalId].some(matches)
    })
  }
  return { keep: all(tests), compare: clientOrders[sort ?? ''] }
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
  name: (one, other) => inAlphabet(sortName(one), sortName(other)),
  request_count: (one, other) => other.resource.requestCount - one.resource.requestCount,
}

/** A person's full name; null without one. */
function nameOf({ resource }: Pick<ClientRow, 'resource'>): string | null {
  const { nameFirst, nameLast } = resource
  return nameFirst || nameLast ? [nameFirst, nameLast].filter(Boolean).join(' ') : null
}

/** A business by its own name, a person by the person's: not by where that person works. */
function sortName(row: ClientRow): string {
  const { memberType, businessName } = row.resource
  const person = nameOf(row)
  return (memberType === 'business' ? businessName || person : person || businessName) ?? ''
}

/** Created on first use: it costs more than the rest of a start. */
let collator: Intl.Collator | undefined
function inAlphabet(one: string, other: string): number {
  collator ??= new Intl.Collator('en')
  return collator.compare(one, other)
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

const sameId = (one: string | null, other: string) => one?.toLowerCase() === other.toLowerCase()

/**
 * Rows hold UTC to the millisecond in one form, so that comparing them as text compares times, and
 * costs less. `finer` is set when the time is later than that by a part of a millisecond.
 */
function utc(text: string): { readonly time: string; readonly finer: boolean } {
  const time = new Date(text).toISOString()
  const finer = /\.\d{3}\d*[1-9]/.test(text)
  // A year of more than four digits is before or after every row, whatever its first letter.
  if (time.startsWith('+')) return { time: '\uffff', finer }
  return { time: time.startsWith('-') ? '' : time, finer }
}

/** A pattern instead of lower-casing both sides, which would copy every text of every row. */
function matcher(search: string): (text: string | null) => boolean {
  const pattern = new RegExp(search.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
  return (text) => text !== null && pattern.test(text)
}

function all<Kind>(tests: readonly Test<Kind>[]): Test<Kind> {
  return (row) => tests.every((test) => test(row))
}
