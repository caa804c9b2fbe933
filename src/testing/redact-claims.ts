// The headers by which a refused delivery claims its authenticity. They keep what a sender computes,
// so that the delivery is refused for the same reason again, and nothing that could be a token.
import type { HeaderList } from '../delivery.ts'
import type { Scheme } from '../protocol/scheme.ts'
import { digestHex } from '../signature/encoding.ts'
import { digestLength, isHmac } from '../signature/hmac/hmac.ts'
import { fakeId, isOpaqueId } from './opaque-id.ts'

/** A version of a signature, or a time in seconds or milliseconds since the epoch. */
const versionOrTime = /^(?:v\d{1,3}[a-z]?|1\d{9}(?:\d{3})?)$/

/** The signature, time and id headers of a refused delivery. */
export function refusedClaims(headers: HeaderList, scheme: Scheme): HeaderList {
  const id = scheme.id?.header.toLowerCase()
  const signatures = scheme.headers ?? [scheme.header]
  const claims = [...signatures, scheme.timestamp?.header].map((name) => name?.toLowerCase())
  return headers.flatMap(([name, value]) => {
    if (name === id) return [[name, isOpaqueId(value) ? value : fakeId(value)] as const]
    return claims.includes(name) ? [[name, redactClaim(value, scheme)] as const] : []
  })
}

function redactClaim(value: string, scheme: Scheme): string {
  return value.replaceAll(/[^\s,;]+/g, (part) => {
    const bare = part.replace(/^[\w-]{1,12}=/, '')
    const harmless = versionOrTime.test(bare) || isDigest(bare, scheme) || isDigest(part, scheme)
    return harmless ? part : part.replaceAll(/[^=]/g, 'x')
  })
}

function isDigest(text: string, { algorithm }: Scheme): boolean {
  if (text.startsWith('whsec_') || !isHmac(algorithm)) return false
  return digestHex(text, 'any', digestLength[algorithm]) !== undefined
}
