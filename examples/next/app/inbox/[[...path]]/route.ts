// The console at /inbox, for whom your proxy names; a worker of its own handles what the inbox keeps.
import { inboxConsole } from 'idv-webhooks/console'
import { createInbox } from 'idv-webhooks/inbox'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const { fetch } = inboxConsole(createInbox({ store: postgresStore(fromPg(pool)) }), {
  basePath: '/inbox',
  authorize: ({ headers }) => headers.get('x-forwarded-user') ?? false,
})

export const GET = fetch
export const POST = fetch
