// Handlers read the truth, and events that never came are found: npm install idv-webhooks zod
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createClient, createReconciler } from 'idv-webhooks/client'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

const { WEBHOOK_SECRET = '', IDV_API_KEY: apiKey, IDV_BASE_URL: baseUrl = '' } = process.env
const file = process.env.INBOX ?? join(mkdtempSync('inbox-'), 'inbox.db')
const inbox = createInbox({ store: sqliteStore(file) })
const client = createClient({ baseUrl, apiKey })
const receiver = createReceiver({ secret: WEBHOOK_SECRET, inbox, client })

receiver.on('verification.approved', async (event, context) => {
  const now = await context.fetch() // null once it is gone
  console.log(`approved: ${event.data.id} by ${event.source}, score ${now?.score}`)
})

const since = new Date(Date.now() - 24 * 60 * 60_000)
const onReport = ({ events }: { events: object }) => console.log('reconciled', events)
const reconciler = createReconciler({ client, receiver, since, onReport })
const worker = createWorker(receiver)
await worker.start()
reconciler.start() // and every 15 minutes

process.once('SIGTERM', () => reconciler.stop().then(() => worker.drain()))
