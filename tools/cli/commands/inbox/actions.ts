// inbox redrive, replay, dismiss: run entries again, or settle them for good.

import { withFilter } from '../../inbox/filter-options.ts'
import { inboxOption } from '../../inbox/inbox-option.ts'
import {
  type EntryAction,
  type EntryActionOptions,
  runOverEntries,
} from '../../inbox/run-over-entries.ts'
import { act, type Declaration, declare, type Session } from '../../session.ts'

const again = 'the application’s worker runs them within a second, or when it starts'

const redriving: EntryAction = {
  verb: 'redrive',
  past: 'redriven',
  warning: 'this runs the handlers that have not succeeded on',
  states: ['dead', 'skipped', 'retry'],
  unasked: ['dead', 'skipped'],
  needsId: ({ reason }) => reason === 'CONFLICT' || reason === 'DISMISSED',
  idsConsent: true,
  act: (inbox, ids, state) => inbox.redrive({ id: ids, ...(state && { state }) }),
  afterwards: again,
}

const replaying: EntryAction = {
  verb: 'replay',
  past: 'replayed',
  warning: 'this runs every handler again on',
  states: ['done'],
  isSingle: true,
  act: async (inbox, [id = '']) => Number(await inbox.replay(id)),
  afterwards: again,
}

const dismissing: EntryAction = {
  verb: 'dismiss',
  past: 'dismissed',
  warning: 'this settles, without running their handlers,',
  states: ['dead'],
  isSingle: true,
  act: async (inbox, [id = '']) => Number(await inbox.dismiss(id)),
  afterwards:
    'entries that waited for them can run now; redrive <id> runs a dismissed entry after all',
}

export const inboxRedrive = (session: Session) =>
  actionCommand(session, redriving, {
    summary: 'run dead, skipped or waiting entries again',
    details: [
      'Runs dead and skipped entries again: the named ones, or all that the filter finds. Handlers that have succeeded do not run again. Conflicts and dismissed entries run only if named; entries that wait for a retry run now if named, or with --state retry. Asks for confirmation (--yes) unless they are named.',
    ],
    examples: [
      'idv-webhooks inbox redrive --inbox inbox.db --state dead --since 7d',
      'idv-webhooks inbox redrive --inbox inbox.db --state retry --yes',
      'idv-webhooks inbox redrive --inbox inbox.db 01997f3a-2c41-7b5e-9d0a-6f1e2c3b4a59',
    ],
  })

export const inboxReplay = (session: Session) =>
  actionCommand(session, replaying, {
    summary: 'run all handlers of done entries again',
    details: [
      'Runs all handlers of done entries again, with event.source replay: the named ones, or all that the filter finds and whose payload is not erased. Asks for confirmation (--yes).',
    ],
    examples: [
      'idv-webhooks inbox replay --inbox inbox.db --name verification.approved --since 12h',
    ],
  })

export const inboxDismiss = (session: Session) =>
  actionCommand(session, dismissing, {
    summary: 'settle dead entries, so that waiting entries can run',
    examples: [
      'idv-webhooks inbox dismiss --inbox inbox.db 01997f3a-2c41-7b5e-9d0a-6f1e2c3b4a59 --yes',
    ],
  })

function actionCommand(session: Session, action: EntryAction, declaration: Declaration) {
  const command = declare(action.verb, declaration)
    .argument('[ids...]', 'ids of entries; without ids the filter chooses')
    .addOption(inboxOption())
  return withFilter(command, session, action.states)
    .option('--yes', 'skip the confirmation prompt')
    .action(
      act<EntryActionOptions>(session, (options, ids) =>
        runOverEntries(session, action, { options, ids }),
      ),
    )
}
