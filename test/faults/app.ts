// The process that the fault tests run and kill: an HTTP receiver with an inbox on SQLite and a
// worker, which writes a history of what it does. What goes wrong in it is told by FAULT.
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, createWorker, type WebhookEvent } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { type SqliteTransaction, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { toNode } from 'idv-webhooks/node'
import { testSecret } from 'idv-webhooks/testing'

const { DB = '', HISTORY = '', FAULT = '', WORKER = '1', DRIVER, CONCURRENCY = '16' } = process.env
const now = () => Number(process.hrtime.bigint()) / 1e6
const note = (record: object) =>
  appendFileSync(HISTORY, `${JSON.stringify({ ...record, at: now() })}\n`)
const die = () => process.kill(process.pid, 'SIGKILL')

const inbox = createInbox({
  store: sqliteStore(DB, { driver: DRIVER ?? `${import.meta.dirname}/watching-driver.ts` }),
  timeout: Number(process.env.TIMEOUT ?? 2_000),
  retry: {
    attempts: Number(process.env.ATTEMPTS ?? 12),
    delays: [Number(process.env.DELAY ?? 20)],
  },
  encryption: { key: 'a1'.repeat(32) },
})
if (FAULT === 'after-verify') inbox.keep = async () => die() as never

const receiver = createReceiver({
  secret: testSecret,
  inbox,
  handlerTimeout: 400,
  observe: (seen) => {
    if (process.env.TELL) console.error(JSON.stringify(seen))
  },
})

interface Data {
  readonly id: string
  /** The handler's behaviour for this event. */
  readonly fate?: string
}

interface Run {
  readonly key: string
  readonly attempt: number
}

async function misbehave(fate: string | undefined, run: Run, signal: AbortSignal) {
  const { attempt } = run
  if (fate === 'throws') throw new Error('it always fails')
  if (fate === 'fails-first' && attempt === 1) throw new Error('it fails once')
  if (fate === 'hangs' && attempt === 1) {
    // No code listens, but the history must show when the process lost its right.
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    note({ type: 'fenced', ...run })
    await new Promise(() => {})
  }
  if (fate === 'blocks' && attempt === 1) {
    for (const end = now() + 700; now() < end; );
  }
  if (fate === 'exits') process.exit(3)
  if (fate === 'kills-first' && attempt === 1) die()
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 4))
}

receiver.on(
  '*',
  async (event: WebhookEvent, { attempt, signal, tx, idempotencyKey }) => {
    const { id: entity, fate } = event.data as Data
    const run = { key: idempotencyKey, entity, attempt }
    note({ type: 'start', ...run })
    try {
      await misbehave(fate, run, signal)
      const sql = 'insert into effects (key, attempt) values (?, ?)'
      ;(tx as SqliteTransaction).prepare(sql).run(idempotencyKey, attempt)
      note({ type: 'end', ...run, ok: true })
      if (FAULT === 'after-effects' && attempt === 1) die()
    } catch (error) {
      note({ type: 'end', ...run, ok: false })
      throw error
    }
  },
  { tx: true },
)

const worker = createWorker(receiver, {
  concurrency: Number(CONCURRENCY),
  signals: ['SIGTERM'],
  grace: Number(process.env.GRACE ?? 3_000),
})
const server = createServer(toNode(receiver))
let begun = 0
let answered = 0
server.on('request', (_, response) => {
  begun++
  response.once('finish', () => answered++)
})
process.once('SIGTERM', () => server.close())
process.once('exit', () => note({ type: 'exit', begun, answered }))
if (WORKER === '1') await worker.start()
else await inbox.open()
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  note({ type: 'boot' })
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`)
})
setInterval(() => process.stdout.write(`rss ${process.memoryUsage.rss()}\n`), 200).unref()
