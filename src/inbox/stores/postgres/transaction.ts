// `context.tx` on Postgres: a client in the application's own database, inside the transaction that
// writes the handler's checkpoint. Transactions of several handlers run beside each other.
import type { Lease, StoreTx } from '../../work-store.ts'
import type { PostgresTransaction } from './driver.ts'
import { storable } from './rows.ts'
import { type Statements, statementError, toStoreError } from './statements.ts'

export const checkpointValues = ({ id, fence, owner = 0 }: Lease, handler?: string) => {
  return [owner, storable(id), fence, handler === undefined ? null : storable(handler)] as const
}

const commitSql = `select case when current_setting('idv_webhooks.tx', true) = 'open'
  then idv.checkpoint($1::int, $2::text, $3::int, $4::text) end as held`

/** Locks nothing, so that `forget` does not wait for the handler. */
const heldSql = `select 1 from idv.entries where owner = $1::int and id = $2::text
  and fence = $3::int and state = 'leased' and not erased`

const committed = 'the transaction is committed'
const abandoned = 'the handler is over, and its transaction with it'
const endedByHandler =
  'the handler ended the transaction: leave begin, commit and rollback to the inbox'

/** Milliseconds for a transaction to begin, or to end, before its connection is destroyed. */
const limit = 5_000

export class ClientTransaction implements StoreTx {
  readonly #statements: Statements
  readonly #lease: Lease
  readonly #handler: string
  #begun: Promise<PostgresTransaction> | undefined
  #open: PostgresTransaction | undefined
  /** Statements that were asked for through a lazy handle. */
  #asked = 0
  #over: string | undefined
  handle: unknown

  private constructor(statements: Statements, lease: Lease, handler: string) {
    this.#statements = statements
    this.#lease = lease
    this.#handler = handler
  }

  /** Begins it, or leaves that to the first use of its handle if the driver can. */
  static async begin(
    statements: Statements,
    lease: Lease,
    handler: string,
  ): Promise<ClientTransaction> {
    const tx = new ClientTransaction(statements, lease, handler)
    const { driver } = statements
    const lazy = driver.lazily?.({ use: (work) => tx.#use(work) })
    tx.handle = lazy ?? (await tx.#beginHeld()).handle
    return tx
  }

  /** The wait for a connection can be long: an entry that was forgotten meanwhile is not handled. */
  async #beginHeld(): Promise<PostgresTransaction> {
    const tx = await this.#begin()
    const values = checkpointValues(this.#lease).slice(0, 3)
    const sql = this.#statements.text(heldSql)
    try {
      const rows = await this.#statements.within(limit, () => tx.query(sql, values))
      if (rows.length > 0) return tx
    } catch (error) {
      this.#over = abandoned
      tx.destroy()
      throw error
    }
    await this.rollback()
    throw statementError('STORE_FAILED', 'the lease was lost before the handler began')
  }

  async commit(): Promise<boolean> {
    this.#assertOpen()
    if (!this.#begun) {
      this.#over = committed
      return true
    }
    // Statements that wait for it to begin are sent first: reactions run in the order of their calls.
    const tx = await this.#begun
    try {
      return await this.#statements.within(limit, () => this.#commit(tx))
    } catch (error) {
      // A statement that the server refused can be rolled back; any other error leaves it unknown.
      if (this.#over === abandoned) throw toStoreError(error)
      this.#over = abandoned
      if (toStoreError(error).sqlState === undefined) tx.destroy()
      else await this.#statements.undo(tx)
      throw toStoreError(error)
    }
  }

  async rollback(): Promise<void> {
    if (this.#over !== undefined) return
    this.#over = abandoned
    const tx = await this.#begun?.catch(() => undefined)
    if (tx) await this.#statements.undo(tx)
  }

  /**
   * A connection answers its statements in their order. The transaction is committed if the handler
   * sent no statement while the checkpoint was written, not even after an earlier answer.
   */
  async #commit(tx: PostgresTransaction): Promise<boolean> {
    const sql = this.#statements.text(commitSql)
    const values = checkpointValues(this.#lease, this.#handler)
    const asked = () => this.#asked + (tx.sent ?? 0)
    let held: unknown
    let before: number
    do {
      before = asked()
      const [row] = await tx.query(sql, values)
      held = row?.held
      this.#assertOpen()
    } while (held === true && asked() !== before)
    if (held === null) throw statementError('STORE_FAILED', endedByHandler)
    this.#over = held === true ? committed : abandoned
    await (held === true ? tx.commit() : tx.rollback())
    return held === true
  }

  /**
   * Sends at once if the transaction has begun, so that the statement goes out before what ends it. A
   * transaction that was rolled back meanwhile refuses the statement.
   */
  async #use<Result>(work: (handle: unknown) => Promise<Result>): Promise<Result> {
    this.#assertOpen()
    const { handle } = this.#open ?? (await this.#begin())
    this.#assertOpen()
    this.#asked++
    return work(handle)
  }

  /** All callers get one promise, so that they continue in the order of their calls. */
  #begin(): Promise<PostgresTransaction> {
    this.#begun ??= this.#statements
      .within(limit, (signal) => this.#statements.driver.begin(signal))
      .then((tx) => {
        this.#open = tx
        return tx
      })
    return this.#begun
  }

  #assertOpen(): void {
    if (this.#over !== undefined) throw statementError('STORE_FAILED', this.#over)
  }
}
