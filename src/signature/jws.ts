// A compact JWS (RFC 7515) whose claims hold the hash of the body, or that is the body. The algorithm
// is the scheme's: a token's own is compared with it. Only the builders of schemes reach this file.
import { defined } from '../foundation/defined.ts'
import { decodeUtf8, parseJson } from '../foundation/json.ts'
import { idOf, isObject, type Json } from '../protocol/json-paths.ts'
import type {
  BodyJws,
  BodyJwsRule,
  Jws,
  JwsAlgorithm,
  JwsClaim,
  JwsFormat,
  JwsInput,
  Scheme,
} from '../protocol/scheme-definition.ts'
import { fromBase64url, fromHex, toBase64url, toHex } from './encoding.ts'
import { isPublicKey, jwsNames, signatureLength } from './hmac/hmac.ts'

/** Longer than any JWS that a sender puts into a header. */
const longest = 8192

/** The algorithms of a scheme that a JWS can have. */
export type SchemeAlgorithm = keyof typeof jwsNames

/** The name that a scheme has for an algorithm of a JWS. */
export const schemeAlgorithm = (algorithm: JwsAlgorithm): SchemeAlgorithm =>
  algorithm === 'hs256' ? 'sha256' : algorithm

/** The claim that holds the body's hash. */
const hashName = ({ grammar }: Scheme) =>
  typeof grammar === 'object' && 'jwt' in grammar ? grammar.jwt.bodyHash : ''

/** Takes a token apart; undefined if it is malformed, or of none of the algorithms. */
function tokenOf(text: string, algorithms: readonly SchemeAlgorithm[]) {
  const [first = '', payload = '', third = '', ...rest] = text.split('.', 4)
  const header = jsonOf(first)
  const algorithm = algorithms.find((one) => jwsNames[one] === header?.alg)
  if (!header || !algorithm || text.includes('=') || rest.length > 0) return undefined
  const { crit, kid, typ } = header
  if (crit !== undefined || (kid !== undefined && typeof kid !== 'string')) return undefined
  const signature = third.length > longest ? undefined : fromBase64url(third)
  const [least, most] = signatureBytes(algorithm)
  if (!signature || signature.length < least || signature.length > most) return undefined
  const input = new TextEncoder().encode(`${first}.${payload}`)
  const named = isPublicKey(algorithm) && algorithms.length > 1 ? algorithm : undefined
  const jws: Jws = { input, ...defined({ keyId: kid, algorithm: named }) }
  return { typ, payload, claim: { signatures: [toHex(signature)], jws } }
}

/** In a JWS a signature of P-256 is two numbers, and never their DER. */
function signatureBytes(algorithm: SchemeAlgorithm): readonly [least: number, most: number] {
  if (algorithm === 'sha256') return [32, 32]
  return algorithm === 'es256' ? [64, 64] : signatureLength[algorithm]
}

/** Methods of a class: a scheme is compared and written to JSON without them. */
export class CompactJws implements JwsFormat {
  read(scheme: Scheme, text: string): JwsClaim | undefined {
    const { algorithm } = scheme
    if (!isPublicKey(algorithm) || text.length > longest) return undefined
    const token = tokenOf(text, [algorithm])
    const claims = token && jsonOf(token.payload)
    if (!claims) return undefined
    const { [hashName(scheme)]: hash, iat } = claims
    const digest = typeof hash === 'string' && hash.length === 64 ? fromHex(hash) : undefined
    if (!digest || !Number.isSafeInteger(iat)) return undefined
    const { signatures, jws } = token.claim
    return { timestamp: String(iat), signatures, jws: { ...jws, bodyHash: toHex(digest) } }
  }

  input(scheme: Scheme, { digest, iat, keyId }: JwsInput): string {
    const header = headerOf(scheme.algorithm as SchemeAlgorithm, 'JWT', keyId)
    return `${header}.${encoded({ iat, [hashName(scheme)]: digest })}`
  }
}

/** A JWS that is the body: its payload is the event. */
export class CompactBody implements BodyJws {
  declare readonly algorithms: readonly JwsAlgorithm[]
  declare readonly type?: string
  declare readonly issuer?: string
  declare readonly audience?: string
  declare readonly tolerance: number | 'none'

  constructor(rule: BodyJwsRule) {
    Object.assign(this, { tolerance: 300 }, rule)
  }

  unwrap({ body, now }: Parameters<BodyJws['unwrap']>[0]): ReturnType<BodyJws['unwrap']> {
    const token = tokenOf(decodeUtf8(body)?.trim() ?? '', this.algorithms.map(schemeAlgorithm))
    const payload = token && fromBase64url(token.payload)
    if (!payload) return { body, claims: { ok: false, code: malformed } }
    const fields = jsonFields(payload) ?? {}
    const code = this.#faultOf({ ...fields, typ: token.typ }, now / 1000)
    if (code) return { body: payload, claims: { ok: false, code } }
    return { body: payload, claims: { ok: true, claims: [token.claim], id: idOf(fields.jti) } }
  }

  /** RFC 7519: a token of another type, issuer or audience, or of another time, proves nothing here. */
  #faultOf({ typ, iss, aud, exp, nbf }: Json, now: number) {
    const { type, issuer = iss, audience, tolerance } = this
    const plainType = String(typ).toLowerCase().replace('application/', '')
    if (plainType !== (type?.toLowerCase() ?? plainType)) return malformed
    const isForUs = audience === undefined || [aud].flat().includes(audience)
    if (iss !== issuer || !isForUs) return 'SIGNATURE_MISMATCH'
    const leeway = tolerance === 'none' ? Number.POSITIVE_INFINITY : tolerance
    const isTimely = now - Number(exp ?? now) <= leeway && Number(nbf ?? now) - now <= leeway
    return isTimely ? undefined : 'TIMESTAMP_OUTSIDE_TOLERANCE'
  }

  input(payload: Uint8Array, keyId: string | undefined): string {
    const algorithm = schemeAlgorithm(this.algorithms[0] as JwsAlgorithm)
    return `${headerOf(algorithm, this.type ?? 'JWT', keyId)}.${toBase64url(payload)}`
  }
}

const malformed = 'SIGNATURE_MALFORMED'

const headerOf = (algorithm: SchemeAlgorithm, typ: string, kid: string | undefined) =>
  encoded({ alg: jwsNames[algorithm], typ, ...defined({ kid }) })

const encoded = (part: object) => toBase64url(new TextEncoder().encode(JSON.stringify(part)))

const jsonOf = (text: string) => jsonFields(fromBase64url(text) ?? new Uint8Array())

function jsonFields(bytes: Uint8Array): Json | undefined {
  const json = decodeUtf8(bytes)
  const value = json === undefined ? undefined : parseJson(json)?.value
  return isObject(value) ? value : undefined
}
