// The parts of an entry that every command shows. Payload and address are personal data, so they are masked
// unless requested.
import { defined } from '../../../src/foundation/defined.ts'
import type { Entry, EntryState } from '../../../src/inbox/index.ts'
import type { VerifiedDelivery } from '../../../src/index.ts'
import { capture, readCapture } from '../../../src/testing/index.ts'
import { type Output, printable, type Style } from '../output.ts'

const colors: Readonly<Record<EntryState, Style>> = {
  stored: 'cyan',
  leased: 'cyan',
  retry: 'yellow',
  done: 'green',
  dead: 'red',
  skipped: 'dim',
}

/** Every state, in the order in which an entry passes through them. */
export const entryStates = Object.keys(colors) as readonly EntryState[]

/** The state of an entry, in color. */
export const paintState = (out: Output, state: EntryState, width = 0): string =>
  out.paint(colors[state] ?? 'dim', printable(state).padEnd(width))

/** An entry as a line of --json, without its delivery. */
export function entryRecord({ delivery: _, ...entry }: Entry) {
  return { type: 'entry', ...entry } as const
}

/** The payload and address of a delivery, for people. */
interface ShownDelivery {
  readonly payload: string
  readonly url?: string
}

/** Shows a delivery as it is; a body that is not text as base64. */
export function openDelivery({ body, url }: VerifiedDelivery): ShownDelivery {
  return defined({ payload: textOf(body) ?? Buffer.from(body).toString('base64'), url })
}

/** Masks a delivery as in a capture. */
export async function maskedDelivery(delivery: VerifiedDelivery): Promise<ShownDelivery> {
  const { body, url } = readCapture(await capture(delivery)).delivery
  const text = textOf(body)
  const payload = text && isJson(text) ? text : `(${body.length} bytes that are not JSON)`
  return defined({ payload, url: url?.split(/[?#]/, 1)[0] })
}

function textOf(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return undefined
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
