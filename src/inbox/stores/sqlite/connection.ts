// One connection: prepared statements with typed rows, transactions, and the counts by state, which
// every transaction brings up to date.
import type { EntryState } from '../../entry.ts'
import type { Lease } from '../../work-store.ts'
import {
  inTransaction,
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteValue,
} from './driver.ts'

/** A prepared statement; `Row` names the columns that it gives. */
export interface Statement<Row> {
  /** The number of rows that it changed. */
  run(...values: readonly SqliteValue[]): number
  get(...values: readonly SqliteValue[]): Row | undefined
  all(...values: readonly SqliteValue[]): Row[]
}

/** The part of an entry that decides about it. */
export interface Head {
  readonly seq: number
  readonly id: string
  readonly lane: string
  readonly state: EntryState
  readonly attempt: number
  readonly fence: number
  /** 1 once it was forgotten or is past its retention. */
  readonly erased: number
}

/** Node 22 binds empty bytes as null where they came from another thread. */
function bindable(values: readonly SqliteValue[]): readonly SqliteValue[] {
  return values.some(isEmpty) ? values.map((one) => (isEmpty(one) ? emptyBlob : one)) : values
}

const isEmpty = (value: SqliteValue) => value instanceof Uint8Array && value.length === 0

const emptyBlob = new Uint8Array(8).subarray(0, 0)

export class Connection {
  readonly db: SqliteDatabase
  readonly #moved = new Map<EntryState, number>()
  readonly #count: Statement<never>
  readonly #head: Statement<Head>
  readonly #checkpoint: Statement<{ readonly busy: number }>

  constructor(db: SqliteDatabase) {
    this.db = db
    this.#count = this.statement('update idv_counts set count = count + ? where state = ?')
    this.#head = this.statement(
      'select seq, id, lane, state, attempt, fence, erased from idv_entries where id = ?',
    )
    this.#checkpoint = this.statement('pragma wal_checkpoint(truncate)')
  }

  /** Prepared at its first use. */
  statement<Row = never>(sql: string): Statement<Row> {
    let prepared: SqliteStatement | undefined
    const statement = () => {
      prepared ??= this.db.prepare(sql)
      return prepared
    }
    return {
      run: (...values) => Number(statement().run(...bindable(values)).changes),
      // Trust is granted here: a statement gives the columns that it names.
      get: (...values) => statement().get(...values) as Row | undefined,
      all: (...values) => statement().all(...values) as Row[],
    }
  }

  /** All of it is committed, or the error is thrown and none of it has happened. */
  transaction<Result>(work: () => Result, { isReading = false } = {}): Result {
    const { db } = this
    // Who only reads holds no lock that a writer waits for.
    db.exec(isReading ? 'begin' : 'begin immediate')
    try {
      const result = work()
      this.#writeCounts()
      db.exec('commit')
      return result
    } catch (error) {
      this.#moved.clear()
      // A commit that failed has rolled back by itself; a second rollback would hide its error.
      if (inTransaction(db)) db.exec('rollback')
      throw error
    }
  }

  /** Notes the change of an entry's state for the counts; undefined is not there. */
  moved(from: EntryState | undefined, to: EntryState | undefined): void {
    if (from) this.#moved.set(from, (this.#moved.get(from) ?? 0) - 1)
    if (to) this.#moved.set(to, (this.#moved.get(to) ?? 0) + 1)
  }

  head(id: string): Head | undefined {
    return this.#head.get(id)
  }

  /** An entry that is leased by this claim. */
  held({ id, fence }: Lease): Head | undefined {
    const head = this.head(id)
    return head?.state === 'leased' && head.fence === fence ? head : undefined
  }

  /** Moves the log into the file; false when a reader kept it from being emptied after that. */
  emptyLog(patience = 0): boolean {
    this.db.exec(`pragma busy_timeout = ${patience}`)
    try {
      return this.#checkpoint.get()?.busy === 0
    } finally {
      this.db.exec('pragma busy_timeout = 1000')
    }
  }

  #writeCounts(): void {
    for (const [state, by] of this.#moved) if (by !== 0) this.#count.run(by, state)
    this.#moved.clear()
  }
}
