// Bytes and JSON as text for people, in bounds: a sender's body may be long, deep, or both.
import { isDeeperText } from '../../../src/foundation/json.ts'

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
}

export function toBase64(bytes: Uint8Array): string {
  let letters = ''
  for (const byte of bytes) letters += String.fromCharCode(byte)
  return btoa(letters)
}

/** The text of bytes, or undefined where they are not UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Characters of a text that are shown. */
export const maxShown = 200_000
/** Levels of JSON that are laid out: what is long as well as deep grows with the product of both. */
const deepest = 50

/** A text, or its beginning. */
export function cut(text: string): string {
  if (text.length <= maxShown) return text
  return `${text.slice(0, maxShown)}\n… ${text.length - maxShown} more`
}

/** JSON laid out, or on one line where it is too long or too deep. */
export function laidOut(value: unknown): string {
  const line = JSON.stringify(value)
  if (line.length > maxShown || isDeeperText(line, deepest)) return cut(line)
  return cut(JSON.stringify(value, null, 2))
}
