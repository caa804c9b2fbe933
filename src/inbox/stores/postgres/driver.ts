// The interface of a Postgres driver. Drivers are handed in and typed by their shape.

/** Marks a transaction. A checkpoint outside of it would not commit with the effects. */
export const txMark = "set local idv_webhooks.tx = 'open'"

/** A handler that hangs in its transaction must not hold back vacuum for ever. */
export const idleLimit = "set local idle_in_transaction_session_timeout = '60s'"

/** Tells whether the application left a transaction open on the statement's connection. */
export function wasOpen(sqlState: unknown): boolean {
  return sqlState === '2D000' || sqlState === '25P02'
}

/** Rows as drivers give them: numbers beyond 32 bits may come as text or bigint. */
export type PostgresRow = Readonly<Record<string, unknown>>

/** A parameter: every driver sends these alike. */
export type PostgresValue = string | number | boolean | Uint8Array | null

export interface PostgresTransaction<Tx = unknown> {
  readonly handle: Tx
  /** The number of statements that the handle has sent; for drivers without `lazily`. */
  readonly sent?: number
  query(text: string, values: readonly PostgresValue[]): Promise<readonly PostgresRow[]>
  /** Rejects if the transaction has ended, and if the server answers with a rollback. */
  commit(): Promise<void>
  /** Does nothing if the transaction has ended: another caller may have its connection. */
  rollback(): Promise<void>
  /** Ends the connection and the statement that runs on it. */
  destroy(): void
}

/** A connection that receives notifications for as long as it lives. */
export interface PostgresListener {
  /** Closes the connection, or destroys it once `over` is aborted. */
  close(over?: AbortSignal): Promise<void>
}

/** A transaction that begins at its first use. */
export interface LazyTransaction<Tx> {
  /** Calls `work` with the handle of the open transaction; rejects once that is over. */
  use<Result>(work: (handle: Tx) => Promise<Result>): Promise<Result>
}

/** A driver of Postgres; `Tx` is what handlers get as `context.tx`. */
export interface PostgresDriver<Tx = unknown> {
  readonly name: string
  /** The worst event that its data survives; by default what the server's settings promise. */
  readonly survives?: 'nothing' | 'restart'
  /**
   * Runs one statement without a name, so that it passes a pooler in transaction mode. Destroys the
   * connection of the statement once `signal` is aborted, if the driver can.
   */
  query(
    text: string,
    values: readonly PostgresValue[],
    signal: AbortSignal,
  ): Promise<readonly PostgresRow[]>
  begin(signal: AbortSignal): Promise<PostgresTransaction<Tx>>
  /** Makes a handle that begins its transaction at its first use; without it, `begin` comes first. */
  lazily?(transaction: LazyTransaction<Tx>): Tx
  /**
   * Calls `lost` once if the connection ends by itself. Closes a connection that is being opened
   * once `signal` is aborted.
   */
  listen?(
    channel: string,
    heard: (payload: string) => void,
    lost: () => void,
    signal?: AbortSignal,
  ): Promise<PostgresListener>
}
