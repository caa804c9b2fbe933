// A sender of identity verifications as data: how it signs, how its events read in our words, what
// it expects of replies. The reading is here; each vendor is a file of data in vendors/.
import { checkChoice, checkOptionNames, invalid, shown } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import type { EnvelopeReading } from './envelope.ts'
import { isObject, joinedId, toDate, valueAt } from './json-paths.ts'
import {
  type DecisionName,
  decisionNames,
  type EventName,
  isDecision,
  isEventName,
} from './names.ts'
import type { VerificationStatus } from './resources.ts'
import type { Scheme } from './scheme-definition.ts'

/** A dotted path into the body; several are joined by a space. */
export type VendorPath = string | readonly string[]

/** One row of a vendor's names: what the body says, and what that is in our words. */
export interface VendorRule {
  /** Values at dotted paths, all of which must hold; null stands for what is absent or null. */
  readonly when: Readonly<Record<string, VendorValue | readonly VendorValue[]>>
  readonly is: EventName
}

type VendorValue = string | number | boolean | null

/** How a vendor's body reads. */
export interface VendorReading {
  /** Where the vendor's own name of the event stands; the first that is there. */
  readonly name: readonly string[]
  /** Where the id of the verification stands; the first that is there. */
  readonly subject: readonly string[]
  /** Paths whose values, joined by a colon, identify an event, if the document names them. */
  readonly id?: readonly string[]
  readonly occurredAt?: readonly string[]
  /**
   * `'body'` where the time is the event's own, so that equal bodies are one event: an inbox tells
   * duplicates by them if there is no id. Otherwise each delivery without an id is an event.
   */
  readonly dedupe?: 'body'
  /** Top-level fields that each repeat of a delivery changes: bodies are compared without them. */
  readonly volatile?: readonly string[]
  readonly rules: readonly VendorRule[]
  /** Our fields of a verification, and where the vendor writes them. */
  readonly fields?: Readonly<Record<string, VendorPath>>
}

/** A page of the vendor's public documents, and the day on which it was read. */
export interface VendorDocument {
  readonly url: string
  readonly read: string
}

/** The vendor's documented replies and repeats; undocumented ones are absent. */
export interface VendorDelivery {
  /** Milliseconds in which a reply must come. */
  readonly timeout?: number
  /** Milliseconds between attempts. */
  readonly retries?: readonly number[]
  /** Whether only 200 counts as a success, or any 2xx. */
  readonly success?: 200 | '2xx'
  /** Notes for operators. */
  readonly note?: string
}

/** A delivery made from the vendor's documents. */
export interface VendorFixture {
  /** Our name of it; undefined where it has none. */
  readonly name?: EventName
  readonly body: Readonly<Record<string, unknown>>
}

/** The finality of a vendor's decisions by its documents; each decision is in exactly one list. */
export interface DeclaredFinality {
  /** Decisions after which no other comes. */
  readonly final: readonly DecisionName[]
  /** Decisions that a later one may replace. */
  readonly reversible: readonly DecisionName[]
}

/** An identity vendor, as data. */
export interface Vendor {
  readonly name: string
  readonly title: string
  readonly documents: readonly VendorDocument[]
  /** The deliveries that tested the preset: made from documents, or captures of real ones. */
  readonly triedOn: 'documents' | 'captures'
  readonly scheme: Scheme
  readonly reading: VendorReading
  /** Which of its decisions hold for good, and which a later one may replace. */
  readonly finality: DeclaredFinality
  readonly delivery: VendorDelivery
  /** Published addresses of its deliveries. */
  readonly addresses?: readonly string[]
  /** How it tries an address: the body of such a delivery, and the field that it wants back. */
  readonly challenge?: { readonly when: VendorRule['when']; readonly echo: string }
  readonly fixtures: readonly VendorFixture[]
}

const fields: readonly (keyof Vendor)[] = [
  ...(['name', 'title', 'documents', 'triedOn', 'scheme', 'reading', 'finality'] as const),
  ...(['delivery', 'addresses', 'challenge', 'fixtures'] as const),
]

/**
 * A vendor of your own, checked.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function defineVendor(vendor: Vendor): Vendor {
  checkOptionNames('defineVendor', vendor, fields)
  const { name, scheme, reading, finality } = vendor
  if (typeof name !== 'string' || !/^[a-z][a-z0-9]*$/i.test(name)) {
    throw invalid(`vendor.name must be letters and digits, got ${shown(name)}`)
  }
  if (!Array.isArray(scheme?.template)) {
    throw invalid(`vendor.scheme must be created by a builder of schemes, got ${shown(scheme)}`)
  }
  const given = (reading?.rules ?? []).map(({ is }) => is)
  const wrong = given.find((one) => !isEventName(one))
  if (!Array.isArray(reading?.rules) || wrong !== undefined) {
    throw invalid(`vendor.reading.rules must map to event names, got ${shown(wrong)}`)
  }
  checkReading(reading)
  checkRules(reading.rules)
  checkFinality(finality, given)
  return Object.freeze({ ...vendor })
}

const readingFields: readonly (keyof VendorReading)[] = [
  ...(['name', 'subject', 'id', 'occurredAt', 'dedupe', 'volatile', 'rules', 'fields'] as const),
]
const pathLists = ['name', 'subject', 'id', 'occurredAt', 'volatile'] as const

/** A field that is misspelt, or a path where a list of them belongs, would read nothing. */
function checkReading(reading: VendorReading): void {
  checkOptionNames('vendor.reading', reading, readingFields)
  checkChoice('vendor.reading.dedupe', reading.dedupe, ['body'])
  for (const [field, path] of Object.entries(reading.fields ?? {})) {
    if ([path].flat().every((one) => typeof one === 'string' && one !== '')) continue
    throw invalid(
      `vendor.reading.fields.${field} must be a path like 'data.name' or a list of them, got ${shown(path)}`,
    )
  }
  for (const field of pathLists) {
    const paths: unknown = reading[field]
    const isNeeded = field === 'name' || field === 'subject'
    if (paths === undefined && !isNeeded) continue
    if (Array.isArray(paths) && paths.every((path) => typeof path === 'string' && path !== ''))
      continue
    throw invalid(
      `vendor.reading.${field} must be a list of paths like ['data.id'], got ${shown(paths)}`,
    )
  }
}

/** A rule without a condition would make every event of a vendor what it says. */
function checkRules(rules: readonly VendorRule[]): void {
  for (const { when, is } of rules) {
    if (isObject(when) && Object.keys(when).length > 0) continue
    throw invalid(
      `vendor.reading.rules: the rule for ${is} needs values at paths, e.g. { when: { status: 'approved' }, is: '${is}' }, got ${shown(when)}`,
    )
  }
}

/** Every decision that a vendor can send is declared once: final, or reversible. */
function checkFinality(finality: unknown, given: readonly EventName[]): void {
  checkOptionNames('vendor.finality', finality, ['final', 'reversible'])
  const { final = [], reversible = [] } = (finality ?? {}) as Partial<DeclaredFinality>
  const declared: readonly unknown[] = [final, reversible].flat()
  const wrong = declared.find((one) => typeof one !== 'string' || !isDecision(one))
  if (wrong !== undefined) {
    throw invalid(`vendor.finality must list ${decisionNames.join(', ')}, got ${shown(wrong)}`)
  }
  for (const name of new Set([...given.filter(isDecision), ...(declared as DecisionName[])])) {
    if (declared.filter((one) => one === name).length === 1) continue
    throw invalid(`vendor.finality must list ${name} once, as final or as reversible`)
  }
}

/** A vendor's body, read into this package's terms. */
export interface VendorEvent extends EnvelopeReading {
  /** The vendor's own name of it. */
  readonly receivedName: string
  readonly raw: unknown
}

const statuses: Readonly<Record<string, VerificationStatus>> = {
  'verification.created': 'initiated',
  'verification.submitted': 'submitted',
  'verification.approved': 'approved',
  'verification.rejected': 'rejected',
  'verification.canceled': 'canceled',
  'verification.expired': 'expired',
}

/** Reads a body; undefined when it is not one of the vendor's. What has no name of ours keeps its own. */
export function readVendorEvent({ name, reading }: Vendor, body: unknown): VendorEvent | undefined {
  const receivedName = textAt(body, reading.name)
  if (receivedName === undefined) return undefined
  const rule = reading.rules.find(({ when }) => holds(when, body))
  const is = rule?.is ?? `${name}.${receivedName}`
  const id = textAt(body, reading.subject)
  const parts = reading.id?.map((path) => textAt(body, [path]))
  const event = parts?.every((part) => part !== undefined) ? joinedId(parts, ':') : undefined
  const data = dataOf(reading, body, { id, status: statuses[is] })
  return {
    name: is,
    receivedName,
    ...defined({
      id: event,
      occurredAt: timeAt(body, reading.occurredAt ?? []),
      entity: entityOf(is, data),
    }),
    data,
    raw: body,
  }
}

/** The answer that a vendor's handshake wants, as JSON; undefined for any other delivery. */
export function challengeAnswer({ challenge }: Vendor, body: unknown): string | undefined {
  if (!challenge || !holds(challenge.when, body)) return undefined
  const value = textAt(body, [challenge.echo])
  return value === undefined ? undefined : JSON.stringify({ [challenge.echo]: value })
}

/** A client is the one that its verifications name, where its event says so too. */
function entityOf(name: string, { id, clientId }: Readonly<Record<string, unknown>>) {
  const isClient = name.startsWith('client.')
  const own = isClient ? (clientId ?? id) : id
  if (typeof own !== 'string') return undefined
  return { type: isClient ? 'client' : 'verification', id: own }
}

/** A record of ours with what the vendor says of it. */
function dataOf(
  { fields: wanted = {} }: VendorReading,
  body: unknown,
  known: { readonly id: string | undefined; readonly status: VerificationStatus | undefined },
): Record<string, unknown> {
  const data: Record<string, unknown> = defined(known)
  for (const [field, path] of Object.entries(wanted)) {
    const value = field.endsWith('At')
      ? timeAt(body, [path].flat())?.toISOString()
      : joined(body, path)
    if (value !== undefined) data[field] = value
  }
  return data
}

function joined(body: unknown, path: VendorPath): string | undefined {
  const texts = [path].flat().map((one) => textAt(body, [one]))
  return texts.filter((text) => text !== undefined).join(' ') || undefined
}

function holds(when: VendorRule['when'], body: unknown): boolean {
  return Object.entries(when).every(([path, wanted]) => {
    const value = valueAt(body, path) ?? null
    return Array.isArray(wanted) ? wanted.includes(value as VendorValue) : value === wanted
  })
}

function textAt(body: unknown, paths: readonly string[]): string | undefined {
  for (const path of paths) {
    const value = valueAt(body, path)
    if (typeof value === 'string' && value !== '') return value
    if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  }
  return undefined
}

/** As some senders write times, with a space. */
const spaced = /^(\d{4}-\d{2}-\d{2}) (?=\d{2}:\d{2})/

/** The first time that is there. */
function timeAt(body: unknown, paths: readonly string[]): Date | undefined {
  for (const path of paths) {
    const value = valueAt(body, path)
    const date = toDate(typeof value === 'string' ? value.replace(spaced, '$1T') : value)
    if (date) return date
  }
  return undefined
}
