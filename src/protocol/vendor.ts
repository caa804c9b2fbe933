// A sender of identity verifications as data: how it signs, how its events read in our words, what
// it expects of replies. The reading is here; each vendor is a file of data in vendors/.
import { checkChoice, checkOptionNames, invalid, shown } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import { vendorRecords } from '../host/brands.ts'
import type { EnvelopeReading } from './envelope.ts'
import { idOf, isObject, joinedId, toDate, valueAt } from './json-paths.ts'
import {
  type DecisionName,
  decisionNames,
  type EventName,
  isDecision,
  isEventName,
} from './names.ts'
import type { VerificationStatus } from './resources.ts'
import type { Scheme } from './scheme-definition.ts'
import {
  createReadRecord,
  type ReadRecord,
  type VendorApi,
  type VendorRequest,
} from './vendor-api.ts'

/**
 * A dotted path into the body. `a.*.b` stands for the distinct values of `b` in the list `a`, in
 * alphabetical order and joined by a space. Of several paths, the first that is there counts for times and ids (`…At`,
 * `…Id`); other texts are joined by a space.
 */
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
  /** Where the list of events is if a body holds several; the other paths lead through one of them. */
  readonly events?: string
  /** Where the vendor's own name of the event is; the first path that has one. */
  readonly name: readonly string[]
  /** Where the id of the verification is; the first path that has one. */
  readonly subject: readonly string[]
  /** Paths whose values, joined by a colon, identify an event, if the document names them. */
  readonly id?: readonly string[]
  /** Where an event names another event of the same occurrence: both then have that event's id. */
  readonly sameAs?: readonly string[]
  /**
   * `'any'` if customers choose how keys are spelled: `created-at`, `createdAt`, `created_at` and
   * `CreatedAt` are then one key. A key that is spelled as in the path comes first.
   */
  readonly spelling?: 'any'
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

/** Where a vendor's API has the decision of a verification, and how its record reads. */
export interface VendorDecision {
  /** The events that name such a record; all of them by default. */
  readonly of?: VendorRule['when']
  /** The events that lack their decision, which is read before their handlers run. */
  readonly hints?: VendorRule['when']
  readonly request: VendorRequest
  /** How the record reads: a state without a rule decides nothing. */
  readonly reading: VendorReading
  /** Records that are older than the hint, which comes after the decision: they are read again. */
  readonly outdated?: VendorRule['when']
  /** Records made from the vendor's documents, one for each state. */
  readonly fixtures: readonly VendorFixture[]
}

/** An identity vendor, as data. */
export interface Vendor {
  readonly name: string
  readonly title: string
  readonly documents: readonly VendorDocument[]
  /**
   * The deliveries that tested the preset: made from documents, signatures that the vendor has
   * published, or captures of real deliveries.
   */
  readonly triedOn: 'documents' | 'vectors' | 'captures'
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
  /** Where its API has decisions; the first whose `of` holds for an event counts. */
  readonly decisions?: readonly VendorDecision[]
}

const fields: readonly (keyof Vendor)[] = [
  ...(['name', 'title', 'documents', 'triedOn', 'scheme', 'reading', 'finality'] as const),
  ...(['delivery', 'addresses', 'challenge', 'fixtures', 'decisions'] as const),
]

/**
 * A vendor of your own, checked. With the credentials of its API, decisions are read there.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function defineVendor(vendor: Vendor, api?: VendorApi): Vendor {
  checkOptionNames('defineVendor', vendor, fields)
  const { name, scheme, reading, finality, decisions = [] } = vendor
  if (typeof name !== 'string' || !/^[a-z][a-z0-9]*$/i.test(name)) {
    throw invalid(`vendor.name must be letters and digits, got ${shown(name)}`)
  }
  if (!Array.isArray(scheme?.template)) {
    throw invalid(`vendor.scheme must be created by a builder of schemes, got ${shown(scheme)}`)
  }
  const readings = [reading, ...decisions.map((one) => one.reading)]
  const given = readings.flatMap((one) => (one?.rules ?? []).map(({ is }) => is))
  const wrong = given.find((one) => !isEventName(one))
  if (!Array.isArray(reading?.rules) || wrong !== undefined) {
    throw invalid(`vendor.reading.rules must map to event names, got ${shown(wrong)}`)
  }
  for (const one of readings) {
    checkReading(one)
    checkRules(one.rules)
  }
  checkFinality(finality, given)
  const checked = { ...vendor }
  if (api !== undefined) {
    const read = createReadRecord(
      name,
      decisions.map(({ request }) => request),
      api,
    )
    // Not enumerable: who prints a vendor sees data alone.
    Object.defineProperty(checked, vendorRecords, { value: read })
  }
  return Object.freeze(checked)
}

/** The function that reads the vendor's API; undefined without the option `api`. */
export function recordReader(vendor: Vendor): ReadRecord | undefined {
  // Trust is granted here: only defineVendor() sets the property.
  return (vendor as { readonly [vendorRecords]?: ReadRecord })[vendorRecords]
}

/** Where the decision of an event is, and whether the event lacks it. */
export function decisionOf(
  vendor: Vendor,
  body: unknown,
): { readonly decision: VendorDecision; readonly isHint: boolean } | undefined {
  const { decisions = [] } = vendor
  if (decisions.length === 0) return undefined
  const at = lookUpIn(eventsIn(vendor, body)[0])
  const decision = decisions.find(({ of = {} }) => holds(of, at))
  return decision && { decision, isHint: decision.hints !== undefined && holds(decision.hints, at) }
}

/** True for a record that is older than its hint. */
export function isOutdated({ outdated, reading }: VendorDecision, record: unknown): boolean {
  return outdated !== undefined && holds(outdated, lookUpIn(record, reading))
}

const pathLists = ['name', 'subject', 'id', 'sameAs', 'occurredAt', 'volatile'] as const

/** A field that is misspelt, or a path where a list of them belongs, would read nothing. */
function checkReading(reading: VendorReading): void {
  const others = ['events', 'spelling', 'dedupe', 'rules', 'fields']
  checkOptionNames('vendor.reading', reading, [...pathLists, ...others])
  checkChoice('vendor.reading.dedupe', reading.dedupe, ['body'])
  checkChoice('vendor.reading.spelling', reading.spelling, ['any'])
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

/** The name of an event whose body has none at the paths of the preset. */
const unnamed = 'unnamed'

/**
 * Reads a body; undefined if it has no name where the vendor's events have one. An event without a
 * name of ours keeps its own.
 */
export function readVendorEvent(vendor: Vendor, body: unknown): VendorEvent | undefined {
  const [event] = [readEvents(vendor, body)].flat()
  return event?.receivedName === unnamed ? undefined : event
}

/** The events of a body that holds a list of them, or the body that is one. */
export function eventsIn({ reading }: Vendor, body: unknown): readonly unknown[] {
  const list = reading.events === undefined ? undefined : valueAt(body, reading.events)
  return Array.isArray(list) && list.length > 0 ? list : [body]
}

/** Reads all events of a body; a list of one would lose the delivery's id. */
export function readEvents(
  vendor: Vendor,
  body: unknown,
  canRead?: boolean,
): VendorEvent | readonly VendorEvent[] {
  const events = eventsIn(vendor, body).map((one) => readAuthentic(vendor, one, canRead))
  const [first] = events
  return first && events.length === 1 ? first : events
}

/** Reads an event that the vendor has signed, whatever its shape: one without a name is `unnamed`. */
export function readAuthentic(
  vendor: Vendor,
  body: unknown,
  canRead = recordReader(vendor) !== undefined,
): VendorEvent {
  const { name, reading } = vendor
  const at = lookUpIn(body, reading)
  const receivedName = textAt(at, reading.name) ?? unnamed
  const rule = reading.rules.find(({ when }) => holds(when, at))
  const is = rule?.is ?? `${name}.${receivedName}`
  const id = textAt(at, reading.subject)
  const parts = reading.id?.map((path) => textAt(at, [path]))
  const own = parts?.every((part) => part !== undefined) ? joinedId(parts, ':') : undefined
  const data = dataOf(reading, at, { id, status: statuses[is] })
  // A hint that is never completed must not stand for the event that has the decision.
  const isShared = reading.sameAs && (canRead || !decisionOf(vendor, body)?.isHint)
  return {
    name: is,
    receivedName,
    ...defined({
      id: (isShared ? textAt(at, reading.sameAs ?? []) : undefined) ?? own,
      occurredAt: timeAt(at, reading.occurredAt ?? []),
      entity: entityOf(is, data),
    }),
    data,
    raw: body,
  }
}

/** Gives the value of a body at a dotted path. */
type LookUp = (path: string) => unknown

function lookUpIn(body: unknown, { spelling }: Pick<VendorReading, 'spelling'> = {}): LookUp {
  if (spelling !== 'any') return (path) => valuesAt(body, path)
  return (path) => path.split('.').reduce(valueInAnySpelling, body)
}

/** The value at a path; of each element of a list the distinct values, in order, as one text. */
function valuesAt(body: unknown, path: string): unknown {
  const [head = '', tail] = path.split('.*.')
  const value = valueAt(body, head)
  if (tail === undefined || !Array.isArray(value)) return tail === undefined ? value : undefined
  return [...new Set(value.map((one) => String(valueAt(one, tail) ?? 'none')))].sort().join(' ')
}

function valueInAnySpelling(value: unknown, key: string): unknown {
  if (!isObject(value)) return undefined
  if (Object.hasOwn(value, key)) return value[key]
  const plain = plainKey(key)
  const other = Object.keys(value).find((one) => plainKey(one) === plain)
  return other === undefined ? undefined : value[other]
}

const plainKey = (key: string) => key.replaceAll(/[-_]/g, '').toLowerCase()

/** The answer that a vendor's handshake wants, as JSON; undefined for any other delivery. */
export function challengeAnswer({ challenge }: Vendor, body: unknown): string | undefined {
  const at = lookUpIn(body)
  if (!challenge || !holds(challenge.when, at)) return undefined
  const value = textAt(at, [challenge.echo])
  return value === undefined ? undefined : JSON.stringify({ [challenge.echo]: value })
}

/** The entity of an event: the client that its verifications name too, if the event says so. */
function entityOf(name: string, { id, clientId }: Readonly<Record<string, unknown>>) {
  const isClient = name.startsWith('client.')
  const own = isClient ? (clientId ?? id) : id
  if (typeof own !== 'string') return undefined
  return { type: isClient ? 'client' : 'verification', id: own }
}

/** A record of ours with what the vendor says of it. */
function dataOf(
  { fields: wanted = {} }: VendorReading,
  at: LookUp,
  known: { readonly id: string | undefined; readonly status: VerificationStatus | undefined },
): Record<string, unknown> {
  const data: Record<string, unknown> = defined(known)
  for (const [field, path] of Object.entries(wanted)) {
    const value = fieldAt(at, field, [path].flat())
    if (value !== undefined) data[field] = value
  }
  return data
}

function fieldAt(at: LookUp, field: string, paths: readonly string[]): string | undefined {
  if (field.endsWith('At')) return timeAt(at, paths)?.toISOString()
  if (field.endsWith('Id')) return textAt(at, paths)
  const texts = paths.flatMap((one) => textAt(at, [one]) ?? [])
  return texts.join(' ') || undefined
}

function holds(when: VendorRule['when'], at: LookUp): boolean {
  return Object.entries(when).every(([path, wanted]) => {
    const value = at(path) ?? null
    return Array.isArray(wanted) ? wanted.includes(value as VendorValue) : value === wanted
  })
}

/** The first text that is there, if it is no longer than an id may be. */
function textAt(at: LookUp, paths: readonly string[]): string | undefined {
  return firstOf(paths, (path) => idOf(at(path)))
}

/** Some senders write times with a space. */
const spaced = /^(\d{4}-\d{2}-\d{2}) (?=\d{2}:\d{2})/

/** The first time that is there. */
function timeAt(at: LookUp, paths: readonly string[]): Date | undefined {
  return firstOf(paths, (path) => {
    const value = at(path)
    return toDate(typeof value === 'string' ? value.replace(spaced, '$1T') : value)
  })
}

function firstOf<Value>(paths: readonly string[], read: (path: string) => Value | undefined) {
  for (const path of paths) {
    const value = read(path)
    if (value !== undefined) return value
  }
  return undefined
}
