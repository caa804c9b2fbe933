// The outer JSON common to all events. The document does not show it (section 6, rule 3), so the
// reading is tolerant by default and the paths are data that a user can name.
import { WebhookError } from '../errors.ts'

/** What the envelope says of an event. */
export interface EnvelopeReading {
  readonly name: string
  readonly id?: string | undefined
  readonly occurredAt?: string | number | Date | undefined
  readonly data: unknown
}

/** Where to find each part: dotted paths, tried in order; what is left out keeps its default. */
export interface EnvelopePaths {
  readonly name?: string | readonly string[]
  readonly id?: string | readonly string[]
  readonly occurredAt?: string | readonly string[]
  readonly data?: string | readonly string[]
}

/** The `envelope` option: paths, or a function from the JSON body to its parts. */
export type EnvelopeOption = EnvelopePaths | ((body: unknown) => EnvelopeReading)

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
  readonly id?: string
  readonly key?: string
  readonly occurredAt?: Date
  readonly data: unknown
}

/** Reads an envelope; undefined when there is none. `source` is the JSON text, for long numbers. */
export type EnvelopeReader = (body: unknown, source: string) => ReadEnvelope | undefined

type Part = keyof typeof defaultEnvelope
type Json = Readonly<Record<string, unknown>>

/**
 * Prepares the reading of envelopes.
 *
 * @throws WebhookError `OPTION_INVALID` when the option is neither paths nor a function.
 */
export function envelopeReader(option: EnvelopeOption = {}): EnvelopeReader {
  const theirs = readerOf(option)
  return (body, source) =>
    isOwn(body) ? fromPaths(defaultEnvelope, body, source) : theirs(body, source)
}

function readerOf(option: EnvelopeOption): EnvelopeReader {
  if (typeof option === 'function') return (body) => fromFunction(option, body)
  const paths = checkedPaths(option)
  return (body, source) => (isObject(body) ? fromPaths(paths, body, source) : undefined)
}

/** Says in the bytes that this package made them, for as long as they are kept. */
const ownMark = 'idv-webhooks/reconcile'

/** An event that nobody sent, in an envelope that is read the same whatever `envelope` says. */
export function ownEnvelope({ id, name, occurredAt, data }: EnvelopeReading): object {
  return { madeBy: ownMark, id, event: name, createdAt: occurredAt, data }
}

function isOwn(body: unknown): body is Json {
  return isObject(body) && body.madeBy === ownMark
}

function checkedPaths(option: EnvelopePaths): Record<Part, readonly string[]> {
  const refuse = (why: string): never => {
    throw new WebhookError(
      'OPTION_INVALID',
      `envelope ${why}: give { name, id, occurredAt, data } as dotted paths, or a function`,
    )
  }
  if (!isObject(option)) return refuse('is neither paths nor a function')
  const paths: Record<Part, readonly string[]> = { ...defaultEnvelope }
  for (const [part, value] of Object.entries(option)) {
    if (!Object.hasOwn(defaultEnvelope, part)) return refuse(`has an unknown part '${part}'`)
    if (value === undefined) continue
    const list: unknown[] = Array.isArray(value) ? value : [value]
    const strings = list.filter((path) => typeof path === 'string' && path !== '')
    if (list.length === 0 || strings.length < list.length)
      return refuse(`part '${part}' is no path`)
    paths[part as Part] = strings as string[]
  }
  return paths
}

function fromFunction(option: (body: unknown) => EnvelopeReading, body: unknown) {
  let reading: EnvelopeReading
  try {
    reading = option(body)
  } catch {
    return undefined
  }
  if (typeof reading?.name !== 'string' || reading.name === '') return undefined
  const { name, data } = reading
  const id = typeof reading.id === 'string' && reading.id !== '' ? reading.id : undefined
  return compact({ name, id, key: id, occurredAt: toDate(reading.occurredAt), data })
}

function fromPaths(
  paths: Record<Part, readonly string[]>,
  body: Json,
  source: string,
): ReadEnvelope | undefined {
  const name = find(body, paths.name)
  if (typeof name?.value !== 'string' || name.value === '') return undefined
  const time = find(body, paths.occurredAt)
  const resource = findResource(body, paths.data)
  // A flat body's `id` may be the resource's: two events of one resource would share it, so it
  // is shown but never used to tell duplicates.
  const flat = resource === undefined
  const doubtful = flat && paths.id === defaultEnvelope.id
  const id = find(body, doubtful ? [...paths.id].reverse() : paths.id)
  const idText = id === undefined ? undefined : idOf(id.value, id.path, source)
  const own = doubtful && id?.path === 'id'
  const used = [name.path, own ? undefined : id?.path, time?.path]
  return compact({
    name: name.value,
    id: idText,
    key: own ? undefined : idText,
    occurredAt: toDate(time?.value),
    data: flat ? without(body, used) : resource.value,
  })
}

function findResource(body: Json, paths: readonly string[]) {
  const found = find(body, paths)
  if (found === undefined || !paths.includes(`${found.path}.object`)) return found
  const inner = isObject(found.value) && found.value.id === undefined && found.value.object
  return isObject(inner) ? { path: `${found.path}.object`, value: inner } : found
}

function find(body: Json, paths: readonly string[]) {
  for (const path of paths) {
    const value = at(body, path)
    if (value !== undefined && value !== null) return { path, value }
  }
  return undefined
}

function at(body: Json, path: string): unknown {
  let value: unknown = body
  for (const key of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

function without(body: Json, paths: readonly (string | undefined)[]): Json {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !paths.includes(key)))
}

/** Numbers above 2^53 collide once parsed, so a long one is read from the text itself. */
function idOf(value: unknown, path: string, source: string): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  if (typeof value !== 'number') return undefined
  if (Number.isSafeInteger(value)) return String(value)
  return path.includes('.') ? undefined : numberAt(source, path)
}

function numberAt(source: string, key: string): string | undefined {
  const texts = new Map<unknown, string | undefined>()
  let text: string | undefined
  // The reviver ends with the root under the key ''; only the root's own number counts.
  function reviver(this: unknown, name: string, value: unknown, context?: { source?: string }) {
    if (name === key && typeof value === 'number') texts.set(this, context?.source)
    if (name === '' && texts.has(value)) text = texts.get(value)
    return value
  }
  JSON.parse(source, reviver)
  return text
}

const isoDate = /^\d{4}-\d{2}-\d{2}T/

function toDate(value: unknown): Date | undefined {
  let date: Date | undefined
  if (value instanceof Date) date = value
  else if (typeof value === 'string' && isoDate.test(value)) date = new Date(value)
  // Seconds since the epoch stay below 1e11 until the year 5138; beyond are milliseconds.
  else if (typeof value === 'number') date = new Date(value < 1e11 ? value * 1000 : value)
  return date && Number.isFinite(date.getTime()) ? date : undefined
}

function compact(reading: { [Key in keyof ReadEnvelope]: ReadEnvelope[Key] | undefined }) {
  return Object.fromEntries(
    Object.entries(reading).filter(([key, value]) => value !== undefined || key === 'data'),
  ) as unknown as ReadEnvelope
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
