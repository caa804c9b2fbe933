// Handlers read the truth, and events that never came are found: npm install idv-webhooks zod
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createClient, createReconciler } from 'idv-webhooks/client'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

const { IDV_API_KEY: apiKey, IDV_BASE_URL: baseUrl = '', INBOX: file = 'inbox.db' } = process.env
const inbox = createInbox({ store: sqliteStore(file) })
const client = createClient({ baseUrl, apiKey })
const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, inbox, client })
receiver.on('verification.approved', async (event, context) => {
  const now = await context.fetch() // null once it is gone
  console.log(`approved: ${event.data.id} by ${event.source}, score ${now?.score}`)
})
const mark = `${file}.watermark` // beside the inbox, so that a backup has both
const watermark = {
  read: () => (existsSync(mark) ? JSON.parse(readFileSync(mark, 'utf8')) : undefined),
  write(next: object) {
    writeFileSync(`${mark}.new`, JSON.stringify(next))
    renameSync(`${mark}.new`, mark)
  },
}
const onReport = ({ events }: { events: object }) => console.log('reconciled', events)
const reconciler = createReconciler({ client, receiver, watermark, onReport })
const worker = createWorker(receiver)
await worker.start()
reconciler.start() // and every 15 minutes
const end = () => reconciler.stop().then(() => worker.drain())
process.once('SIGTERM', end).once('SIGINT', end)
