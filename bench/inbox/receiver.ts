// The receivers that are measured, each in a process of its own: `full` is the package as it is,
// `unsafe` the same without a sync at commits, `row` what one writes by hand: a commit for each row.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInbox } from '../../dist/inbox.js'
import { sqliteStore } from '../../dist/inbox-sqlite.js'
import { createReceiver, createWorker } from '../../dist/index.js'
import { toNode } from '../../dist/node.js'
import { secret } from './load.ts'

const [, , mode, file = '', work] = process.argv

function byHand(): RequestListener {
  const db = new DatabaseSync(file)
  db.exec('pragma journal_mode = wal; pragma synchronous = full')
  db.exec('create table inbox (key text primary key, body blob) strict')
  const insert = db.prepare('insert into inbox values (?, ?) on conflict do nothing')
  return (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const claimed = Buffer.from(String(request.headers['x-service-signature']), 'hex')
      const right = createHmac('sha256', secret).update(body).digest()
      if (!timingSafeEqual(claimed, right)) return response.writeHead(401).end()
      const { id } = JSON.parse(body.toString()) as { id: string }
      insert.run(id, body)
      return response.writeHead(202).end('{"outcome":"accepted"}')
    })
  }
}

async function withInbox(): Promise<RequestListener> {
  const driver = mode === 'unsafe' ? join(import.meta.dirname, 'unsafe-driver.ts') : undefined
  const inbox = createInbox({ store: sqliteStore(file, driver ? { driver } : {}) })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  receiver.on('*', () => {})
  await inbox.open()
  if (work === 'work') await createWorker(receiver).start()
  return toNode(receiver)
}

const listener = mode === 'row' ? byHand() : await withInbox()
let most = 0
setInterval(() => {
  most = Math.max(most, process.memoryUsage().rss)
}, 100).unref()
process.on('SIGTERM', () => {
  console.log(Math.round(most / 1e6))
  process.exit()
})
const server = createServer(listener).listen(0, '127.0.0.1', () => {
  console.log((server.address() as AddressInfo).port)
})
