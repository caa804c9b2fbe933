// The outer JSON common to all events. The document does not show it (section 6, rule 3), so the
// reading is tolerant by default and the paths are data that a user can name.
import { checkOptionNames, invalid, shown } from '../check.ts'
import { idOf, isObject, type Json, toDate, valueAt } from './json-paths.ts'

/** What the envelope says of an event. */
export interface EnvelopeReading {
  readonly name: string
  readonly id?: string | undefined
  readonly occurredAt?: string | number | Date | undefined
  readonly data: unknown
  /** The sender's own name of it, where `name` is not that. */
  readonly receivedName?: string | undefined
  /** What it is about, where its name does not tell. */
  readonly entity?: { readonly type: string; readonly id: string } | undefined
}

/** What an envelope function sees besides the body. */
export interface EnvelopeContext {
  readonly headers: Headers
  /** The address that it was sent to, where the adapter knows it. */
  readonly url: string | undefined
}

/**
 * Where to find each part: dotted paths, tried in order; what is left out keeps its default.
 * A name may stand in a header: `header:x-github-event`.
 */
export interface EnvelopePaths {
  readonly name?: string | readonly string[]
  readonly id?: string | readonly string[]
  readonly occurredAt?: string | readonly string[]
  readonly data?: string | readonly string[]
}

/**
 * The `envelope` option: paths, or a function from the JSON body to its parts. An id tells
 * duplicates only where it is signed: one that depends on headers or the address does not.
 */
export type EnvelopeOption =
  | EnvelopePaths
  | ((body: unknown, context: EnvelopeContext) => EnvelopeReading)

/** The default reading; the sandbox sends the first of each. */
export const defaultEnvelope = {
  name: ['event', 'type', 'name'],
  id: ['id', 'eventId'],
  occurredAt: ['createdAt', 'created_at', 'timestamp', 'occurredAt'],
  data: ['data', 'payload', 'resource', 'data.object'],
} as const satisfies EnvelopePaths

/** An envelope as read: `key` is the id only where it is sure to name the event itself. */
export interface ReadEnvelope {
  readonly name: string
  readonly receivedName?: string | undefined
  readonly id?: string | undefined
  readonly key?: string | undefined
  readonly occurredAt?: Date | undefined
  readonly entity?: { readonly type: string; readonly id: string } | undefined
  readonly data: unknown
}

/** What the body came with. */
export interface EnvelopeArrival {
  readonly headers: Iterable<readonly [string, string]>
  readonly url?: string | undefined
  /** The id that the scheme signs, where it signs one. */
  readonly signedId?: string | undefined
}

/**
 * Reads an envelope; undefined when there is none. `text` is the JSON text, for long numbers; `own`
 * tells bytes that this package itself made, from the service's API.
 */
export type EnvelopeReader = (
  body: unknown,
  text: string,
  arrival: EnvelopeArrival,
  own: boolean,
) => ReadEnvelope | undefined

type Part = keyof typeof defaultEnvelope

/**
 * Prepares the reading of envelopes.
 *
 * @throws WebhookError `OPTION_INVALID` when the option is neither paths nor a function.
 */
export function envelopeReader(option: EnvelopeOption = {}): EnvelopeReader {
  const theirs = readerOf(option)
  return (body, text, arrival, own) =>
    // The mark alone proves nothing: a sender could write it and so choose the reading.
    own && isOwn(body) ? fromPaths(defaultEnvelope, body, text) : theirs(body, text, arrival)
}

type Reader = (body: unknown, text: string, arrival: EnvelopeArrival) => ReadEnvelope | undefined

function readerOf(option: EnvelopeOption): Reader {
  if (typeof option === 'function') return (body, _, arrival) => fromFunction(option, body, arrival)
  const paths = checkedPaths(option)
  const fromHeader = paths.name.some((path) => path.startsWith(headerPath))
  return (body, text, arrival) => {
    if (!isObject(body)) return undefined
    return fromPaths(paths, body, text, fromHeader ? arrival : undefined)
  }
}

/** Marks a path that names a header. */
const headerPath = 'header:'

/** Says in the bytes that this package made them, for as long as they are kept. */
const ownMark = 'idv-webhooks/reconcile'

/** An event that nobody sent, in an envelope that is read the same whatever `envelope` says. */
export function ownEnvelope({ id, name, occurredAt, data }: EnvelopeReading): object {
  return { madeBy: ownMark, id, event: name, createdAt: occurredAt, data }
}

function isOwn(body: unknown): body is Json {
  return isObject(body) && body.madeBy === ownMark
}

const parts = Object.keys(defaultEnvelope)

function checkedPaths(option: EnvelopePaths): Record<Part, readonly string[]> {
  checkOptionNames('envelope', option, parts)
  const paths: Record<Part, readonly string[]> = { ...defaultEnvelope }
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
    paths[part as Part] = list as string[]
  }
  return paths
}

function fromFunction(
  option: Extract<EnvelopeOption, (...args: never[]) => unknown>,
  body: unknown,
  arrival: EnvelopeArrival,
): ReadEnvelope | undefined {
  const context = new Watched(arrival)
  const reading = readingOf(option, body, context)
  if (typeof reading?.name !== 'string' || reading.name === '') return undefined
  const { name, data, receivedName, entity } = reading
  const id = textOf(reading.id)
  const sure =
    !context.touched ||
    id === arrival.signedId ||
    // What is the same without any header comes from the body alone.
    id === textOf(readingOf(option, body, new Watched({ headers: [] }))?.id)
  const key = sure ? id : undefined
  const occurredAt = toDate(reading.occurredAt)
  return { name, receivedName, id, key, occurredAt, entity, data }
}

function readingOf(
  option: Extract<EnvelopeOption, (...args: never[]) => unknown>,
  body: unknown,
  context: EnvelopeContext,
): EnvelopeReading | undefined {
  try {
    return option(body, context)
  } catch {
    return undefined
  }
}

const textOf = (id: unknown) => (typeof id === 'string' && id !== '' ? id : undefined)

/** Tells whether a function has looked beyond the body. */
class Watched implements EnvelopeContext {
  touched = false
  readonly #arrival: EnvelopeArrival

  constructor(arrival: EnvelopeArrival) {
    this.#arrival = arrival
  }

  get headers(): Headers {
    this.touched = true
    const headers = new Headers()
    for (const [name, value] of this.#arrival.headers) headers.append(name, value)
    return headers
  }

  get url(): string | undefined {
    this.touched = true
    return this.#arrival.url
  }
}

function fromPaths(
  paths: Record<Part, readonly string[]>,
  body: Json,
  text: string,
  arrival?: EnvelopeArrival,
): ReadEnvelope | undefined {
  const name = arrival ? findName(body, paths.name, arrival) : find(body, paths.name)
  if (typeof name?.value !== 'string' || name.value === '') return undefined
  const time = find(body, paths.occurredAt)
  const resource = findResource(body, paths.data)
  // A flat body's `id` may be the resource's: two events of one resource would share it, so it
  // is shown but never used to tell duplicates.
  const flat = resource === undefined
  const doubtful = flat && paths.id === defaultEnvelope.id
  const id = find(body, doubtful ? [...paths.id].reverse() : paths.id)
  const idText = id === undefined ? undefined : idOf(id.value, id.path, text)
  const own = doubtful && id?.path === 'id'
  const used = () => [name.path, own ? undefined : id?.path, time?.path]
  return {
    name: name.value,
    id: idText,
    key: own ? undefined : idText,
    occurredAt: toDate(time?.value),
    data: flat ? without(body, used()) : resource.value,
  }
}

function findName(body: Json, paths: readonly string[], { headers }: EnvelopeArrival) {
  for (const path of paths) {
    if (!path.startsWith(headerPath)) {
      const found = find(body, [path])
      if (found) return found
      continue
    }
    const wanted = path.slice(headerPath.length).toLowerCase()
    for (const [name, value] of headers) {
      if (name.toLowerCase() === wanted) return { path, value: value.trim() }
    }
  }
  return undefined
}

function findResource(body: Json, paths: readonly string[]) {
  const found = find(body, paths)
  if (!isObject(found?.value) || !isObject(found.value.object)) return found
  const inner = `${found.path}.object`
  const isWrapped = found.value.id === undefined && paths.includes(inner)
  return isWrapped ? { path: inner, value: found.value.object } : found
}

function find(body: Json, paths: readonly string[]) {
  for (const path of paths) {
    const value = valueAt(body, path)
    if (value !== undefined && value !== null) return { path, value }
  }
  return undefined
}

function without(body: Json, paths: readonly (string | undefined)[]): Json {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !paths.includes(key)))
}
