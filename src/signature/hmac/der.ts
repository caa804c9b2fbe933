// The few DER structures around public keys (RFC 5280, 5958, 8410) and P-256 signatures, and what
// kind of key one is: read by both builds of the crypto, so that neither takes another kind.
import type { PublicKeyName } from '../../protocol/scheme-definition.ts'

const bytesOf = (hex: string) =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

/** The bytes before the raw key in its SPKI. */
const spkiHead = {
  ed25519: bytesOf('302a300506032b6570032100'),
  es256: bytesOf('3059301306072a8648ce3d020106082a8648ce3d030107034200'),
}
/** The bytes before an Ed25519 seed in its PKCS #8. */
const seedHead = bytesOf('302e020100300506032b657004220420')

/** The object identifiers by which a key says what it is. */
const identifiers: Readonly<Record<PublicKeyName, readonly Uint8Array[]>> = {
  ed25519: [bytesOf('06032b6570')],
  es256: [bytesOf('06072a8648ce3d0201'), bytesOf('06082a8648ce3d030107')],
  rs256: [bytesOf('06092a864886f70d010101')],
}

/** SPKI of 2048 bits; shorter keys can be broken. */
const shortestRsa = 294

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((total, part) => total + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** The PKCS #8 of an Ed25519 seed. */
export function pkcs8OfSeed(seed: Uint8Array): Uint8Array {
  return joined(seedHead, seed)
}

/** Tells PKCS #8, which begins with its version, from SPKI. */
export function isPrivate(der: Uint8Array): boolean {
  const { start } = headerAt(der, 0)
  return der[start] === 0x02
}

/** A public key as SPKI (or PKCS #8 of a private one); undefined when it is of another kind. */
export function keyDer(bytes: Uint8Array, algorithm: PublicKeyName): Uint8Array | undefined {
  const raw = rawKey(bytes, algorithm)
  if (raw) return raw
  if (bytes[0] !== 0x30 || headerAt(bytes, 0).end !== bytes.length) return undefined
  // The identifiers stand in the first bytes of both forms, before any part of the key.
  const head = bytes.subarray(0, 40)
  if (!identifiers[algorithm].every((identifier) => contains(head, identifier))) return undefined
  if (algorithm === 'rs256' && bytes.length < shortestRsa) return undefined
  return bytes
}

function rawKey(bytes: Uint8Array, algorithm: PublicKeyName): Uint8Array | undefined {
  if (algorithm === 'ed25519' && bytes.length === 32) return joined(spkiHead.ed25519, bytes)
  if (algorithm === 'es256' && bytes.length === 65 && bytes[0] === 0x04) {
    return joined(spkiHead.es256, bytes)
  }
  return undefined
}

function contains(bytes: Uint8Array, part: Uint8Array): boolean {
  for (let at = 0; at + part.length <= bytes.length; at += 1) {
    if (part.every((byte, offset) => bytes[at + offset] === byte)) return true
  }
  return false
}

/** Where the content of the value at `at` begins and ends. */
function headerAt(der: Uint8Array, at: number): { readonly start: number; readonly end: number } {
  const first = der[at + 1] ?? 0
  if (first < 0x80) return { start: at + 2, end: at + 2 + first }
  const count = first & 0x7f
  let length = 0
  for (let index = 0; index < count; index += 1) length = length * 256 + (der[at + 2 + index] ?? 0)
  return { start: at + 2 + count, end: at + 2 + count + length }
}

/** The SPKI of an RSA key's numbers. */
export function spkiOfRsa(modulus: Uint8Array, exponent: Uint8Array): Uint8Array {
  const key = sequence(integer(modulus), integer(exponent))
  const algorithm = sequence(identifiers.rs256[0] as Uint8Array, Uint8Array.of(0x05, 0x00))
  return sequence(algorithm, tagged(0x03, joined(Uint8Array.of(0), key)))
}

const sequence = (...parts: readonly Uint8Array[]) => tagged(0x30, joined(...parts))

function integer(value: Uint8Array): Uint8Array {
  let at = 0
  while (at < value.length - 1 && value[at] === 0) at += 1
  const bare = value.subarray(at)
  // A first bit that is set would make it negative.
  return tagged(0x02, (bare[0] ?? 0) >= 0x80 ? joined(Uint8Array.of(0), bare) : bare)
}

function tagged(tag: number, content: Uint8Array): Uint8Array {
  const { length } = content
  if (length < 0x80) return joined(Uint8Array.of(tag, length), content)
  if (length < 0x100) return joined(Uint8Array.of(tag, 0x81, length), content)
  return joined(Uint8Array.of(tag, 0x82, length >> 8, length & 255), content)
}

/** A P-256 signature as its two numbers side by side; undefined when it is neither form. */
export function toP1363(signature: Uint8Array): Uint8Array | undefined {
  if (signature.length === 64) return signature
  const outer = headerAt(signature, 0)
  if (signature[0] !== 0x30 || outer.end !== signature.length) return undefined
  const first = headerAt(signature, outer.start)
  const second = headerAt(signature, first.end)
  const both = signature[outer.start] === 0x02 && signature[first.end] === 0x02
  if (!both || second.end !== signature.length) return undefined
  const numbers = [first, second].map(({ start, end }) => fixed(signature.subarray(start, end)))
  const [r, s] = numbers
  return r && s && joined(r, s)
}

function fixed(number: Uint8Array): Uint8Array | undefined {
  const bare = number[0] === 0 ? number.subarray(1) : number
  if (bare.length === 0 || bare.length > 32) return undefined
  return joined(new Uint8Array(32 - bare.length), bare)
}
