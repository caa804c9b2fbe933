// Moves of an inbox onto itself: nothing of it may change, for a move shuts its source.
import { linkSync, symlinkSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { moveInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describe, expect, test } from 'vitest'
import type { CopyStore } from '../../src/inbox/copy-store.ts'
import { claimOne, newEntry, settle } from '../../tools/conformance/store-cases.ts'
import { temporaryFile } from './temporary.ts'

async function made(rows: number): Promise<string> {
  const file = temporaryFile()
  const store = sqliteStore(file)
  await store.open(() => {})
  for (let row = 0; row < rows; row++) await store.insert(newEntry())
  await store.close()
  return file
}

/** Everything but the number of its owners. */
function contentOf(file: string): unknown {
  const db = new DatabaseSync(file)
  const settings = db.prepare("select * from idv_settings where name <> 'epoch'").all()
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

test('lanes that a damaged file has lost are there after the move: no other store looks for them', async () => {
  const [file, target] = [await made(3), temporaryFile()]
  const rows = (path: string, sql: string) => {
    const db = new DatabaseSync(path)
    const all = db.prepare(sql).all()
    db.close()
    return all
  }
  const lanesSql = 'select lane, head, floor, due from idv_lanes order by lane'
  const lanes = rows(file, lanesSql)
  rows(file, 'delete from idv_lanes')
  const { state } = await moveInbox(sqliteStore(file), sqliteStore(target))
  expect(state).toBe('moved')
  expect(lanes).not.toEqual([])
  expect(rows(target, lanesSql)).toEqual(lanes)
})

test('a move that goes on adds no lanes to its target: one that is held would run', async () => {
  const [file, target] = [temporaryFile(), temporaryFile()]
  const store = sqliteStore(file)
  await store.open(() => {})
  const lane = 'held'
  await store.insert(newEntry({ lane }))
  await store.insert(newEntry({ lane }))
  const dead = { to: 'dead', hold: true, reason: 'HANDLER_FAILED', failures: [] } as const
  await settle(store, await claimOne(store), dead)
  await store.close()
  const [from, to] = [sqliteStore(file), sqliteStore(target)]
  const cut: CopyStore['add'] = async (table, rows) => {
    if (table === 'lanes') throw new Error('it was killed')
    await to.copy?.add(table, rows)
  }
  const dying = new Proxy(to, {
    get(_, name) {
      if (name === 'copy') return { ...to.copy, add: cut }
      const value = Reflect.get(to, name)
      return typeof value === 'function' ? value.bind(to) : value
    },
  })
  await expect(moveInbox(from, dying)).rejects.toThrow('it was killed')
  await moveInbox(sqliteStore(file), sqliteStore(target))
  const lanesOf = (path: string) => {
    const db = new DatabaseSync(path)
    const rows = db.prepare('select lane, head, due from idv_lanes').all()
    db.close()
    return rows
  }
  expect(lanesOf(target)).toEqual(lanesOf(file))
  expect(lanesOf(target)).toMatchObject([{ due: null }])
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
    for (const dryRun of [true, false]) {
      await expect(moveInbox(from, to, { dryRun })).rejects.toMatchObject({
        code: 'STORE_UNSUITABLE',
        message: expect.stringMatching(/are the same inbox: move into a new file/),
      })
    }
    expect(contentOf(file)).toEqual(before)
  })

  test('is not moved onto itself by a hard link, nor in one handle', async () => {
    const file = await made(rows)
    const before = contentOf(file)
    linkSync(file, `${file}-link`)
    for (const dryRun of [true, false]) {
      const [from, to] = [sqliteStore(file), sqliteStore(`${file}-link`)]
      await expect(moveInbox(from, to, { dryRun })).rejects.toThrow(/\(a hard link\)/)
      await expect(moveInbox(from, from, { dryRun })).rejects.toThrow(/are the same inbox/)
    }
    expect(contentOf(file)).toEqual(before)
  })
})
