// The only decoder: verified bytes → strict UTF-8 → JSON → envelope → canonical name → typed
// event. After it there are no bytes and no legacy names.

import { assertVerified, type VerifiedDelivery } from './delivery.ts'
import type { RejectedCode } from './errors.ts'
import { checkChoice, checkOptionNames, invalid, kindShown, shown } from './foundation/check.ts'
import { defined } from './foundation/defined.ts'
import { decodeUtf8, parseExact, parseJson } from './foundation/json.ts'
import {
  type EnvelopeBody,
  type EnvelopeOption,
  type EnvelopeReader,
  envelopeReader,
  type ReadEnvelope,
  readOwnEnvelope,
} from './protocol/envelope.ts'
import type { DecidedBy, Entity, EventSource, Issue, WebhookEvent } from './protocol/events.ts'
import { idOf } from './protocol/json-paths.ts'
import {
  type Checked,
  checkData,
  createMeanings,
  type Meaning,
  type SchemaMap,
  unknownMeaning,
} from './protocol/meanings.ts'
import { canonicalName, isDecision } from './protocol/names.ts'
import { eventsIn, readEvents, recordReader, type Vendor } from './protocol/vendor.ts'

/** How verified bytes are understood. */
export interface ParseOptions {
  /** Where the body holds an event's name, id, time and data: paths, or a function. */
  readonly envelope?: EnvelopeOption
  /** Any Standard Schema that validates synchronously. */
  readonly schemas?: SchemaMap
  /**
   * Data that does not fit its schema: `report` it in `event.issues`, `reject` it, or `off`.
   *
   * @default 'report'
   */
  readonly validate?: 'report' | 'reject' | 'off'
  /**
   * `accept` passes `request.*` on as `verification.*`; `reject` makes it an unknown event.
   *
   * @default 'accept'
   */
  readonly legacy?: 'accept' | 'reject'
  /** A preset of `idv-webhooks/vendors`: scheme, envelope and names. */
  readonly vendor?: Vendor
  /**
   * Where a vendor's decision may come from: `signed`, `api`, `unsigned`.
   *
   * It keeps the vendor's own name, or is read by the vendor's API.
   *
   * @default ['signed', 'api']
   */
  readonly accept?: readonly DecidedBy[]
  readonly source?: EventSource
}

export type ParseCode = Extract<
  RejectedCode,
  'BODY_NOT_UTF8' | 'BODY_NOT_JSON' | 'ENVELOPE_INVALID' | 'EVENT_INVALID'
>

/** The result of `parse`. */
export type Parsed =
  | {
      readonly ok: true
      readonly event: WebhookEvent
      readonly key?: string
      /** There is no id, and equal bodies are one event. */
      readonly dedupe?: 'body'
      /** The part of the body that repeats have in common, where the vendor's change the rest. */
      readonly lasting?: Uint8Array
      /** The data with integers above 2^53 as text, where there are any. */
      readonly exactData?: unknown
      /** Its place in a body that holds several events. */
      readonly part?: number
      /** The other events of the body. */
      readonly others?: readonly ParsedEvent[]
      /** The vendor's API was asked for its decision. */
      readonly isRead?: true
    }
  | { readonly ok: false; readonly code: ParseCode; readonly issues?: readonly Issue[] }

/** An event that was understood. */
export type ParsedEvent = Extract<Parsed, { readonly ok: true }>

/**
 * A parser whose options are prepared once. By the name under which an inbox has kept an event a
 * legacy name stands for its canonical one, also where it is refused by now.
 */
export type Parser = (
  delivery: VerifiedDelivery,
  source?: EventSource,
  kept?: { readonly name?: string | undefined; readonly part?: number | undefined },
) => Parsed

/**
 * Understands verified bytes. What a sender did wrong is a code; nothing is ever guessed.
 * `key` is the id that tells duplicates, where the signed bytes hold one.
 *
 * @throws WebhookError `DELIVERY_NOT_VERIFIED` for bytes that `verify` did not return,
 * `SCHEMA_ASYNC` for a schema that answers with a promise, `OPTION_INVALID`, `SCHEMA_INVALID`
 * @example
 * const verified = await verify(delivery, { secret })
 * const parsed = verified.ok ? parse(verified) : verified
 */
export function parse(
  verified: VerifiedDelivery | { readonly ok: true; readonly delivery: VerifiedDelivery },
  options: ParseOptions = {},
): Parsed {
  checkOptionNames('parse', options, optionNames)
  if (typeof verified !== 'object' || verified === null) {
    throw invalid(`parse expects the result of verify(), got ${kindShown(verified)}`)
  }
  const delivery = 'delivery' in verified ? verified.delivery : verified
  assertVerified(delivery)
  return createParser(options)(delivery, options.source)
}

const optionNames: readonly (keyof ParseOptions)[] = [
  ...(['envelope', 'schemas', 'validate', 'legacy', 'vendor', 'accept', 'source'] as const),
]

/** Checks the options and prepares them. The parser trusts its caller: only `parse` asks for a proof. */
export function createParser(options: ParseOptions): Parser {
  const { vendor } = options
  const readEnvelope = vendor ? vendorReader(vendor, options) : envelopeReader(options.envelope)
  const by = { ...meaningsOf(options), vendor, accept: acceptedOf(options) }
  return (delivery, source = 'webhook', kept) => {
    const text = decodeUtf8(delivery.body)
    if (text === undefined) return { ok: false, code: 'BODY_NOT_UTF8' }
    const json = parseJson(text)
    if (json === undefined) return { ok: false, code: 'BODY_NOT_JSON' }
    const exact = json.isLong ? parseExact(text) : undefined
    const body: EnvelopeBody = exact ? { value: json.value, exact: exact.value } : json
    // The mark alone proves nothing: a sender could write it and so choose the reading.
    const isOwn = source !== 'webhook' && delivery.headers.length === 0
    const read = (isOwn && readOwnEnvelope(body)) || readEnvelope(body, delivery)
    if (read === undefined) return { ok: false, code: 'ENVELOPE_INVALID' }
    const given: ParseInput = { by, delivery, source, name: kept?.name, body }
    return 'length' in read ? understandAll(read, given, kept?.part) : understand(read, given)
  }
}

interface ParseInput {
  readonly by: ReturnType<typeof meaningsOf> & {
    readonly vendor: Vendor | undefined
    readonly accept: readonly DecidedBy[]
  }
  readonly delivery: VerifiedDelivery
  readonly source: EventSource
  /** The name under which an inbox has kept it. */
  readonly name: string | undefined
  readonly body: EnvelopeBody
  /** Its place in a body that holds several events. */
  readonly part?: number
}

function understand(read: ReadEnvelope, given: ParseInput): Parsed {
  const { by, delivery, source, body } = given
  const { meanings, validate, vendor } = by
  const decidedBy = vendor && isDecision(read.name) ? provedBy(delivery) : undefined
  const envelope = decidedBy && !by.accept.includes(decidedBy) ? withheld(read, vendor) : read
  const isKept = given.name !== undefined && canonicalName(envelope.name) === given.name
  const known = meanings.get(isKept ? given.name : envelope.name)
  const meaning = known ?? unknownMeaning(envelope.name)
  const checked = checkData(envelope.data, meaning)
  if (checked.issues && validate === 'reject') {
    return { ok: false, code: 'EVENT_INVALID', issues: checked.issues }
  }
  const event = toEvent({ meaning, known: known !== undefined, envelope, source, checked })
  const key = delivery.signedId ?? envelope.key
  if (!vendor && body.exact === undefined && key !== undefined) return { ok: true, event, key }
  if (vendor) {
    const raw = eventsIn(vendor, body.value)[given.part ?? 0]
    Object.assign(event, { vendor: vendor.name, raw })
  }
  if (envelope === read && decidedBy) Object.assign(event, { decidedBy })
  const { dedupe, volatile } = vendor?.reading ?? {}
  const lasting = volatile && lastingPart(body.exact ?? body.value, volatile)
  const isByBody = key === undefined && dedupe && event.occurredAt
  const rest = {
    key,
    dedupe: isByBody ? dedupe : undefined,
    lasting,
    exactData: envelope.exactData,
  }
  return { ok: true, event, ...defined(rest) }
}

/** A record of the service's API has no authenticity, and needs none. */
const provedBy = ({ authenticity = 'signature' }: VerifiedDelivery): DecidedBy =>
  authenticity === 'signature' ? 'signed' : 'unsigned'

/** A decision that is not accepted as it came: an event of the vendor, which decides nothing. */
function withheld(envelope: ReadEnvelope, vendor: Vendor | undefined): ReadEnvelope {
  const { status: _, ...data } = Object(envelope.data)
  return { ...envelope, name: `${vendor?.name}.${envelope.receivedName}`, data }
}

const origins: readonly DecidedBy[] = ['signed', 'api', 'unsigned']

/**
 * Checks the option `accept`, and fills in its default.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function acceptedOf({ accept, vendor }: ParseOptions): readonly DecidedBy[] {
  if (accept === undefined) return ['signed', 'api']
  if (!vendor) throw invalid('accept is about the decisions of a vendor: pass vendor too')
  const isList = Array.isArray(accept) && accept.length > 0
  if (isList && accept.every((one) => origins.includes(one))) return accept
  throw invalid(`accept must list 'signed', 'api' or 'unsigned', got ${shown(accept)}`)
}

/**
 * All events of a body, or the event that an inbox keeps as an entry. An unreadable event makes all
 * of them unreadable.
 */
function understandAll(
  envelopes: readonly ReadEnvelope[],
  given: ParseInput,
  part: number | undefined,
): Parsed {
  const events: ParsedEvent[] = []
  for (const [at, envelope] of envelopes.entries()) {
    if (part !== undefined && part !== at) continue
    const parsed = understand(envelope, { ...given, part: at })
    if (!parsed.ok) return parsed
    const { signedId } = given.delivery
    const key = signedId === undefined ? parsed.key : `${signedId}#${at}`
    // Its own part of the body: a sender may put a repeated event beside others.
    const lasting = new TextEncoder().encode(JSON.stringify(envelope))
    events.push({ ...parsed, ...defined({ key }), lasting, part: at })
  }
  const [first, ...others] = events
  if (!first) return { ok: false, code: 'ENVELOPE_INVALID' }
  return others.length > 0 ? { ...first, others } : first
}

/** An event with other data of its resource, by the schema that the data which came have to fit. */
export type WithData = (event: WebhookEvent, data: unknown) => WebhookEvent

/** Checks the options and prepares them. */
export function createWithData(options: ParseOptions): WithData {
  const { validate, meanings } = meaningsOf(options)
  return ({ issues: _, ...event }, current) => {
    const meaning = meanings.get(event.name) ?? unknownMeaning(event.name)
    const { data, issues } = checkData(current, meaning)
    if (issues && validate === 'reject') {
      throw new TypeError(`the current resource does not fit the schema of ${meaning.name}`)
    }
    return defined({ ...event, data, issues }) as unknown as WebhookEvent
  }
}

function meaningsOf({ schemas, validate = 'report', legacy = 'accept' }: ParseOptions) {
  checkChoice('validate', validate, ['report', 'reject', 'off'])
  checkChoice('legacy', legacy, ['accept', 'reject'])
  return { validate, meanings: createMeanings(schemas, { validate, legacy }) }
}

function lastingPart(body: unknown, volatile: readonly string[]): Uint8Array {
  const lasting = Object.entries(Object(body)).filter(([field]) => !volatile.includes(field))
  return new TextEncoder().encode(JSON.stringify(Object.fromEntries(lasting)))
}

/** A name and a preset that was not called are what people pass instead of a preset. */
function vendorHint(vendor: unknown): string {
  const name = typeof vendor === 'string' && /^[a-z]\w*$/i.test(vendor) ? vendor : 'onfido'
  return `pass vendors.${name}() of 'idv-webhooks/vendors'`
}

function vendorReader(vendor: Vendor, options: ParseOptions): EnvelopeReader {
  const { envelope } = options
  if (!Array.isArray(vendor?.reading?.rules)) {
    throw invalid(
      `vendor must be a preset or the result of defineVendor(), got ${shown(vendor)}: ${vendorHint(vendor)}`,
    )
  }
  if (envelope !== undefined) {
    throw invalid('vendor reads the envelope itself: leave out the option envelope')
  }
  const canRead = recordReader(vendor) !== undefined && acceptedOf(options).includes('api')
  return envelopeReader((body) => readEvents(vendor, body, canRead))
}

interface EventFields {
  readonly meaning: Meaning
  readonly known: boolean
  readonly envelope: ReadEnvelope
  readonly source: EventSource
  readonly checked: Checked
}

function toEvent({ meaning, known, envelope, source, checked }: EventFields): WebhookEvent {
  const { name, type } = meaning
  const { id, occurredAt, receivedName = envelope.name } = envelope
  const entity =
    (envelope.entity as Entity | undefined) ??
    entityOf(type, known, envelope.exactData ?? envelope.data)
  const { data, issues } = checked
  // The usual event in one piece: properties that are added later cost more memory.
  if (id !== undefined && occurredAt && entity && !issues) {
    return { id, name, receivedName, data, occurredAt, entity, known, source } as WebhookEvent
  }
  // Trust is granted here: the name chose the schema, and `issues` tells where it did not hold.
  return defined({
    ...{ id, name, receivedName, data, occurredAt, entity, known, issues, source },
  }) as unknown as WebhookEvent
}

/** The order of events is kept for each resource, so a resource is named even for new events. */
function entityOf(type: string, known: boolean, data: unknown): Entity | undefined {
  const id = idOf((data as { readonly id?: unknown } | null | undefined)?.id) ?? ''
  if (type === '' || (id === '' && !known)) return undefined
  return { type: type as Entity['type'], id }
}
