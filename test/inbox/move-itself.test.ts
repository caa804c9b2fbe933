// Moves of an inbox onto itself: nothing of it may change, for a move shuts its source.
import { linkSync, symlinkSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { moveInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describe, expect, test } from 'vitest'
import { newEntry } from '../../tools/conformance/store-cases.ts'
import { temporaryFile } from './temporary.ts'

async function made(rows: number): Promise<string> {
  const file = temporaryFile()
  const store = sqliteStore(file)
  await store.open(() => {})
  for (let row = 0; row < rows; row++) await store.insert(newEntry())
  await store.close()
  return file
}

/** Everything but the number of its owners and the mark of a move, which is empty. */
function contentOf(file: string): unknown {
  const db = new DatabaseSync(file)
  const settings = db
    .prepare("select * from idv_settings where name not in ('epoch', 'move')")
    .all()
  const entries = db.prepare('select * from idv_entries').all()
  db.close()
  return { settings, entries }
}

test('an inbox that is opened beside its application is not moved', async () => {
  const file = await made(1)
  const owner = sqliteStore(file)
  await owner.open(() => {})
  const beside = sqliteStore(file, { mode: 'operator' })
  const unsuitable = {
    code: 'STORE_UNSUITABLE',
    message: expect.stringContaining('cannot be moved'),
  }
  for (const [from, to] of [
    [beside, sqliteStore(temporaryFile())],
    [sqliteStore(await made(1)), beside],
  ] as const) {
    await expect(moveInbox(from, to)).rejects.toMatchObject(unsuitable)
  }
  await owner.close()
})

describe.each([0, 2])('an inbox of %i entries', (rows) => {
  const ways = {
    'the same path': (file: string) => file,
    'another way to write it': (file: string) => file.replace(/inbox\.db$/, './inbox.db'),
    'a symbolic link': (file: string) => {
      symlinkSync(file, `${file}-link`)
      return `${file}-link`
    },
  }
  test.each(Object.entries(ways))('is not moved onto itself by %s', async (_, way) => {
    const file = await made(rows)
    const [from, to, before] = [sqliteStore(file), sqliteStore(way(file)), contentOf(file)]
    await expect(moveInbox(from, to)).rejects.toMatchObject({
      code: 'STORE_UNSUITABLE',
      message: expect.stringMatching(/are the same inbox|must be an empty inbox/),
    })
    expect(contentOf(file)).toEqual(before)
  })

  test('is not moved onto itself by a hard link, nor in one handle', async () => {
    const file = await made(rows)
    const before = contentOf(file)
    linkSync(file, `${file}-link`)
    const [from, to] = [sqliteStore(file), sqliteStore(`${file}-link`)]
    await expect(moveInbox(from, to)).rejects.toThrow(/\(a hard link\)/)
    await expect(moveInbox(from, from)).rejects.toThrow(/are the same inbox/)
    expect(contentOf(file)).toEqual(before)
  })
})
