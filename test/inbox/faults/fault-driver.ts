// node:sqlite, with a hand on the switch: at a step that FAULT names, once the file ARMED exists, the
// process is killed; FAULT=unsafe pretends to sync every commit and does not.
import { existsSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { isMainThread } from 'node:worker_threads'

const { FAULT = '', ARMED = '' } = process.env

/** Where each step is: before or after which statement, and on which thread. */
const steps: Readonly<
  Record<string, { readonly sql: RegExp; readonly after?: true; readonly main?: true }>
> = {
  'before the transaction': { sql: /^begin immediate/ },
  'inside the transaction': { sql: /^insert into idv_contents/, after: true },
  'after the commit': { sql: /^commit/, after: true },
  'before the effects commit': { sql: /^commit/, main: true },
  'after the effects commit': { sql: /^commit/, main: true, after: true },
}
const step = steps[FAULT]

function strike(sql: string, after: boolean): void {
  if (!step || (step.after ?? false) !== after || (step.main ?? false) !== isMainThread) return
  if (step.sql.test(sql.trim()) && existsSync(ARMED)) process.kill(process.pid, 'SIGKILL')
}

function around<Result>(sql: string, run: () => Result): Result {
  strike(sql, false)
  const result = run()
  strike(sql, true)
  return result
}

// biome-ignore lint/style/noDefaultExport: a driver is the default export of its module
export default class FaultDatabase {
  readonly #db: DatabaseSync

  constructor(file: string) {
    this.#db = new DatabaseSync(file)
  }

  get isTransaction(): boolean {
    return this.#db.isTransaction
  }

  exec(sql: string): void {
    const unsafe = FAULT === 'unsafe' && /^pragma synchronous/.test(sql)
    around(sql, () => this.#db.exec(unsafe ? 'pragma synchronous = normal' : sql))
  }

  prepare(sql: string) {
    const statement: StatementSync = this.#db.prepare(sql)
    const lies = FAULT === 'unsafe' && sql === 'pragma synchronous'
    return {
      run: (...values: never[]) => around(sql, () => statement.run(...values)),
      get: (...values: never[]) =>
        around(sql, () => (lies ? { synchronous: 2 } : statement.get(...values))),
      all: (...values: never[]) => around(sql, () => statement.all(...values)),
    }
  }

  close(): void {
    this.#db.close()
  }
}
