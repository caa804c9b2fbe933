// `context.tx` on SQLite: one transaction at a time on a connection of the calling thread. It
// commits a handler's effects together with its checkpoint, under the fence of its lease.
import type { Lease, StoreTx } from '../../store.ts'
import { inTransaction, type SqliteDatabase, type SqliteStatement } from './driver.ts'
import type { WriteQueue } from './write-queue.ts'

/** What a handler gets as `context.tx`: synchronous, and over when the handler is. */
export interface SqliteTransaction {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
}

/** A connection for handlers, made when the first of them uses it. */
export interface Connection {
  readonly db: SqliteDatabase
  close(): void
}

/** Whoever has the gate; the gate ends it when it closes. */
interface Holder {
  end(why: string): void
}

const longestHold = 1_000
const closed = 'the inbox is closed'

/** Lets one handler at a time write; the others wait, and so does the writer. */
export class TransactionGate {
  readonly #line: WriteQueue
  readonly #open: () => Connection
  readonly #epoch: number
  readonly #waiting: (() => void)[] = []
  #connection: Connection | undefined
  #holder: Holder | undefined
  #isClosed = false

  constructor(line: WriteQueue, epoch: number, open: () => Connection) {
    this.#line = line
    this.#epoch = epoch
    this.#open = open
  }

  transaction(lease: Lease, handler: string): StoreTx<SqliteTransaction> {
    return new HandlerTransaction(this, lease, handler)
  }

  /** The connection inside a fresh transaction, or undefined when another handler has it. */
  take(holder: Holder): SqliteDatabase | undefined {
    if (this.#isClosed) throw new Error(closed)
    if (this.#holder && this.#holder !== holder) return undefined
    this.#line.seize()
    try {
      this.#connection ??= this.#open()
      const { db } = this.#connection
      db.exec('begin immediate')
      this.#holder = holder
      return db
    } catch (error) {
      this.#line.release()
      throw error
    }
  }

  /** Resolves when nobody but this one can `take`. */
  async reserve(holder: Holder, needed: () => boolean): Promise<void> {
    while (this.#holder && this.#holder !== holder && needed()) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    if (!this.#holder && needed()) this.#holder = holder
  }

  isHeldBy(holder: Holder): boolean {
    return this.#holder === holder
  }

  /** Ends a reservation or, when it was `begun`, a transaction. */
  give(holder: Holder, begun: boolean): void {
    if (this.#holder !== holder) return
    this.#holder = undefined
    if (begun) this.#line.release()
    for (const wake of this.#waiting.splice(0)) wake()
  }

  /** Writes the checkpoint of a handler whose lease still holds. */
  checkpoint(db: SqliteDatabase, { id, fence }: Lease, handler: string): boolean {
    const sql = `insert into idv_handled select seq, ? from idv_entries
      where id = ? and fence = ? and owner = ? and state = 'leased' and erased = 0 on conflict do nothing`
    return Number(db.prepare(sql).run(handler, id, fence, this.#epoch).changes) === 1
  }

  /** Undoes what is open; where even that fails the connection goes, and the transaction with it. */
  undo(db: SqliteDatabase): void {
    try {
      if (inTransaction(db)) db.exec('rollback')
    } catch {
      this.#disconnect()
    }
  }

  /** Ends the transaction that is open: what is asked of it later is refused. */
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
  missed = false
  delay: number | undefined
  #since = performance.now()

  constructor(gate: TransactionGate, lease: Lease, handler: string) {
    this.#gate = gate
    this.#lease = lease
    this.#handler = handler
  }

  /** Begins at the first statement that runs, so that handlers may take `tx` and wait first. */
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

  async reserve(milliseconds?: number, needed = () => true): Promise<void> {
    await this.#gate.reserve(this, needed)
    this.missed = false
    this.#since = performance.now()
    if (this.#over !== undefined) this.#gate.give(this, false)
    else if (milliseconds !== undefined && this.#gate.isHeldBy(this)) {
      this.#timer = setTimeout(() => this.#gate.give(this, false), milliseconds)
    }
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

  #begun(): SqliteDatabase {
    if (this.#over !== undefined) throw new Error(this.#over)
    if (this.#db || this.#tryBegin()) return this.#db as SqliteDatabase
    this.missed = true
    throw new Error('another handler has the transaction; this one runs again after it')
  }

  #tryBegin(): boolean {
    this.#db = this.#gate.take(this)
    if (!this.#db) return false
    this.delay = performance.now() - this.#since
    clearTimeout(this.#timer)
    // While it is open no delivery can be kept, so a handler must not wait for the world in it.
    this.#timer = setTimeout(
      () => this.end(`the transaction was open for ${longestHold} ms: use tx after all waiting`),
      longestHold,
    )
    return true
  }

  #use<Result>(work: (db: SqliteDatabase) => Result): Result {
    const db = this.#begun()
    const result = work(db)
    if (inTransaction(db)) return result
    this.end('the transaction was ended by hand: leave begin, commit and rollback to the inbox')
    throw new Error(this.#over)
  }

  /** Never throws: a timer calls it too. */
  end(why: string): void {
    if (this.#over !== undefined) return
    this.#over = why
    clearTimeout(this.#timer)
    const db = this.#db
    this.#db = undefined
    if (db) this.#gate.undo(db)
    this.#gate.give(this, db !== undefined)
  }
}
