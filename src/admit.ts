// What can be refused before a body is read: its length, compression and type, by the headers.
import { type HeaderList, headerValues } from './delivery.ts'
import type { RejectedCode } from './errors.ts'

type AdmitCode = Extract<
  RejectedCode,
  'BODY_TOO_LARGE' | 'ENCODING_UNSUPPORTED' | 'CONTENT_TYPE_UNSUPPORTED'
>

/** Why a delivery of `length` bytes is not let in, or undefined when it is. */
export function admit(
  headers: HeaderList,
  length: number,
  maxBytes: number,
): AdmitCode | undefined {
  if (length > maxBytes) return 'BODY_TOO_LARGE'
  const encodings = headerValues(headers, 'content-encoding')
  if (encodings.some((value) => !/^(identity)?$/i.test(value.trim()))) return 'ENCODING_UNSUPPORTED'
  const types = headerValues(headers, 'content-type')
  return types.every(isJsonLike) ? undefined : 'CONTENT_TYPE_UNSUPPORTED'
}

/** The length that the headers declare; undefined when they declare none. */
export function declaredLength(headers: HeaderList): number | undefined {
  const value = headerValues(headers, 'content-length')[0]
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined
}

/** `application/json`, `text/json`, `application/cloudevents+json` and the like. */
function isJsonLike(contentType: string): boolean {
  const type = contentType.split(';', 1)[0]?.trim() ?? ''
  return /^[a-z0-9!#$&^_.-]+\/(?:[a-z0-9!#$&^_.-]+\+)?json$/i.test(type)
}
