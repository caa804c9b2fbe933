// After a create call whose outcome nobody knows: asks the service what it has that fits. The
// document gives no idempotency key, so the look-up is by all that the caller said and left out.
import type { Client, Verification } from '../protocol/resources.ts'
import { createClientBody, createVerificationBody } from './contract.ts'
import { falling } from './falling.ts'
import type { Page } from './pager.ts'

/** Our clock and the service's may differ by so many milliseconds. */
const slack = 60_000

/** Fields of the input that come back in the resource as they were given. */
type Fields = Readonly<Record<string, unknown>>

/** Reads a list page by page, to its end. */
type ReadList<Item> = (query: Record<string, unknown>) => AsyncIterable<Page<Item>>

/** A create call that was sent. */
export interface Lost {
  /** Its body, as it was sent. */
  readonly body: string
  readonly began: Date
}

/** Verifications that fit the input of a create call which began at a time. */
export async function findVerifications(
  { body, began }: Lost,
  read: ReadList<Verification>,
): Promise<readonly Verification[]> {
  const given = createVerificationBody.parse(JSON.parse(body))
  const { type, clientId, matterId, subjectEmail, subjectName } = given
  const query = compact({
    type,
    clientId,
    matterId,
    search: longestFitting([subjectEmail, subjectName], 100),
    dateFrom: new Date(began.getTime() - slack).toISOString(),
    sort: 'created_at',
  })
  const found: Verification[] = []
  for await (const { data } of read(query)) {
    found.push(...data.filter((one) => fitsVerification(one, given)))
  }
  return newestFirst(found)
}

/** Clients that fit; an `externalId` is the caller's own and decides alone. */
export async function findClients(
  { body, began }: Lost,
  read: ReadList<Client>,
): Promise<readonly Client[]> {
  const given = createClientBody.parse(JSON.parse(body))
  const { externalId, email, businessName, nameLast, nameFirst } = given
  const search = [externalId, email, businessName, nameLast, nameFirst].find(isText)
  const since = began.getTime() - slack
  const order = falling<Client>(({ createdAt }) => createdAt)
  const found: Client[] = []
  for await (const { data } of read(compact({ search, sort: 'created_at' }))) {
    for (const one of data) {
      const fits = isText(externalId)
        ? one.externalId === externalId
        : Date.parse(one.createdAt) >= since && fitsClient(one, given)
      if (fits) found.push(one)
    }
    if (!isText(externalId) && order.holds(data) && order.isBefore(since)) break
  }
  return newestFirst(found)
}

function fitsVerification(one: Fields, given: Fields): boolean {
  const linked = given.clientId !== undefined
  return (
    JSON.stringify(one.requirements) === JSON.stringify(given.requirements) &&
    one.type === given.type &&
    same(one.expiresDays, given.expiresDays) &&
    ['clientId', 'matterId'].every((name) => lower(one[name]) === lower(given[name])) &&
    ['subjectName', 'subjectEmail', 'subjectPhone'].every(
      // A subject who was not named may be taken from the client.
      (name) => (linked && given[name] === undefined) || same(one[name], given[name]),
    )
  )
}

function fitsClient(one: Fields, given: Fields): boolean {
  return Object.keys(createClientBody.shape).every((name) =>
    name === 'metadata'
      ? canonical(one.metadata ?? {}) === canonical(given.metadata ?? {})
      : same(one[name], given[name]),
  )
}

/** What was not given is null in the resource; a lenient reading may have left it out. */
function same(one: unknown, given: unknown): boolean {
  return (one ?? null) === (given ?? null)
}

/** UUIDs are the same in either case. */
function lower(id: unknown): unknown {
  return typeof id === 'string' ? id.toLowerCase() : (id ?? null)
}

/** JSON by value: a service may keep objects with their keys in another order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  )
}

function newestFirst<Item extends { readonly createdAt: string }>(items: readonly Item[]): Item[] {
  return [...items].sort((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt))
}

/** `search` takes 100 characters (section 4.2), and a subject's name may have more. */
function longestFitting(texts: readonly unknown[], most: number): string | undefined {
  return texts.find(isText)?.slice(0, most)
}

function compact(query: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
