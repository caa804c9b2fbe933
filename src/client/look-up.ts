// After a create call whose outcome nobody knows: asks the service what it has that fits. The
// document gives no idempotency key, so the look-up is by what the caller said.
import type { Client, Verification } from '../protocol/resources.ts'
import type { Page } from './pager.ts'

/** Our clock and the service's may differ by so many milliseconds. */
const slack = 60_000

/** Fields of the input that come back in the resource as they were given. */
type Fields = Readonly<Record<string, unknown>>

/** Reads the newest page of a list. */
type ReadList<Item> = (query: Record<string, unknown>) => Promise<Page<Item>>

/** The query that a lost verification is looked up by. */
export function verificationQuery(input: Fields, began: Date) {
  const { type, clientId, matterId, subjectEmail, subjectName } = input
  const search = longestFitting([subjectEmail, subjectName], 100)
  return compact({
    type,
    clientId,
    matterId,
    search,
    dateFrom: new Date(began.getTime() - slack).toISOString(),
    sort: 'created_at',
    limit: 100,
  })
}

/** The query that a lost client is looked up by: its `externalId`, else what it is called. */
export function clientQuery(input: Fields) {
  const { externalId, email, businessName, nameLast, nameFirst } = input
  const search = [externalId, email, businessName, nameLast, nameFirst].find(isText)
  return compact({ search, sort: 'created_at', limit: 100 })
}

/** Verifications that fit the input of a create call which began at a time. */
export async function findVerifications(
  input: Fields,
  began: Date,
  read: ReadList<Verification>,
): Promise<readonly Verification[]> {
  const { data } = await read(verificationQuery(input, began))
  const given = pick(input, ['subjectName', 'subjectEmail', 'subjectPhone', 'expiresDays'])
  const wanted = JSON.stringify(input.requirements)
  return newestFirst(data).filter(
    (one) => fits(one, given) && JSON.stringify(one.requirements) === wanted,
  )
}

/** Clients that fit; an `externalId` is the caller's own and decides alone. */
export async function findClients(
  input: Fields,
  began: Date,
  read: ReadList<Client>,
): Promise<readonly Client[]> {
  const { data } = await read(clientQuery(input))
  const { externalId } = input
  if (isText(externalId)) return newestFirst(data).filter((one) => one.externalId === externalId)
  const { metadata, ...given } = input
  const since = began.getTime() - slack
  return newestFirst(data).filter((one) => fits(one, given) && Date.parse(one.createdAt) >= since)
}

function fits(resource: Fields, given: Fields): boolean {
  return Object.entries(given).every(
    ([name, value]) => value === undefined || resource[name] === value,
  )
}

function newestFirst<Item extends { readonly createdAt: string }>(items: readonly Item[]): Item[] {
  return [...items].sort((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt))
}

/** `search` takes 100 characters (section 4.2), and a subject's name may have more. */
function longestFitting(texts: readonly unknown[], most: number): string | undefined {
  return texts.find(isText)?.slice(0, most)
}

function pick(from: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, from[name]]))
}

function compact(query: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
