// node:sqlite, but every commit is written into the history, and FAULT says where the process dies
// or the disk fails. The writer's thread loads it as it would better-sqlite3.
import { appendFileSync, existsSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'

const { HISTORY = '', FAULT = '', FULL_WHILE = '', HANGS_WHILE = '' } = process.env
const pause = new Int32Array(new SharedArrayBuffer(4))
const die = () => process.kill(process.pid, 'SIGKILL')

// biome-ignore lint/style/noDefaultExport: a driver is a module's default export
export default class WatchingDatabase extends DatabaseSync {
  readonly #inserted: string[] = []

  constructor(file: string) {
    super(file)
    if (file.endsWith('inbox.db')) {
      super.exec('create table if not exists effects (key text, attempt integer)')
    }
  }

  override exec(sql: string): void {
    if (sql === 'begin immediate' && FULL_WHILE !== '') {
      // A file that may not grow is a disk that is full: SQLite answers with the same code.
      const pages = super.prepare('pragma page_count').get() as { page_count: number }
      const most = existsSync(FULL_WHILE) ? pages.page_count : 1_000_000_000
      super.exec(`pragma max_page_count = ${most}`)
    }
    if (sql !== 'commit') {
      super.exec(
        FAULT === 'unsafe' ? sql.replace('synchronous = full', 'synchronous = normal') : sql,
      )
      return
    }
    while (HANGS_WHILE !== '' && existsSync(HANGS_WHILE)) Atomics.wait(pause, 0, 0, 10)
    const ids = this.#inserted.splice(0)
    super.exec(sql)
    if (ids.length > 0 && FAULT === 'after-commit') die()
    if (ids.length > 0) {
      const at = Number(process.hrtime.bigint()) / 1e6
      appendFileSync(HISTORY, `${JSON.stringify({ type: 'commit', ids, at })}\n`)
    }
  }

  override prepare(sql: string): StatementSync {
    const statement = super.prepare(sql)
    if (sql.startsWith('insert into idv_entries')) {
      return Object.assign(statement, {
        get: (...values: SQLInputValue[]) => {
          this.#inserted.push(String(values[0]))
          return Object.getPrototypeOf(statement).get.apply(statement, values)
        },
      })
    }
    if (sql.startsWith('insert into idv_contents') && FAULT === 'in-transaction') {
      return Object.assign(statement, { run: die })
    }
    if (sql.includes('set state = ?, settled_at = ?') && FAULT === 'before-settle') {
      return Object.assign(statement, { run: die })
    }
    if (sql === 'pragma synchronous' && FAULT === 'unsafe') {
      return Object.assign(statement, { get: () => ({ synchronous: 2 }) })
    }
    return statement
  }
}
