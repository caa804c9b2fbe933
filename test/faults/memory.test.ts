// What a worker keeps of an entry that it has settled, over 100,000 of them on SQLite.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

async function heap(): Promise<number> {
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    collect()
  }
  return process.memoryUsage().heapUsed
}

const warmUp = 20_000
const measured = 100_000

test('a worker keeps less than 40 bytes of an entry over 100,000 entries', async () => {
  const store = sqliteStore(join(mkdtempSync(join(tmpdir(), 'idv-memory-')), 'inbox.db'))
  const inbox = createInbox({ store })
  let settled = 0
  const receiver = createReceiver({
    secret: testSecret,
    inbox,
    observe: ({ type }) => {
      if (type === 'settled') settled++
    },
  })
  receiver.on('*', () => {})
  const worker = createWorker(receiver, { concurrency: 32 })
  await worker.start()
  let sent = 0
  const deliver = async (count: number) => {
    const goal = sent + count
    while (sent < goal) {
      const page = Array.from({ length: 200 }, () => {
        const id = ++sent
        return { id: `evt_${id}`, event: 'client.created', data: { id: `cli_${id % 500}` } }
      })
      const kept = await Promise.all(
        page.map(async (event) => receiver.receive(await signedDelivery(event))),
      )
      expect(kept.every(({ kind }) => kind === 'accepted')).toBe(true)
    }
    while (settled < sent) await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await deliver(warmUp)
  const before = await heap()
  await deliver(measured)
  const kept = ((await heap()) - before) / measured
  await worker.drain()
  await inbox.close()
  expect(kept).toBeLessThan(40)
}, 300_000)
