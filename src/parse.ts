// The only decoder: verified bytes → strict UTF-8 → JSON → envelope → canonical name → typed
// event. After it there are no bytes and no legacy names.

import { assertVerified, type VerifiedDelivery } from './delivery.ts'
import type { RejectedCode } from './errors.ts'
import { checkOptionNames, invalid, kindShown, shown } from './foundation/check.ts'
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
  type Meanings,
  type SchemaMap,
  unknownMeaning,
} from './protocol/meanings.ts'
import { canonicalName } from './protocol/names.ts'
import { codeOf, type Vendor } from './protocol/vendor.ts'

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
  const readEnvelope = readerOf(options)
  const by = createMeanings(options)
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
    const given: ParseInput = { by, delivery, source, name: kept?.name }
    return 'length' in read ? understandAll(read, given, kept?.part) : understand(read, given)
  }
}

/** @throws WebhookError `OPTION_INVALID` */
function readerOf(options: ParseOptions): EnvelopeReader {
  const { vendor, envelope, accept } = options
  if (vendor === undefined) {
    if (accept === undefined) return envelopeReader(envelope)
    throw invalid('accept is about the decisions of a vendor: pass vendor too')
  }
  const code = codeOf(vendor)
  if (!code) {
    throw invalid(
      `vendor must be a preset of 'idv-webhooks/vendors', e.g. vendors.onfido(), or the result of defineVendor(), got ${shown(vendor)}`,
    )
  }
  if (envelope === undefined) return code.reader(options)
  throw invalid('vendor reads the envelope itself: leave out the option envelope')
}

interface ParseInput {
  readonly by: Meanings
  readonly delivery: VerifiedDelivery
  readonly source: EventSource
  /** The name under which an inbox has kept it. */
  readonly name: string | undefined
}

function understand(envelope: ReadEnvelope, given: ParseInput): Parsed {
  const { by, delivery, source } = given
  const { meanings, validate } = by
  const isKept = given.name !== undefined && canonicalName(envelope.name) === given.name
  const known = meanings.get(isKept ? given.name : envelope.name)
  const meaning = known ?? unknownMeaning(envelope.name)
  const checked = checkData(envelope.data, meaning)
  if (checked.issues && validate === 'reject') {
    return { ok: false, code: 'EVENT_INVALID', issues: checked.issues }
  }
  const event = toEvent({ meaning, known: known !== undefined, envelope, source, checked })
  const key = delivery.signedId ?? envelope.key
  const { vendor, exactData } = envelope
  if (vendor) Object.assign(event, vendor.details)
  if (!vendor && exactData === undefined && key !== undefined) return { ok: true, event, key }
  const dedupe = key === undefined && event.occurredAt ? vendor?.dedupe : undefined
  return { ok: true, event, ...defined({ key, dedupe, lasting: vendor?.lasting, exactData }) }
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
    const parsed = understand(envelope, given)
    if (!parsed.ok) return parsed
    const { signedId } = given.delivery
    const key = signedId === undefined ? parsed.key : `${signedId}#${at}`
    // Its own part of the body: a sender may put a repeated event beside others.
    const { vendor: _, ...own } = envelope
    const lasting = new TextEncoder().encode(JSON.stringify(own))
    events.push({ ...parsed, ...defined({ key }), lasting, part: at })
  }
  const [first, ...others] = events
  if (!first) return { ok: false, code: 'ENVELOPE_INVALID' }
  return others.length > 0 ? { ...first, others } : first
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
