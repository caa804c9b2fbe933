// inbox list: entries, newest first.

import { exitCodes } from '../../exit-code.ts'
import { entryStates } from '../../inbox/entry-states.ts'
import { type FilterOptions, filterOf, withFilter } from '../../inbox/filter-options.ts'
import { withInbox } from '../../inbox/find-inbox.ts'
import { type InboxChoice, inboxOption } from '../../inbox/inbox-option.ts'
import { entryLine, entryRecord } from '../../inbox/print-entry.ts'
import { count } from '../../output.ts'
import { act, declare, type Session, wholeFrom } from '../../session.ts'

interface ListOptions extends FilterOptions, InboxChoice {
  readonly limit: number
  readonly cursor?: string
}

export const inboxList = (session: Session) => {
  const command = declare('list', {
    summary: 'list entries, newest first',
    examples: [
      'idv-webhooks inbox list --inbox inbox.db --state dead',
      'idv-webhooks inbox list --inbox inbox.db --entity verification:ver_42 --json',
    ],
  }).addOption(inboxOption())
  return withFilter(command, session, entryStates)
    .option('--limit <n>', 'at most so many', wholeFrom(1), 50)
    .option('--cursor <cursor>', 'go on where the list before ended')
    .action(act<ListOptions>(session, (options) => run(session, options)))
}

async function run(session: Session, options: ListOptions) {
  const { out, signal } = session
  return withInbox(session, options, async ({ inbox }) => {
    const filter = filterOf(options)
    let { cursor } = options
    let told = 0
    do {
      signal.throwIfAborted()
      const limit = Math.min(500, options.limit - told)
      const page = await inbox.find({ ...filter, limit, ...(cursor && { cursor }) })
      for (const entry of page.entries) {
        out.record(entryRecord(entry))
        out.data(entryLine(out, entry))
      }
      told += page.entries.length
      cursor = page.cursor
    } while (cursor !== undefined && told < options.limit)
    out.record({ type: 'page', entries: told, ...(cursor && { cursor }) })
    out.say(count(told, 'entry', 'entries'))
    if (cursor) out.say(`there may be more: --cursor ${cursor}`)
    return exitCodes.ok
  })
}
