// Copies of a delivery: a curl command that sends its exact bytes, and a test
// that replays them.
import { fromBase64, textOf, toBase64 } from './text.ts'

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
