// inbox redrive, replay, dismiss: one action on many entries, chosen by id or filter. They are counted,
// confirmed, done in small batches with progress, and summed up even after an interruption.
import type { Entry, EntryFilter, EntryState, Inbox } from '../../../../src/inbox/index.ts'
import { type ExitCode, exitCodes, usageError } from '../../exit-code.ts'
import { entriesOf, type FilterOptions, filterOf, withFilter } from '../../inbox/filter-options.ts'
import { type InboxChoice, inboxOption, withInbox } from '../../inbox/find-inbox.ts'
import { entryOf } from '../../inbox/print-entry.ts'
import { count, printable } from '../../output.ts'
import { act, type Declaration, declare, needConsent, type Session } from '../../session.ts'

interface BulkAction {
  readonly verb: string
  readonly past: 'redriven' | 'replayed' | 'dismissed'
  readonly texts: Declaration
  /** The start of the confirmation, before "12 entries". */
  readonly warning: string
  readonly states: readonly EntryState[]
  /** The states that a filter without a state finds; all of `states` by default. */
  readonly unasked?: readonly EntryState[]
  /** True for an entry that the user must name by its id. */
  readonly needsId?: (entry: Entry) => boolean
  /** True if entries that the user named need no confirmation. */
  readonly idsConsent?: boolean
  /** The number of entries that the action takes at a time. */
  readonly batch: number
  act(inbox: Inbox, ids: readonly string[], states?: readonly EntryState[]): Promise<number>
  /** Tells the user what happens next. */
  readonly afterwards: (many: number) => string
}

const again = (many: number) => `your worker runs ${many === 1 ? 'it' : 'them'} within a second`

const redriving: BulkAction = {
  verb: 'redrive',
  past: 'redriven',
  texts: {
    summary: 'run dead, skipped or waiting entries again',
    details:
      'Runs dead and skipped entries again: the named ones, or all that the filter finds. Handlers that have succeeded do not run again. Conflicts and dismissed entries run only if named; entries that wait for a retry run now if named, or with --state retry. Asks for confirmation (--yes) unless they are named.',
    examples: [
      'inbox redrive --inbox inbox.db --state dead --since 7d',
      'inbox redrive --inbox inbox.db 01997f3a-2c41-7b5e-9d0a-6f1e2c3b4a59',
    ],
  },
  warning: 'this runs the handlers that have not succeeded on',
  states: ['dead', 'skipped', 'retry'],
  unasked: ['dead', 'skipped'],
  needsId: ({ reason }) => reason === 'CONFLICT' || reason === 'DISMISSED',
  idsConsent: true,
  batch: 100,
  act: (inbox, ids, state) => inbox.redrive({ id: ids, ...(state && { state }) }),
  afterwards: again,
}

const replaying: BulkAction = {
  verb: 'replay',
  past: 'replayed',
  texts: {
    summary: 'run all handlers of done entries again',
    details:
      'Runs all handlers of done entries again, with event.source replay: the named ones, or all that the filter finds and whose payload is not erased. Asks for confirmation (--yes).',
    examples: ['inbox replay --inbox inbox.db --name verification.approved --since 12h'],
  },
  warning: 'this runs every handler again on',
  states: ['done'],
  batch: 1,
  act: async (inbox, [id = '']) => Number(await inbox.replay(id)),
  afterwards: again,
}

const dismissing: BulkAction = {
  verb: 'dismiss',
  past: 'dismissed',
  texts: {
    summary: 'settle dead entries, so that waiting entries can run',
    examples: ['inbox dismiss --inbox inbox.db 01997f3a-2c41-7b5e-9d0a-6f1e2c3b4a59 --yes'],
  },
  warning: 'this settles, without running their handlers,',
  states: ['dead'],
  batch: 1,
  act: async (inbox, [id = '']) => Number(await inbox.dismiss(id)),
  afterwards: () =>
    'entries that waited for them can run now; redrive <id> runs a dismissed entry after all',
}

export const bulkCommands = (session: Session) =>
  [redriving, replaying, dismissing].map((action) => {
    const command = declare(action.verb, action.texts)
      .argument('[ids...]', 'ids of entries, or how they begin; without ids the filter chooses')
      .addOption(inboxOption())
    return withFilter(command, session, action.states)
      .option('--yes', 'skip the confirmation prompt')
      .action(
        act<BulkActionOptions>(session, (_, options, ids) =>
          runOver({ session, action, options, ids }),
        ),
      )
  })

interface BulkActionOptions extends FilterOptions, InboxChoice {
  readonly yes?: boolean
}

interface BulkRun {
  readonly session: Session
  readonly action: BulkAction
  readonly options: BulkActionOptions
  readonly ids: readonly string[]
}

function runOver(run: BulkRun): Promise<ExitCode> {
  const { session, action, options, ids } = run
  const { out } = session
  const filter = filterOf(options)
  const isNamed = ids.length > 0
  if (!isNamed && Object.keys(filter).length === 0) {
    const states = action.states.map((state) => `--state ${state}`)
    const filters = states.length > 1 ? `${states.join(', ')} or --since 7d` : '--since 7d'
    const how = `pass their ids, or a filter such as ${filters}`
    throw usageError(`no entries chosen: ${how}`)
  }
  return withInbox(session, options, async ({ inbox, where }) => {
    const entries = isNamed ? await named(run, inbox) : await filtered(run, inbox, filter)
    const isRefused = isNamed && entries.length < new Set(ids).size
    if (entries.length === 0) {
      out.record({ type: action.past, entries: 0, of: 0 })
      out.say(`nothing to ${action.verb}`)
      return isRefused ? exitCodes.failed : exitCodes.ok
    }
    if (!isNamed || !action.idsConsent) {
      const what = `${action.warning} ${counted(entries.length)} of ${where}`
      await needConsent(session, options, `${what} (${byName(entries)})`)
    }
    const { state = action.unasked } = filter
    const states = isNamed || state === undefined ? undefined : [state].flat()
    const done = await doAll(run, inbox, { entries, states })
    return done === entries.length && !isRefused ? exitCodes.ok : exitCodes.failed
  })
}

async function doAll(
  { session: { out, signal }, action }: BulkRun,
  inbox: Inbox,
  { entries, states }: { entries: readonly Entry[]; states: readonly EntryState[] | undefined },
) {
  const { past, batch, afterwards } = action
  const ids = entries.map(({ id }) => id)
  let done = 0
  try {
    for (let at = 0; at < ids.length; at += batch) {
      signal.throwIfAborted()
      done += await action.act(inbox, ids.slice(at, at + batch), states)
      out.progress(`${Math.min(at + batch, ids.length)}/${ids.length} ${past}`)
    }
  } finally {
    out.record({ type: past, entries: done, of: ids.length })
    out.data(`${past} ${done} of ${counted(ids.length)} (${byName(entries)})`)
    if (done > 0) out.say(afterwards(done))
  }
  return done
}

const counted = (many: number) => count(many, 'entry', 'entries')

/** The named entries that the action applies to; reports why the others are not among them. */
async function named({ session, action, ids }: BulkRun, inbox: Inbox): Promise<readonly Entry[]> {
  const { out } = session
  const { verb, states } = action
  const entries = new Map<string, Entry>()
  for (const given of new Set(ids)) {
    const entry = await entryOf(inbox, given)
    const isFitting = entry && states.includes(entry.state)
    if (isFitting && !entry.erased) entries.set(entry.id, entry)
    else {
      const state =
        entry && `is ${isFitting ? 'erased' : `${entry.state}, not ${states.join(' or ')}`}`
      const reason = state ?? 'is not in the inbox'
      out.record({ type: 'refused', id: given, reason })
      out.say(`cannot ${verb} ${printable(given)}: it ${reason}`)
    }
  }
  return [...entries.values()]
}

async function filtered({ session, action }: BulkRun, inbox: Inbox, filter: EntryFilter) {
  const { out, signal } = session
  const { states, unasked = states, needsId } = action
  const entries: Entry[] = []
  let leftOut = 0
  for await (const entry of entriesOf(inbox, { state: unasked, ...filter })) {
    signal.throwIfAborted()
    if (entry.erased) continue
    if (needsId?.(entry)) leftOut += 1
    else entries.push(entry)
    out.progress(`${entries.length} found`)
  }
  if (leftOut > 0) {
    out.say(`${counted(leftOut)} skipped (CONFLICT or DISMISSED): pass their ids to include them`)
  }
  // Found newest first, processed in order of arrival.
  return entries.reverse()
}

function byName(entries: readonly Entry[]): string {
  const counts = new Map<string, number>()
  for (const { name = 'unread' } of entries) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, many]) => `${many} ${printable(name)}`).join(', ')
}
