// inbox schema: the SQL of an inbox in Postgres, for applications that may not create it themselves.
import { exitCodes } from '../../exit-code.ts'
import { act, declare, type Session } from '../../session.ts'

interface SchemaOptions {
  readonly schema: string
}

export const inboxSchema = (session: Session) =>
  declare('schema', {
    summary: 'print the SQL that creates an inbox in Postgres',
    details: [
      'For teams whose application may not create tables: run the SQL as the owner of the database, and open the store with `migrate: false`. The user of the application then needs `usage` on the schema, and `select, insert, update, delete` on its tables.',
    ],
    examples: ['idv-webhooks inbox schema | psql "$DATABASE_URL"'],
  })
    .option('--schema <name>', 'the schema that holds the inbox', 'idv_inbox')
    .action(act<SchemaOptions>(session, (options) => print(session, options)))

async function print({ out }: Session, { schema }: SchemaOptions) {
  const { postgresSchema } = await import('../../../../src/inbox/stores/postgres/postgres.ts')
  const sql = postgresSchema({ schema })
  out.record({ type: 'schema', sql })
  out.data(sql.trimEnd())
  return exitCodes.ok
}
