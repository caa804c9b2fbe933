// The filters and sorts of the two lists (sections 4.2 and 4.5), as selections over rows.
import { type VerificationStatus, verificationStatuses } from '../protocol/resources.ts'
import type { ClientRow, VerificationRow } from './rows.ts'
import type { Selection } from './table.ts'

/** The checked query of `GET /verifications`. */
export interface VerificationsQuery {
  readonly type?: string | undefined
  readonly status?: readonly string[] | undefined
  readonly clientId?: string | undefined
  readonly matterId?: string | undefined
  readonly search?: string | undefined
  readonly dateFrom?: string | undefined
  readonly dateTo?: string | undefined
  readonly sort?: string | undefined
}

/** The checked query of `GET /clients`. */
export interface ClientsQuery {
  readonly search?: string | undefined
  readonly memberType?: string | undefined
  readonly active?: string | undefined
  readonly sort?: string | undefined
}

type Test<Kind> = (row: Kind) => boolean

export function selectVerifications(query: VerificationsQuery): Selection<VerificationRow> {
  const { type, status, clientId, matterId, search, dateFrom, dateTo, sort } = query
  const tests: Test<VerificationRow>[] = []
  if (type !== undefined) tests.push(({ resource }) => resource.type === type)
  if (status !== undefined) tests.push(({ resource }) => status.includes(resource.status))
  if (clientId !== undefined) tests.push(({ resource }) => sameId(resource.clientId, clientId))
  if (matterId !== undefined) tests.push(({ resource }) => sameId(resource.matterId, matterId))
  if (dateFrom !== undefined) {
    const from = utc(dateFrom)
    tests.push(({ resource }) => resource.createdAt >= from)
  }
  if (dateTo !== undefined) {
    const to = utc(dateTo)
    tests.push(({ resource }) => resource.createdAt <= to)
  }
  if (search) {
    const holds = holder(search)
    tests.push(({ resource }) => holds(resource.subjectName) || holds(resource.subjectEmail))
  }
  return { key: JSON.stringify(query), keep: all(tests), compare: verificationOrders[sort ?? ''] }
}

export function selectClients(query: ClientsQuery): Selection<ClientRow> {
  const { search, memberType, active, sort } = query
  const tests: Test<ClientRow>[] = []
  if (memberType !== undefined) tests.push(({ resource }) => resource.memberType === memberType)
  if (active !== undefined) tests.push(({ resource }) => resource.active === (active === 'true'))
  if (search) {
    const holds = holder(search)
    tests.push(
      ({ resource }) =>
        holds(nameOf({ resource })) ||
        holds(resource.businessName) ||
        holds(resource.email) ||
        holds(resource.externalId),
    )
  }
  return { key: JSON.stringify(query), keep: all(tests), compare: clientOrders[sort ?? ''] }
}

const rank = new Map(verificationStatuses.map((status, at) => [status, at]))
const rankOf = ({ resource }: VerificationRow) =>
  rank.get(resource.status as VerificationStatus) ?? verificationStatuses.length

/** The default order, newest first, is the table's own; ties keep it. */
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

/** A business's own name, a person's own: where a person works is not what he is called. */
function sortName(row: ClientRow): string {
  const { memberType, businessName } = row.resource
  const person = nameOf(row)
  return (memberType === 'business' ? businessName || person : person || businessName) ?? ''
}

/** Made when first needed: it costs more than the rest of a start. */
let collator: Intl.Collator | undefined
function inAlphabet(one: string, other: string): number {
  collator ??= new Intl.Collator('en')
  return collator.compare(one, other)
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

const sameId = (one: string | null, other: string) => one?.toLowerCase() === other.toLowerCase()

/** Rows hold UTC in one form, so that comparing them as text compares times, and costs less. */
function utc(time: string): string {
  const text = new Date(time).toISOString()
  // A year of more than four digits stands before or after every row, whatever its first letter.
  return text.startsWith('+') ? '\uffff' : text.startsWith('-') ? '' : text
}

/** A pattern instead of lower-casing both, which would copy every text of every row. */
function holder(search: string): (text: string | null) => boolean {
  const pattern = new RegExp(search.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
  return (text) => text !== null && pattern.test(text)
}

function all<Kind>(tests: readonly Test<Kind>[]): Test<Kind> | undefined {
  if (tests.length === 0) return undefined
  return (row) => tests.every((test) => test(row))
}
