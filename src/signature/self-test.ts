// Whether a scheme reads back what a sender of it writes. Only the grammar is tried, no crypto, so
// that it can be asked when a scheme is defined.
import type { Scheme } from '../protocol/scheme-definition.ts'
import { bytesOfHex, encode } from './encoding.ts'
import { readClaims, writeHeaders } from './grammar.ts'
import { digestLength, isHmac, signatureLength } from './hmac/hmac.ts'
import { readTime, writeTime } from './time.ts'

const sample = new Date('2026-01-02T03:04:05.678Z')

/** One signature, and two of a sender that rotates its key. */
export function readsItsOwn(scheme: Scheme): boolean {
  // A JWS is written by its own rules, and there is one form of it.
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
