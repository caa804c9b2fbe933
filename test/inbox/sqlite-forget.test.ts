// Forgetting goes page by page: whatever else is written waits for one page, not for all.
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { claimOne, newEntry, settle } from '../../src/testing/store-cases.ts'
import { temporaryFile } from './temporary.ts'

const now = 1_790_000_000_000

async function withMany(lanes: number) {
  const store = sqliteStore(temporaryFile())
  await store.open(() => {})
  onTestFinished(() => store.close())
  const entries = Array.from({ length: 1_200 }, (_, at) =>
    newEntry({ lane: `lane${at % lanes}`, related: 'client' }),
  )
  await Promise.all(entries.map((entry) => store.insert(entry)))
  return store
}

test.each([1, 50, 1_200])('all of %i lanes are forgotten, and none of others', async (lanes) => {
  const store = await withMany(lanes)
  const other = newEntry({ lane: 'other', related: 'client2' })
  await store.insert(other)
  expect(await store.forget('client', now)).toBe(1_200)
  const found = await store.find({ limit: 2_000, withBody: true })
  expect(found.filter(({ body }) => body).map(({ id }) => id)).toEqual([other.id])
  expect(await store.forget('client', now)).toBe(0)
})

test('what arrives meanwhile is kept between two pages', async () => {
  const store = await withMany(50)
  const ended: string[] = []
  const forgotten = store.forget('client', now).then(() => ended.push('forgotten'))
  const kept = store.insert(newEntry({ lane: 'other' })).then(() => ended.push('kept'))
  await Promise.all([forgotten, kept])
  expect(ended).toEqual(['kept', 'forgotten'])
})

test('a page of the retention is a few megabytes, however many entries those are', async () => {
  const store = sqliteStore(temporaryFile())
  await store.open(() => {})
  onTestFinished(() => store.close())
  const large = Array.from({ length: 12 }, () => newEntry({ lane: 'one', bytes: 2 ** 20 }))
  for (const entry of large) await store.insert(entry)
  for (const _ of large) {
    const lease = await claimOne(store)
    await settle(store, lease, { to: 'done' })
  }
  const late = now + 100 * 86_400_000
  const purge = { doneBefore: late, deadBefore: late, keysBefore: 0, limit: 500 }
  const pages: number[] = []
  for (let more = true; more; ) {
    const { erased, hasMore = false } = await store.purge(purge)
    pages.push(erased)
    more = hasMore
  }
  expect(pages).toEqual([4, 4, 4])
})
