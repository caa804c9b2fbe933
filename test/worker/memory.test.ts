// A worker holds nothing of an entry that it has settled. The long form is in test/faults.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'
import { until } from '../inbox/admin.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** Bytes of the heap after everything that can be collected was. */
async function heap(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    collect()
  }
  return process.memoryUsage().heapUsed
}

test('a worker keeps less than 40 bytes of an entry that it has settled', async () => {
  // The same few entries again and again: the store's memory does not grow.
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret: testSecret, inbox, observe: () => {} })
  let runs = 0
  receiver.on('*', () => {
    runs++
  })
  const worker = createWorker(receiver)
  await worker.start()
  for (let at = 0; at < 50; at++) {
    const event = { id: `evt_${at}`, event: 'client.created', data: { id: `cli_${at}` } }
    const outcome = await receiver.receive(await signedDelivery(event))
    expect(outcome).toMatchObject({ kind: 'accepted' })
  }
  const ids = (await inbox.find({ limit: 50 })).entries.map(({ id }) => id)
  await until(async () => (await inbox.stats()).done === ids.length)
  const replayAll = async () => {
    const goal = runs + ids.length
    for (const id of ids) await inbox.replay(id)
    await until(async () => runs === goal && (await inbox.stats()).done === ids.length)
  }
  for (let round = 0; round < 40; round++) await replayAll()
  const before = await heap()
  const rounds = 100
  for (let round = 0; round < rounds; round++) await replayAll()
  const kept = ((await heap()) - before) / (rounds * ids.length)
  await worker.drain()
  expect(kept).toBeLessThan(40)
}, 120_000)
