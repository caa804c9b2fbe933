// Bytes and JSON as text for people, in bounds: a sender's body may be long, deep, or both. And copies
// of a delivery: a curl command that sends its exact bytes, and a test that replays them.
import { isDeeperText } from '../../../src/foundation/json.ts'
import { toBase64 } from '../../../src/signature/encoding.ts'

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
}

/** The text of bytes, or undefined where they are not UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

export const maxShown = 200_000
/** Levels of JSON that are laid out: what is long as well as deep grows with the product of both. */
const deepest = 50

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

export interface SentRequest {
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [string, string])[]
  /** Base64 of the exact bytes. */
  readonly body: string
}

/** A terminal obeys these as they are pasted, also within quotes: Ctrl-C ends them. */
const control = /\p{Cc}/gu

/** Nothing that ends a quoted text, or is obeyed within one, in any shell: sh, zsh, fish, csh, cmd, PowerShell. */
const literal = /^[ "#$()*+,\-./0-9:;=?@A-Z[\]_`a-z{}~]*$/

/** On one line, without the characters of a sender where they could be more than text to a shell. */
function quoted(text: string): string {
  // HTTP has no control characters but tabs in these.
  const line = text.replaceAll(control, ' ')
  return literal.test(line)
    ? `'${line}'`
    : `"$(${decoded(toBase64(new TextEncoder().encode(line)))})"`
}

const decoded = (base64: string) => `printf %s ${base64} | base64 -d`

/** A command that sends a request again, byte for byte; `curl` takes its address as it is. */
export function toCurl({ method, url, headers, body }: SentRequest): string {
  const text = textOf(fromBase64(body))
  const plain = text !== undefined && literal.test(text) && !text.startsWith('@')
  const lines = [
    `curl --globoff -X ${/^[A-Z]+$/.test(method) ? method : quoted(method)} ${quoted(url)}`,
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === '' ? [] : [`--data-binary ${plain ? quoted(text) : '@-'}`]),
  ]
  const command = lines.join(' \\\n  ')
  return plain ? command : `${decoded(body)} | ${command}`
}

export interface TestCase {
  readonly title: string
  /** A capture, as `readCapture` takes it, signed with the test secret. */
  readonly capture: Readonly<Record<string, unknown>>
  /** The outcome of a receiver that handles every event. */
  readonly outcome: string
  readonly code?: string
}

/** A vitest file that replays a delivery to a receiver. */
export function toTest({ title, capture, outcome, code }: TestCase): string {
  const expected = JSON.stringify({ outcome, ...(code !== undefined && { code }) })
  return `import { createReceiver } from 'idv-webhooks'
import { replay, testSecret } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

// The delivery as it was sent; a genuine one is signed again with the test secret.
const capture = ${JSON.stringify(capture, null, 2)}

test(${JSON.stringify(title)}, async () => {
  const receiver = createReceiver({ secret: testSecret })
  receiver.on('*', (event) => {
    // Replace this handler with yours.
    expect(event.name).toBeTruthy()
  })
  const { results } = await replay(receiver, [capture])
  expect(results[0]).toMatchObject(${expected})
})
`
}
