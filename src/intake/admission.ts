// The headers of a delivery alone can refuse it, before a byte of its body is read.
import type { HeaderIndex } from '../delivery.ts'

/** Why a delivery of `length` bytes is refused by its headers, or undefined when it is admitted. */
export function admit(
  headers: HeaderIndex,
  length: number,
  maxBytes: number,
): 'BODY_TOO_LARGE' | 'ENCODING_UNSUPPORTED' | 'CONTENT_TYPE_UNSUPPORTED' | undefined {
  if (length > maxBytes) return 'BODY_TOO_LARGE'
  for (const encoding of headers.values('content-encoding')) {
    if (!/^(?:identity)?$/i.test(encoding.trim())) return 'ENCODING_UNSUPPORTED'
  }
  for (const type of headers.values('content-type')) {
    if (type !== 'application/json' && !isJsonLike(type)) return 'CONTENT_TYPE_UNSUPPORTED'
  }
  return undefined
}

/** The length that the headers declare; undefined when they declare none. */
export function declaredLength(headers: HeaderIndex): number | undefined {
  const value = headers.values('content-length')[0]
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined
}

/** `application/json`, `text/json`, `application/cloudevents+json` and the like. */
function isJsonLike(contentType: string): boolean {
  const type = contentType.split(';', 1)[0]?.trim() ?? ''
  return /^[a-z0-9!#$&^_.-]+\/(?:[a-z0-9!#$&^_.-]+\+)?json$/i.test(type)
}
