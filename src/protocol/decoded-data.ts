// Data that stands in a body as bytes of its own: JSON is decoded as that of a whole body is, and its
// long integers stay beside it as text.
import { decodeUtf8, parseExact, parseJson } from '../foundation/json.ts'

const exact = new WeakMap<object, unknown>()

/** Undefined where the bytes are not JSON. */
export function decodedData(bytes: Uint8Array): { readonly value: unknown } | undefined {
  const text = decodeUtf8(bytes)
  const json = text === undefined ? undefined : parseJson(text)
  if (text === undefined || !json) return undefined
  const { value } = json
  if (typeof value === 'object' && value !== null) exact.set(value, parseExact(text)?.value)
  return json
}

/** The same data with integers above 2^53 as text, where it was decoded here and has any. */
export function exactOf(data: unknown): unknown {
  return typeof data === 'object' && data !== null ? exact.get(data) : undefined
}
