// The console at /inbox: in development for you, then for whom your proxy names; a worker of its own handles what the inbox keeps.
import { inboxConsole } from 'idv-webhooks/console'
import { createInbox } from 'idv-webhooks/inbox'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const inProduction = process.env.NODE_ENV === 'production'
const { fetch } = inboxConsole(createInbox({ store: postgresStore(fromPg(pool)) }), {
  basePath: '/inbox',
  authorize: inProduction ? ({ headers }) => headers.get('x-forwarded-user') ?? false : 'loopback',
})

export const GET = fetch
export const POST = fetch
