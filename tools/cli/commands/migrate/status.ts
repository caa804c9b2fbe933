// migrate status: which legacy names still arrive, and whether it is safe to reject them.

import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { defined } from '../../../../src/foundation/defined.ts'
import { parseJson } from '../../../../src/foundation/json.ts'
import type { Inbox } from '../../../../src/inbox/index.ts'
import { canonicalName } from '../../../../src/protocol/index.ts'
import { CliError, exitCodes } from '../../exit-code.ts'
import { statOf } from '../../files.ts'
import { entriesOf } from '../../inbox/filter-options.ts'
import { type InboxChoice, inboxOption, withInbox } from '../../inbox/find-inbox.ts'
import { repeated, wholeFrom } from '../../option-values.ts'
import { count, printable, stamp } from '../../output.ts'
import type { LegacyArrivals, MigrationVerdict } from '../../records.ts'
import { act, declare, type Session } from '../../session.ts'

interface StatusOptions extends InboxChoice {
  readonly log?: readonly string[]
  readonly days: number
}

export const migrateStatus = (session: Session) =>
  declare('status', {
    summary: 'show which legacy names still arrive',
    details: [
      'Reads an inbox, or log lines written by `observe: logOutcomes()`, or both. Lists each legacy name with its number of arrivals, the secret that signed it (each subscription has its own) and its last arrival. Rejecting them is safe after --days with events and without legacy names. Days (UTC) without any event do not count, and a log with unreadable outcomes is never safe. An inbox remembers 30 days by default, so pass fewer --days if events do not arrive every day. An inbox has no entry for a legacy event that also arrived, earlier, under its current name; a log has.',
      'Exits 0 if it is safe, 1 if not.',
    ],
    examples: ['migrate status --inbox inbox.db', 'migrate status --log webhooks.log --days 14'],
  })
    .addOption(inboxOption())
    .option('--log <file>', 'log of logOutcomes(), or - for stdin; repeatable', repeated)
    .option('--days <n>', 'required number of days without legacy names', wholeFrom(1), 30)
    .action(act(session, run))

async function run(session: Session, options: StatusOptions) {
  const { log = [], days } = options
  const logs = log.length > 0 ? [await logArrivals(session, log)] : []
  // The command needs a log or an inbox, so the inbox of the config file may be missing.
  const needsInbox = options.inbox !== undefined || logs.length === 0
  const kept = needsInbox
    ? [await withInbox(session, options, ({ inbox }) => inboxArrivals(session, inbox))]
    : []
  const sources = [...kept, ...logs]
  for (const one of sources) printArrivals(session, one)
  const verdict = judge(sources, days)
  const { out } = session
  out.record({ type: 'status', days, ...verdict })
  const isEmpty = sources.every(({ arrivals }) => arrivals === 0)
  if (verdict.safe) {
    const quiet = count(verdict.quietDays, 'day')
    out.data(
      `${out.paint('green', 'safe')}  set legacy: 'reject': no legacy name on the last ${quiet} with events`,
    )
    return exitCodes.ok
  }
  out.data(`${out.paint('yellow', 'wait')}  ${isEmpty ? noEvent : whyWait(verdict, days)}`)
  return exitCodes.failed
}

function printArrivals(
  { out }: Session,
  { source, arrivals, days, unread, ...found }: ArrivalCount,
) {
  const legacy = [...found.legacy.values()].sort((one, other) => +other.lastSeen - +one.lastSeen)
  out.record({ type: 'evidence', source, arrivals, days: days.size, unread })
  const seen = legacy.reduce((sum, one) => sum + one.arrivals, 0)
  const during = count(days.size, 'day')
  out.say(`${source}: ${count(seen, 'legacy arrival')} of ${arrivals}, events on ${during}`)
  if (unread > 0) {
    const what = count(unread, 'outcome')
    out.say(`${source}: ${what} could not be read: the line is truncated or changed`)
  }
  const width = Math.max(0, ...legacy.map(({ receivedName }) => receivedName.length))
  for (const one of legacy) {
    out.record({ type: 'legacy', source, ...one })
    const { receivedName, secretId, lastSeen } = one
    const name = printable(receivedName).padEnd(width)
    const secret = secretId === undefined ? '' : `  secret ${printable(secretId)}`
    const many = `${one.arrivals}×`.padStart(6)
    out.data(`${name}  ${many}  last ${stamp(lastSeen)}  in the ${source}${secret}`)
  }
}

const noEvent = 'no event arrived at all, which proves nothing'

function whyWait({ quietDays, lastSeen, unread }: MigrationVerdict, days: number): string {
  if (quietDays >= days) {
    return `${count(unread, 'outcome')} could not be read and may have a legacy name`
  }
  const quiet = count(quietDays, 'day')
  return lastSeen
    ? `last legacy name ${stamp(lastSeen)}; since then events on ${quiet} of ${days} required`
    : `no legacy name, but events on only ${quiet} of ${days} required`
}

interface LegacyArrival {
  readonly at: Date
  readonly receivedName?: string | undefined
  readonly secretId?: string | undefined
}

/** The arrivals that one source saw; `unread` outcomes may have a legacy name. */
function countArrivals(source: 'inbox' | 'log') {
  const legacy = new Map<string, LegacyArrivals>()
  const found = { source, legacy, days: new Set<string>(), arrivals: 0, unread: 0 }
  const add = ({ at, receivedName, secretId }: LegacyArrival) => {
    found.arrivals += 1
    found.days.add(dayOf(at))
    if (!isLegacy(receivedName)) return
    const key = JSON.stringify([receivedName, secretId])
    const before = legacy.get(key)
    legacy.set(key, {
      receivedName,
      name: canonicalName(receivedName),
      ...defined({ secretId }),
      arrivals: (before?.arrivals ?? 0) + 1,
      lastSeen: before && before.lastSeen > at ? before.lastSeen : at,
    })
  }
  return { found, add }
}

type ArrivalCount = ReturnType<typeof countArrivals>['found']

const isLegacy = (name: string | undefined): name is string =>
  name !== undefined && canonicalName(name) !== name
const dayOf = (at: Date) => at.toISOString().slice(0, 10)

async function inboxArrivals({ out, signal }: Session, inbox: Inbox): Promise<ArrivalCount> {
  const { found, add } = countArrivals('inbox')
  for await (const { id, receivedAt: at, receivedName, erased, source } of entriesOf(inbox, {})) {
    signal.throwIfAborted()
    if (source === 'reconcile') continue
    const isRead = isLegacy(receivedName) && !erased
    const entry = isRead ? await inbox.get(id, { withDelivery: true }) : undefined
    add({ at, receivedName, secretId: entry?.delivery?.secretId })
    out.progress(`${found.arrivals} entries read`)
  }
  return found
}

/** Reads the outcomes of log files. A file without any counts as unread: it may be compressed. */
async function logArrivals({ out, signal, stdin, cwd }: Session, files: readonly string[]) {
  const { found, add } = countArrivals('log')
  for (const file of files) {
    const path = resolve(cwd, file)
    if (file !== '-' && !statOf(path)?.isFile()) {
      throw new CliError('LOG_MISSING', `${file} does not exist or is not a file`)
    }
    const input = file === '-' ? stdin : createReadStream(path)
    const before = found.arrivals + found.unread
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      signal.throwIfAborted()
      for (const arrival of arrivalsIn(line)) {
        if (Number.isNaN(arrival.at.getTime())) found.unread += 1
        else add(arrival)
      }
    }
    if (found.arrivals + found.unread > before) continue
    found.unread += 1
    out.say(`${file} has no outcome of logOutcomes(): pass its lines as text`)
  }
  return found
}

type LogLine = Readonly<Record<string, unknown>>

/** A log shipper may have put the line into a JSON string of its own. */
function arrivalsIn(shipped: string): readonly LegacyArrival[] {
  let line = shipped
  for (let depth = 0; depth < 3 && /\\"type\\*"/.test(line); depth += 1) {
    line = line.replaceAll(/\\(["\\])/g, '$1')
  }
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  return [...line.matchAll(/"type"\s*:\s*"outcome"/g)].flatMap(({ index }) => {
    const { kind, at, source, ...outcome } = outcomeAt(line, index) ?? {}
    const receivedName = text(outcome.receivedName)
    // A rejected delivery proves nothing: anyone could have sent it.
    if (source === 'reconcile' || (kind === 'rejected' && receivedName === undefined)) return []
    return { at: new Date(text(at) ?? Number.NaN), receivedName, secretId: text(outcome.secretId) }
  })
}

/** Reads the outcome whose type begins at this index of a line; it has fewer than 64 braces. */
function outcomeAt(line: string, index: number): LogLine | undefined {
  const start = line.lastIndexOf('{', index)
  let end = index
  for (let tried = 0; tried < 64 && start !== -1; tried += 1) {
    end = line.indexOf('}', end + 1)
    const { value } = parseJson(line.slice(start, end + 1)) ?? {}
    if (end === -1 || Object(value).type === 'outcome') return value as LogLine | undefined
  }
  return undefined
}

/** Judges all sources together; `days` without legacy names are safe. */
function judge(sources: readonly ArrivalCount[], days: number): MigrationVerdict {
  const seen = sources.flatMap(({ legacy }) => [...legacy.values()].map((one) => +one.lastSeen))
  const lastSeen = seen.length > 0 ? new Date(Math.max(...seen)) : undefined
  const all = new Set(sources.flatMap((one) => [...one.days]))
  const quietDays = [...all].filter((one) => !lastSeen || one > dayOf(lastSeen)).length
  const unread = sources.reduce((sum, one) => sum + one.unread, 0)
  const safe = quietDays >= days && unread === 0
  return { safe, quietDays, unread, ...(lastSeen && { lastSeen }) }
}
