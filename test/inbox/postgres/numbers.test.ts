// Copies by logical replication leave the sequence of numbers behind.
import { expect, onTestFinished, test } from 'vitest'
import { claim, newEntry, settle } from '../../../tools/conformance/store-cases.ts'
import { schemaOn } from './servers.ts'

/** An entity with an entry at work, whose number is far ahead of the sequence. */
async function leftBehind() {
  const { open, query } = schemaOn()
  const store = open()
  await store.open(() => {})
  onTestFinished(() => store.close())
  for (let gone = 0; gone < 20; gone++) await store.insert(newEntry({ lane: 'gone' }))
  const first = newEntry({ lane: 'one' })
  await store.insert(first)
  const [lease] = (await claim(store, 50)).filter(({ id }) => id === first.id)
  await query("delete from idv.entries where lane = 'gone'")
  await query("delete from idv.lanes where lane = 'gone'")
  await query('delete from idv.contents where seq not in (select seq from idv.entries)')
  await query("select setval(pg_get_serial_sequence('idv.entries', 'seq'), 1, false)")
  if (!lease) throw new Error('it was not claimed')
  return { store, open, query, lease }
}

test.each([
  ['alone', async () => [newEntry({ lane: 'one' })]],
  [
    'with a key that is known',
    async (insert: (entry: ReturnType<typeof newEntry>) => Promise<unknown>) => {
      const key = 'known'
      await insert(newEntry({ lane: 'two', key }))
      return [newEntry({ lane: 'one', key, digest: 'another' }), newEntry({ lane: 'one' })]
    },
  ],
])('an entry whose number went back is handled all the same: %s', async (_, entries) => {
  const { store, lease, query } = await leftBehind()
  const late = await entries((entry) => store.insert(entry))
  await Promise.all(late.map((entry) => store.insert(entry)))
  await settle(store, lease, { to: 'done' })
  const handled: string[] = []
  for (let more = true; more; ) {
    const works = await claim(store, 10)
    for (const work of works) await settle(store, work, { to: 'done' })
    handled.push(...works.map(({ id }) => id))
    more = works.length > 0
  }
  expect(handled).toContain(late.at(-1)?.id)
  expect(await query("select count(*)::int as n from idv.entries where state = 'stored'")).toEqual([
    { n: 0 },
  ])
})
