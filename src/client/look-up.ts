// After a create call whose outcome nobody knows: asks the service what it has that fits. The
// document gives no idempotency key, so the look-up is by all that the caller said and left out.
import type { Client, Verification } from '../protocol/resources.ts'
import { createClientBody, createVerificationBody } from './contract.ts'
import { falling } from './falling.ts'
import type { Page } from './pager.ts'

/** What the answers tell of the service's clock may be off by so many milliseconds. */
const slack = 60_000
/** The same while no answer has told it. */
const unknownSlack = 24 * 60 * 60_000

/** Fields of the input that come back in the resource as they were given. */
type Fields = Readonly<Record<string, unknown>>

/** Reads a list page by page, to its end. */
type ReadList<Item> = (query: Record<string, unknown>) => AsyncIterable<Page<Item>>

/** A create call that was sent. */
export interface Lost {
  /** Its body, as it was sent. */
  readonly body: string
  /** By our clock. */
  readonly began: Date
  /** How far the service's clock is behind ours; the look-up's own answers tell it too. */
  behind(): number | undefined
}

/** Verifications that fit the input of a create call which began at a time. */
export async function findVerifications(
  { body, ...lost }: Lost,
  read: ReadList<Verification>,
): Promise<readonly Verification[]> {
  const given = createVerificationBody.parse(JSON.parse(body))
  const { type, clientId, matterId, subjectEmail, subjectName } = given
  const query = compact({
    type,
    clientId,
    matterId,
    search: longestFitting([subjectEmail, subjectName], 100),
  })
  const found: Verification[] = []
  const order = falling<Verification>(({ createdAt }) => createdAt)
  for await (const { data } of read(query)) {
    found.push(...data.filter((one) => fitsVerification(one, given)))
    if (order.holds(data) && order.isBefore(earliest(lost))) break
  }
  return newestFirst(found, earliest(lost))
}

/** Clients that fit; an `externalId` is the caller's own and decides alone. */
export async function findClients(
  { body, ...lost }: Lost,
  read: ReadList<Client>,
): Promise<readonly Client[]> {
  const given = createClientBody.parse(JSON.parse(body))
  const { externalId, email, businessName, nameLast, nameFirst } = given
  const search = [externalId, email, businessName, nameLast, nameFirst].find(isText)
  const order = falling<Client>(({ createdAt }) => createdAt)
  const found: Client[] = []
  for await (const { data } of read(compact({ search, sort: 'created_at' }))) {
    found.push(
      ...data.filter((one) =>
        isText(externalId) ? one.externalId === externalId : fitsClient(one, given),
      ),
    )
    if (!isText(externalId) && order.holds(data) && order.isBefore(earliest(lost))) break
  }
  return newestFirst(found, isText(externalId) ? Number.NEGATIVE_INFINITY : earliest(lost))
}

/** When it can have been created first, by the service's clock. */
function earliest({ began, behind }: Pick<Lost, 'began' | 'behind'>): number {
  const known = behind()
  return began.getTime() - (known === undefined ? unknownSlack : known + slack)
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
      : name === 'country'
        ? lower(one.country) === lower(given.country)
        : same(one[name], given[name]),
  )
}

/** What was not given is null in the resource; a lenient reading may have left it out. */
function same(one: unknown, given: unknown): boolean {
  return (one ?? null) === (given ?? null)
}

/** UUIDs and countries are the same in either case. */
function lower(code: unknown): unknown {
  return typeof code === 'string' ? code.toLowerCase() : (code ?? null)
}

/** JSON by value: a service may keep objects with their keys in another order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  )
}

function newestFirst<Item extends { readonly createdAt: string }>(
  items: readonly Item[],
  since: number,
): Item[] {
  return items
    .filter(({ createdAt }) => !(Date.parse(createdAt) < since))
    .sort((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt))
}

/** `search` takes 100 characters (section 4.2), and a subject's name may have more. */
function longestFitting(texts: readonly unknown[], most: number): string | undefined {
  // A cut within a character leaves half of it, which no address can carry.
  return texts
    .find(isText)
    ?.slice(0, most)
    .replace(/[\ud800-\udbff]$/, '')
}

function compact(query: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
