// A compact JWS whose claims hold the hash of the body (RFC 7515). The scheme fixes the algorithm:
// the header's is compared with it and never selects one. Only `schemes.define` reaches this file.
import { decodeUtf8, parseJson } from '../foundation/json.ts'
import type { Jws, JwsClaim, JwsFormat, JwsInput, Scheme } from '../protocol/scheme-definition.ts'
import { fromBase64url, fromHex, toBase64url, toHex } from './encoding.ts'
import { isPublicKey, signatureLength } from './hmac/hmac.ts'

/** Longer than any JWS that a sender puts into a header. */
const longest = 8192
const names = { ed25519: 'EdDSA', es256: 'ES256', rs256: 'RS256' } as const

type JsonFields = Readonly<Record<string, unknown>>

/** The claim that holds the body's hash. */
const hashName = ({ grammar }: Scheme) =>
  typeof grammar === 'object' && 'jwt' in grammar ? grammar.jwt.bodyHash : ''

/** Methods of a class: a scheme is compared and written to JSON without them. */
export class CompactJws implements JwsFormat {
  read(scheme: Scheme, text: string): JwsClaim | undefined {
    const { algorithm } = scheme
    if (!isPublicKey(algorithm) || text.length > longest || text.includes('=')) return undefined
    const [first = '', second = '', third = '', ...rest] = text.split('.')
    const header = jsonOf(first)
    const claims = jsonOf(second)
    const signature = fromBase64url(third)
    if (!header || !claims || !signature || rest.length > 0) return undefined
    const { alg, crit, kid } = header
    if (alg !== names[algorithm] || crit !== undefined) return undefined
    if (kid !== undefined && typeof kid !== 'string') return undefined
    const [least, most] = algorithm === 'es256' ? [64, 64] : signatureLength[algorithm]
    if (signature.length < least || signature.length > most) return undefined
    const { [hashName(scheme)]: hash, iat } = claims
    const digest = typeof hash === 'string' && hash.length === 64 ? fromHex(hash) : undefined
    if (!digest || !Number.isSafeInteger(iat)) return undefined
    const jws: Jws = {
      input: new TextEncoder().encode(`${first}.${second}`),
      bodyHash: toHex(digest),
      ...(kid !== undefined && { keyId: kid }),
    }
    return { timestamp: String(iat), signatures: [toHex(signature)], jws }
  }

  input(scheme: Scheme, { digest, iat, keyId }: JwsInput): string {
    const { algorithm } = scheme
    const alg = isPublicKey(algorithm) ? names[algorithm] : 'none'
    const header = { alg, typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) }
    return [header, { iat, [hashName(scheme)]: digest }]
      .map((part) => toBase64url(new TextEncoder().encode(JSON.stringify(part))))
      .join('.')
  }
}

function jsonOf(text: string): JsonFields | undefined {
  const json = decodeUtf8(fromBase64url(text) ?? new Uint8Array())
  const value = json === undefined ? undefined : parseJson(json)?.value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return value as JsonFields
}
