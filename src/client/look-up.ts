// After a create call with an unknown outcome: asks the service what exists that matches. There is
// no idempotency key, so the match is by everything that the caller gave and left out.

import { defined } from '../foundation/defined.ts'
import { parseTime } from '../protocol/json-paths.ts'
import type { Client, Verification } from '../protocol/resources.ts'
import { createClientBody, createVerificationBody } from './contract.ts'
import type { Page } from './pager.ts'
import { falling } from './pager.ts'

/** How far the service's clock may be from what its responses show, in milliseconds. */
const slack = 60_000
/** The same before any response has shown it. */
const unknownSlack = 24 * 60 * 60_000

/** Fields of the input that come back in the resource as they were given. */
type Fields = Readonly<Record<string, unknown>>

/** Reads a list page by page, to its end. */
type ReadList<Item> = (query: Record<string, unknown>) => AsyncIterable<Page<Item>>

/** A create call that was sent. */
export interface SentCreate {
  /** Its body, as it was sent. */
  readonly body: string
  /** When it began by our clock as it is now, in milliseconds: it may have been set since. */
  began(): number
  /** How far the service's clock is behind ours; the look-up's own responses show it too. */
  behind(): number | undefined
}

/** Verifications that match the input of a create call. */
export function findVerifications(
  sent: SentCreate,
  read: ReadList<Verification>,
): Promise<readonly Verification[]> {
  const given = createVerificationBody.parse(JSON.parse(sent.body))
  const { type, clientId, matterId, subjectEmail, subjectName } = given
  const search = searchText([subjectEmail, subjectName])
  const pages = read(defined({ type, clientId, matterId, search }))
  return found(
    pages,
    (one) => fitsVerification(one, given),
    () => earliest(sent),
  )
}

/** Clients that match; an `externalId` is the caller's own and decides alone. */
export function findClients(sent: SentCreate, read: ReadList<Client>): Promise<readonly Client[]> {
  const given = createClientBody.parse(JSON.parse(sent.body))
  const { externalId, email, businessName, nameLast, nameFirst } = given
  const search = [externalId, email, businessName, nameLast, nameFirst].find(isText)
  const pages = read(defined({ search, sort: 'created_at' }))
  return isText(externalId)
    ? found(
        pages,
        (one) => one.externalId === externalId,
        () => Number.NEGATIVE_INFINITY,
      )
    : found(
        pages,
        (one) => fitsClient(one, given),
        () => earliest(sent),
      )
}

/** Resources that fit and are not older, newest first. */
async function found<Item extends { readonly createdAt: string }>(
  pages: AsyncIterable<Page<Item>>,
  fits: (one: Item) => boolean,
  since: () => number,
): Promise<readonly Item[]> {
  const items: Item[] = []
  const order = falling<Item>(({ createdAt }) => createdAt)
  for await (const { data } of pages) {
    items.push(...data.filter(fits))
    if (order.holds(data) && order.isBefore(since())) break
  }
  return items
    .filter(({ createdAt }) => !(parseTime(createdAt) < since()))
    .sort((one, other) => parseTime(other.createdAt) - parseTime(one.createdAt))
}

/** The earliest time of creation, by the service's clock. */
function earliest({ began, behind }: Pick<SentCreate, 'began' | 'behind'>): number {
  const known = behind()
  return began() - (known === undefined ? unknownSlack : known + slack)
}

function fitsVerification(one: Fields, given: Fields): boolean {
  const linked = given.clientId !== undefined
  return (
    JSON.stringify(one.requirements) === JSON.stringify(given.requirements) &&
    one.type === given.type &&
    same(one.expiresDays, given.expiresDays) &&
    ['clientId', 'matterId'].every((name) => lower(one[name]) === lower(given[name])) &&
    ['subjectName', 'subjectEmail', 'subjectPhone'].every(
      // The service takes what the call left out about the subject from the client.
      (name) => (linked && given[name] === undefined) || same(one[name], given[name]),
    )
  )
}

function fitsClient(one: Fields, given: Fields): boolean {
  return Object.keys(createClientBody.shape).every((name) => {
    if (name === 'metadata')
      return canonical(one.metadata ?? {}) === canonical(given.metadata ?? {})
    if (name === 'country') return lower(one.country) === lower(given.country)
    return same(one[name], given[name])
  })
}

/** A value that was not given is null in the resource, or missing from it. */
function same(one: unknown, given: unknown): boolean {
  return (one ?? null) === (given ?? null)
}

/** UUIDs and countries compare without case. */
const lower = (code: unknown) => (typeof code === 'string' ? code.toLowerCase() : (code ?? null))

/** JSON by value: a service may store objects with their keys in another order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  )
}

/** `search` takes 100 characters (section 4.2), and a subject's name may be longer. */
function searchText(texts: readonly unknown[]): string | undefined {
  // A cut within a character leaves half of it, which an address cannot carry.
  return texts
    .find(isText)
    ?.slice(0, 100)
    .replace(/[\ud800-\udbff]$/, '')
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
