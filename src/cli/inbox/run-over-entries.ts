// One deed done to many entries: chosen by id or filter, counted, consented to, done in small
// batches with progress, summed up even when it is interrupted.
import type { Entry, EntryState, Inbox } from '../../inbox/index.ts'
import { needConsent } from '../consent.ts'
import { CliError, type ExitCode, exitCodes } from '../exit-code.ts'
import { count, printable } from '../output.ts'
import type { Session } from '../session.ts'
import { type FilterOptions, filterOf } from './filter-options.ts'
import { withInbox } from './find-inbox.ts'
import type { InboxChoice } from './inbox-option.ts'

/** What is done, and to which entries it can be. */
export interface Deed {
  /** "redrive", and "redriven" of what it was done to. */
  readonly verb: string
  readonly past: 'redriven' | 'replayed' | 'dismissed'
  /** What consent is asked for, before "12 entries". */
  readonly warning: string
  readonly states: readonly EntryState[]
  /** Whether an entry is left out that no one has named. */
  readonly leavesOut?: (entry: Entry) => boolean
  /** Does it; answers how many it was done to. */
  act(inbox: Inbox, ids: readonly string[]): Promise<number>
  /** What follows from it, for people. */
  readonly afterwards: string
}

export interface DeedOptions extends FilterOptions, InboxChoice {
  readonly yes?: boolean
}

const batch = 100
const pageSize = 500

/** Does a deed to the entries that were named, or to all that a filter finds. */
export function runOverEntries(
  session: Session,
  deed: Deed,
  { options, ids }: { readonly options: DeedOptions; readonly ids: readonly string[] },
): Promise<ExitCode> {
  const filter = filterOf(options)
  if (ids.length === 0 && Object.keys(filter).length === 0) {
    throw new CliError('USAGE', `error: say which: ids of entries, or a filter such as --since 7d`)
  }
  return withInbox(session, options, async ({ inbox, where }) => {
    const { out } = session
    const chosen = ids.length > 0 ? await named(session, deed, { inbox, ids }) : undefined
    const entries = chosen?.entries ?? (await filtered(session, deed, { inbox, filter }))
    if (entries.length === 0) {
      out.record({ type: deed.past, entries: 0, of: 0 })
      out.say(`nothing to ${deed.verb}`)
      return chosen && chosen.refused > 0 ? exitCodes.failed : exitCodes.ok
    }
    const what = `${deed.warning} ${count(entries.length, 'entry', 'entries')} of ${where}`
    await needConsent(session, options, `${what} (${byName(entries)})`)
    const done = await doAll(session, deed, { inbox, entries })
    const whole = done === entries.length && !chosen?.refused
    return whole ? exitCodes.ok : exitCodes.failed
  })
}

async function doAll(
  { out, signal }: Session,
  deed: Deed,
  { inbox, entries }: { readonly inbox: Inbox; readonly entries: readonly Entry[] },
): Promise<number> {
  const ids = entries.map(({ id }) => id)
  let done = 0
  try {
    for (let at = 0; at < ids.length; at += batch) {
      signal.throwIfAborted()
      done += await deed.act(inbox, ids.slice(at, at + batch))
      out.progress(`${Math.min(at + batch, ids.length)}/${ids.length} ${deed.past}`)
    }
  } finally {
    out.record({ type: deed.past, entries: done, of: ids.length })
    out.data(`${deed.past} ${done} of ${count(ids.length, 'entry', 'entries')}`)
    if (done > 0) out.say(deed.afterwards)
  }
  return done
}

interface Named {
  readonly entries: readonly Entry[]
  readonly refused: number
}

/** The named entries that it can be done to; of each other one it is said why not. */
async function named(
  { out }: Session,
  { verb, states }: Deed,
  { inbox, ids }: { readonly inbox: Inbox; readonly ids: readonly string[] },
): Promise<Named> {
  const entries: Entry[] = []
  const unique = new Set(ids)
  for (const id of unique) {
    const entry = await inbox.get(id)
    const why = entry ? reasonAgainst(entry, states) : 'is not in the inbox'
    if (entry && why === undefined) entries.push(entry)
    else {
      out.record({ type: 'refused', id, reason: why })
      out.say(`cannot ${verb} ${printable(id)}: it ${why}`)
    }
  }
  return { entries, refused: unique.size - entries.length }
}

function reasonAgainst(entry: Entry, states: readonly EntryState[]): string | undefined {
  if (!states.includes(entry.state)) return `is ${entry.state}, not ${states.join(' or ')}`
  return entry.erased ? 'is erased' : undefined
}

async function filtered(
  { out, signal }: Session,
  { states, leavesOut }: Deed,
  { inbox, filter }: { readonly inbox: Inbox; readonly filter: ReturnType<typeof filterOf> },
): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  let cursor: string | undefined
  let leftOut = 0
  do {
    signal.throwIfAborted()
    const query = { state: states, ...filter, limit: pageSize, ...(cursor && { cursor }) }
    const page = await inbox.find(query)
    for (const entry of page.entries) {
      if (entry.erased) continue
      if (leavesOut?.(entry)) leftOut += 1
      else entries.push(entry)
    }
    cursor = page.cursor
    out.progress(`${entries.length} found`)
  } while (cursor !== undefined)
  if (leftOut > 0) {
    out.say(`${count(leftOut, 'entry', 'entries')} left out (CONFLICT or DISMISSED): name the ids`)
  }
  // Found newest first; done oldest first, as they came.
  return entries.reverse()
}

function byName(entries: readonly Entry[]): string {
  const counts = new Map<string, number>()
  for (const { name = 'unread' } of entries) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, many]) => `${many} ${printable(name)}`).join(', ')
}
