// An entry in words: one line of a list, or all that is known of it. The payload is masked, since
// it is a person's, unless it was asked for.
import type { Entry, EntryState } from '../../inbox/index.ts'
import type { VerifiedDelivery } from '../../index.ts'
import { capture, readCapture } from '../../testing/index.ts'
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

/** The entry's state, coloured. */
export const paintState = (out: Output, state: EntryState, width = 0): string =>
  out.paint(colors[state], state.padEnd(width))

/** An entry as a line of --json; it never holds the delivery itself. */
export function entryRecord({ delivery: _, ...entry }: Entry) {
  return { type: 'entry', ...entry } as const
}

/** One line of a list. */
export function entryLine(out: Output, entry: Entry): string {
  const { id, state, name, entity, receivedAt, attempts, reason, erased } = entry
  const columns = [
    id,
    paintState(out, state, 7),
    stamp(receivedAt),
    printable(name ?? '(unread)').padEnd(24),
    entity ? printable(`${entity.type}:${entity.id}`) : '-',
    attempts > 1 ? `${attempts} attempts` : '',
    reason ?? '',
    erased ? 'erased' : '',
  ]
  return columns.filter((column) => column !== '').join('  ')
}

/** All that is known of an entry but its payload, as pairs of a word and what it is. */
export function entryFacts(out: Output, entry: Entry): readonly (readonly [string, string])[] {
  const { name, receivedName, entity, failures, handled, generation, delivery } = entry
  const known: readonly (readonly [string, string | undefined])[] = [
    ['entry', entry.id],
    ['state', `${paintState(out, entry.state)}${entry.reason ? `, ${entry.reason}` : ''}`],
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
    ['address', delivery?.url?.split(/[?#]/, 1)[0]],
  ]
  return known.flatMap(([word, fact]) => (fact === undefined ? [] : [[word, fact] as const]))
}

function eventOf(name: string | undefined, receivedName: string | undefined): string {
  if (name === undefined) return '(unread)'
  return receivedName === undefined || receivedName === name ? name : `${name}, as ${receivedName}`
}

/** The body as text, masked unless `shown`; what is no text is told by its length. */
export async function payloadOf(delivery: VerifiedDelivery, shown: boolean): Promise<string> {
  const masked = shown ? delivery : readCapture(await capture(delivery)).delivery
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(masked.body)
    if (!shown) JSON.parse(text)
    return text
  } catch {
    return shown
      ? Buffer.from(masked.body).toString('base64')
      : `(${masked.body.length} bytes that are no JSON)`
  }
}
