import { DatabaseSync } from 'node:sqlite'
import { type Context, createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { type SqliteTransaction, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'

/** An application under test whose database the test looks into. */
async function application() {
  const db = new DatabaseSync(':memory:')
  db.exec('create table approvals (id text primary key, attempt integer)')
  const inbox = createInbox({
    store: sqliteStore(':memory:', { driver: () => db }),
    retry: { delays: [0] },
  })
  onTestFinished(() => inbox.close())
  const receiver = createReceiver({ secret: testSecret, inbox, observe: () => {} })
  const approvals = () => db.prepare('select attempt from approvals').all()
  const worker = createWorker(receiver)
  const deliver = async (given: object = {}) => {
    const event = fixture('verification.approved')
    return receiver.receive(await signedDelivery({ ...event, ...given }))
  }
  return { receiver, worker, approvals, deliver }
}

test('a handler that writes through tx is tested in memory, in a database of the test', async () => {
  const { receiver, worker, approvals, deliver } = await application()
  const handle = (id: string, { tx, attempt }: Context<unknown, SqliteTransaction>) => {
    tx.prepare('insert into approvals values (?, ?)').run(id, attempt)
    if (attempt === 1) throw new Error('after the effect')
  }
  const options = { tx: true }
  receiver.on('verification.approved', ({ data }, context) => handle(data.id, context), options)
  await deliver()
  expect(await worker.runOnce()).toMatchObject({ retry: 1, done: 1 })
  expect(approvals()).toEqual([{ attempt: 2 }])
})

test('what arrives while a handler has the transaction is kept after it', async () => {
  const { receiver, worker, approvals, deliver } = await application()
  let arrived: ReturnType<typeof deliver> | undefined
  const handle = async (id: string, tx: SqliteTransaction) => {
    const insert = tx.prepare('insert or ignore into approvals values (?, 1)')
    insert.run(id)
    arrived ??= deliver({ id: 'evt_meanwhile' })
    await new Promise((resolve) => setImmediate(resolve))
    insert.run(id)
  }
  receiver.on('verification.approved', ({ data }, { tx }) => handle(data.id, tx), { tx: true })
  expect((await deliver()).kind).toBe('accepted')
  await worker.runOnce({ limit: 1 })
  expect((await arrived)?.kind).toBe('accepted')
  expect(approvals()).toEqual([{ attempt: 1 }])
})
