import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

export const inbox = createInbox({ store: sqliteStore(process.env.INBOX ?? 'inbox.db') })
