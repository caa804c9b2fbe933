// `context.tx` on SQLite: one transaction at a time on a connection of the calling thread. It
// commits a handler's effects together with its checkpoint, under the fence of its lease.
import { WebhookError } from '../../../errors.ts'
import type { Lease, StoreTx } from '../../work-store.ts'
import { inTransaction, type SqliteDatabase, type SqliteStatement } from './driver.ts'
import type { WriteQueue } from './write-queue.ts'

/** The value of `context.tx`: synchronous, and closed when the handler ends. */
export interface SqliteTransaction {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
}

/** A connection for handlers, opened when the first of them uses it. */
export interface HandlerConnection {
  readonly db: SqliteDatabase
  close(): void
}

/** Milliseconds that a transaction may be open: no delivery can be stored meanwhile. */
const maxOpenMs = 1_000
const closed = 'the inbox is closed'
const endedByHandler =
  'the handler ended the transaction itself: leave begin, commit and rollback to the inbox'
const rolledBack =
  'a statement failed and ended the whole transaction: let its error end the handler'

/** Gives handlers their turn, one after another; while one writes, the writer waits. */
export class TransactionGate {
  readonly #queue: WriteQueue
  readonly #open: () => HandlerConnection
  readonly #epoch: number
  #connection: HandlerConnection | undefined
  #holder: HandlerTransaction | undefined
  #last: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(queue: WriteQueue, epoch: number, open: () => HandlerConnection) {
    this.#queue = queue
    this.#epoch = epoch
    this.#open = open
  }

  async transaction(lease: Lease, handler: string): Promise<StoreTx<SqliteTransaction>> {
    const turn = new HandlerTransaction(this, lease, handler)
    const before = this.#last
    this.#last = turn.ended
    await before
    if (this.#isClosed) {
      turn.end(closed)
      throw new WebhookError('STORE_FAILED', closed)
    }
    this.#holder = turn
    return turn
  }

  begin(): SqliteDatabase {
    if (this.#isClosed) throw new Error(closed)
    this.#queue.pause()
    try {
      this.#connection ??= this.#open()
      const { db } = this.#connection
      db.exec('begin immediate')
      return db
    } catch (error) {
      if (this.#connection) this.end(this.#connection.db)
      else this.#queue.resume()
      throw error
    }
  }

  checkpoint(db: SqliteDatabase, { id, fence }: Lease, handler: string): boolean {
    const sql = `insert into idv_handled select seq, ? from idv_entries
      where id = ? and fence = ? and owner = ? and state = 'leased' and erased = 0 on conflict do nothing`
    return Number(db.prepare(sql).run(handler, id, fence, this.#epoch).changes) === 1
  }

  /** Ends a transaction; if the rollback fails, the connection is closed and the transaction with it. */
  end(db: SqliteDatabase): void {
    try {
      if (inTransaction(db)) db.exec('rollback')
    } catch {
      this.#disconnect()
    }
    this.#queue.resume()
  }

  /** Ends the open transaction: later use of it throws. */
  close(): void {
    this.#isClosed = true
    this.#holder?.end(closed)
    this.#disconnect()
  }

  #disconnect(): void {
    const connection = this.#connection
    this.#connection = undefined
    try {
      connection?.close()
    } catch {
      // It was closed already, or its file is gone: either way nothing of it is left.
    }
  }
}

class HandlerTransaction implements StoreTx<SqliteTransaction> {
  readonly #gate: TransactionGate
  readonly #lease: Lease
  readonly #handler: string
  #db: SqliteDatabase | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #over: string | undefined
  #resolve: () => void = () => {}
  readonly ended = new Promise<void>((resolve) => {
    this.#resolve = resolve
  })

  constructor(gate: TransactionGate, lease: Lease, handler: string) {
    this.#gate = gate
    this.#lease = lease
    this.#handler = handler
  }

  /** Begins with the first statement that runs, so that handlers may do their waiting before. */
  readonly handle: SqliteTransaction = {
    exec: (sql) => this.#use((db) => void db.exec(sql)),
    prepare: (sql) => {
      let statement: SqliteStatement | undefined
      const use = <Result>(work: (statement: SqliteStatement) => Result) =>
        this.#use((db) => {
          statement ??= db.prepare(sql)
          return work(statement)
        })
      return {
        run: (...values) => use((one) => one.run(...values)),
        get: (...values) => use((one) => one.get(...values)),
        all: (...values) => use((one) => one.all(...values)),
      }
    },
  }

  async commit(): Promise<boolean> {
    if (this.#over !== undefined) throw new Error(this.#over)
    const db = this.#db
    if (!db) {
      this.end('the handler is over')
      return true
    }
    const held = this.#gate.checkpoint(db, this.#lease, this.#handler)
    if (held) db.exec('commit')
    this.end('the transaction is committed')
    return held
  }

  async rollback(): Promise<void> {
    this.end('the handler is over, and its transaction with it')
  }

  /** Never throws: a timer calls it too. */
  end(why: string): void {
    if (this.#over !== undefined) return
    this.#over = why
    clearTimeout(this.#timer)
    const db = this.#db
    this.#db = undefined
    if (db) this.#gate.end(db)
    this.#resolve()
  }

  #begun(): SqliteDatabase {
    if (this.#over !== undefined) throw new Error(this.#over)
    if (this.#db) return this.#db
    const db = this.#gate.begin()
    this.#db = db
    const why = `the transaction was open for ${maxOpenMs} ms: use tx after all waiting`
    this.#timer = setTimeout(() => this.end(why), maxOpenMs)
    return db
  }

  #use<Result>(work: (db: SqliteDatabase) => Result): Result {
    const db = this.#begun()
    let result: Result
    try {
      result = work(db)
    } catch (error) {
      // A handler that goes on after this error must not write outside of the transaction.
      if (!inTransaction(db)) this.end(rolledBack)
      throw error
    }
    if (inTransaction(db)) return result
    this.end(endedByHandler)
    throw new Error(endedByHandler)
  }
}
