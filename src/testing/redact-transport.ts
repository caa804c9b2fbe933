// Removes personal data from what surrounds a body: the address and the headers of a delivery. What
// is not known to be harmless is masked: letters become x, digits 0.
import type { HeaderList } from '../delivery.ts'
import { isEventName, isLegacyName } from '../protocol/names.ts'
import { isOpaqueId } from './opaque-id.ts'

/** Segments that are common in the paths of receivers. */
const segment =
  /^(?:api|app|callbacks?|clients?|deliver(?:y|ies)|events?|hooks?|id|identity|idv|in|inbound|inbox|incoming|integrations?|kyc|listener|notifications?|notify|public|receivers?|requests?|services?|subscriptions?|v\d{1,2}|verif(?:y|ications?)|webhooks?|webhook-receiver)$/i

/** An address without its query; the host and the known segments of its path stay. */
export function redactUrl(url: string): string {
  const [bare = '/'] = url.split(/[?#]/, 1)
  const [, origin = '', path = ''] = /^([a-z][a-z0-9+.-]*:\/\/[^/]*)?(.*)$/is.exec(bare) ?? []
  // Credentials precede the host.
  const host = origin.replace(/\/\/[^/]*@/, '//')
  const segments = path
    .split('/')
    .map((one) => (segment.test(one) || isEventName(one) || isLegacyName(one) ? one : mask(one)))
  return host + segments.join('/') || '/'
}

const mediaType =
  /^(?:application\/(?:json|cloudevents\+json|problem\+json|octet-stream|xml|x-www-form-urlencoded)|text\/(?:json|plain|html|xml)|multipart\/form-data)$/i
const coding = /^(?:gzip|br|deflate|zstd|compress|identity)$/i
const charset = /^charset="?(?:utf-?8|us-ascii|iso-8859-1|utf-16(?:le|be)?)"?$/i
const agent =
  /^(?:axios|curl|go-http-client|got|idv-webhooks(?:-\w+)?|java|node|node-fetch|okhttp|python-requests|undici|wget)(?:\/[\d.]+)?$/i

/** Headers that describe the transfer; each keeps what is known to be harmless. */
const kept: Readonly<Record<string, (value: string) => string>> = {
  'content-type': redactMediaType,
  'content-encoding': (value) => byParts(value, (part) => (coding.test(part) ? part : mask(part))),
  'user-agent': (value) => (agent.test(value) ? value : mask(value)),
  accept: (value) =>
    byParts(value, (part) => (part === '*/*' || mediaType.test(part) ? part : mask(part))),
}

/** The headers that are kept; all others are dropped. */
export function redactHeaders(headers: HeaderList): HeaderList {
  return headers.flatMap(([name, value]) => {
    const redact = Object.hasOwn(kept, name) ? kept[name] : undefined
    return redact ? [[name, redact(value)] as const] : []
  })
}

/** A header that a scheme signs beside its own: it has to stay, in part or masked. */
export function redactSigned(name: string, value: string): string {
  const redact = Object.hasOwn(kept, name) ? kept[name] : undefined
  if (redact) return redact(value)
  if (isEventName(value) || isLegacyName(value) || isOpaqueId(value)) return value
  return /^(?:\/|https?:)/i.test(value) ? redactUrl(value) : mask(value)
}

/** A JSON type stays one, because receivers check it; of the parameters only a charset stays. */
function redactMediaType(value: string): string {
  const [type = '', ...parameters] = value.split(';').map((part) => part.trim())
  const [, tree = '', suffix = ''] = /^(.*?)(\+json)?$/is.exec(type) ?? []
  const harmless = mediaType.test(type) ? type : maskSubtype(tree) + suffix
  return [harmless, ...parameters.filter((one) => charset.test(one))].join('; ')
}

function maskSubtype(tree: string): string {
  const [, top = '', rest = tree] = /^((?:application|text)\/)(.*)$/is.exec(tree) ?? []
  return top + mask(rest)
}

function byParts(value: string, redact: (part: string) => string): string {
  return value
    .split(',')
    .map((part) => redact(part.trim()))
    .join(', ')
}

function mask(text: string): string {
  return text.replaceAll(/%[0-9a-f]{2}|\p{L}\p{M}*|\p{N}|[^\x20-\x7e]/giu, (letter) =>
    /^\p{N}/u.test(letter) ? '0' : 'x',
  )
}
