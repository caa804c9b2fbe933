// CloudEvents 1.0 over HTTP, structured and binary: an envelope for senders that use the standard.

import { fromBase64 } from '../signature/encoding.ts'
import { decodedData } from './decoded-data.ts'
import type { EnvelopeContext, EnvelopeReading } from './envelope-function.ts'
import { joinedId, valueAt } from './json-paths.ts'

/**
 * Reads a CloudEvent: in structured mode from the body, in binary mode from the `ce-` headers.
 * Its id tells duplicates together with its source, in binary mode only where the scheme signs
 * `ce-id`. There a name is proved only where the scheme signs `ce-type`: otherwise a recorded
 * delivery can be sent again as another event.
 *
 * @example createReceiver({ secret, scheme, envelope: cloudEvents })
 */
export function cloudEvents(body: unknown, context: EnvelopeContext): EnvelopeReading {
  if (typeof valueAt(body, 'specversion') === 'string') return structured(body)
  const { headers } = context
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

/** Data that stands in the body as base64: what its JSON says, or the text as it is. */
function decoded(base64: string | undefined): unknown {
  const bytes = base64 === undefined ? undefined : fromBase64(base64)
  const json = bytes && decodedData(bytes)
  return json ? json.value : base64
}
