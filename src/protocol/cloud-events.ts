// CloudEvents 1.0 over HTTP, structured and binary: an envelope for senders that use the standard.
import { decodeUtf8, parseExact, parseJson } from '../foundation/json.ts'
import { fromBase64 } from '../signature/encoding.ts'
import type { EnvelopeContext, EnvelopeReading, TrustedEnvelope } from './envelope.ts'
import { joinedId, valueAt } from './json-paths.ts'

/**
 * Reads CloudEvents: in structured mode from the body, in binary mode from the `ce-` headers. An id
 * tells duplicates together with its source, in binary mode only if the scheme signs `ce-id`. There
 * a name is proved only if the scheme signs `ce-type`: otherwise a recorded delivery can be sent
 * again as another event.
 *
 * @example createReceiver({ secret, scheme, envelope: cloudEvents })
 */
export const cloudEvents: TrustedEnvelope = /* @__PURE__ */ Object.freeze({
  read: (body: unknown, context: EnvelopeContext) =>
    isStructured(body) ? structured(body) : binary(body, context),
  trustIds: isStructured,
})

function isStructured(body: unknown): boolean {
  return typeof valueAt(body, 'specversion') === 'string'
}

function binary(body: unknown, { headers }: EnvelopeContext): EnvelopeReading {
  if (!headers.get('ce-specversion')) throw new TypeError('not a CloudEvent')
  return {
    name: headers.get('ce-type') ?? '',
    id: headers.get('ce-id') ?? undefined,
    occurredAt: headers.get('ce-time') ?? undefined,
    data: body,
  }
}

function structured(body: unknown): EnvelopeReading {
  const text = (path: string) => {
    const value = valueAt(body, path)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const [id, source] = [text('id'), text('source')]
  return {
    name: text('type') ?? '',
    // The standard promises that an id is unique within its source.
    id: id !== undefined && source !== undefined ? joinedId([source, id], '#') : id,
    occurredAt: text('time'),
    data: valueAt(body, 'data') ?? decoded(text('data_base64')),
  }
}

/** Data in base64: the value of its JSON, with integers above 2^53 as text; else the base64. */
function decoded(base64: string | undefined): unknown {
  const bytes = base64 === undefined ? undefined : fromBase64(base64)
  const text = bytes && decodeUtf8(bytes)
  const json = text === undefined ? undefined : parseJson(text)
  if (text === undefined || !json) return base64
  return (parseExact(text) ?? json).value
}
