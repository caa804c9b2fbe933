// The sandbox's state in a SQLite file: one row per record, changed rows alone are written, each
// transaction on the disk before it is answered for. One process at a time.
import { DatabaseSync } from 'node:sqlite'
import { WebhookError } from '../errors.ts'
import type { Change, ChangeSink } from './journal.ts'

export interface DataFile extends ChangeSink {
  /** Everything in the file, by kind; empty for a new file. */
  read(): ReadonlyMap<string, readonly unknown[]>
  close(): void
}

const format = 1

/**
 * Opens a file, and makes it when it is not there.
 *
 * @throws WebhookError `DATA_FILE_FAILED` when it cannot be opened, is in use or is something else.
 */
export function openDataFile(path: string): DataFile {
  const db = open(path)
  const put = db.prepare('INSERT OR REPLACE INTO records (kind, id, json) VALUES (?, ?, ?)')
  const remove = db.prepare('DELETE FROM records WHERE kind = ? AND id = ?')

  const all = (changes: readonly Change[], before?: string) => {
    db.exec('BEGIN IMMEDIATE')
    try {
      if (before) db.exec(before)
      for (const { kind, id, value } of changes) {
        if (value === undefined) remove.run(kind, id)
        else put.run(kind, id, JSON.stringify(value))
      }
      db.exec('COMMIT')
    } catch (error) {
      // A full disk has already rolled back by itself.
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  }
  return {
    read() {
      const kinds = new Map<string, unknown[]>()
      for (const { kind, json } of db.prepare('SELECT kind, json FROM records').iterate()) {
        const list = kinds.get(String(kind)) ?? []
        list.push(JSON.parse(String(json)))
        kinds.set(String(kind), list)
      }
      return kinds
    },
    write: (changes) => all(changes),
    replace: (changes) => all(changes, 'DELETE FROM records'),
    close: () => db.close(),
  }
}

function open(path: string): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path)
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    db.exec(`CREATE TABLE IF NOT EXISTS records (
      kind TEXT NOT NULL, id TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (kind, id)
    ) WITHOUT ROWID`)
    const version = Number(db.prepare('PRAGMA user_version').get()?.user_version)
    if (version !== 0 && version !== format) throw new Error(`it has format ${version}`)
    db.exec(`PRAGMA user_version = ${format}`)
    return db
  } catch (cause) {
    db?.close()
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new WebhookError(
      'DATA_FILE_FAILED',
      `cannot use the data file ${path} (${why}): is another sandbox using it, or is it another kind of file?`,
      { cause },
    )
  }
}
