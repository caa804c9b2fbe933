// Possible meanings of a delivery's headers: every way to read one as signatures, and the
// sources of the signed time and id.
import type { SchemeDefinition } from '../../../src/index.ts'
import type { NamedCapture } from '../capture-files.ts'
import type { RawHeaders } from '../deliver.ts'

/** The schemes that the search can find: one header, signed with a shared secret. */
export interface SharedScheme extends SchemeDefinition {
  readonly header: string
  readonly algorithm: 'sha256' | 'sha512' | 'sha1'
}

export interface HeaderReading
  extends Pick<SharedScheme, 'header' | 'algorithm' | 'encoding' | 'grammar'> {
  /** The signature header contains the time. */
  readonly timed: boolean
}

type DigestForm = Pick<HeaderReading, 'algorithm' | 'encoding'>

const algorithms = [
  ['sha256', 32],
  ['sha512', 64],
  ['sha1', 20],
] as const

/** The digests that a text could be; the more likely encoding first. */
function digestsOf(text: string): readonly DigestForm[] {
  return algorithms.flatMap(([algorithm, bytes]): DigestForm[] => {
    if (text.length === bytes * 2 && /^[0-9a-f]+$/i.test(text)) {
      return [{ algorithm, encoding: 'hex' }]
    }
    const bare = text.replace(/=+$/, '')
    const isPadded = text.length === Math.ceil(bytes / 3) * 4
    if (bare.length !== Math.ceil((bytes * 4) / 3) || !(isPadded || bare === text)) return []
    // Only `any` reads standard base64 without padding.
    const standard = { algorithm, encoding: isPadded ? 'base64' : 'any' } as const
    const forUrls = { algorithm, encoding: 'base64url' } as const
    return [
      ...(isPadded && /^[A-Za-z0-9+/]+$/.test(bare) ? [standard] : []),
      ...(/^[\w-]+$/.test(bare) ? [forUrls] : []),
      ...(!isPadded && /^[A-Za-z0-9+/]+$/.test(bare) ? [standard] : []),
    ]
  })
}

export function readingsOf(headers: RawHeaders): readonly HeaderReading[] {
  const readings = headers.flatMap(([header, value]) => readHeader(header, value.trim()))
  const seen = new Map(readings.map((reading) => [JSON.stringify(reading), reading]))
  return [...seen.values()]
}

function readHeader(header: string, value: string): readonly HeaderReading[] {
  return (
    [asList, asPairs, asPrefixed, asPlain]
      .map((read) => read(value).map((reading) => ({ header, ...reading })))
      // Only the most specific reading: a more general one would repeat it.
      .find((found) => found.length > 0) ?? []
  )
}

type Headerless = Omit<HeaderReading, 'header'>

/** `v1,… v1,…` */
function asList(value: string): Headerless[] {
  return value.split(/ +/).flatMap((token) => {
    const [, prefix = '', text = ''] = /^([\w-]+,)([^,]+)$/.exec(token) ?? []
    // Two digests with a comma between them have no prefix.
    if (digestsOf(prefix.slice(0, -1)).length > 0) return []
    return readAs(text, { list: { prefix } })
  })
}

/** `t=…,v1=…`: at least two different names. */
function asPairs(value: string): Headerless[] {
  const pairs = value.split(/[ ,]+/).map((part) => /^([\w-]+)=(.*)$/.exec(part) ?? [])
  if (new Set(pairs.map(([, name]) => name)).size < 2) return []
  const times = pairs.flatMap(([, name = '', text = '']) => (isSeconds(text) ? [name] : []))
  return pairs.flatMap(([, signature = '', text = '']) => [
    ...times.flatMap((timestamp) => readAs(text, { pairs: { signature, timestamp } }, true)),
    ...readAs(text, { pairs: { signature } }),
  ])
}

/** Reads `sha256=…`; several values may have the prefix. */
function asPrefixed(value: string): Headerless[] {
  return value.split(/[ ,]+/).flatMap((token) => {
    const [, prefix = '', text = ''] = /^([\w.-]+[=:])(.+)$/.exec(token) ?? []
    return readAs(text, { prefix })
  })
}

const asPlain = (value: string): Headerless[] =>
  value.split(/[ ,]+/).flatMap((token) => readAs(token, 'plain'))

function readAs(text: string, grammar: SharedScheme['grammar'], timed = false): Headerless[] {
  return digestsOf(text).map((digest) => ({ ...digest, grammar, timed }))
}

const signatureName = /signature|(^|-)(sig|sign|hmac|mac|digest)(-|$)/i

/** Tells by a header's value or name whether it could be a signature. */
export function hasSignature(headers: RawHeaders): boolean {
  const isNamed = headers.some(([name, value]) => signatureName.test(name) && value.trim() !== '')
  return isNamed || readingsOf(headers).length > 0
}

/** Headers of the transport, which no sender signs. */
const ordinary =
  /^(accept|accept-.*|authorization|cache-control|cdn-.*|cf-.*|connection|content-.*|cookie|date|expect|forwarded|host|keep-alive|origin|referer|sec-.*|te|traceparent|tracestate|transfer-encoding|upgrade.*|user-agent|via|x-forwarded-.*|x-real-ip)$/i

/** The headers that could be the time that is signed. */
export function timeHeaders(headers: RawHeaders): readonly string[] {
  const times = headers.filter(([name, value]) => !ordinary.test(name) && isSeconds(value.trim()))
  return [...new Set(times.map(([name]) => name))]
}

/** Seconds since the epoch, from 1973 to the year 5138. */
const isSeconds = (text: string) => /^\d{9,11}$/.test(text)

/** Values that read as a time, and so are not an id. */
const moments = [
  // Seconds, milliseconds, microseconds, nanoseconds, fractions of a second.
  /^\d{9,11}$|^1\d{12}$|^1\d{15}$|^1\d{18}$|^1\d{9}\.\d+$/,
  // ISO 8601 and the dates of HTTP.
  /^\d{4}-\d\d-\d\d[T ]|^\d{8}T\d{6}Z$|^[A-Z][a-z]{2}, \d/,
]

/**
 * The headers that could be the id that is signed. A constant header as id would make every later
 * event a duplicate, so an id must differ wherever events differ.
 */
export function idHeaders(captures: readonly NamedCapture[]): readonly string[] {
  const [first] = captures
  if (!first) return []
  const names = new Set(first.delivery.headers.map(([name]) => name))
  return [...names].filter((name) => !ordinary.test(name) && canBeId(name, captures))
}

function canBeId(name: string, captures: readonly NamedCapture[]): boolean {
  const bodies = new Map<string, string>()
  for (const { delivery } of captures) {
    const id = delivery.headers.find((header) => header[0] === name)?.[1].trim()
    if (id === undefined || !/^[\x21-\x7e]{1,128}$/.test(id)) return false
    if (moments.some((pattern) => pattern.test(id))) return false
    const body = bytesOf(delivery)
    // Two captures with the same id and body are one event that was delivered twice.
    if (bodies.has(id) && bodies.get(id) !== body) return false
    bodies.set(id, body)
  }
  return true
}

/** Tells whether all captures are of one event: then an id looks like a constant. */
export function areOfOneEvent(captures: readonly NamedCapture[]): boolean {
  return new Set(captures.map(({ delivery }) => bytesOf(delivery))).size < 2
}

const bytesOf = ({ body }: NamedCapture['delivery']) => Buffer.from(body).toString('base64')
