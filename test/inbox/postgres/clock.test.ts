// Processes whose clocks differ agree on the database's time.
import { createInbox } from 'idv-webhooks/inbox'
import { expect, onTestFinished, test } from 'vitest'
import { StoreClock } from '../../../src/inbox/stores/postgres/store-clock.ts'
import { claimOne, newEntry } from '../../../src/testing/store-cases.ts'
import { schemaOn } from './servers.ts'

const hour = 3_600_000

test('follows the database from a clock that is an hour ahead, by the quickest answer', async () => {
  let local = hour
  const clock = new StoreClock(() => local)
  const answer = (database: number, there: number, back: number) =>
    clock.measure(async () => {
      local += there + back
      return database
    })
  await answer(1_000, 5, 5)
  expect(clock.now().getTime()).toBe(1_005)
  // A slow answer says less: its error is up to half of its time.
  await answer(1_010, 0, 400)
  expect(clock.now().getTime()).toBe(1_405)
})

test('does not go back for a correction, and follows a step', async () => {
  let local = 0
  const clock = new StoreClock(() => local)
  await clock.measure(async () => 10_000)
  local = 10
  expect(clock.now().getTime()).toBe(10_010)
  await clock.measure(async () => 9_500)
  expect(clock.now().getTime()).toBeGreaterThanOrEqual(10_010)
  local += 1
  await clock.measure(async () => 9_000 - hour)
  expect(clock.now().getTime()).toBe(9_000 - hour)
})

test('a process with the clock of the store takes nothing of another; with one of its own it does', async () => {
  const { open, query } = schemaOn()
  const [store, same, ahead] = [open(), open(), open()]
  for (const one of [store, same, ahead]) {
    await one.open(() => {})
    onTestFinished(() => one.close())
  }
  await store.insert(newEntry())
  const now = store.now?.().getTime() ?? 0
  const [lease] = (await store.claim({ now, limit: 1, until: now + 60_000 })).entries
  await query('update idv.owners set since = since - 60000')
  expect(await same.lapsed(same.now?.().getTime() ?? 0)).toEqual([])
  const handedIn = await ahead.lapsed(Date.now() + hour)
  expect(handedIn.map(({ id }) => id)).toEqual([lease?.id])
})

test('an inbox works by the clock of its store', async () => {
  const { open, query } = schemaOn()
  const store = open()
  const inbox = createInbox({ store })
  await inbox.open()
  onTestFinished(() => inbox.close())
  const [row] = await query('select idv.clock_1()::text as now')
  expect(
    Math.abs((store.now?.().getTime() ?? 0) - Number((row as { now: string }).now)),
  ).toBeLessThan(500)
  await store.insert(newEntry({ storedAt: 0 }))
  expect((await claimOne(store)).attempt).toBe(1)
})
