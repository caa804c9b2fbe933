// inbox: operates on the entries of an inbox, beside the application that owns it.
import { declare, type Session } from '../session.ts'
import { inboxDismiss, inboxRedrive, inboxReplay } from './inbox/actions.ts'
import { inboxForget } from './inbox/forget.ts'
import { inboxList } from './inbox/list.ts'
import { inboxMove } from './inbox/move.ts'
import { inboxPurge } from './inbox/purge.ts'
import { inboxSchema } from './inbox/schema.ts'
import { inboxShow } from './inbox/show.ts'
import { inboxStats } from './inbox/stats.ts'

export const inbox = (session: Session) =>
  declare('inbox', {
    summary: 'list, retry, erase and move the entries of an inbox',
    details: [
      'Works beside the application: on a SQLite file, on a Postgres database (with the `pg` or `postgres` of this project), or on `inbox` or `store` of the config file. An address with a password comes from the environment: IDV_INBOX, or env:NAME. The key of an encrypted inbox is IDV_INBOX_KEY (new,old during rotation) or `encryption` in the config file. Payloads are masked.',
    ],
    examples: [
      'idv-webhooks inbox stats --inbox inbox.db',
      'idv-webhooks inbox list --inbox inbox.db --state dead',
      'idv-webhooks inbox redrive --inbox inbox.db --state dead --yes',
    ],
  })
    .addCommand(inboxList(session))
    .addCommand(inboxShow(session))
    .addCommand(inboxStats(session))
    .addCommand(inboxRedrive(session))
    .addCommand(inboxReplay(session))
    .addCommand(inboxDismiss(session))
    .addCommand(inboxForget(session))
    .addCommand(inboxPurge(session))
    .addCommand(inboxMove(session))
    .addCommand(inboxSchema(session))
