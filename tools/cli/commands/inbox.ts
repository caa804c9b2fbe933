// inbox: operates on the entries of an inbox, beside the application that owns it.
import { exitCodes } from '../exit-code.ts'
import { act, declare, type Session } from '../session.ts'
import { inboxForget } from './inbox/forget.ts'
import { inboxMove } from './inbox/move.ts'
import { inboxList, inboxShow, inboxStats } from './inbox/read.ts'
import { bulkCommands } from './inbox/run-again.ts'

export const inbox = (session: Session) => {
  const command = declare('inbox', {
    details:
      'Works beside the application: on a SQLite file, on a Postgres database (with the `pg` or `postgres` of this project), or on `inbox` of the config file. An address with a password comes from the environment: IDV_INBOX, or env:NAME. The key of an encrypted inbox is IDV_INBOX_KEY (new,old during rotation). Payloads are masked.',
    examples: ['inbox stats --inbox inbox.db', 'inbox redrive --inbox inbox.db --state dead --yes'],
  })
  const parts = [
    ...[inboxList, inboxShow, inboxStats, bulkCommands],
    ...[inboxForget, inboxMove, inboxSchema],
  ]
  for (const part of parts.flatMap((make) => make(session))) command.addCommand(part)
  return command
}

const inboxSchema = (session: Session) =>
  declare('schema', {
    summary: 'print the SQL that creates an inbox in Postgres',
    details:
      'For teams whose application may not create tables: run the SQL as the owner of the database, and open the store with `migrate: false`. The user of the application then needs `usage` on the schema, and `select, insert, update, delete` on its tables.',
    examples: ['inbox schema | psql "$DATABASE_URL"'],
  })
    .option('--schema <name>', 'the schema that holds the inbox', 'idv_inbox')
    .action(act(session, print))

async function print({ out }: Session, { schema }: { readonly schema: string }) {
  const { postgresSchema } = await import('../../../src/inbox/stores/postgres/postgres.ts')
  const sql = postgresSchema({ schema })
  out.record({ type: 'schema', sql })
  out.data(sql.trimEnd())
  return exitCodes.ok
}
