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

/** One way to read a header as signatures. */
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
    const bare = text.replace(/=+$/, '')
    if (text.length === bytes * 2 && /^[0-9a-f]+$/i.test(text)) {
      return [{ algorithm, encoding: 'hex' }]
    }
    if (bare.length !== Math.ceil((bytes * 4) / 3)) return []
    const padded = text.length === Math.ceil(bytes / 3) * 4
    const standard = /^[A-Za-z0-9+/]+$/.test(bare)
    const forUrls = /^[\w-]+$/.test(bare)
    const exact = bare === text
    if (!padded && !exact) return []
    return [
      ...(standard && padded ? [{ algorithm, encoding: 'base64' } as const] : []),
      ...(forUrls ? [{ algorithm, encoding: 'base64url' } as const] : []),
      // Only `any` reads standard base64 without padding.
      ...(standard && exact && !padded ? [{ algorithm, encoding: 'any' } as const] : []),
    ]
  })
}

/** Every way to read the headers as signatures; empty without a signature. */
export function readingsOf(headers: RawHeaders): readonly HeaderReading[] {
  const readings = headers.flatMap(([header, value]) => readHeader(header, value.trim()))
  const seen = new Map(readings.map((reading) => [JSON.stringify(reading), reading]))
  return [...seen.values()]
}

function readHeader(header: string, value: string): readonly HeaderReading[] {
  return (
    [asList, asPairs, asPrefixed, asPlain]
      .map((read) => read(value).map((reading) => ({ header, ...reading })))
      // The most specific reading; a more general one would only repeat it.
      .find((found) => found.length > 0) ?? []
  )
}

type Headerless = Omit<HeaderReading, 'header'>

/** `v1,… v1,…` */
function asList(value: string): Headerless[] {
  return value.split(/ +/).flatMap((token) => {
    const [, prefix, text] = /^([\w-]+,)([^,]+)$/.exec(token) ?? []
    if (prefix === undefined || text === undefined || digestsOf(prefix.slice(0, -1)).length > 0) {
      return []
    }
    return digestsOf(text).map((digest) => ({
      ...digest,
      grammar: { list: { prefix } },
      timed: false,
    }))
  })
}

/** `t=…,v1=…`: at least two different names. */
function asPairs(value: string): Headerless[] {
  const pairs = value.split(/[ ,]+/).map((part) => /^([\w-]+)=(.*)$/.exec(part))
  const names = new Set(pairs.map((pair) => pair?.[1]))
  if (names.size < 2) return []
  const times = pairs.flatMap((pair) => (pair && isSeconds(pair[2] ?? '') ? [pair[1] ?? ''] : []))
  return pairs.flatMap((pair) =>
    digestsOf(pair?.[2] ?? '').flatMap((digest) => {
      const signature = pair?.[1] ?? ''
      const timed = times.map((timestamp) => ({
        ...digest,
        grammar: { pairs: { signature, timestamp } },
        timed: true,
      }))
      return [...timed, { ...digest, grammar: { pairs: { signature } }, timed: false }]
    }),
  )
}

/** `sha256=…`, several with the same prefix allowed. */
function asPrefixed(value: string): Headerless[] {
  return value.split(/[ ,]+/).flatMap((token) => {
    const [, prefix, text] = /^([\w.-]+[=:])(.+)$/.exec(token) ?? []
    if (prefix === undefined || text === undefined) return []
    return digestsOf(text).map((digest) => ({ ...digest, grammar: { prefix }, timed: false }))
  })
}

function asPlain(value: string): Headerless[] {
  const tokens = value.split(/[ ,]+/)
  return tokens.flatMap((token) =>
    digestsOf(token).map((digest) => ({ ...digest, grammar: 'plain' as const, timed: false })),
  )
}

const signatureName = /signature|(^|-)(sig|sign|hmac|mac|digest)(-|$)/i

/** Whether a header could be a signature, by its value or by its name. */
export function hasSignature(headers: RawHeaders): boolean {
  const isNamed = headers.some(([name, value]) => signatureName.test(name) && value.trim() !== '')
  return isNamed || readingsOf(headers).length > 0
}

const ordinary =
  /^(accept|accept-.*|authorization|cache-control|cdn-.*|cf-.*|connection|content-.*|cookie|date|expect|forwarded|host|keep-alive|origin|referer|sec-.*|te|traceparent|tracestate|transfer-encoding|upgrade.*|user-agent|via|x-forwarded-.*|x-real-ip)$/i

/** Whether a header concerns the transport, not what the sender signed. */
function isOrdinary(name: string): boolean {
  return ordinary.test(name)
}

/** The headers that could be the time that is signed. */
export function timeHeaders(headers: RawHeaders): readonly string[] {
  const times = headers.filter(([name, value]) => !isOrdinary(name) && isSeconds(value.trim()))
  return [...new Set(times.map(([name]) => name))]
}

/** Seconds since the epoch, from 1973 to the year 5138. */
function isSeconds(text: string): boolean {
  return /^\d{9,11}$/.test(text)
}

const otherMoments = [
  // Milliseconds, microseconds, nanoseconds, fractions of a second.
  /^1\d{12}$|^1\d{15}$|^1\d{18}$|^1\d{9}\.\d+$/,
  // ISO 8601 and the dates of HTTP.
  /^\d{4}-\d\d-\d\d[T ]|^\d{8}T\d{6}Z$|^[A-Z][a-z]{2}, \d/,
]

/** Whether a value reads as a moment: then it is not an id. */
function readsAsMoment(text: string): boolean {
  return isSeconds(text) || otherMoments.some((pattern) => pattern.test(text))
}

/**
 * The headers that could be the id that is signed. A constant header as id would make every later
 * event a duplicate, so an id must differ wherever events differ.
 */
export function idHeaders(captures: readonly NamedCapture[]): readonly string[] {
  const [first] = captures
  if (!first) return []
  const names = new Set(first.delivery.headers.map(([name]) => name))
  return [...names].filter((name) => !isOrdinary(name) && canBeId(name, captures))
}

function canBeId(name: string, captures: readonly NamedCapture[]): boolean {
  const bodies = new Map<string, string>()
  for (const { delivery } of captures) {
    const id = delivery.headers.find((header) => header[0] === name)?.[1].trim()
    if (id === undefined || !/^[\x21-\x7e]{1,128}$/.test(id) || readsAsMoment(id)) return false
    const body = bytesOf(delivery)
    // The same id with the same body is a repeated delivery.
    if (bodies.has(id) && bodies.get(id) !== body) return false
    bodies.set(id, body)
  }
  return true
}

/** Whether all captures are of one event, so that an id looks like a constant. */
export function areOfOneEvent(captures: readonly NamedCapture[]): boolean {
  return new Set(captures.map(({ delivery }) => bytesOf(delivery))).size < 2
}

const bytesOf = ({ body }: NamedCapture['delivery']) => Buffer.from(body).toString('base64')
