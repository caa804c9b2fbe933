// Values inside a JSON body: by dotted paths of own properties, as ids, as times.

export type Json = Readonly<Record<string, unknown>>

/** The value at a dotted path of own properties. */
export function valueAt(body: unknown, path: string): unknown {
  return valueIn(body, toPath(path))
}

/** A dotted path, and the keys that it leads through. */
export interface Path {
  readonly text: string
  readonly keys: readonly string[]
}

export const toPath = (text: string): Path => ({ text, keys: text.split('.') })

/** The value at a path that is prepared. */
export function valueIn(body: unknown, { keys }: Path): unknown {
  let value: unknown = body
  for (const key of keys) {
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }
  return value
}

/** The first path that leads to a value. */
export function pathOf(body: unknown, paths: readonly Path[]): Path | undefined {
  for (const path of paths) {
    const value = valueIn(body, path)
    if (value !== undefined && value !== null) return path
  }
  return undefined
}

/** Longer texts are not ids: whoever lists entries reads those of each. */
const longestId = 1_000

/** An id as text. A number above 2^53 collides once parsed: it is an id where its text was kept. */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'string') return isIdText(value) ? value : undefined
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined
}

/**
 * One id of several. Before the last, the sign between them is escaped, and with it whatever could be
 * taken for that: other ids stay as they are.
 */
export function joinedId(ids: readonly string[], sign: '#' | ':'): string {
  const code = encodeURIComponent(sign)
  const doubtful = new RegExp(`${sign}|%(?:25)*${code.slice(1)}`)
  const escaped = (id: string) =>
    doubtful.test(id) ? id.replaceAll('%', '%25').replaceAll(sign, code) : id
  return [...ids.slice(0, -1).map(escaped), ...ids.slice(-1)].join(sign)
}

const isoDate = /^\d{4}-\d{2}-\d{2}T/
/** As SQL writes it too, with a space. */
const zoneless = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)$/i

/**
 * Milliseconds since the epoch; NaN if it is not a time in text. Without a zone it is UTC: processes in two
 * zones must read one time.
 */
export function parseTime(value: unknown): number {
  return typeof value === 'string' ? Date.parse(value.replace(zoneless, '$1T$2Z')) : Number.NaN
}

/** A time as senders write it: ISO 8601, or seconds or milliseconds since 1970. */
export function toDate(value: unknown): Date | undefined {
  let date: Date | undefined
  if (value instanceof Date) date = value
  else if (typeof value === 'string' && isoDate.test(value)) date = new Date(parseTime(value))
  // Seconds since the epoch stay below 1e11 until the year 5138; beyond are milliseconds.
  else if (typeof value === 'number') date = new Date(value < 1e11 ? value * 1000 : value)
  return date && Number.isFinite(date.getTime()) ? date : undefined
}

function isIdText(text: string): boolean {
  return text !== '' && text.length <= longestId
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
