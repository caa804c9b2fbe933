// One action on many entries: chosen by id or filter, counted, confirmed, done in small batches with
// progress, and summed up even after an interruption.
import type { Entry, EntryState, Inbox } from '../../../src/inbox/index.ts'
import { needConsent } from '../consent.ts'
import { CliError, type ExitCode, exitCodes } from '../exit-code.ts'
import { count, printable } from '../output.ts'
import type { Session } from '../session.ts'
import { type FilterOptions, filterOf } from './filter-options.ts'
import { withInbox } from './find-inbox.ts'
import type { InboxChoice } from './inbox-option.ts'

/** An action, and the entries that it applies to. */
export interface EntryAction {
  /** "redrive", and the past participle "redriven". */
  readonly verb: string
  readonly past: 'redriven' | 'replayed' | 'dismissed'
  /** The start of the confirmation, before "12 entries". */
  readonly warning: string
  readonly states: readonly EntryState[]
  /** Those that a filter without a state finds; all of `states` by default. */
  readonly unasked?: readonly EntryState[]
  /** Whether an entry needs to be named explicitly. */
  readonly needsId?: (entry: Entry) => boolean
  /** Whether ids are consent: who names an entry means that one. */
  readonly idsConsent?: boolean
  /** Whether it takes entries one by one: what is done is known up to the last one then. */
  readonly isSingle?: boolean
  /**
   * Returns how many entries were affected. With `states` a filter chose them, some time ago: one
   * that has left these states is passed over.
   */
  act(inbox: Inbox, ids: readonly string[], states?: readonly EntryState[]): Promise<number>
  /** Tells the user what happens next. */
  readonly afterwards: string
}

export interface EntryActionOptions extends FilterOptions, InboxChoice {
  readonly yes?: boolean
}

const batch = 100
const pageSize = 500

/** Applies an action to the named entries, or to all that a filter finds. */
export function runOverEntries(
  session: Session,
  action: EntryAction,
  { options, ids }: { readonly options: EntryActionOptions; readonly ids: readonly string[] },
): Promise<ExitCode> {
  const filter = filterOf(options)
  if (ids.length === 0 && Object.keys(filter).length === 0) {
    const states = action.states.map((state) => `--state ${state}`)
    const filters = states.length > 1 ? `${states.join(', ')} or --since 7d` : '--since 7d'
    const how = `pass their ids, or a filter such as ${filters}`
    throw new CliError('USAGE', `no entries chosen: ${how}`)
  }
  return withInbox(session, options, async ({ inbox, where }) => {
    const { out } = session
    const chosen = ids.length > 0 ? await named(session, action, { inbox, ids }) : undefined
    const entries = chosen?.entries ?? (await filtered(session, action, { inbox, filter }))
    if (entries.length === 0) {
      out.record({ type: action.past, entries: 0, of: 0 })
      out.say(`nothing to ${action.verb}${chosen ? '' : await leftWaiting(action, inbox)}`)
      return chosen && chosen.refused > 0 ? exitCodes.failed : exitCodes.ok
    }
    const what = `${action.warning} ${count(entries.length, 'entry', 'entries')} of ${where}`
    if (!chosen || !action.idsConsent) {
      await needConsent(session, options, `${what} (${byName(entries)})`)
    }
    const { state = action.unasked } = filter
    const states = chosen || state === undefined ? undefined : [state].flat()
    const done = await doAll(session, action, { inbox, entries, states })
    const whole = done === entries.length && !chosen?.refused
    return whole ? exitCodes.ok : exitCodes.failed
  })
}

/** Entries that only their id or a filter by their state would have found. */
async function leftWaiting({ states, unasked = states }: EntryAction, inbox: Inbox) {
  const stats = await inbox.stats()
  const left = states.filter((state) => !unasked.includes(state) && stats[state] > 0)
  const many = left.map((state) => `${stats[state]} in ${state}: --state ${state}`)
  return left.length > 0 ? ` (${many.join(', ')})` : ''
}

interface Chosen {
  readonly inbox: Inbox
  readonly entries: readonly Entry[]
  /** Those that the filter found. */
  readonly states?: readonly EntryState[] | undefined
}

async function doAll(
  { out, signal }: Session,
  action: EntryAction,
  { inbox, entries, states }: Chosen,
): Promise<number> {
  const ids = entries.map(({ id }) => id)
  const size = action.isSingle ? 1 : batch
  let done = 0
  // Those of the last call, until its answer has come.
  let open: readonly string[] = []
  try {
    for (let at = 0; at < ids.length; at += size) {
      signal.throwIfAborted()
      open = ids.slice(at, at + size)
      done += await action.act(inbox, open, states)
      open = []
      out.progress(`${Math.min(at + size, ids.length)}/${ids.length} ${action.past}`)
    }
  } finally {
    const unknown = open.length
    out.record({ type: action.past, entries: done, of: ids.length, ...(unknown && { unknown }) })
    const all = count(ids.length, 'entry', 'entries')
    out.data(`${action.past} ${done} of ${all} (${byName(entries)})`)
    if (unknown > 0) {
      const which = unknown === 1 ? ` (${open[0]})` : ''
      const more = count(unknown, 'more entry', 'more entries')
      out.say(`${more}${which} may have been ${action.past}: no answer came`)
    }
    if (done > 0) out.say(action.afterwards)
  }
  return done
}

interface Named {
  readonly entries: readonly Entry[]
  readonly refused: number
}

/** The named entries that the action applies to; reports why the others are not among them. */
async function named(
  { out }: Session,
  { verb, states }: EntryAction,
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
  { states, unasked = states, needsId }: EntryAction,
  { inbox, filter }: { readonly inbox: Inbox; readonly filter: ReturnType<typeof filterOf> },
): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  let cursor: string | undefined
  let leftOut = 0
  do {
    signal.throwIfAborted()
    const query = { state: unasked, ...filter, limit: pageSize, ...(cursor && { cursor }) }
    const page = await inbox.find(query)
    for (const entry of page.entries) {
      if (entry.erased) continue
      if (needsId?.(entry)) leftOut += 1
      else entries.push(entry)
    }
    cursor = page.cursor
    out.progress(`${entries.length} found`)
  } while (cursor !== undefined)
  if (leftOut > 0) {
    out.say(
      `${count(leftOut, 'entry', 'entries')} skipped (CONFLICT or DISMISSED): pass their ids to include them`,
    )
  }
  // Found newest first, processed in order of arrival.
  return entries.reverse()
}

function byName(entries: readonly Entry[]): string {
  const counts = new Map<string, number>()
  for (const { name = 'unread' } of entries) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, many]) => `${many} ${printable(name)}`).join(', ')
}
