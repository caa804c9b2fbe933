// inbox list, show, stats: what an inbox holds, and how far behind its handlers are. Payload and
// address are masked unless requested.
import { Option } from 'commander'
import { defined } from '../../../../src/foundation/defined.ts'
import type { Entry, HandlerLatency, Inbox, InboxLatency } from '../../../../src/inbox/index.ts'
import { exitCodes } from '../../exit-code.ts'
import { type FilterOptions, filterOf, withFilter } from '../../inbox/filter-options.ts'
import { type InboxChoice, inboxOption, withInbox } from '../../inbox/find-inbox.ts'
import {
  entryDetails,
  entryOf,
  entryRecord,
  entryStates,
  entryTable,
  indented,
  maskedDelivery,
  openDelivery,
  paintState,
} from '../../inbox/print-entry.ts'
import { durationFrom, momentFrom, wholeFrom } from '../../option-values.ts'
import { count, type Output, printable, spanOf, stamp } from '../../output.ts'
import { act, declare, type Session } from '../../session.ts'

interface ListOptions extends FilterOptions, InboxChoice {
  readonly limit: number
  readonly cursor?: string
}

export const inboxList = (session: Session) => {
  const command = declare('list', {
    summary: 'list entries, newest first',
    details:
      'Lists entries, newest first. An entry that failed shows when its retry is due; a stored one that waits for the retry of an earlier entry about the same verification or client names that entry.',
    examples: [
      'inbox list --inbox inbox.db --state dead',
      'inbox list --inbox inbox.db --entity verification:ver_42 --json',
    ],
  }).addOption(inboxOption())
  return withFilter(command, session, entryStates)
    .option('--limit <n>', 'maximum number of entries', wholeFrom(1), 50)
    .option('--cursor <cursor>', 'continue where the previous list ended')
    .action(act(session, list))
}

async function list(session: Session, options: ListOptions) {
  const { out, signal, now, stdout } = session
  return withInbox(session, options, async ({ inbox }) => {
    const filter = filterOf(options)
    const width = stdout.columns || 80
    let { cursor } = options
    let printed = 0
    do {
      signal.throwIfAborted()
      const limit = Math.min(500, options.limit - printed)
      const page = await inbox.find({ ...filter, limit, ...(cursor && { cursor }) })
      const behind = await entriesBehind(inbox, page.entries)
      const listed = page.entries.map((entry) => {
        const waitsFor = behind.get(entry.id)
        out.record({ ...entryRecord(entry), ...defined({ waitsFor }) })
        return { entry, due: dueText(entry, now()), waitsFor }
      })
      const table = { width, withHeads: printed === 0 && listed.length > 0 }
      for (const line of entryTable(out, listed, table)) out.data(line)
      printed += listed.length
      cursor = page.cursor
    } while (cursor !== undefined && printed < options.limit)
    out.record({ type: 'page', entries: printed, ...(cursor && { cursor }) })
    out.say(count(printed, 'entry', 'entries'))
    if (cursor) out.say(`more may follow: --cursor ${printable(cursor)}`)
    return exitCodes.ok
  })
}

function dueText({ state, dueAt }: Entry, now: Date): string | undefined {
  if (state !== 'retry' || !dueAt) return undefined
  const left = dueAt.getTime() - now.getTime()
  return left > 0 ? `due in ${spanOf(left)}` : 'due now'
}

/** The most retries that are looked at; of more, the newest. */
const maxRetries = 500

/** Finds the entries that wait for the retry of an earlier entry, and the id of that entry. */
async function entriesBehind(inbox: Inbox, entries: readonly Entry[]) {
  const stored = entries.filter(({ state }) => state === 'stored')
  const found = stored.length > 0 && (await inbox.find({ state: 'retry', limit: maxRetries }))
  const retries = new Map<string, Entry>()
  for (const retry of found ? found.entries : []) {
    const lane = laneOf(retry)
    if (lane !== undefined) retries.set(lane, retry)
  }
  return new Map(
    stored.flatMap((entry): (readonly [string, string])[] => {
      const retry = retries.get(laneOf(entry) ?? '')
      // A redriven entry may stand before it.
      const isLater = retry !== undefined && retry.receivedAt <= entry.receivedAt
      return isLater ? [[entry.id, retry.id]] : []
    }),
  )
}

/** The lane is the ordering key: one entity of one tenant. */
function laneOf({ entity, tenant }: Entry): string | undefined {
  return entity && JSON.stringify([tenant, entity.type, entity.id])
}

interface ShowOptions extends InboxChoice {
  readonly showPayload?: boolean
}

export const inboxShow = (session: Session) =>
  declare('show', {
    summary: 'show all details of an entry',
    details:
      'Shows the state of an entry, its failures and which handlers have succeeded. The payload is masked, except for values known to be harmless; --show-payload shows all of it, with the headers and the address.',
    examples: ['inbox show --inbox inbox.db 01997f3a-2c41-7b5e-9d0a-6f1e2c3b4a59'],
  })
    .argument('<ids...>', 'ids of entries, or how they begin')
    .addOption(inboxOption())
    .option('--show-payload', 'print the payload, headers and address unmasked')
    .action(act(session, show))

async function show(session: Session, options: ShowOptions, ids: readonly string[]) {
  const { out } = session
  return withInbox(session, options, async ({ inbox }) => {
    let missing = 0
    for (const id of ids) {
      const entry = await entryOf(inbox, id, { withDelivery: true })
      if (entry) await printEntry(session, entry, options.showPayload === true)
      else {
        missing += 1
        out.record({ type: 'missing', id })
        out.say(`${printable(id)} is not in the inbox: inbox list shows the ids of its entries`)
      }
    }
    return missing === 0 ? exitCodes.ok : exitCodes.failed
  })
}

async function printEntry({ out }: Session, entry: Entry, shown: boolean): Promise<void> {
  const { delivery } = entry
  const visible = delivery && (shown ? openDelivery(delivery) : await maskedDelivery(delivery))
  const { payload, url } = visible ?? {}
  const headers = shown ? delivery?.headers : undefined
  out.record({
    ...entryRecord(entry),
    ...(delivery?.secretId !== undefined && { secretId: delivery.secretId }),
    ...(headers && { headers }),
    ...(payload !== undefined && { payload, masked: !shown }),
  })
  const line = (word: string, value: string) => out.data(`${word.padEnd(11)} ${value}`)
  for (const [word, value] of entryDetails(out, entry, url)) {
    line(word, word === 'state' ? value : printable(value))
  }
  for (const [name, value] of headers ?? []) line('header', printable(`${name}: ${value}`))
  if (payload === undefined) line('payload', entry.erased ? 'erased' : 'encrypted with another key')
  else {
    line('payload', `${entry.bytes} bytes${shown ? '' : ', masked (--show-payload shows it)'}`)
    for (const one of (indented(payload) ?? payload).split('\n')) out.data(printable(one))
  }
}

interface StatsCommandOptions extends InboxChoice {
  readonly target: number
  readonly since?: Date
}

export const inboxStats = (session: Session) =>
  declare('stats', {
    summary: 'count entries by state and show how far behind the handlers are',
    details:
      'Counts entries by state, and shows how far behind the handlers are. For each handler it shows the time from the occurrence of an event until its entry was done, and the share within --target: of the last 10,000 entries done since --since.',
    examples: ['inbox stats --inbox inbox.db --target 5m --since 7d'],
  })
    .addOption(inboxOption())
    .addOption(
      new Option('--target <duration>', 'time within which an event should be done')
        .argParser(durationFrom)
        .default(60_000, '60s'),
    )
    .option(
      '--since <time>',
      'only done since: ISO 8601, or an age such as 7d (default: 24h)',
      momentFrom(session.now),
    )
    .action(act(session, stats))

async function stats(session: Session, options: StatsCommandOptions) {
  const { out } = session
  const { target, since } = options
  return withInbox(session, options, async ({ inbox }) => {
    const found = await inbox.stats({ target, ...(since && { since }) })
    out.record({ type: 'stats', ...found })
    for (const state of entryStates) out.data(`${paintState(out, state, 8)} ${found[state]}`)
    const { oldestAge, lag, latency } = found
    if (oldestAge !== undefined) out.data(`oldest   ${spanOf(oldestAge)} open`)
    out.data(`lag      ${lag === 0 ? 'none' : spanOf(lag)}`)
    if (latency) printLatency(out, latency)
    return exitCodes.ok
  })
}

function printLatency(out: Output, { target, since, handlers }: InboxLatency): void {
  if (handlers.length === 0) return
  out.data(`done since ${stamp(since)}, from the occurrence of the event:`)
  for (const one of handlers) out.data(`  ${printable(one.handler)}  ${inWords(one, target)}`)
}

function inWords({ entries, share, p50, p95, p99, longest }: HandlerLatency, target: number) {
  // Rounded down: 100 % is all of them.
  const percent = `${Math.floor(share * 1000) / 10} % within ${precise(target)}`
  const times = [`p50 ${precise(p50)}`, `p95 ${precise(p95)}`, `p99 ${precise(p99)}`]
  const of = count(entries, 'entry', 'entries')
  return [percent, ...times, `longest ${precise(longest)}`].join(', ').concat(` (${of})`)
}

const precise = (milliseconds: number) =>
  milliseconds < 1000 ? `${milliseconds} ms` : spanOf(milliseconds)
