// Forgetting goes page by page: whatever else is written waits for one page, not for all.
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { countWithin } from '../../src/inbox/stores/sqlite/erase.ts'
import { claim, claimOne, leaseOf, newEntry, settle } from '../../tools/conformance/store-cases.ts'
import { temporaryFile } from './temporary.ts'

const now = 1_790_000_000_000

async function withMany(lanes: number, file = temporaryFile()) {
  const store = sqliteStore(file)
  await store.open(() => {})
  onTestFinished(() => store.close())
  const entries = Array.from({ length: 1_200 }, (_, at) =>
    newEntry({ lane: `lane${at % lanes}`, related: 'client' }),
  )
  await Promise.all(entries.map((entry) => store.insert(entry)))
  return store
}

/** Claims what is due, and settles it as done; resolves with how many those were. */
async function claimAll(store: Awaited<ReturnType<typeof withMany>>): Promise<number> {
  const claimed = await claim(store, 100, now)
  await Promise.all(claimed.map((one) => settle(store, one, { to: 'done', at: now })))
  return claimed.length
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

test('no handler of what is forgotten runs while other pages are erased', async () => {
  const store = await withMany(50)
  for (let more = true; more; ) more = (await claimAll(store)) > 0
  const open = Array.from({ length: 20 }, (_, at) =>
    newEntry({ lane: `z${at}`, related: 'client' }),
  )
  await Promise.all(open.map((entry) => store.insert(entry)))
  const forgotten = store.forget('client', now)
  const claimed = [claim(store, 10, now), claim(store, 10, now)]
  expect(await forgotten).toBe(1_220)
  expect(await Promise.all(claimed)).toEqual([[], []])
  const states = (await store.find({ limit: 2_000 })).map(({ state }) => state)
  expect(states.filter((state) => state === 'skipped')).toHaveLength(20)
})

test('what is at work when it is forgotten begins no later handler, and is not tried again', async () => {
  const store = await withMany(50)
  for (let more = true; more; ) more = (await claimAll(store)) > 0
  await store.insert(newEntry({ lane: 'z', related: 'client' }))
  const lease = await claimOne(store, now)
  const forgotten = store.forget('client', now)
  const goesOn = store.checkpoint(leaseOf(lease), 'first')
  const failed = { to: 'retry', due: now, reason: 'HANDLER_FAILED', failures: [] } as const
  const settled = settle(store, lease, failed)
  expect(await goesOn).toBe(false)
  expect(await forgotten).toBe(1_201)
  await settled
  expect(await claim(store, 10, now)).toEqual([])
  const [last] = await store.find({ limit: 1 })
  expect(last).toMatchObject({ state: 'skipped', reason: 'FORGOTTEN' })
})

test('what arrives after the call is not forgotten: its handler has not run', async () => {
  const store = await withMany(50)
  const forgotten = store.forget('client', now)
  await store.insert(newEntry({ lane: 'z', related: 'client' }))
  const late = newEntry({ lane: 'lane7', related: 'client' })
  await store.insert(late)
  expect(await forgotten).toBe(1_200)
  expect(await store.find({ states: ['stored'], limit: 9, withBody: true })).toMatchObject([
    { id: late.id, body: expect.anything() },
    { body: expect.anything() },
  ])
})

test('what is skipped as forgotten neither runs nor shows its payload until it is erased: a process may die', async () => {
  const file = temporaryFile()
  const store = await withMany(1, file)
  const db = new DatabaseSync(file)
  db.exec("update idv_entries set state = 'skipped', reason = 'FORGOTTEN' where seq > 1190")
  db.close()
  const found = await store.find({ states: ['skipped'], limit: 100, withBody: true })
  // The caller sees that another call is needed.
  const shown = found.map(({ body, metadata }) => [body, metadata !== undefined])
  expect(shown).toEqual(Array(10).fill([undefined, true]))
  const ids = found.map(({ id }) => id)
  expect(await store.reopen({ ids, from: ['skipped'], now, setAside: true })).toBe(0)
  expect(await store.forget('client', now)).toBe(1_200)
})

test('what is held by a lane stays held while its many open entries are forgotten', async () => {
  const store = await withMany(1)
  const later = now + 60_000
  const failed = { to: 'retry', due: later, reason: 'HANDLER_FAILED', failures: [] } as const
  await settle(store, await claimOne(store, now), failed)
  const forgotten = store.forget('client', now)
  const claimed = [claim(store, 10, now), claim(store, 10, now), claim(store, 10, now)]
  await new Promise((resolve) => setTimeout(resolve, 5))
  claimed.push(claim(store, 10, now))
  expect((await Promise.all(claimed)).flat()).toEqual([])
  expect(await forgotten).toBe(1_200)
})

test('evidence of conflicts is forgotten by pages too, however much one entry has', async () => {
  const file = temporaryFile()
  const store = await withMany(1, file)
  await Promise.all(
    Array.from({ length: 1_100 }, (_, at) => store.insert(newEntry({ lane: `own${at}` }))),
  )
  const db = new DatabaseSync(file)
  db.exec(`update idv_entries set name = null, conflict_of = (select min(id) from idv_entries
    where lane = 'lane0') where lane like 'own%'`)
  db.close()
  expect(await store.forget('client', now)).toBe(2_300)
  const left = await store.find({ limit: 5_000, withBody: true })
  expect(left.filter(({ body }) => body)).toEqual([])
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

test('what is erased already counts nothing in a page', () => {
  const large = { bytes: 2 ** 20, erased: 0 } as const
  const page = [large, ...Array.from({ length: 400 }, () => ({ ...large, erased: 1 })), large]
  expect(countWithin(page)).toBe(402)
  expect(countWithin([...page, large, large, large])).toBe(404)
  expect(countWithin([{ bytes: 2 ** 30, erased: 0 }, large])).toBe(1)
})
