// The legacy names that arrived, by an inbox or by log lines of logOutcomes(), and whether they have
// been absent for long enough. Only days with events count: on other days nothing may have been running.
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Inbox } from '../../../src/inbox/index.ts'
import { canonicalName } from '../../../src/protocol/index.ts'
import { CliError } from '../exit-code.ts'
import { statOf } from '../files.ts'
import { entriesOf } from '../inbox/filter-options.ts'
import type { LegacyArrivals, MigrationVerdict } from '../records.ts'
import type { Session } from '../session.ts'

export class ArrivalCount {
  readonly source: 'inbox' | 'log'
  readonly #legacy = new Map<string, LegacyArrivals>()
  /** The days (UTC) with arrivals, as `2026-03-01`. */
  readonly days = new Set<string>()
  arrivals = 0
  /** Outcomes that could not be read; each may have a legacy name. */
  unread = 0

  constructor(source: 'inbox' | 'log') {
    this.source = source
  }

  get legacy(): readonly LegacyArrivals[] {
    return [...this.#legacy.values()].sort((one, other) => +other.lastSeen - +one.lastSeen)
  }

  add(at: Date, receivedName: string | undefined, secretId: string | undefined): void {
    this.arrivals += 1
    this.days.add(dayOf(at))
    if (receivedName === undefined || !isLegacy(receivedName)) return
    const key = JSON.stringify([receivedName, secretId])
    const before = this.#legacy.get(key)
    this.#legacy.set(key, {
      receivedName,
      name: canonicalName(receivedName),
      ...(secretId !== undefined && { secretId }),
      arrivals: (before?.arrivals ?? 0) + 1,
      lastSeen: before && before.lastSeen > at ? before.lastSeen : at,
    })
  }
}

const isLegacy = (receivedName: string) => canonicalName(receivedName) !== receivedName
const dayOf = (at: Date) => at.toISOString().slice(0, 10)

export async function inboxArrivals({ out, signal }: Session, inbox: Inbox): Promise<ArrivalCount> {
  const found = new ArrivalCount('inbox')
  for await (const { id, receivedAt, receivedName, erased, source } of entriesOf(inbox, {})) {
    signal.throwIfAborted()
    if (source === 'reconcile') continue
    const isRead = receivedName !== undefined && isLegacy(receivedName) && !erased
    const entry = isRead ? await inbox.get(id, { withDelivery: true }) : undefined
    found.add(receivedAt, receivedName, entry?.delivery?.secretId)
    out.progress(`${found.arrivals} entries read`)
  }
  return found
}

/** Reads the outcomes of log files. A file without any counts as unread: it may be compressed. */
export async function logArrivals(
  { out, signal, stdin, cwd }: Session,
  files: readonly string[],
): Promise<ArrivalCount> {
  const found = new ArrivalCount('log')
  for (const file of files) {
    const path = resolve(cwd, file)
    if (file !== '-' && !statOf(path)?.isFile()) {
      throw new CliError('LOG_MISSING', `${file} does not exist or is not a file`)
    }
    const input = file === '-' ? stdin : createReadStream(path)
    const before = found.arrivals + found.unread
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      signal.throwIfAborted()
      addOutcomes(found, line)
    }
    if (found.arrivals + found.unread > before) continue
    found.unread += 1
    out.say(`${file} has no outcome of logOutcomes(): pass its lines as text`)
  }
  return found
}

type LogLine = Readonly<Record<string, unknown>>

/** A log shipper may have put the line into a JSON string of its own. */
function addOutcomes(found: ArrivalCount, shipped: string): void {
  let line = shipped
  for (let depth = 0; depth < 3 && /\\"type\\*"/.test(line); depth += 1) {
    line = line.replaceAll(/\\(["\\])/g, '$1')
  }
  for (const { index } of line.matchAll(/"type"\s*:\s*"outcome"/g)) {
    const { kind, at, receivedName, secretId, source } = outcomeAt(line, index) ?? {}
    const name = typeof receivedName === 'string' ? receivedName : undefined
    // A rejected delivery proves nothing: anyone could have sent it.
    if (source === 'reconcile' || (kind === 'rejected' && name === undefined)) continue
    const time = new Date(typeof at === 'string' ? at : Number.NaN)
    if (Number.isNaN(time.getTime())) found.unread += 1
    else found.add(time, name, typeof secretId === 'string' ? secretId : undefined)
  }
}

/** An outcome has fewer braces. */
const maxBraces = 64

/** Reads the outcome whose type begins at this index of a line. */
function outcomeAt(line: string, index: number): LogLine | undefined {
  const start = line.lastIndexOf('{', index)
  let end = line.indexOf('}', index)
  for (let tried = 0; start !== -1 && end !== -1 && tried < maxBraces; tried += 1) {
    const json = parsed(line.slice(start, end + 1))
    if (json?.type === 'outcome') return json
    end = line.indexOf('}', end + 1)
  }
  return undefined
}

function parsed(text: string): LogLine | undefined {
  try {
    return JSON.parse(text) as LogLine
  } catch {
    return undefined
  }
}

/** Judges all sources together; `days` without legacy names are safe. */
export function judge(sources: readonly ArrivalCount[], days: number): MigrationVerdict {
  const seen = sources.flatMap(({ legacy }) => legacy.map(({ lastSeen }) => +lastSeen))
  const lastSeen = seen.length > 0 ? new Date(Math.max(...seen)) : undefined
  const all = new Set(sources.flatMap((one) => [...one.days]))
  const quietDays = [...all].filter((one) => !lastSeen || one > dayOf(lastSeen)).length
  const unread = sources.reduce((sum, one) => sum + one.unread, 0)
  const safe = quietDays >= days && unread === 0
  return { safe, quietDays, unread, ...(lastSeen && { lastSeen }) }
}
