// A process of the drain on Postgres: a worker whose handler does nothing.
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { secret } from './deliveries.ts'

const [connectionString = '', schema = ''] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString, max: 12 })
const inbox = createInbox({ store: postgresStore(fromPg(pool), { schema }) })
const receiver = createReceiver({ secret, inbox, observe() {} })
receiver.on('*', () => {})
await inbox.open()
process.once('message', () => void createWorker(receiver, { concurrency: 128 }).start())
process.send?.('ready')
