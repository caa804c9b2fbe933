// The outer JSON common to all events. The document does not show it (section 6, rule 3), so the
// reading is tolerant by default and the paths are data that a user can name.
import { checkFunction, checkOptionNames, invalid, shown } from '../foundation/check.ts'
import { decodeUtf8, parseExact, parseJson } from '../foundation/json.ts'
import { ignoreRejection } from '../host/promises.ts'
import { fromBase64 } from '../signature/encoding.ts'
import {
  firstIn,
  idOf,
  isObject,
  type Json,
  joinedId,
  type Path,
  pathOf,
  toDate,
  toPaths,
  valueAt,
  valueIn,
} from './json-paths.ts'
import type { Authenticity } from './scheme-definition.ts'

/**
 * Dotted paths to each part, tried in order; a part that is left out keeps its default paths. A
 * name may come from a header: `header:x-github-event`. It is proved only if the scheme signs that
 * header.
 */
export interface EnvelopePaths {
  readonly name?: string | readonly string[]
  readonly id?: string | readonly string[]
  readonly occurredAt?: string | readonly string[]
  readonly data?: string | readonly string[]
  /**
   * The path of the list, if a body holds several events; the other paths start at one of its
   * items. A body that is itself a list needs no path.
   */
  readonly events?: string | readonly string[]
}

/** The parts of an event that the envelope states. */
export interface EnvelopeReading {
  readonly name: string
  readonly id?: string | undefined
  readonly occurredAt?: string | number | Date | undefined
  readonly data: unknown
  /** The sender's own name of the event, if it differs from `name`. */
  readonly receivedName?: string | undefined
  /** The entity, if the name does not determine it. */
  readonly entity?: { readonly type: string; readonly id: string } | undefined
}

/** The second argument of an envelope function. */
export interface EnvelopeContext {
  readonly headers: Headers
  /** The address to which the delivery was sent, if the adapter knows it. */
  readonly url: string | undefined
}

/** Headers, address and proof of the delivery. */
export interface EnvelopeArrival {
  readonly headers: Iterable<readonly [string, string]>
  readonly url?: string | undefined
  readonly authenticity?: Authenticity
}

/** Reads the event of the JSON body, or all if it holds several. Integers above 2^53 are text. */
export type EnvelopeFunction = (
  body: unknown,
  context: EnvelopeContext,
) => EnvelopeReading | readonly EnvelopeReading[]

/** An envelope function that declares the second parameter and whose ids are signed. */
export interface TrustedEnvelope {
  readonly read: EnvelopeFunction
  /** True, or a function that says for which bodies the id is signed. */
  readonly trustIds: true | ((body: unknown) => boolean)
}

/**
 * The `envelope` option: paths, or a function from the JSON body to its parts. A function that
 * declares a second parameter may read headers and the address, which are not signed: its ids are
 * no keys, unless `{ read, trustIds: true }` says that they are signed.
 */
export type EnvelopeOption = EnvelopePaths | EnvelopeFunction | TrustedEnvelope

/** The default reading; the sandbox sends the first of each. */
export const defaultEnvelope = {
  name: ['event', 'type', 'name'],
  id: ['id', 'eventId'],
  occurredAt: ['createdAt', 'created_at', 'timestamp', 'occurredAt'],
  data: ['data', 'payload', 'resource', 'data.object'],
  events: [],
} as const satisfies EnvelopePaths

/** An envelope as read: `key` is the id if it certainly names this event. */
export interface ReadEnvelope {
  readonly name: string
  readonly receivedName?: string | undefined
  readonly id?: string | undefined
  readonly key?: string | undefined
  readonly occurredAt?: Date | undefined
  readonly entity?: { readonly type: string; readonly id: string } | undefined
  readonly data: unknown
  /** The data with long integers as text, if it has any. */
  readonly exactData?: unknown
  readonly vendor?: VendorDetails
}

/** The additions of a vendor's event to its envelope. */
interface VendorDetails {
  /** Fields of the event. */
  readonly details: object
  /** Without an id, equal bodies are one event. */
  readonly dedupe: 'body' | undefined
  /** The part of the body that repeats have in common, if the vendor changes the rest. */
  readonly lasting: Uint8Array | undefined
}

/** A JSON body, and a copy with integers above 2^53 as text, if it has any. */
export interface EnvelopeBody {
  readonly value: unknown
  readonly exact?: unknown
}

/** Reads an envelope, or several; undefined if one cannot be read. */
export type EnvelopeReader = (
  body: EnvelopeBody,
  arrival: EnvelopeArrival,
) => ReadEnvelope | readonly ReadEnvelope[] | undefined

type Part = keyof typeof defaultEnvelope

/**
 * Prepares the reading of envelopes.
 *
 * @throws WebhookError `OPTION_INVALID` when the option is neither paths nor a function.
 */
export function envelopeReader(option: EnvelopeOption = {}): EnvelopeReader {
  if (typeof option === 'function') return byFunction(option, option.length < 2)
  if (typeof option === 'object' && option !== null && 'read' in option) {
    const { read, trustIds } = checkedTrust(option)
    return byFunction(read, trustIds)
  }
  const paths = checkedPaths(option)
  const isInHeader = paths.name.some(({ text }) => text.startsWith(headerPath))
  return (body, arrival) => {
    const named = isInHeader ? arrival : undefined
    const isList = paths.events.length > 0 || Array.isArray(body.value)
    return isList ? listed(paths, body, named) : byPaths(paths, body, named)
  }
}

/** Reads what `ownEnvelope` made; undefined for bytes without its mark. */
export function readOwnEnvelope(body: EnvelopeBody): ReadEnvelope | undefined {
  return isOwn(body.value) ? byPaths(defaultPaths, body) : undefined
}

function checkedTrust(option: TrustedEnvelope): TrustedEnvelope {
  checkOptionNames('envelope', option, ['read', 'trustIds'])
  checkFunction('envelope.read', option.read, '(body, { headers, url }) => …')
  const { trustIds } = option
  if (trustIds === true || typeof trustIds === 'function') return option
  throw invalid(`envelope.trustIds must be true or a function, got ${shown(trustIds)}`)
}

/** Marks a path that names a header. */
const headerPath = 'header:'

/** Says in the bytes that this package made them, for as long as they are kept. */
const ownMark = 'idv-webhooks/reconcile'

/** Writes an event that no sender sent, in an envelope that every `envelope` option reads alike. */
export function ownEnvelope({ id, name, occurredAt, data }: EnvelopeReading): object {
  return { madeBy: ownMark, id, event: name, createdAt: occurredAt, data }
}

function isOwn(body: unknown): body is Json {
  return isObject(body) && body.madeBy === ownMark
}

type Paths = Readonly<Record<Part, readonly Path[]>>

const defaultPaths: Paths = {
  name: /* @__PURE__ */ toPaths(defaultEnvelope.name),
  id: /* @__PURE__ */ toPaths(defaultEnvelope.id),
  occurredAt: /* @__PURE__ */ toPaths(defaultEnvelope.occurredAt),
  data: /* @__PURE__ */ toPaths(defaultEnvelope.data),
  events: [],
}
/** A flat body's `eventId` is surer to be the event's own than its `id`. */
const flatIds = /* @__PURE__ */ toPaths(['eventId', 'id'])
/** A flat body's `createdAt` belongs to the resource and is equal in all of its events. */
const flatTimes = /* @__PURE__ */ toPaths(['timestamp', 'occurredAt'])
const changeTimes = /* @__PURE__ */ toPaths(['updatedAt', 'updated_at'])

function checkedPaths(option: EnvelopePaths): Paths {
  checkOptionNames('envelope', option, Object.keys(defaultEnvelope))
  const paths: Record<Part, readonly Path[]> = { ...defaultPaths }
  for (const [part, value] of Object.entries(option)) {
    if (value === undefined) continue
    const list: unknown[] = Array.isArray(value) ? value : [value]
    const wrong = list.find((path) => typeof path !== 'string' || path === '')
    if (list.length === 0 || wrong !== undefined) {
      throw invalid(`envelope.${part} must be a dotted path or a list of them, got ${shown(value)}`)
    }
    if (part !== 'name' && (list as string[]).some((path) => path.startsWith(headerPath))) {
      throw invalid(
        `envelope.${part} cannot come from a header, which is not part of the body: for an id that the scheme signs use id: { header } of the scheme`,
      )
    }
    paths[part as Part] = toPaths(list as string[])
  }
  return paths
}

function byFunction(
  read: EnvelopeFunction,
  trustIds: boolean | TrustedEnvelope['trustIds'],
): EnvelopeReader {
  const readingOf = (body: unknown, arrival: EnvelopeArrival) => {
    try {
      // A function that does not declare the context gets none, so its id is of the body.
      const args = read.length < 2 ? [body] : [body, contextOf(arrival)]
      const reading: ReturnType<EnvelopeFunction> = Reflect.apply(read, undefined, args)
      ignoreRejection(reading)
      return reading
    } catch {
      return undefined
    }
  }
  return ({ value, exact = value }, arrival) => {
    const reading = readingOf(exact, arrival)
    const isTrusted = typeof trustIds === 'function' ? trustIds(exact) : trustIds
    if (Array.isArray(reading)) return allOf(reading.map((one) => envelopeOf(one, isTrusted)))
    return envelopeOf(reading as EnvelopeReading | undefined, isTrusted)
  }
}

function envelopeOf(
  reading: EnvelopeReading | undefined,
  isTrusted: boolean,
): ReadEnvelope | undefined {
  if (typeof reading?.name !== 'string' || reading.name === '') return undefined
  const entity = entityIn(reading)
  if (entity === null) return undefined
  const { name, data, receivedName } = reading
  const id = idOf(reading.id)
  const occurredAt = toDate(reading.occurredAt)
  return { name, receivedName, id, key: isTrusted ? id : undefined, occurredAt, entity, data }
}

/** All events; undefined if the list is empty, or one has no name. */
function allOf(read: readonly (ReadEnvelope | undefined)[]): readonly ReadEnvelope[] | undefined {
  const events = read.filter((one) => one !== undefined)
  return events.length > 0 && events.length === read.length ? events : undefined
}

function contextOf({ headers: given, url }: EnvelopeArrival): EnvelopeContext {
  const headers = new Headers()
  for (const [name, value] of given) {
    try {
      headers.append(name, value)
    } catch {
      // Other hosts than HTTP servers pass on names and values that no header may have.
    }
  }
  return { headers, url }
}

/** Plain JavaScript may give a number as id; null for an entity without a usable id. */
function entityIn({ entity }: EnvelopeReading) {
  if (entity === undefined || entity === null) return undefined
  const { type, id } = entity
  // Without an id it waits for no other.
  const text = id === '' ? id : idOf(id)
  return typeof type === 'string' && idOf(type) && text !== undefined ? { type, id: text } : null
}

/** The events of a body that is a list or holds one. */
function listed(
  paths: Paths,
  { value, exact }: EnvelopeBody,
  arrival: EnvelopeArrival | undefined,
): readonly ReadEnvelope[] | undefined {
  const listIn = (body: unknown): unknown =>
    Array.isArray(body) ? body : isObject(body) && firstIn(body, paths.events)
  const [values, exacts] = [listIn(value), listIn(exact)]
  if (!Array.isArray(values)) return undefined
  const exactAt = (at: number): unknown => (Array.isArray(exacts) ? exacts[at] : undefined)
  return allOf(values.map((one, at) => byPaths(paths, { value: one, exact: exactAt(at) }, arrival)))
}

function byPaths(
  paths: Paths,
  { value, exact }: EnvelopeBody,
  arrival?: EnvelopeArrival,
): ReadEnvelope | undefined {
  const reading = isObject(value) ? fromPaths(paths, value, arrival) : undefined
  if (!reading || exact === undefined || !isObject(exact)) return reading
  // Data stay numbers, as they were sent; ids would collide.
  const { id, key, data } = fromPaths(paths, exact, arrival) ?? reading
  return { ...reading, id, key, exactData: data }
}

function fromPaths(paths: Paths, body: Json, arrival?: EnvelopeArrival): ReadEnvelope | undefined {
  // A name may come from a header.
  const name = arrival
    ? paths.name.map((path) => nameAt(body, path, arrival)).find((one) => one !== undefined)
    : firstIn(body, paths.name)
  if (typeof name !== 'string' || name === '') return undefined
  const data = resourceIn(body, paths.data)
  if (data === undefined) return flatEnvelope(name, paths, { body, arrival })
  const { id, key } = idIn(body, paths, data)
  return { name, id, key, occurredAt: toDate(firstIn(body, paths.occurredAt)), data }
}

/**
 * An `id` that may be the resource's is shown and is never a key: all events of the resource would
 * share it.
 */
function idIn(body: Json, paths: Paths, data: unknown): Pick<ReadEnvelope, 'id' | 'key'> {
  const { id: resourceId } = data as { readonly id?: unknown }
  if (paths.id === defaultPaths.id && isSameId(body.id, resourceId))
    return doubtfulId(body, flatIds)
  const id = idOf(firstIn(body, paths.id))
  return { id, key: id }
}

function doubtfulId(body: Json, paths: readonly Path[]): Pick<ReadEnvelope, 'id' | 'key'> {
  const path = pathOf(body, paths)
  const id = path && idOf(valueIn(body, path))
  return { id, key: path?.text === 'id' ? undefined : id }
}

/** A number and its text are equal ids. */
function isSameId(one: unknown, other: unknown): boolean {
  if (typeof one === 'string' && typeof other === 'string' && one !== other) return false
  const id = idOf(one)
  return id !== undefined && id === idOf(other)
}

/** The envelope of a body that is its own resource. */
function flatEnvelope(
  name: string,
  paths: Paths,
  { body, arrival }: { readonly body: Json; readonly arrival: EnvelopeArrival | undefined },
): ReadEnvelope {
  const isDefaultId = paths.id === defaultPaths.id
  const idPath = pathOf(body, isDefaultId ? flatIds : paths.id)
  const isOwn = isDefaultId && idPath?.text === 'id'
  const id = idPath && idOf(valueIn(body, idPath))
  const isDefaultTime = paths.occurredAt === defaultPaths.occurredAt
  const timePath = pathOf(body, isDefaultTime ? flatTimes : paths.occurredAt)
  const when = timePath ?? (isDefaultTime ? pathOf(body, changeTimes) : undefined)
  const namePath = paths.name.find((path) => nameAt(body, path, arrival) !== undefined)
  const data = without(body, [namePath, isOwn ? undefined : idPath, timePath])
  const occurredAt = when && toDate(valueIn(body, when))
  return { name, id, key: isOwn ? undefined : id, occurredAt, data }
}

function nameAt(body: Json, path: Path, arrival: EnvelopeArrival | undefined): unknown {
  const isHeader = arrival && path.text.startsWith(headerPath)
  return isHeader ? headerAt(arrival.headers, path) : (valueIn(body, path) ?? undefined)
}

function headerAt(headers: EnvelopeArrival['headers'], { text }: Path): string | undefined {
  const wanted = text.slice(headerPath.length).toLowerCase()
  for (const [name, value] of headers) if (name.toLowerCase() === wanted) return value.trim()
  return undefined
}

/** The resource; if it is wrapped twice, the inner object. */
function resourceIn(body: Json, paths: readonly Path[]): unknown {
  const value = firstIn(body, paths)
  if (!isObject(value) || value.object === undefined) return value
  if (!isObject(value.object) || value.id !== undefined) return value
  const path = pathOf(body, paths)
  const inner = paths.find(({ text }) => text === `${path?.text}.object`)
  return inner ? valueIn(body, inner) : value
}

function without(body: Json, paths: readonly (Path | undefined)[]): Json {
  const used = paths.map((path) => path?.text)
  return Object.fromEntries(Object.entries(body).filter(([key]) => !used.includes(key)))
}

/**
 * Reads CloudEvents: in structured mode from the body, in binary mode from the `ce-` headers. An id
 * is a key together with its source, in binary mode only if the scheme signs `ce-id`. In binary
 * mode a name is proved only if the scheme signs `ce-type`; otherwise a recorded delivery can be
 * sent again as another event.
 *
 * @example createReceiver({ secret, scheme, envelope: cloudEvents })
 */
export const cloudEvents: TrustedEnvelope = /* @__PURE__ */ Object.freeze({
  read: (body: unknown, context: EnvelopeContext) =>
    isStructured(body) ? structuredEvent(body) : binaryEvent(body, context),
  trustIds: isStructured,
})

function isStructured(body: unknown): boolean {
  return typeof valueAt(body, 'specversion') === 'string'
}

function binaryEvent(body: unknown, { headers }: EnvelopeContext): EnvelopeReading {
  if (!headers.get('ce-specversion')) throw new TypeError('not a CloudEvent')
  return {
    name: headers.get('ce-type') ?? '',
    id: headers.get('ce-id') ?? undefined,
    occurredAt: headers.get('ce-time') ?? undefined,
    data: body,
  }
}

function structuredEvent(body: unknown): EnvelopeReading {
  const text = (path: string) => {
    const value = valueAt(body, path)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const [id, source] = [text('id'), text('source')]
  return {
    name: text('type') ?? '',
    // The standard promises that an id is unique within its source.
    id: id !== undefined && source !== undefined ? joinedId([source, id], '#') : id,
    occurredAt: text('time'),
    data: valueAt(body, 'data') ?? decodedData(text('data_base64')),
  }
}

/** Data in base64: the value of its JSON, with integers above 2^53 as text; else the base64. */
function decodedData(base64: string | undefined): unknown {
  const bytes = base64 === undefined ? undefined : fromBase64(base64)
  const text = bytes && decodeUtf8(bytes)
  const json = text === undefined ? undefined : parseJson(text)
  if (text === undefined || !json) return base64
  return ((json.isLong && parseExact(text)) || json).value
}
