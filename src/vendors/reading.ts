// Reads a vendor's bodies and records into this package's terms, by the paths and rules of its preset.
import { defined } from '../foundation/defined.ts'
import type { EnvelopeReader, EnvelopeReading, ReadEnvelope } from '../protocol/envelope.ts'
import type { DecidedBy } from '../protocol/events.ts'
import { idOf, isObject, joinedId, toDate, valueAt } from '../protocol/json-paths.ts'
import { isDecision } from '../protocol/names.ts'
import {
  codeOf,
  type Vendor,
  type VendorDecision,
  type VendorReading,
  type VendorRule,
  type VendorValue,
} from '../protocol/vendor.ts'

/** A vendor's body, read into this package's terms. */
export interface VendorEvent extends EnvelopeReading {
  /** The vendor's own name of it. */
  readonly receivedName: string
  readonly raw: unknown
}

/** The name of an event whose body has none at the paths of the preset. */
const unnamed = 'unnamed'

/**
 * Reads a body; undefined if it has no name where the vendor's events have one. An event without a
 * name of ours keeps its own.
 */
export function readVendorEvent(vendor: Vendor, body: unknown): VendorEvent | undefined {
  const event = readEvent(vendor, eventsIn(vendor, body)[0], codeOf(vendor)?.hasApi)
  return event.receivedName === unnamed ? undefined : event
}

/** The events of a body that holds a list of them, or the body that is one. */
export function eventsIn({ reading }: Vendor, body: unknown): readonly unknown[] {
  const list = reading.events === undefined ? undefined : valueAt(body, reading.events)
  return Array.isArray(list) && list.length > 0 ? list : [body]
}

/** Reads deliveries; `canRead`: decisions are read by the vendor's API. */
export function envelopesOf(
  vendor: Vendor,
  accept: readonly DecidedBy[],
  canRead: boolean,
): EnvelopeReader {
  return ({ value, exact = value }, { authenticity = 'signature' }) => {
    const how = authenticity === 'signature' ? 'signed' : 'unsigned'
    const { dedupe, volatile } = vendor.reading
    const lasting = volatile && lastingPart(exact, volatile)
    const read = eventsIn(vendor, exact).map((body): ReadEnvelope => {
      const event = readEvent(vendor, body, canRead)
      const decidedBy = isDecision(event.name) ? how : undefined
      const isAccepted = decidedBy === undefined || accept.includes(decidedBy)
      const { raw, ...envelope } = isAccepted ? event : withheld(event, vendor)
      const details = { vendor: vendor.name, raw, ...(isAccepted && defined({ decidedBy })) }
      return { ...envelope, key: event.id, vendor: { details, dedupe, lasting } }
    })
    const [only, another] = read
    return only && !another ? only : read
  }
}

/** A decision that is not accepted as it came: an event of the vendor, which decides nothing. */
function withheld(event: ReturnType<typeof readEvent>, { name }: Vendor) {
  const { status: _, ...data } = event.data
  return { ...event, name: `${name}.${event.receivedName}`, data }
}

/** The part of the body that repeats have in common. */
function lastingPart(body: unknown, volatile: readonly string[]): Uint8Array {
  const lasting = Object.entries(Object(body)).filter(([field]) => !volatile.includes(field))
  return new TextEncoder().encode(JSON.stringify(Object.fromEntries(lasting)))
}

/** Reads an event that the vendor has signed, whatever its shape: one without a name is `unnamed`. */
export function readEvent(vendor: Vendor, body: unknown, canRead = false) {
  const { name, reading } = vendor
  const at = lookUpIn(body, reading)
  const receivedName = textAt(at, reading.name) ?? unnamed
  const rule = reading.rules.find(({ when }) => holds(when, at))
  const is: string = rule?.is ?? `${name}.${receivedName}`
  const parts = reading.id?.map((path) => textAt(at, [path]))
  const own = parts?.every((part) => part !== undefined) ? joinedId(parts, ':') : undefined
  // A hint that is never completed must not stand for the event that has the decision.
  const isShared = reading.sameAs && (canRead || !decisionOf(vendor, body)?.isHint)
  const id = (isShared ? textAt(at, reading.sameAs ?? []) : undefined) ?? idOf(own)
  const data = dataOf(reading, at, is)
  const occurredAt = timeAt(at, reading.occurredAt ?? [])
  const entity = entityOf(is, data)
  return { name: is, receivedName, ...defined({ id, occurredAt, entity }), data, raw: body }
}

/** Where the decision of an event is, and whether the event lacks it. */
export function decisionOf(
  vendor: Vendor,
  body: unknown,
): { readonly decision: VendorDecision; readonly isHint: boolean } | undefined {
  const at = lookUpIn(eventsIn(vendor, body)[0])
  const decision = vendor.decisions?.find(({ of = {} }) => holds(of, at))
  return decision && { decision, isHint: decision.hints !== undefined && holds(decision.hints, at) }
}

/** True for a record that is older than its hint. */
export function isOutdated({ outdated, reading }: VendorDecision, record: unknown): boolean {
  return outdated !== undefined && holds(outdated, lookUpIn(record, reading))
}

/** The answer that a vendor's handshake wants, as JSON; undefined for any other delivery. */
export function challengeAnswer({ challenge }: Vendor, body: unknown): string | undefined {
  const at = lookUpIn(body)
  if (!challenge || !holds(challenge.when, at)) return undefined
  const value = textAt(at, [challenge.echo])
  return value === undefined ? undefined : JSON.stringify({ [challenge.echo]: value })
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

/** The entity of an event: the client that its verifications name too, if the event says so. */
function entityOf(name: string, { id, clientId }: Readonly<Record<string, unknown>>) {
  const isClient = name.startsWith('client.')
  const own = isClient ? (clientId ?? id) : id
  if (typeof own !== 'string') return undefined
  return { type: isClient ? 'client' : 'verification', id: own }
}

const statuses: Readonly<Record<string, string>> = {
  'verification.created': 'initiated',
  'verification.submitted': 'submitted',
  'verification.approved': 'approved',
  'verification.rejected': 'rejected',
  'verification.canceled': 'canceled',
  'verification.expired': 'expired',
}

/** A record of ours with what the vendor says of it. */
function dataOf({ subject, fields = {} }: VendorReading, at: LookUp, name: string) {
  const known = { id: textAt(at, subject), status: statuses[name] }
  const said = Object.entries(fields).map(([field, path]) => {
    return [field, fieldAt(at, field, [path].flat())] as const
  })
  return defined<Record<string, unknown>>({ ...known, ...Object.fromEntries(said) })
}

function fieldAt(at: LookUp, field: string, paths: readonly string[]): string | undefined {
  if (field.endsWith('At')) return timeAt(at, paths)?.toISOString()
  if (field.endsWith('Id')) return textAt(at, paths)
  return paths.flatMap((one) => textAt(at, [one]) ?? []).join(' ') || undefined
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
