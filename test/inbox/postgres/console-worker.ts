// A process beside the console's: it receives what it is told to, and handles what is due.
import { createReceiver, createWorker, NonRetryable } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import { signedDelivery } from 'idv-webhooks/testing'
import pg from 'pg'

const [, , connectionString = '', schema = ''] = process.argv
const secret = 'a-secret-for-tests'
const pool = new pg.Pool({ connectionString, max: 4 })
const inbox = createInbox({ store: postgresStore(fromPg(pool), { schema }) })
const receiver = createReceiver({ secret, inbox, observe: () => {} })
let broken = false
receiver.on('verification.*', () => {
  if (broken) throw new NonRetryable('the ledger is away')
})
const worker = createWorker(receiver)
await worker.start()

interface Told {
  readonly broken?: boolean
  readonly deliver?: number
}

process.on('message', async ({ broken: next, deliver }: Told) => {
  if (next !== undefined) broken = next
  process.send?.(deliver === undefined ? 'done' : await received(deliver))
})

async function received(at: number): Promise<string> {
  const id = `2f0c8f5e-0000-4000-8000-00000000000${at}`
  const data = { id, subjectName: `Ada ${at}` }
  const body = JSON.stringify({ id: `evt_${at}`, event: 'verification.approved', data })
  return (await receiver.receive(await signedDelivery(body, { secret }))).kind
}

process.send?.('ready')
