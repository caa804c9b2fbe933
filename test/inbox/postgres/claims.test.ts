// How much one claim takes, and what the next one sees.
import type { InboxStore } from 'idv-webhooks/inbox'
import { fromPg, type PostgresDriver, postgresStore } from 'idv-webhooks/inbox/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { claim, claimOne, newEntry, settle } from '../../../tools/conformance/store-cases.ts'
import { freshSchema, poolOf, schemaOn } from './servers.ts'

test('a claim takes 16 MiB of bodies, or one that is longer, and the next one the rest', async () => {
  const { open } = schemaOn()
  const store = open()
  await store.open(() => {})
  onTestFinished(() => store.close())
  const entryOf = (length: number) => newEntry({ body: new Uint8Array(length), bytes: length })
  const all = [...Array.from({ length: 10 }, () => entryOf(2 * 2 ** 20)), entryOf(17 * 2 ** 20)]
  for (const entry of all) await store.insert(entry)
  const taken = [await claim(store, 32), await claim(store, 32), await claim(store, 32)]
  // One more each: a claim that leaves something waits for a single lane.
  expect(taken.map((works) => works.length)).toEqual([9, 2, 0])
  expect(taken.flat().map(({ id }) => id)).toEqual(all.map(({ id }) => id))
})

test('a lane that goes on while a claim is answered is seen by the next one, however old it is', async () => {
  const driver = fromPg(poolOf())
  let held: Promise<void> | undefined
  let isAnswered = () => {}
  const slow: PostgresDriver = {
    ...driver,
    query: async (sql, ...rest) => {
      const rows = await driver.query(sql, ...rest)
      if (held && sql.includes('alone_claim')) {
        isAnswered()
        await held
      }
      return rows
    },
  }
  const store = postgresStore(slow, { schema: freshSchema(), listen: false })
  await store.open(() => {})
  onTestFinished(() => store.close())
  const now = Date.now()
  const waiting = { lane: 'one', storedAt: now - 60_000 }
  const [first, second] = [newEntry(waiting), newEntry(waiting)]
  for (const entry of [first, second]) await store.insert(entry)
  const claimed = await claimOne(store, now)

  const release = Promise.withResolvers<void>()
  const answered = new Promise<void>((resolve) => {
    isAnswered = resolve
  })
  held = release.promise
  const beside = claim(store, 10, now)
  await answered
  await settle(store, claimed, { to: 'done' })
  release.resolve()
  expect(await beside).toEqual([])
  expect((await claim(store, 10, now)).map(({ id }) => id)).toEqual([second.id])
})

test('who only receives watches nobody: it is heard while those who work are cut off', async () => {
  const { open, query } = schemaOn(undefined, { listen: false })
  const opened = async () => {
    const store = open()
    await store.open(() => {})
    onTestFinished(() => store.close())
    return store
  }
  const gaps = async () => (await query('select gaps from idv.owners where owner = 0'))[0]?.gaps
  const working = await opened()
  expect(await gaps()).toBeUndefined()
  await claim(working)
  expect(await gaps()).toBe(0)
  await working.close()
  for (const begin of [
    (store: InboxStore) => claim(store),
    (store: InboxStore) => store.lapsed(0),
  ]) {
    const before = await gaps()
    await query('update idv.owners set seen = seen - 10000')
    const other = await opened()
    await other.insert(newEntry())
    expect(await gaps()).toBe(before)
    await begin(other)
    expect(await gaps()).toBe(before + 1)
    await other.close()
  }
})

test('a purge after days without a worker leaves what tells that a leaseholder is gone', async () => {
  const { open, query } = schemaOn(undefined, { listen: false })
  const store = open()
  await store.open(() => {})
  onTestFinished(() => store.close())
  await claim(store, 1)
  await query('update idv.owners set seen = seen - 3 * 86400000')
  await store.purge({ doneBefore: 0, deadBefore: 0, keysBefore: 0, limit: 10 })
  const owners = await query('select owner from idv.owners')
  expect(owners.map(({ owner }) => owner)).toEqual([0])
})
