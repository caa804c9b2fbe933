// Waits in one process for what a worker in another one handles.
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { schemaOn } from './servers.ts'

test.each([true, false])('a wait ends by a worker beside it; it listens: %s', async (listen) => {
  const { open } = schemaOn()
  const inbox = createInbox({ store: open() })
  const beside = createInbox({ store: open({ listen }) })
  const receiver = createReceiver({ secret: testSecret, inbox })
  receiver.on('*', () => {})
  const worker = createWorker(receiver)
  await worker.start()
  onTestFinished(async () => {
    await worker.drain()
    for (const one of [inbox, beside]) await one.close()
  })
  const since = new Date()
  const wait = (id: string, timeout = 20_000) =>
    beside.waitFor(`verification:${id}`, { since, timeout })
  const waiting = Promise.all([wait('ver_1'), wait('ver_2')])
  for (const id of ['ver_1', 'ver_2']) {
    const event = { id: `evt of ${id}`, event: 'verification.rejected', data: { id } }
    await receiver.receive(await signedDelivery(event))
  }
  const name = 'verification.rejected'
  expect(await waiting).toMatchObject([{ name }, { name }])
  // As after a restart.
  expect((await wait('ver_2', 0))?.entity?.id).toBe('ver_2')
})
