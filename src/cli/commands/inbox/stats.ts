// inbox stats: how many entries are in which state, and how far behind the handlers are.
import { exitCodes } from '../../exit-code.ts'
import { entryStates } from '../../inbox/entry-states.ts'
import { withInbox } from '../../inbox/find-inbox.ts'
import { type InboxChoice, inboxOption } from '../../inbox/inbox-option.ts'
import { paintState } from '../../inbox/print-entry.ts'
import { spanOf } from '../../moment.ts'
import { act, declare, type Session } from '../../session.ts'

export const inboxStats = (session: Session) =>
  declare('stats', {
    summary: 'count entries by state and show how far behind the handlers are',
    examples: ['idv-webhooks inbox stats --inbox inbox.db'],
  })
    .addOption(inboxOption())
    .action(act<InboxChoice>(session, (options) => run(session, options)))

async function run(session: Session, options: InboxChoice) {
  const { out } = session
  return withInbox(session, options, async ({ inbox }) => {
    const stats = await inbox.stats()
    out.record({ type: 'stats', ...stats })
    for (const state of entryStates) out.data(`${paintState(out, state, 8)} ${stats[state]}`)
    const { oldestAge, lag } = stats
    if (oldestAge !== undefined) out.data(`oldest   ${spanOf(oldestAge)} open`)
    out.data(`lag      ${lag === 0 ? 'none' : spanOf(lag)}`)
    return exitCodes.ok
  })
}
