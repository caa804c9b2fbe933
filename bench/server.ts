// The receiver under load, in a process of its own. MODE: `inbox`, `unsafe` (the same, but commits
// are not synced) or `rows` (a commit for every row, which is what one writes by hand).
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { toNode } from 'idv-webhooks/node'

const { MODE = 'inbox', DB = '', SECRET = '', WORKER } = process.env

function rowByRow() {
  const db = new DatabaseSync(DB)
  db.exec('pragma journal_mode = wal; pragma synchronous = full')
  db.exec('create table idv_entries (id text primary key, body blob) strict')
  const insert = db.prepare('insert into idv_entries values (?, ?) on conflict do nothing')
  return {
    keep: async ({ delivery }: { delivery: { body: Uint8Array } }) => {
      const entryId = createHash('sha256').update(delivery.body).digest('hex')
      insert.run(entryId, delivery.body)
      return { kind: 'accepted', entryId } as const
    },
  }
}

const driver = MODE === 'unsafe' ? `${import.meta.dirname}/unsafe-driver.ts` : 'node:sqlite'
const inbox = MODE === 'rows' ? rowByRow() : createInbox({ store: sqliteStore(DB, { driver }) })
const receiver = createReceiver({ secret: SECRET, inbox, observe: () => {} })
receiver.on('*', () => {})
if (WORKER) await createWorker(receiver, { concurrency: 64 }).start()

const server = createServer(toNode(receiver))
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`)
})
let peak = 0
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, 50)
process.once('SIGTERM', () => {
  process.stdout.write(`rss ${peak}\n`, () => process.exit(0))
})
