// How much one claim takes.
import { expect, onTestFinished, test } from 'vitest'
import { claim, newEntry } from '../../../src/testing/store-cases.ts'
import { schemaOn } from './servers.ts'

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
