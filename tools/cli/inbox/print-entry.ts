// An entry as commands find and show it. Payload and address are personal data, so they are masked
// unless requested.

import { defined } from '../../../src/foundation/defined.ts'
import { decodeUtf8, parseJson } from '../../../src/foundation/json.ts'
import type { Entry, EntryState, Inbox } from '../../../src/inbox/index.ts'
import type { VerifiedDelivery } from '../../../src/index.ts'
import { capture, readCapture } from '../../../src/testing/index.ts'
import { CliError } from '../exit-code.ts'
import { count, type Output, printable, type Style, stamp } from '../output.ts'

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

export const paintState = (out: Output, state: EntryState, width = 0): string =>
  out.paint(colors[state] ?? 'dim', printable(state).padEnd(width))

export function entryRecord({ delivery: _, ...entry }: Entry) {
  return { type: 'entry', ...entry } as const
}

/** The entry with an id, or with an id that begins so. */
export async function entryOf(
  inbox: Inbox,
  id: string,
  options: { readonly withDelivery?: boolean } = {},
): Promise<Entry | undefined> {
  const entry = await inbox.get(id, options)
  if (entry || id.trim() === '') return entry
  const { entries } = await inbox.find({ search: id, limit: 100 })
  const found = entries.filter((one) => one.id.startsWith(id))
  const [first] = found
  if (!first) return undefined
  if (found.length === 1) return inbox.get(first.id, options)
  const fitting = found.slice(0, 3).map((one) => one.id)
  const more = found.length > 3 ? ` and ${found.length - 3} more` : ''
  throw new CliError('ID_AMBIGUOUS', `${printable(id)} fits ${fitting.join(', ')}${more}`)
}

export interface ListedEntry {
  readonly entry: Entry
  readonly due?: string | undefined
  /** The id of the entry that it waits for. */
  readonly waitsFor?: string | undefined
}

const heads = ['ID', 'STATE', 'RECEIVED', 'EVENT', 'NOTE', 'ENTITY']

/** The lines of a table of entries, each within a width; an id is cut while it stays unique. */
export function entryTable(
  out: Output,
  listed: readonly ListedEntry[],
  { width, withHeads = true }: { readonly width: number; readonly withHeads?: boolean },
): readonly string[] {
  const ids = listed.map(({ entry }) => entry.id)
  const isUnique = (length: number) =>
    new Set(ids.map((id) => id.slice(0, length))).size === ids.length
  const isWide = width >= 140
  let length = isWide ? 36 : 13
  while (length < 36 && !isUnique(length)) length += 1
  const rows = listed.map(({ entry, due, waitsFor }) => {
    const { id, state, receivedAt, name = '(unread)', entity, erased, attempts, reason } = entry
    const isCrash = reason === 'CRASHED'
    const notes = [
      waitsFor && `after ${waitsFor.slice(0, length)}`,
      due,
      isCrash ? attemptsOf(entry) : reason,
      !isCrash && attempts > 1 && attemptsOf(entry),
      erased && 'erased',
    ]
    const time = isWide
      ? stamp(receivedAt)
      : receivedAt.toISOString().slice(5, 16).replace('T', ' ')
    const note = notes.filter(Boolean).join(', ')
    const whose = entity ? `${entity.type}:${entity.id}` : '-'
    return [id.slice(0, length), state, time, name, note, whose].map(printable)
  })
  const all = withHeads ? [heads, ...rows] : rows
  const widths = heads.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)))
  // Without room for an entity, notes are shown whole.
  const room = width - widths.slice(0, -1).reduce((sum, one) => sum + one + 2, 0)
  const columns = room < 8 ? widths.slice(0, -1) : widths
  return all.map((row, at) => {
    const cells = columns.map((one, column) => row[column]?.padEnd(one))
    const line = cells.join('  ').trimEnd()
    const fitted = line.length > width ? `${line.slice(0, width - 1)}…` : line
    const state = listed[at - Number(withHeads)]?.entry.state
    if (!state) return out.paint('dim', fitted)
    const [start, stateWidth = 0] = [length + 2, widths[1]]
    const [before, after] = [fitted.slice(0, start), fitted.slice(start + stateWidth)]
    return before + paintState(out, state, stateWidth) + after
  })
}

/** The attempts of an entry. An attempt without a result has crashed with its process. */
function attemptsOf({ attempts, reason, state, generation }: Entry): string {
  const crashed = attempts - Number(state === 'leased')
  return [
    ...(reason === 'CRASHED' ? [`attempt ${crashed} crashed`] : []),
    ...(attempts === 1 && reason === 'CRASHED' ? [] : [count(attempts, 'attempt')]),
    ...(generation > 0 ? [`redriven or replayed ${generation}×`] : []),
  ].join(', ')
}

export function entryDetails(out: Output, entry: Entry, url: string | undefined) {
  const { name, receivedName, entity, failures, handled, delivery, reason } = entry
  const received = receivedName === name ? undefined : receivedName
  const time = (moment: Date | undefined) => moment && stamp(moment)
  const details: readonly (readonly [string, string | undefined])[] = [
    ['entry', entry.id],
    ['state', paintState(out, entry.state) + (reason ? `, ${printable(reason)}` : '')],
    ['event', `${name ?? '(unread)'}${received ? `, as ${received}` : ''}`],
    ['event id', entry.eventId],
    ['entity', entity && `${entity.type}:${entity.id}`],
    ['tenant', entry.tenant],
    ['source', entry.source],
    ['occurred', time(entry.occurredAt)],
    ['received', time(entry.receivedAt)],
    ['due', time(entry.dueAt)],
    ['settled', time(entry.settledAt)],
    ['attempts', attemptsOf(entry)],
    ...handled.map((handler) => ['handled by', handler] as const),
    ...failures.map((one) => ['failed in', `${one.handler}: ${one.code} ${one.error}`] as const),
    ['conflict of', entry.conflictOf],
    ['secret', delivery?.secretId],
    ['address', url],
  ]
  return details.flatMap(([label, value]) => (value === undefined ? [] : [[label, value] as const]))
}

/** Shows a delivery as it is; a body that is not text as base64. */
export function openDelivery({ body, url }: VerifiedDelivery) {
  return defined({ payload: decodeUtf8(body) ?? Buffer.from(body).toString('base64'), url })
}

/** Masks a delivery as in a capture. */
export async function maskedDelivery(delivery: VerifiedDelivery) {
  const { body, url } = readCapture(await capture(delivery)).delivery
  const text = decodeUtf8(body) ?? ''
  const payload = indented(text) ? text : `(${body.length} bytes that are not JSON)`
  return defined({ payload, url: url?.split(/[?#]/, 1)[0] })
}

export function indented(text: string): string | undefined {
  const json = parseJson(text)
  return json && JSON.stringify(json.value, null, 2)
}
