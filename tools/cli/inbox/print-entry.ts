// An entry as text: one line of a list, or all details. Its payload and address are personal data,
// so they are masked unless requested.
import { defined } from '../../../src/foundation/defined.ts'
import type { Entry, EntryState } from '../../../src/inbox/index.ts'
import type { VerifiedDelivery } from '../../../src/index.ts'
import { capture, readCapture } from '../../../src/testing/index.ts'
import { stamp } from '../moment.ts'
import { type Output, printable, type Style } from '../output.ts'

const colors: Readonly<Record<EntryState, Style>> = {
  stored: 'cyan',
  leased: 'cyan',
  retry: 'yellow',
  done: 'green',
  dead: 'red',
  skipped: 'dim',
}

/** The state of an entry, in color. */
export const paintState = (out: Output, state: EntryState, width = 0): string =>
  out.paint(colors[state] ?? 'dim', printable(state).padEnd(width))

/** An entry as a line of --json, without its delivery. */
export function entryRecord({ delivery: _, ...entry }: Entry) {
  return { type: 'entry', ...entry } as const
}

/** One line of a list; `notes` are its last columns. */
export function entryLine(out: Output, entry: Entry, notes: readonly string[] = []): string {
  const { id, state, name, entity, receivedAt, attempts, reason, erased } = entry
  const columns = [
    printable(id),
    paintState(out, state, 7),
    stamp(receivedAt),
    printable(name ?? '(unread)').padEnd(24),
    entity ? printable(`${entity.type}:${entity.id}`) : '-',
    attempts > 1 ? `${attempts} attempts` : '',
    printable(reason ?? ''),
    erased ? 'erased' : '',
    ...notes,
  ]
  return columns.filter((column) => column !== '').join('  ')
}

/** All details of an entry but its payload, as pairs of a label and a value. */
export function entryDetails(
  out: Output,
  entry: Entry,
  url: string | undefined,
): readonly (readonly [label: string, value: string])[] {
  const { name, receivedName, entity, failures, handled, generation, delivery } = entry
  const details: readonly (readonly [string, string | undefined])[] = [
    ['entry', entry.id],
    [
      'state',
      `${paintState(out, entry.state)}${entry.reason ? `, ${printable(entry.reason)}` : ''}`,
    ],
    ['event', eventOf(name, receivedName)],
    ['event id', entry.eventId],
    ['entity', entity && `${entity.type}:${entity.id}`],
    ['tenant', entry.tenant],
    ['source', entry.source],
    ['occurred', entry.occurredAt && stamp(entry.occurredAt)],
    ['received', stamp(entry.receivedAt)],
    ['due', entry.dueAt && stamp(entry.dueAt)],
    ['settled', entry.settledAt && stamp(entry.settledAt)],
    [
      'attempts',
      `${entry.attempts}${generation > 0 ? `, redriven or replayed ${generation}×` : ''}`,
    ],
    ...handled.map((handler) => ['handled by', handler] as const),
    ...failures.map(
      ({ handler, code, error }) => ['failed in', `${handler}: ${code} ${error}`] as const,
    ),
    ['conflict of', entry.conflictOf],
    ['secret', delivery?.secretId],
    ['address', url],
  ]
  return details.flatMap(([label, value]) => (value === undefined ? [] : [[label, value] as const]))
}

function eventOf(name: string | undefined, receivedName: string | undefined): string {
  if (name === undefined) return '(unread)'
  return receivedName === undefined || receivedName === name ? name : `${name}, as ${receivedName}`
}

/** The payload and address of a delivery, masked as in a capture unless `shown`. */
export async function shownDelivery(
  delivery: VerifiedDelivery,
  shown: boolean,
): Promise<{ readonly payload: string; readonly url?: string }> {
  if (shown) return defined({ payload: payloadOf(delivery.body, true), url: delivery.url })
  const { body, url } = readCapture(await capture(delivery)).delivery
  return defined({ payload: payloadOf(body, false), url: url?.split(/[?#]/, 1)[0] })
}

function payloadOf(body: Uint8Array, shown: boolean): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    if (!shown) JSON.parse(text)
    return text
  } catch {
    return shown ? Buffer.from(body).toString('base64') : `(${body.length} bytes that are not JSON)`
  }
}
