// Reads and writes the values of signature headers. Reading is strict and cheap, because every
// request of an unauthenticated client gets here.
import type { Jws, PairsGrammar, Scheme } from '../protocol/scheme-definition.ts'
import {
  bytesOfHex,
  digestHex,
  encode,
  fromBase64,
  fromBase64url,
  fromHex,
  toHex,
} from './encoding.ts'
import {
  digestLength,
  type HmacAlgorithm,
  isHmac,
  isPublicKey,
  signatureLength,
} from './hmac/hmac.ts'
import { readTime, writeTime } from './time.ts'

/** Signatures that claim to prove the same bytes, with the time that they sign, if any. */
export interface Claim {
  readonly timestamp?: string
  /** The signatures in lower-case hex. */
  readonly signatures: readonly string[]
  /** A JWS brings the text that was signed, and in it the hash of the body. */
  readonly jws?: Jws
}

/** More signatures than any rotation needs would only cost us work. */
export const mostSignatures = 16
/** Each signature by a public key costs a hash of the whole body and an expensive check. */
const mostPublicSignatures = 4
/** Each signed time costs an HMAC over the whole body for each key. */
const mostTimes = 3
/** Longer than any token that a sender writes. */
const longestToken = 4096

const mostOf = ({ algorithm }: Scheme) =>
  isPublicKey(algorithm) ? mostPublicSignatures : mostSignatures

const utf8 = new TextEncoder()

/** Reads a header's value strictly; undefined when no signature in it is well formed. */
function readClaims(scheme: Scheme, value: string): readonly Claim[] | undefined {
  const { grammar } = scheme
  const text = value.trim()
  if (scheme.authenticity === 'token') return readToken(scheme, text)
  // Nearly always there is one signature, which holds no separator.
  if (grammar === 'plain') return claimsOf(scheme, text) ?? claimsOf(scheme, words(text))
  if ('pairs' in grammar) return readPairs(scheme, grammar.pairs, text)
  if ('list' in grammar) return claimsOf(scheme, prefixed(text.split(' '), grammar.list.prefix))
  if ('jwt' in grammar) {
    const claim = scheme.jws?.read(scheme, text)
    return claim && [claim]
  }
  const { prefix, optional = false } = grammar
  if (prefix.includes(' ')) {
    return claimsOf(scheme, prefixed(text.split(',').map(trimmed), prefix))
  }
  if (!text.includes(' ') && !text.includes(',')) {
    if (text.startsWith(prefix)) return claimsOf(scheme, text.slice(prefix.length))
    return optional ? claimsOf(scheme, text) : undefined
  }
  return claimsOf(scheme, prefixed(words(text), prefix, optional))
}

/** Reads all signature headers of a scheme that has several, as `readClaims` reads one. */
export function readAllClaims(
  scheme: Scheme,
  values: readonly string[],
): readonly Claim[] | undefined {
  const found = values.flatMap((value) => readClaims(scheme, value) ?? [])
  const total = found.reduce((sum, claim) => sum + claim.signatures.length, 0)
  return found.length > 0 && total <= mostOf(scheme) ? found : undefined
}

const trimmed = (text: string) => text.trim()
const words = (text: string) => text.split(/[ ,]+/)

/** The claim of signatures without their own signed time. */
function claimsOf(scheme: Scheme, texts: string | readonly string[]): readonly Claim[] | undefined {
  if (typeof texts === 'string') {
    const digest = decode(scheme, texts)
    return digest === undefined ? undefined : [{ signatures: [digest] }]
  }
  if (texts.length > mostOf(scheme)) return undefined
  const signatures = decodeAll(scheme, texts)
  return signatures.length > 0 ? [{ signatures }] : undefined
}

function decodeAll(scheme: Scheme, texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => decode(scheme, text) ?? [])
}

function decode({ algorithm, encoding }: Scheme, text: string): string | undefined {
  if (algorithm in digestLength) {
    return digestHex(text, encoding, digestLength[algorithm as HmacAlgorithm])
  }
  const [least, most] = signatureLength[algorithm as keyof typeof signatureLength]
  if (text.length > most * 2) return undefined
  const read = encoding === 'hex' ? fromHex : encoding === 'base64' ? fromBase64 : fromBase64url
  const bytes = read(text)
  return bytes && bytes.length >= least && bytes.length <= most ? toHex(bytes) : undefined
}

function prefixed(tokens: readonly string[], prefix: string, optional = false): string[] {
  return tokens.flatMap((token) => {
    if (token.startsWith(prefix)) return [token.slice(prefix.length)]
    return optional ? [token] : []
  })
}

/** A token is compared as it is, so nothing of it is taken apart. */
function readToken({ grammar }: Scheme, text: string): readonly Claim[] | undefined {
  const prefix = typeof grammar === 'object' && 'prefix' in grammar ? grammar.prefix : ''
  const token = text.startsWith(prefix) ? text.slice(prefix.length).trim() : ''
  if (token === '' || token.length > longestToken) return undefined
  return [{ signatures: [toHex(utf8.encode(token))] }]
}

interface Group {
  timestamp?: string
  readonly texts: string[]
}

/** A second timestamp begins a new group, as does white space without a separator before it. */
function readPairs(
  scheme: Scheme,
  pairs: PairsGrammar,
  value: string,
): readonly Claim[] | undefined {
  let group: Group = { texts: [] }
  const groups = [group]
  const next = () => {
    group = { texts: [] }
    groups.push(group)
  }
  for (const part of value.split(pairs.separator ?? ',')) {
    for (const [at, pair] of part.trim().split(' ').entries()) {
      if (at > 0 && pair !== '') next()
      const equals = pair.indexOf('=')
      if (equals <= 0) continue
      const name = pair.slice(0, equals)
      if (name === pairs.timestamp) {
        if (group.timestamp !== undefined) next()
        group.timestamp = pair.slice(equals + 1)
      } else if (name === pairs.signature) {
        group.texts.push(pair.slice(equals + 1))
      }
    }
  }
  return groupedClaims(scheme, pairs, groups)
}

function groupedClaims(
  scheme: Scheme,
  pairs: PairsGrammar,
  groups: readonly Group[],
): readonly Claim[] | undefined {
  if (groups.reduce((sum, { texts }) => sum + texts.length, 0) > mostOf(scheme)) return undefined
  const timed = pairs.timestamp !== undefined
  const claims = groups.flatMap(({ timestamp, texts }): Claim[] => {
    if (timed && !timestamp) return []
    const signatures = decodeAll(scheme, texts)
    if (signatures.length === 0) return []
    return [timestamp === undefined ? { signatures } : { timestamp, signatures }]
  })
  const most = timed ? mostTimes : mostSignatures
  return claims.length > 0 && claims.length <= most ? claims : undefined
}

/** Writes signatures as a sender of the scheme would, into one header. */
function writeClaims(
  { grammar }: Scheme,
  signatures: readonly string[],
  timestamp: string,
): string {
  if (grammar === 'plain' || 'jwt' in grammar) return signatures.join(',')
  if ('list' in grammar) return signatures.map((one) => grammar.list.prefix + one).join(' ')
  if ('prefix' in grammar) {
    const prefix = grammar.optional ? '' : grammar.prefix
    return signatures.map((one) => prefix + one).join(',')
  }
  const { timestamp: time, signature, separator = ',' } = grammar.pairs
  const pairs = signatures.map((one) => `${signature}=${one}`)
  return [...(time === undefined ? [] : [`${time}=${timestamp}`]), ...pairs].join(separator)
}

/**
 * The signature headers that a sender writes: one, or one for each key if the scheme has several.
 */
export function writeHeaders(
  scheme: Scheme,
  signatures: readonly string[],
  timestamp: string,
): readonly (readonly [name: string, value: string])[] {
  const { header, headers } = scheme
  if (headers === undefined) return [[header, writeClaims(scheme, signatures, timestamp)]]
  return headers.slice(0, signatures.length).map((name, at) => {
    // The last header takes the remaining signatures: every key is used.
    const own = signatures.slice(at, at + 1 === headers.length ? undefined : at + 1)
    return [name, writeClaims(scheme, own, timestamp)]
  })
}

const sample = new Date('2026-01-02T03:04:05.678Z')

/**
 * Tells whether a scheme reads back what its sender writes: one signature, and two of a rotation.
 */
export function readsItsOwn(scheme: Scheme): boolean {
  // A JWS has one form, which RFC 7515 fixes.
  if (typeof scheme.grammar === 'object' && 'jwt' in scheme.grammar) return true
  return [1, 2].every((count) => readsBack(scheme, count))
}

function readsBack(scheme: Scheme, count: number): boolean {
  const { algorithm, encoding } = scheme
  const length = isHmac(algorithm) ? digestLength[algorithm] : signatureLength[algorithm][0]
  const form = encoding === 'any' ? 'hex' : encoding
  const written = Array.from({ length: count }, (_, at) => new Uint8Array(length).fill(0xa5 + at))
  const timestamp = writeTime(scheme, sample)
  const texts = written.map((bytes) => encode(bytes, form))
  const claims = writeHeaders(scheme, texts, timestamp).flatMap(
    ([, value]) => readClaims(scheme, value) ?? [],
  )
  const read = claims.flatMap(({ signatures }) => signatures.map(bytesOfHex))
  return (
    read.length === count &&
    read.every((bytes, at) => bytes.length === length && bytes[0] === 0xa5 + at) &&
    claims.every((claim) => claim.timestamp === undefined || claim.timestamp === timestamp) &&
    readTime(scheme, timestamp) !== undefined
  )
}
