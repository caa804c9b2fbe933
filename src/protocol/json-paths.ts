// Values inside a JSON body: by dotted paths of own properties, as ids, as times.

export type Json = Readonly<Record<string, unknown>>

/** The value at a dotted path of own properties. */
export function valueAt(body: unknown, path: string): unknown {
  return valueIn(body, toPath(path))
}

/** A dotted path, prepared. */
export interface Path {
  readonly text: string
  readonly keys: readonly string[]
  /** Its only key; undefined if it has several. */
  readonly key: string | undefined
}

function toPath(text: string): Path {
  const keys = text.split('.')
  return { text, keys, key: keys.length === 1 ? text : undefined }
}

export const toPaths = (texts: readonly string[]) => texts.map(toPath)

/** The value at a path. */
export function valueIn(body: unknown, { keys }: Path): unknown {
  let value: unknown = body
  for (const key of keys) {
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }
  return value
}

/** The value at the first path that exists. */
export function firstIn(body: Json, paths: readonly Path[]): unknown {
  for (const path of paths) {
    const { key } = path
    // Nearly every path has one key.
    if (key !== undefined && !Object.hasOwn(body, key)) continue
    const value = key === undefined ? valueIn(body, path) : body[key]
    if (value !== undefined && value !== null) return value
  }
  return undefined
}

/** The first path that leads to a value. */
export function pathOf(body: Json, paths: readonly Path[]): Path | undefined {
  return paths.find((path) => (valueIn(body, path) ?? undefined) !== undefined)
}

/** Characters of the longest id: longer texts are not ids, because every listing shows them. */
const maxId = 1_000

/**
 * An id as text. A number above 2^53 collides once parsed: it is an id only if its text was kept.
 */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value !== '' && value.length <= maxId ? value : undefined
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined
}

/**
 * Joins ids to one. The separator is escaped inside every id but the last, so that no two lists
 * give one text.
 */
export function joinedId(ids: readonly string[], sign: '#' | ':'): string {
  const code = encodeURIComponent(sign)
  const doubtful = new RegExp(`${sign}|%(?:25)*${code.slice(1)}`)
  const escaped = (id: string) =>
    doubtful.test(id) ? id.replaceAll('%', '%25').replaceAll(sign, code) : id
  return [...ids.slice(0, -1).map(escaped), ...ids.slice(-1)].join(sign)
}

const isoDate = /^\d{4}-\d{2}-\d{2}T/
/** SQL writes it too, with a space. */
const zoneless = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)$/i

/**
 * Milliseconds since the epoch; NaN if it is not a time in text. A time without a zone is UTC, because
 * processes in two zones must read one time.
 */
export function parseTime(value: unknown): number {
  if (typeof value !== 'string') return Number.NaN
  return Date.parse(value.endsWith('Z') ? value : value.replace(zoneless, '$1T$2Z'))
}

/** A time as senders write it: ISO 8601, or seconds to nanoseconds since 1970. */
export function toDate(value: unknown): Date | undefined {
  let date: Date | undefined
  if (value instanceof Date) date = value
  else if (typeof value === 'string' && isoDate.test(value)) date = new Date(parseTime(value))
  else if (typeof value === 'number') date = new Date(millisecondsIn(value))
  return date && Number.isFinite(date.getTime()) ? date : undefined
}

/** The size tells the unit until the year 5138: each unit is a thousand times the previous one. */
function millisecondsIn(time: number): number {
  if (time < 1e11) return time * 1e3
  if (time < 1e14) return time
  return time < 1e17 ? time / 1e3 : time / 1e6
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
