// Bytes that a sender may have signed instead of those that it sent: the JSON in another spelling,
// with or without a trailing line break.

/** The variants to try if the exact bytes do not fit. */
export const otherVariants = [
  'without-newline',
  'with-newline',
  'minified',
  'minified-with-newline',
  'sorted',
  'sorted-with-newline',
  'spaced',
  'indented',
] as const

/** `exact`, or how the signed bytes differ from those that arrived. */
export type BodyVariant = 'exact' | (typeof otherVariants)[number]

/** One variant of a body; undefined if it equals the body or does not exist. */
export function bodyVariant(body: Uint8Array, variant: BodyVariant): Uint8Array | undefined {
  const made = variantOf(body, variant)
  if (made === undefined || variant === 'exact') return made
  return equal(made, body) ? undefined : made
}

function variantOf(body: Uint8Array, variant: BodyVariant): Uint8Array | undefined {
  if (variant === 'exact') return body
  const text = decode(body)
  if (text === undefined) return undefined
  if (variant === 'without-newline') return encode(withoutNewlines(text))
  if (variant === 'with-newline') return encode(`${text}\n`)
  const [name = '', newline] = variant.split('-with-')
  const spelled = respelled(text, name)
  return spelled === undefined ? undefined : encode(spelled + (newline ? '\n' : ''))
}

/** A stranger's body may have thousands of them, which an expression would begin at one by one. */
function withoutNewlines(text: string): string {
  let end = text.length
  while (text[end - 1] === '\n') end -= text[end - 2] === '\r' ? 2 : 1
  return text.slice(0, end)
}

/** JSON in another spelling; undefined where it is not JSON, or nested too deeply to be walked. */
function respelled(text: string, how: string): string | undefined {
  try {
    const json: unknown = JSON.parse(text)
    if (how === 'sorted') return JSON.stringify(sorted(json))
    if (how === 'spaced') return spaced(json)
    return how === 'indented' ? JSON.stringify(json, null, 2) : JSON.stringify(json)
  } catch {
    return undefined
  }
}

function sorted(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(sorted)
  if (typeof json !== 'object' || json === null) return json
  const entries = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, value]) => [key, sorted(value)]))
}

/** `{"a": 1, "b": [1, 2]}`, as Python writes it. */
function spaced(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(spaced).join(', ')}]`
  if (typeof json !== 'object' || json === null) return JSON.stringify(json)
  const entries = Object.entries(json).map(
    ([key, value]) => `${JSON.stringify(key)}: ${spaced(value)}`,
  )
  return `{${entries.join(', ')}}`
}

function decode(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    return undefined
  }
}

const encode = (text: string) => new TextEncoder().encode(text)

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}
