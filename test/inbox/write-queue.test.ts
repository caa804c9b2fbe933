// The queue before the writer, and what becomes of it when the disk hangs.
import { rmSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type Context, createWorker } from 'idv-webhooks'
import { type SqliteTransaction, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { BatchAnswer, WriterCall } from '../../src/inbox/stores/sqlite/calls.ts'
import { WriteQueue } from '../../src/inbox/stores/sqlite/write-queue.ts'
import { newEntry } from '../../tools/conformance/store-cases.ts'
import { event, type Parts, setUp, until } from './admin.ts'
import { temporaryFile } from './temporary.ts'

/** A writer that answers when it is told to. */
function slowWriter() {
  const batches: (readonly WriterCall[])[] = []
  let answered: ((answer: BatchAnswer) => void) | undefined
  return {
    batches,
    send: (calls: readonly WriterCall[], tell: (answer: BatchAnswer) => void) => {
      batches.push(calls)
      answered = tell
    },
    answer: () => {
      const answers = (batches.at(-1) ?? []).map(() => ({ ok: true as const, value: 0 }))
      answered?.({ ok: true, answers })
    },
    waitUntilIdle: () => {},
    close: async () => {},
  }
}

describe('the queue before the writer', () => {
  test('makes batches of what queued up, of at most 256 calls', async () => {
    const writer = slowWriter()
    const queue = new WriteQueue(writer)
    const calls = Array.from({ length: 600 }, () => queue.call('stats', [0]))
    for (let batch = 0; batch < 4; batch++) writer.answer()
    await Promise.all(calls)
    expect(writer.batches.map(({ length }) => length)).toEqual([1, 256, 256, 87])
  })

  test('makes batches of at most 4 MB, and one of what is larger', async () => {
    const writer = slowWriter()
    const queue = new WriteQueue(writer)
    const sizes = [1, 2, 1.5, 1, 1, 9, 1].map((megabytes) => megabytes * 2 ** 20)
    const calls = sizes.map((bytes) => queue.call('insert', [newEntry()], { bytes }))
    for (let batch = 0; batch < sizes.length; batch++) writer.answer()
    await Promise.all(calls)
    expect(writer.batches.map(({ length }) => length)).toEqual([1, 2, 2, 1, 1])
  })

  test('sends nothing to a writer that is paused, though what was sent is answered then', async () => {
    const writer = slowWriter()
    // As one on the calling thread does, which carries out what it has.
    const queue = new WriteQueue({ ...writer, waitUntilIdle: writer.answer })
    const calls = [1, 2].map((now) => queue.call('stats', [now]))
    queue.pause()
    await calls[0]
    expect(writer.batches).toHaveLength(1)
    queue.resume()
    writer.answer()
    await calls[1]
  })

  test('drops calls without a waiting caller, but not the calls under way', async () => {
    const writer = slowWriter()
    const queue = new WriteQueue(writer)
    const over = new AbortController()
    const sent = queue.call('dismiss', ['sent', 0], { signal: over.signal })
    const dropped = queue.call('dismiss', ['dropped', 0], { signal: over.signal })
    const still = new AbortController()
    const other = queue.call('dismiss', ['other', 0], { signal: still.signal })
    over.abort()
    await expect(dropped).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
    writer.answer()
    await sent
    writer.answer()
    await other
    expect(writer.batches.flat().map(({ args }) => args[0])).toEqual(['sent', 'other'])
  })
})

describe('while the disk hangs', () => {
  const hanging = async (parts: Parts = {}) => {
    const file = temporaryFile()
    const driver = `${import.meta.dirname}/hanging-driver.ts`
    const set = setUp({ store: sqliteStore(file, { driver }), timeout: 60, ...parts })
    const hangs = `${file}-hangs`
    const goOn = () => rmSync(hangs, { force: true })
    await set.inbox.open()
    onTestFinished(goOn)
    return { ...set, hang: () => writeFileSync(hangs, ''), goOn }
  }

  test('deliveries are 503, and what they brought is kept in no memory', async () => {
    const { deliver, inbox, hang, goOn } = await hanging()
    hang()
    const big = { pad: 'x'.repeat(500_000) }
    for (let round = 0; round < 3; round++) {
      const all = Array.from({ length: 10 }, () => deliver(event('verification.created', big)))
      expect(new Set((await Promise.all(all)).map(({ kind }) => kind))).toEqual(new Set(['failed']))
    }
    goOn()
    await until(async () => (await deliver(event())).kind === 'accepted')
    // A batch that was under way when the disk stopped is kept; all other calls were dropped at
    // their 503.
    expect((await inbox.stats()).stored).toBeLessThan(5)
  })

  test('handlers with a transaction stop the process for a second in all', async () => {
    const { deliver, receiver, worker, seen, hang, goOn } = await hanging()
    const waits = vi.spyOn(Atomics, 'wait')
    const write = async (_: unknown, { tx }: Context<unknown, SqliteTransaction>) => {
      hang()
      void deliver(event())
      await delay(20)
      tx.prepare('select 1').get()
    }
    receiver.on('*', write as never, { tx: true })
    for (const id of ['ver_1', 'ver_2', 'ver_3'])
      await deliver(event('verification.created', { id }))
    await worker.start()
    const failed = () => seen.filter((one) => one.type === 'attempt' && !one.ok)
    await until(() => failed().length === 3)
    goOn()
    const times = waits.mock.calls.map(([, , , time = 0]) => time)
    waits.mockRestore()
    expect(times).toHaveLength(3)
    expect(times.reduce((sum, time) => sum + time)).toBeLessThanOrEqual(1_000)
  })

  test('a drain ends when its grace is over, and a close reports that the store hangs', async () => {
    const { deliver, inbox, receiver, worker, hang, goOn } = await hanging()
    receiver.on('*', () => hang())
    await worker.start()
    await deliver(event())
    await until(async () => (await deliver(event('client.created', { id: 'c' }))).kind === 'failed')
    const second = createWorker(receiver)
    const started = second.start()
    await second.drain({ grace: 20 })
    await worker.drain({ grace: 20 })
    await expect(inbox.close()).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
    goOn()
    // It was drained before it had begun, so there is nothing to tell.
    await started
  })
})
