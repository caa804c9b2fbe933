import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { event, setUp, until } from '../inbox/admin.ts'
import { temporaryFile } from '../inbox/temporary.ts'

/** As a middleware keeps the tenant of each request. */
const storage = new AsyncLocalStorage<string>()

test.each([
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(temporaryFile())],
])(
  'handlers run in the context in which their worker was started, and in no request: %s',
  async (_, store) => {
    const { deliver, receiver, worker, settled } = setUp({
      store: store(),
      worker: { concurrency: 1 },
      retry: { attempts: 3, delays: [20] },
    })
    onTestFinished(() => worker.drain())
    const seen: (string | undefined)[] = []
    receiver.on('*', async (_event, { attempt }) => {
      seen.push(storage.getStore())
      await delay(5)
      if (attempt === 1) throw new Error('again')
    })
    await storage.run('start', () => worker.start())
    // It sleeps, and the first request wakes it.
    await delay(30)
    const request = (at: number) =>
      storage.run(`request ${at}`, () => deliver(event('client.created', { id: `cli_${at}` })))
    await Promise.all([request(1), request(2), request(3)])
    await until(() => settled().filter((state) => state === 'done').length === 3)
    await delay(30)
    await request(4)
    await until(() => seen.length === 8)
    expect(new Set(seen)).toEqual(new Set(['start']))
  },
)

test('runOnce runs handlers in the context of its caller', async () => {
  const { deliver, receiver, worker } = setUp({ store: memoryStore() })
  const seen: (string | undefined)[] = []
  receiver.on('*', () => void seen.push(storage.getStore()))
  for (const caller of ['first', 'second']) {
    await storage.run('request', () => deliver(event('client.created')))
    await storage.run(caller, () => worker.runOnce())
  }
  expect(seen).toEqual(['first', 'second'])
})
