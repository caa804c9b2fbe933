// Bytes that a sender may have signed instead of those that it sent: the JSON in another spelling,
// with or without a trailing line break.

/** JSON as Python writes it: `{"a": 1, "b": [1, 2]}`. */
export function spaced(json: string): string {
  return minified(json).replaceAll(
    /("(?:[^"\\]|\\.)*")|([:,])/g,
    (_, text, mark) => text ?? `${mark} `,
  )
}

const minified = (json: string) => JSON.stringify(JSON.parse(json))

const spellings = {
  'without-newline': (text: string) => text.replace(/\r?\n$/, ''),
  'with-newline': (text: string) => `${text}\n`,
  minified,
  spaced,
  indented: (text: string) => JSON.stringify(JSON.parse(text), null, 2),
} as const

/** `exact`, or how the signed bytes differ from those that arrived. */
export type BodyVariant = 'exact' | keyof typeof spellings

/** The variants to try if the exact bytes do not fit. */
export const otherVariants = Object.keys(spellings) as readonly (keyof typeof spellings)[]

/** One variant of a body; undefined if it equals the body or does not exist. */
export function bodyVariant(body: Uint8Array, variant: BodyVariant): Uint8Array | undefined {
  if (variant === 'exact') return body
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
    const spelled = spellings[variant](text)
    return spelled === text ? undefined : new TextEncoder().encode(spelled)
  } catch {
    // Not UTF-8, not JSON, or nested too deeply.
    return undefined
  }
}
