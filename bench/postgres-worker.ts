// A process of the drain on Postgres: a worker whose handler does nothing, or waits.
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { secret } from './deliveries.ts'

const [connectionString = '', schema = '', wait, concurrency] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString, max: 12 })
const inbox = createInbox({ store: postgresStore(fromPg(pool), { schema }) })
const receiver = createReceiver({ secret, inbox, observe() {} })
receiver.on('*', Number(wait) > 0 ? () => sleep(Number(wait)) : () => {})
await inbox.open()
const worker = createWorker(receiver, { concurrency: Number(concurrency) })
process.once('message', () => void worker.start())
process.send?.('ready')
