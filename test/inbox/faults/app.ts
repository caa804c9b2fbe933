// The process that faults happen to: the built package on a port, with its inbox in a file. It
// writes a line for everything that its handlers do, at once, so that a kill loses none.
import { openSync, writeFileSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { toNode } from 'idv-webhooks/node'

interface Settings {
  readonly db: string
  readonly log: string
  readonly secret: string
  readonly driver?: string
  readonly worker: boolean
  readonly attempts: number
  readonly handlerTimeout: number
  readonly check: 'integrity' | 'quick'
}

interface Transaction {
  exec(sql: string): void
  prepare(sql: string): { run(...values: string[]): unknown }
}

const settings = JSON.parse(process.env.SETTINGS ?? '{}') as Settings
const log = openSync(settings.log, 'a')
const note = (line: object) => writeSync(log, `${JSON.stringify({ pid: process.pid, ...line })}\n`)
note({ type: 'begin' })

const store = sqliteStore(settings.db, {
  check: settings.check,
  ...(settings.driver !== undefined && { driver: settings.driver }),
})
const inbox = createInbox({
  store,
  ...(process.env.SEALED && { encryption: { key: Buffer.alloc(32, 7) } }),
  retry: { attempts: settings.attempts, delays: [0.02, 0.05] },
})
const receiver = createReceiver({
  secret: settings.secret,
  inbox,
  handlerTimeout: settings.handlerTimeout,
  observe(one) {
    if (one.type === 'settled') note({ type: 'settled', entry: one.entryId, state: one.state })
  },
})

/** What an event asks its handler to do, by a field of its data. */
const behaviours: Readonly<Record<string, (at: { attempt: number; tx: Transaction }) => unknown>> =
  {
    plain: () => {},
    slow: () => new Promise((resolve) => setTimeout(resolve, 30)),
    'fail first': ({ attempt }) => {
      if (attempt === 1) throw new Error('the first attempt')
    },
    'fail always': () => {
      throw new Error('every attempt')
    },
    'kill first': ({ attempt }) => {
      if (attempt === 1) process.kill(process.pid, 'SIGKILL')
    },
    'exit always': () => process.exit(7),
    'hang first': ({ attempt }) => (attempt === 1 ? new Promise(() => {}) : undefined),
    'block first': ({ attempt }) => {
      for (const end = Date.now() + 1_000; attempt === 1 && Date.now() < end; );
    },
    // The next step of the store is the fault's.
    arm: () => writeFileSync(process.env.ARMED ?? '', ''),
  }

receiver.on(
  '*',
  async (event, context) => {
    const data = event.data as { id: string; behaviour?: string; tx?: boolean }
    const about = {
      id: event.id,
      entity: data.id,
      attempt: context.attempt,
      key: context.idempotencyKey,
    }
    note({ type: 'start', ...about, gap: context.gap ?? false })
    const tx = context.tx as Transaction
    try {
      if (data.tx) {
        tx.exec('create table if not exists effects (id text)')
        tx.prepare('insert into effects values (?)').run(String(event.id))
      }
      await behaviours[data.behaviour ?? 'plain']?.({ attempt: context.attempt, tx })
      note({ type: 'end', ...about, ok: true })
    } catch (error) {
      note({ type: 'end', ...about, ok: false })
      throw error
    }
  },
  { id: 'effects' },
)

await inbox.open()
const worker = createWorker(receiver, { concurrency: 16, signals: ['SIGTERM'] })
if (settings.worker) await worker.start()
const server = createServer(toNode(receiver)).listen(0, '127.0.0.1', () => {
  note({ type: 'ready' })
  console.log(`ready ${(server.address() as AddressInfo).port}`)
})
