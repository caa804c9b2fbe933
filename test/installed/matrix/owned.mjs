// Opens an inbox and keeps it open, or says why it cannot.
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

const inbox = createInbox({ store: sqliteStore('owned.db') })
await inbox.open().then(
  () => {
    console.log('opened')
    setInterval(() => {}, 1_000)
  },
  (error) => console.log(error.code),
)
