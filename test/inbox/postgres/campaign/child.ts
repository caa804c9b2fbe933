// One process of the campaign: a receiver or a worker on the shared inbox, as users run them. It
// writes what its handlers do into a file, so that a history can be judged.
import { appendFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import { toNode } from 'idv-webhooks/node'
import pg from 'pg'
import { Death, dying } from './steps.ts'

/** How a process is started. */
export interface ChildOptions {
  readonly name: string
  readonly role: 'receiver' | 'worker'
  readonly url: string
  readonly log: string
  readonly secret: string
  /** Connections of its pool. */
  readonly max: number
  /** Milliseconds by which its clock is ahead. */
  readonly skew: number
}

const options: ChildOptions = JSON.parse(process.argv[2] ?? '{}')
const { name, role, url, log, secret, max, skew } = options
if (skew > 0) {
  const { timeOrigin } = performance
  const systemNow = Date.now.bind(Date)
  Object.defineProperty(performance, 'timeOrigin', { value: timeOrigin + skew })
  Date.now = () => systemNow() + skew
}

const death = new Death()
process.on('message', (step: string) => {
  death.step = step
})

const pool = new pg.Pool({ connectionString: url, max, connectionTimeoutMillis: 3_000 })
const store = postgresStore(dying(fromPg(pool), death), { timeout: 3_000 })
const inbox = createInbox({ store, lease: 9_000, retry: { attempts: 60, delays: [100] } })
const receiver = createReceiver({ secret, inbox, observe: () => {} })

const write = (what: string, id: string | undefined, of: { entity: string; attempt: number }) => {
  const at = Number(process.hrtime.bigint() / 1_000_000n)
  appendFileSync(log, `${JSON.stringify({ at, what, id, ...of, name, pid: process.pid })}\n`)
}

receiver.on(
  '*',
  async (event, { attempt, tx }) => {
    const { id, entity = { id: 'none' } } = event
    const of = { entity: entity.id, attempt }
    write('start', id, of)
    try {
      await sleep(1 + Math.random() * 6)
      if (attempt === 1 && Math.random() < 0.05) throw new Error('the first attempt fails')
      const client = tx as pg.Pool
      await client.query('insert into effects (event, entity) values ($1, $2)', [id, entity.id])
      death.at('after effects')
    } finally {
      write('end', id, of)
    }
  },
  { id: 'h', tx: true },
)

// A database that is down at the start is tried again, as a supervisor would.
for (;;) {
  try {
    await inbox.open()
    if (role === 'worker') await createWorker(receiver, { concurrency: 16 }).start()
    break
  } catch {
    await sleep(200)
  }
}
if (role === 'receiver') {
  const server = http.createServer(toNode(receiver)).listen(0, '127.0.0.1', () => {
    process.send?.((server.address() as AddressInfo).port)
  })
} else {
  process.send?.(0)
}
