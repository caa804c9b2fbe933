// The process that the campaign of decisions kills: for each vendor a receiver with an inbox of its
// own, and a worker. A decision's handler writes what it decided with the checkpoint of its entry.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { type SqliteTransaction, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { toNode } from 'idv-webhooks/node'
import type { VendorName } from 'idv-webhooks/sandbox'
import { decisionNames, presetWith, receivingFrom } from '../sandbox/vendor-receiver.ts'

interface Config {
  readonly vendors: Readonly<
    Record<VendorName, { secret: string; publicKey: string | undefined; api: object }>
  >
}

const { FOLDER = '', PORT = '0' } = process.env
const { vendors } = JSON.parse(readFileSync(join(FOLDER, 'config.json'), 'utf8')) as Config

async function open([name, given]: [string, Config['vendors'][VendorName]]) {
  const vendor = presetWith(name as VendorName, { ...given.api, timeout: 500 })
  const inbox = createInbox({
    store: sqliteStore(join(FOLDER, `${name}.db`)),
    retry: { attempts: 200, delays: [20, 50, 100, 200] },
  })
  const receiver = createReceiver({
    ...receivingFrom(given, vendor),
    inbox,
    observe: () => {},
  })
  receiver.on(
    [...decisionNames],
    (event, { tx, idempotencyKey }) => {
      const sql = 'insert into decided (entity, name, key, by) values (?, ?, ?, ?)'
      const { entity, name, decidedBy } = event
      const values = [entity?.id, name, idempotencyKey, decidedBy]
      ;(tx as SqliteTransaction).prepare(sql).run(...values.map(String))
    },
    { tx: true, stale: 'skip' },
  )
  receiver.fallback(() => {})
  const worker = createWorker(receiver, { concurrency: 4, signals: ['SIGTERM'] })
  await worker.start()
  return [`/${name}`, toNode(receiver)] as const
}

const mounted: ReadonlyMap<string, ReturnType<typeof toNode>> = new Map(
  await Promise.all(Object.entries(vendors).map(open)),
)
const server = createServer((request, response) => {
  const receive = mounted.get(request.url ?? '')
  if (receive) receive(request, response)
  else response.writeHead(404).end()
})
process.once('SIGTERM', () => server.close())
server.listen(Number(PORT), '127.0.0.1', () => {
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`)
})
