import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

const inbox = createInbox({ store: sqliteStore(process.env.INBOX ?? 'inbox.db') })
export const receiver = createReceiver({ secret: () => process.env.WEBHOOK_SECRET, inbox })
receiver.on('verification.approved', (event) => console.log(`handler 1: ${event.data.id}`))

const worker = createWorker(receiver, { signals: ['SIGTERM', 'SIGINT'] })
if (process.env.NEXT_PHASE !== 'phase-production-build') worker.start().catch(console.error)
