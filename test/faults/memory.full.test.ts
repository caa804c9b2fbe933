// The memory that a worker holds of an entry that it has settled, on SQLite.
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

/** How many entries each of three measurements settles; the short run has few. */
const measured = Number(process.env.ENTRIES ?? 15_000)

test('a worker keeps less than 40 bytes of an entry that it has settled', async () => {
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
  await deliver(10_000)
  const kept: number[] = []
  for (let before = await heap(), round = 0; round < 3; round++) {
    await deliver(measured)
    const after = await heap()
    kept.push((after - before) / measured)
    before = after
  }
  await worker.drain()
  await inbox.close()
  // A leak of each entry shows in every round; V8 returns or takes megabytes once.
  const [, median = Number.NaN] = kept.toSorted((one, other) => one - other)
  expect(median, `bytes of an entry in each round: ${kept}`).toBeLessThan(40)
}, 300_000)
