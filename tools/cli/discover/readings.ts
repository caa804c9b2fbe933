// Possible meanings of a delivery's headers: every way to read one as signatures, and where the
// signed time could come from.
import type { SchemeDefinition } from '../../../src/index.ts'
import type { HeaderPairs } from '../header-pairs.ts'
import { isSeconds } from './moments.ts'

/** The schemes that the search can find: one header, signed with a shared secret. */
export interface SharedScheme extends SchemeDefinition {
  readonly header: string
  readonly algorithm: 'sha256' | 'sha512' | 'sha1'
}

/** One way to read a header as signatures. */
export interface Reading
  extends Pick<SharedScheme, 'header' | 'algorithm' | 'encoding' | 'grammar'> {
  /** The signature header contains the time. */
  readonly timed: boolean
}

type Digest = Pick<Reading, 'algorithm' | 'encoding'>

const algorithms = [
  ['sha256', 32],
  ['sha512', 64],
  ['sha1', 20],
] as const

/** The digests that a text could be; the more likely encoding first. */
function digestsOf(text: string): readonly Digest[] {
  return algorithms.flatMap(([algorithm, bytes]): Digest[] => {
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
export function readingsOf(headers: HeaderPairs): readonly Reading[] {
  const readings = headers.flatMap(([header, value]) => readHeader(header, value.trim()))
  const seen = new Map(readings.map((reading) => [JSON.stringify(reading), reading]))
  return [...seen.values()]
}

function readHeader(header: string, value: string): readonly Reading[] {
  return (
    [asList, asPairs, asPrefixed, asPlain]
      .map((read) => read(value).map((reading) => ({ header, ...reading })))
      // The most specific reading; a more general one would only repeat it.
      .find((found) => found.length > 0) ?? []
  )
}

type Headerless = Omit<Reading, 'header'>

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
export function hasSignature(headers: HeaderPairs): boolean {
  const isNamed = headers.some(([name, value]) => signatureName.test(name) && value.trim() !== '')
  return isNamed || readingsOf(headers).length > 0
}

const ordinary =
  /^(accept|accept-.*|authorization|cache-control|cdn-.*|cf-.*|connection|content-.*|cookie|date|expect|forwarded|host|keep-alive|origin|referer|sec-.*|te|traceparent|tracestate|transfer-encoding|upgrade.*|user-agent|via|x-forwarded-.*|x-real-ip)$/i

/** Whether a header concerns the transport, not what the sender signed. */
export function isOrdinary(name: string): boolean {
  return ordinary.test(name)
}

/** The headers that could be the time that is signed. */
export function timeHeaders(headers: HeaderPairs): readonly string[] {
  const times = headers.filter(([name, value]) => !isOrdinary(name) && isSeconds(value.trim()))
  return [...new Set(times.map(([name]) => name))]
}
