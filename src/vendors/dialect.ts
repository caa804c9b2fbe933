// Writes an event as a vendor would send it, and a record as its API would give it: takes the fixture
// of that name, and puts our values where the vendor's documents place them. Fields that a vendor
// does not send are left out.
import { isObject } from '../protocol/json-paths.ts'
import type { Vendor, VendorDecision, VendorFixture, VendorReading } from '../protocol/vendor.ts'
import { decisionOf, eventsIn, readVendorEvent } from './reading.ts'

/** An event in this package's names. */
export interface DialectEvent {
  /** One of ours, or the vendor's own name of what has none of ours. */
  readonly name: string
  readonly id: string
  readonly occurredAt: Date
  readonly data: Readonly<Record<string, unknown>>
}

/** The names of the events that a vendor has examples of. */
export function namesInDialect(vendor: Vendor): readonly string[] {
  return [...new Set(vendor.fixtures.map((one) => nameIn(vendor, one)))]
}

function nameIn(vendor: Vendor, { name, body }: VendorFixture): string {
  return name ?? readVendorEvent(vendor, body)?.receivedName ?? ''
}

/**
 * The body that a vendor would send; undefined if the vendor has no such event. A decision that only
 * the vendor's API shows is sent as a hint. With `isThin`, every event that can be a hint is one.
 */
export function inDialect(
  vendor: Vendor,
  event: DialectEvent,
  isThin = false,
): Record<string, unknown> | undefined {
  const whole = vendor.fixtures.find((one) => nameIn(vendor, one) === event.name)
  const fixture = isThin || !whole ? (hintOf(vendor, event.name) ?? whole) : whole
  return fixture && filled(fixture, vendor.reading, event)
}

/** The hint at a state that the record of its decision has. */
function hintOf(vendor: Vendor, name: string): VendorFixture | undefined {
  return vendor.fixtures.find(({ body }) => {
    const found = decisionOf(vendor, eventsIn(vendor, body)[0])
    return found?.isHint && found.decision.fixtures.some((one) => one.name === name)
  })
}

/** The record of a verification in a state; in one without a fixture it decides nothing. */
export function recordInDialect(
  { reading, fixtures }: VendorDecision,
  event: DialectEvent,
): Record<string, unknown> | undefined {
  const fixture = [event.name, undefined].flatMap(
    (name) => fixtures.find((one) => one.name === name) ?? [],
  )[0]
  return fixture && filled(fixture, reading, event)
}

function filled(fixture: VendorFixture, reading: VendorReading, event: DialectEvent) {
  const whole = structuredClone(fixture.body) as Record<string, unknown>
  const { events = '', subject, id, sameAs = [], occurredAt, fields = {} } = reading
  const [body = whole] = [whole[events] ?? []].flat() as Record<string, unknown>[]
  putFirst(body, subject, event.data.id)
  // A thin event has an id of its own, and names that of the whole one.
  const isThin = sameAs.some((path) => holder(body, path) !== undefined)
  putFirst(body, sameAs, event.id)
  // The first part of a composed id tells events apart; the others say what kind they are.
  if (id?.[0] !== undefined) put(body, id[0], isThin ? `${event.id}_thin` : event.id)
  for (const path of occurredAt ?? []) putTime(body, path, event.occurredAt)
  // A client's own event names it as its verifications do.
  const clientId = event.name.startsWith('client.') ? event.data.id : undefined
  const data = { clientId, ...event.data }
  for (const [field, path] of Object.entries(fields)) {
    const value = data[field as keyof typeof data]
    if (value === undefined || value === null) continue
    if (field.endsWith('At')) putTime(body, String(path), new Date(String(value)))
    else if (field.endsWith('Id')) putFirst(body, [path].flat(), value)
    else if (typeof path === 'string') put(body, path, value)
  }
  return whole
}

/** Puts a value into the first of several places that the fixture has. */
function putFirst(body: Record<string, unknown>, paths: readonly string[], value: unknown): void {
  const path = paths.find((one) => holder(body, one) !== undefined)
  if (path !== undefined) put(body, path, value)
}

function put(body: Record<string, unknown>, path: string, value: unknown): void {
  const found = holder(body, path)
  if (found) found.object[found.key] = value
}

/** A time in the form that the fixture has there. */
function putTime(body: Record<string, unknown>, path: string, time: Date): void {
  const found = holder(body, path)
  if (!found) return
  const shown = found.object[found.key]
  if (typeof shown === 'number') {
    const milliseconds = shown > 1e11
    found.object[found.key] = milliseconds ? time.getTime() : Math.floor(time.getTime() / 1000)
  } else if (typeof shown === 'string') {
    const iso = time.toISOString()
    found.object[found.key] = shown.includes('T') ? iso : iso.replace('T', ' ').replace('Z', '')
  }
}

/** The object in which the last step of a path stands, if it stands there. */
function holder(body: Record<string, unknown>, path: string) {
  const steps = path.split('.')
  const key = steps.pop() as string
  let object: unknown = body
  for (const step of steps) object = isObject(object) ? object[step] : undefined
  return isObject(object) && Object.hasOwn(object, key)
    ? { object: object as Record<string, unknown>, key }
    : undefined
}
