// Shared by receivers and workers: npm install pg idv-webhooks
import { createReceiver } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import pg from 'pg'

const connectionString = process.env.DATABASE_URL
const pool = new pg.Pool({ connectionString, max: 20, connectionTimeoutMillis: 5_000 })
// Processes that start together create it one after the other.
await pool.query(
  `select pg_advisory_xact_lock(7);
  create table if not exists approvals (verification text, attempt int)`,
)

export const inbox = createInbox({ store: postgresStore(fromPg(pool)) })
export const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET ?? '', inbox })

receiver.on(
  'verification.approved',
  async ({ data }, { attempt, tx }) => {
    // Commits together with the handler's checkpoint: the row is there once, whatever crashes.
    await tx.query('insert into approvals values ($1, $2)', [data.id, attempt])
  },
  { tx: true },
)
