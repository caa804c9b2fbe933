// The interface of a Postgres driver. Drivers are handed in and typed by their shape.

/** Ends with the transaction: a checkpoint without it would not commit with the effects. */
export const txMark = "set local idv_webhooks.tx = 'open'"

/** The error of a commit that the server answered with a rollback. */
export const rolledBack =
  'the transaction was rolled back: a statement failed that the handler did not wait for'

/** Begins a transaction; a handler that hangs in it must not hold back vacuum for ever. */
export const beginSql = `begin isolation level read committed;
  set local idle_in_transaction_session_timeout = '60s'; ${txMark}`

/**
 * Whether a statement found its connection in a transaction that somebody had left open. Nothing
 * was done; a driver that can destroys the connection.
 */
export function wasOpen(sqlState: unknown): boolean {
  return sqlState === '2D000' || sqlState === '25P02'
}

/** Rows as drivers give them: numbers beyond 32 bits may come as text or bigint. */
export type PostgresRow = Readonly<Record<string, unknown>>

/** A parameter: every driver sends these alike. */
export type PostgresValue = string | number | boolean | Uint8Array | null

/** A transaction on a connection of its own, in isolation level read committed. */
export interface PostgresTransaction<Tx = unknown> {
  readonly handle: Tx
  /** How many statements the handle has sent; for drivers without `lazily`. */
  readonly sent?: number
  query(text: string, values: readonly PostgresValue[]): Promise<readonly PostgresRow[]>
  /** Rejects when the transaction was ended before, and when the server answers with a rollback. */
  commit(): Promise<void>
  /** Does nothing when it has ended: its connection may be somebody else's by then. */
  rollback(): Promise<void>
  /** Closes the connection and whatever is in progress on it. */
  destroy(): void
}

/** A connection that hears notifications for as long as it lives. */
export interface PostgresListener {
  /** Once `over` is aborted nobody waits: the connection is destroyed. */
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
  /** The most that what it keeps survives; without it what the server's settings promise. */
  readonly survives?: 'nothing' | 'restart'
  /**
   * Runs one statement without a name, so that it passes a pooler in transaction mode. Once
   * `signal` is aborted nobody waits: its connection is destroyed, not returned to the pool.
   */
  query(
    text: string,
    values: readonly PostgresValue[],
    signal: AbortSignal,
  ): Promise<readonly PostgresRow[]>
  begin(signal: AbortSignal): Promise<PostgresTransaction<Tx>>
  /**
   * A handle that begins its transaction at its first use; without it, it begins before. Each
   * statement is sent in `use`.
   */
  lazily?(transaction: LazyTransaction<Tx>): Tx
  /**
   * `lost` is called once when the connection has ended by itself. Once `signal` is aborted nobody
   * waits: a connection that is being opened is closed.
   */
  listen?(
    channel: string,
    heard: (payload: string) => void,
    lost: () => void,
    signal?: AbortSignal,
  ): Promise<PostgresListener>
}
