// Public keys as senders give them: PEM, DER, raw bytes, `whpk_`, and JWKs. All become DER, and a
// key of another kind than the scheme's algorithm is refused.
import type { PublicKeyName, Scheme } from '../protocol/scheme-definition.ts'
import { fromBase64, fromBase64url, fromHex } from './encoding.ts'
import { keyDer, pkcs8OfSeed, spkiOfRsa } from './hmac/der.ts'

const kinds = { ed25519: 'an Ed25519', es256: 'a P-256', rs256: 'an RSA' } as const

/** The DER of a key, or what is wrong with it. */
export function publicKeyBytes(
  value: string | Uint8Array,
  decoding: Scheme['key'],
  algorithm: PublicKeyName,
): Uint8Array | { readonly fault: string } {
  const bytes = typeof value === 'string' ? decoded(value.trim(), decoding, algorithm) : value
  if (!bytes) return { fault: `must be ${forms[decoding] ?? 'a public key'}` }
  const der = keyDer(bytes, algorithm)
  const least = algorithm === 'rs256' ? ' of at least 2048 bits' : ''
  return der ?? { fault: `must be ${kinds[algorithm]} key${least}, as its scheme says` }
}

const forms: Partial<Record<Scheme['key'], string>> = {
  pem: 'a PEM text that begins with -----BEGIN PUBLIC KEY-----',
  base64: 'a public key in base64',
  hex: 'a public key in hex',
  whpk: 'a key that begins with whpk_',
}

function decoded(
  text: string,
  decoding: Scheme['key'],
  algorithm: PublicKeyName,
): Uint8Array | undefined {
  if (decoding === 'hex') return fromHex(text)
  if (decoding === 'pem' || text.startsWith('-----BEGIN ')) return fromPem(text)
  if (decoding === 'whpk' && text.startsWith('whsk_') && algorithm === 'ed25519') {
    // The seed stands first; the public key may follow it.
    const seed = fromBase64(text.slice(5))
    return seed && (seed.length === 32 || seed.length === 64)
      ? pkcs8OfSeed(seed.subarray(0, 32))
      : undefined
  }
  return fromBase64(decoding === 'whpk' ? text.replace(/^whpk_/, '') : text)
}

function fromPem(text: string): Uint8Array | undefined {
  const match =
    /^-----BEGIN (PUBLIC|PRIVATE) KEY-----([A-Za-z0-9+/=\s]+)-----END \1 KEY-----$/.exec(text)
  return match?.[2] === undefined ? undefined : fromBase64(match[2].replaceAll(/\s/g, ''))
}

/** A key of a JSON Web Key Set (RFC 7517), as far as it is used here. */
export type Jwk = {
  readonly [Member in 'kty' | 'kid' | 'alg' | 'use' | 'crv' | 'x' | 'y' | 'n' | 'e']?: unknown
} & {
  /** Plaid: seconds since 1970 at which the key was retired. */
  readonly expired_at?: unknown
}

const jwkForms = {
  ed25519: { kty: 'OKP', crv: 'Ed25519', alg: ['EdDSA', 'Ed25519'] },
  es256: { kty: 'EC', crv: 'P-256', alg: ['ES256'] },
  rs256: { kty: 'RSA', crv: undefined, alg: ['RS256'] },
} as const

/** The DER of a JWK; undefined when it is for another purpose, of another kind, or retired. */
export function jwkBytes(jwk: Jwk, algorithm: PublicKeyName): Uint8Array | undefined {
  const form = jwkForms[algorithm]
  if (jwk.kty !== form.kty || jwk.crv !== form.crv) return undefined
  if (jwk.alg !== undefined && !(form.alg as readonly unknown[]).includes(jwk.alg)) return undefined
  if (jwk.use !== undefined && jwk.use !== 'sig') return undefined
  if (typeof jwk.expired_at === 'number') return undefined
  const [x, y, n, e] = [jwk.x, jwk.y, jwk.n, jwk.e].map((part) =>
    typeof part === 'string' ? fromBase64url(part) : undefined,
  )
  if (algorithm === 'rs256') return n && e && keyDer(spkiOfRsa(n, e), algorithm)
  if (algorithm === 'ed25519') return x?.length === 32 ? keyDer(x, algorithm) : undefined
  if (x?.length !== 32 || y?.length !== 32) return undefined
  return keyDer(Uint8Array.from([4, ...x, ...y]), algorithm)
}
