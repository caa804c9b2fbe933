// Removes personal data from the address and the headers of a delivery.
import type { HeaderList } from '../delivery.ts'
import type { Scheme } from '../protocol/scheme.ts'
import { digestHex } from '../signature/encoding.ts'
import { digestLength, isHmac } from '../signature/hmac/hmac.ts'
import { isName } from './fields.ts'
import { isOpaqueId, opaqueId } from './ids.ts'
import { maskText } from './redact.ts'

/** Segments that are common in the paths of receivers. */
const segment =
  /^(?:api|app|callbacks?|clients?|deliver(?:y|ies)|events?|hooks?|id|identity|idv|in|inbound|inbox|incoming|integrations?|kyc|listener|notifications?|notify|public|receivers?|requests?|services?|subscriptions?|v\d{1,2}|verif(?:y|ications?)|webhooks?|webhook-receiver)$/i

/** An address without its query and credentials; the host and common segments of its path stay. */
export function redactUrl(url: string): string {
  const [bare = '/'] = url.split(/[?#]/, 1)
  const [, origin = '', path = ''] = /^([a-z][a-z0-9+.-]*:\/\/[^/]*)?(.*)$/is.exec(bare) ?? []
  const host = origin.replace(/\/\/[^/]*@/, '//')
  const segments = path
    .split('/')
    .map((one) => (segment.test(one) || isName(one) ? one : maskText(one)))
  return host + segments.join('/') || '/'
}

/** Headers that describe the transfer, and the values that stay. */
const transferHeaders = new Map([
  [
    'content-type',
    /^(?:application\/(?:json|cloudevents\+json|problem\+json|octet-stream|xml|x-www-form-urlencoded)|text\/(?:json|plain|html|xml)|multipart\/form-data)(?:; ?charset="?(?:utf-?8|us-ascii|iso-8859-1|utf-16(?:le|be)?)"?)?$/i,
  ],
  ['content-encoding', /^(?:gzip|br|deflate|zstd|compress|identity)$/i],
])

/** The headers of the transfer; all others are dropped. */
export function redactHeaders(headers: HeaderList): HeaderList {
  const kept = headers.filter(([name]) => transferHeaders.has(name))
  return kept.map(([name, value]) => [name, redactHeader(name, value)] as const)
}

/** Redacts a header that stays: a header of the transfer, or a header that the scheme signs. */
export function redactHeader(name: string, value: string): string {
  if (isName(value) || isOpaqueId(value) || transferHeaders.get(name)?.test(value)) return value
  if (name !== 'content-type') return maskText(value)
  // A receiver checks whether the type is JSON.
  return /^[^;]*[/+]json *(?:;|$)/i.test(value) ? 'application/x+json' : 'application/x'
}

/** A version of a signature, or a time in seconds or milliseconds since the epoch. */
const versionOrTime = /^(?:v\d{1,3}[a-z]?|1\d{9}(?:\d{3})?)$/

/**
 * Keeps the signature, time and id headers of a rejected delivery, so that it is rejected for the
 * same reason again. Values that could be a token are removed.
 */
export function redactClaims(headers: HeaderList, scheme: Scheme): HeaderList {
  const id = scheme.id?.header.toLowerCase()
  const signatures = scheme.headers ?? [scheme.header]
  const claims = [...signatures, scheme.timestamp?.header].map((name) => name?.toLowerCase())
  return headers.flatMap(([name, value]) => {
    if (name === id) return [[name, opaqueId(value)] as const]
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
