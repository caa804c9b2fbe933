// The files of an inbox on disks that are full, and where somebody has deleted one of them.
import { DatabaseSync } from 'node:sqlite'
import { type SqliteDatabase, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { expect, test } from 'vitest'
import { event, setUp } from './admin.ts'
import { temporaryFile } from './temporary.ts'

test('a disk without room is named at the start, whatever the driver makes of its commit', async () => {
  const disk = { isFull: false }
  // As better-sqlite3: a row that is read outside a transaction hides the failure of its commit.
  class Full extends DatabaseSync {
    #changes: unknown
    override exec(sql: string) {
      const changes = () => super.prepare('select total_changes() as n').get()?.['n']
      if (sql.startsWith('begin')) this.#changes = changes()
      if (sql !== 'commit' || !disk.isFull || changes() === this.#changes) return super.exec(sql)
      super.exec('rollback')
      throw new Error('database or disk is full')
    }
    override prepare(sql: string) {
      const statement = super.prepare(sql)
      if (!sql.endsWith('returning value')) return statement
      const get = () => {
        const isAlone = disk.isFull && !this.isTransaction
        if (isAlone) super.exec('begin')
        const row = statement.get()
        if (isAlone) super.exec('rollback')
        return row
      }
      return { get } as unknown as typeof statement
    }
  }
  // Trust is granted here: the driver is Node's own.
  const driver = (path: string) => new Full(path) as unknown as SqliteDatabase
  const file = temporaryFile()
  const { deliver, inbox } = setUp({ store: sqliteStore(file, { driver }) })
  expect((await deliver(event())).kind).toBe('accepted')
  await inbox.close()
  disk.isFull = true
  await expect(inbox.open()).rejects.toThrow(/cannot be opened \(database or disk is full\)/)
  disk.isFull = false
  expect((await deliver(event())).kind).toBe('accepted')
})
