// inbox list: entries, newest first.
import { defined } from '../../../../src/foundation/defined.ts'
import { exitCodes } from '../../exit-code.ts'
import { entryStates } from '../../inbox/entry-states.ts'
import { type FilterOptions, filterOf, withFilter } from '../../inbox/filter-options.ts'
import { withInbox } from '../../inbox/find-inbox.ts'
import { type InboxChoice, inboxOption } from '../../inbox/inbox-option.ts'
import { entryLine, entryRecord } from '../../inbox/print-entry.ts'
import { dueText, entriesBehind } from '../../inbox/waiting.ts'
import { count, printable } from '../../output.ts'
import { act, declare, type Session, wholeFrom } from '../../session.ts'

interface ListOptions extends FilterOptions, InboxChoice {
  readonly limit: number
  readonly cursor?: string
}

export const inboxList = (session: Session) => {
  const command = declare('list', {
    summary: 'list entries, newest first',
    details: [
      'Lists entries, newest first. An entry that failed shows when its retry is due; a stored one that waits for the retry of an earlier entry about the same verification or client names that entry.',
    ],
    examples: [
      'idv-webhooks inbox list --inbox inbox.db --state dead',
      'idv-webhooks inbox list --inbox inbox.db --entity verification:ver_42 --json',
    ],
  }).addOption(inboxOption())
  return withFilter(command, session, entryStates)
    .option('--limit <n>', 'maximum number of entries', wholeFrom(1), 50)
    .option('--cursor <cursor>', 'continue where the previous list ended')
    .action(act<ListOptions>(session, (options) => run(session, options)))
}

async function run(session: Session, options: ListOptions) {
  const { out, signal, now } = session
  return withInbox(session, options, async ({ inbox }) => {
    const filter = filterOf(options)
    let { cursor } = options
    let printed = 0
    do {
      signal.throwIfAborted()
      const limit = Math.min(500, options.limit - printed)
      const page = await inbox.find({ ...filter, limit, ...(cursor && { cursor }) })
      const behind = await entriesBehind(inbox, page.entries)
      for (const entry of page.entries) {
        const waitsFor = behind.get(entry.id)
        out.record({ ...entryRecord(entry), ...defined({ waitsFor }) })
        const notes = [dueText(entry, now()), waitsFor && `waits for ${printable(waitsFor)}`]
        out.data(
          entryLine(
            out,
            entry,
            notes.filter((note) => note !== undefined),
          ),
        )
      }
      printed += page.entries.length
      cursor = page.cursor
    } while (cursor !== undefined && printed < options.limit)
    out.record({ type: 'page', entries: printed, ...(cursor && { cursor }) })
    out.say(count(printed, 'entry', 'entries'))
    if (cursor) out.say(`more may follow: --cursor ${printable(cursor)}`)
    return exitCodes.ok
  })
}
