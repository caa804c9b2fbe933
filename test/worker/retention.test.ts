// How long the retention of a run may take.
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { fakeClock, testSecret } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

/** A backlog each of whose pages takes 100 ms. */
function backlog() {
  const { now, advance } = fakeClock()
  const store = memoryStore()
  let pages = 0
  store.purge = async ({ limit }) => {
    pages++
    advance({ milliseconds: 100 })
    return { erased: pages < 100 ? limit : 0, deleted: 0 }
  }
  const inbox = createInbox({ store, now })
  const worker = createWorker(createReceiver({ secret: testSecret, inbox, observe: () => {} }))
  const run = async (options?: { timeout: number }) => {
    const before = pages
    await worker.runOnce(options)
    return pages - before
  }
  return { run }
}

test('a run whose time is short erases for a second, and the next one goes on', async () => {
  const { run } = backlog()
  expect([await run({ timeout: 20_000 }), await run({ timeout: 20_000 })]).toEqual([10, 10])
  expect(await run({ timeout: 300 })).toBe(3)
})

test('a run that nobody limits erases all there is', async () => {
  const { run } = backlog()
  expect([await run(), await run()]).toEqual([100, 0])
})
