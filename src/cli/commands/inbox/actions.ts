// inbox redrive, replay, dismiss: what hands entries to the handlers again, or sets them aside.

import { withFilter } from '../../inbox/filter-options.ts'
import { inboxOption } from '../../inbox/inbox-option.ts'
import { type Deed, type DeedOptions, runOverEntries } from '../../inbox/run-over-entries.ts'
import { act, type Declaration, declare, type Session } from '../../session.ts'

const again = 'the application’s worker runs them within a second, or when it is started'

const redriving: Deed = {
  verb: 'redrive',
  past: 'redriven',
  warning: 'this runs the handlers that have not succeeded on',
  states: ['dead', 'skipped'],
  leavesOut: ({ reason }) => reason === 'CONFLICT' || reason === 'DISMISSED',
  act: (inbox, ids) => inbox.redrive({ id: ids }),
  afterwards: again,
}

const replaying: Deed = {
  verb: 'replay',
  past: 'replayed',
  warning: 'this runs every handler again on',
  states: ['done'],
  act: async (inbox, ids) => {
    let done = 0
    for (const id of ids) if (await inbox.replay(id)) done += 1
    return done
  },
  afterwards: again,
}

const dismissing: Deed = {
  verb: 'dismiss',
  past: 'dismissed',
  warning: 'this settles for good, without their handlers,',
  states: ['dead'],
  act: async (inbox, ids) => {
    let done = 0
    for (const id of ids) if (await inbox.dismiss(id)) done += 1
    return done
  },
  afterwards:
    'they are skipped; a lane that waited for one goes on, and redrive <id> runs it after all',
}

export const inboxRedrive = (session: Session) =>
  deedCommand(session, redriving, {
    summary: 'hand dead or skipped entries to the handlers again',
    details: [
      'Puts dead and skipped entries back to work: those that are named, or all that the filter finds. Handlers that had succeeded do not run again. What was set aside (evidence of a conflict, dismissed entries) runs only when it is named. Asks for a yes, or --yes.',
    ],
    examples: [
      'idv-webhooks inbox redrive --inbox inbox.db --state dead --since 7d',
      'idv-webhooks inbox redrive --inbox inbox.db 01K6ZT2M --yes',
    ],
  })

export const inboxReplay = (session: Session) =>
  deedCommand(session, replaying, {
    summary: 'run every handler again on entries that are done',
    details: [
      'Runs done entries again from their kept bytes, all handlers, with event.source replay: those that are named, or all that the filter finds and whose payload is still there. Asks for a yes, or --yes.',
    ],
    examples: [
      'idv-webhooks inbox replay --inbox inbox.db --name verification.approved --since 12h',
    ],
  })

export const inboxDismiss = (session: Session) =>
  deedCommand(session, dismissing, {
    summary: 'settle dead entries for good, so that what waits for them goes on',
    examples: ['idv-webhooks inbox dismiss --inbox inbox.db 01K6ZT2M --yes'],
  })

function deedCommand(session: Session, deed: Deed, declaration: Declaration) {
  const command = declare(deed.verb, declaration)
    .argument('[ids...]', 'ids of entries; without them the filter chooses')
    .addOption(inboxOption())
  return withFilter(command, session, deed.states)
    .option('--yes', 'the word of consent')
    .action(
      act<DeedOptions>(session, (options, ids) => runOverEntries(session, deed, { options, ids })),
    )
}
