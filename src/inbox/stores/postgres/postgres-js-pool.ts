// A pool of postgres.js, by its shape, and what the inbox cannot work with.
import { WebhookError } from '../../../errors.ts'
import type { PostgresRow } from './driver.ts'

/** Rows, with the first word of what the server has done. */
export type Rows = readonly PostgresRow[] & { readonly command?: string }

export interface PendingStatement extends Promise<Rows> {
  cancel(): void
  /** Set until the statement is cancelled, for which it opens a connection. */
  canceller?: ((statement: PendingStatement) => unknown) | null
  /** Null until it is sent; its text and values are read then. */
  readonly state?: object | null
  strings?: readonly string[]
  args?: readonly unknown[]
}

interface StatementOptions {
  readonly prepare: false
  /** Called with the connection that carries the statement out; true lets more follow at once. */
  readonly onexecute?: (carrier: Carrier) => true
}

/** The part of a reserved postgres.js connection that the store uses. */
export interface PostgresJsConnection {
  unsafe(text: string, values?: never[], options?: StatementOptions): PendingStatement
  release(): void
}

/** `postgres(…)`, by its shape. */
export interface PostgresJs<Reserved extends PostgresJsConnection> {
  readonly options?: object
  /** The sign that closes a cursor. */
  readonly CLOSE?: object
  unsafe: PostgresJsConnection['unsafe']
  reserve(): Promise<Reserved>
  listen(channel: string, heard: (payload: string) => void): Promise<{ unlisten(): Promise<void> }>
}

export const unnamed = { prepare: false } as const

/** The connection that carries a statement out, as postgres.js shows it to the statement. */
export interface Carrier {
  onclose: ((error: Error) => void) | null
}

/**
 * Ends a statement that nobody waits for any more. One that waits for its connection to open must
 * be sent, for the pool loses a connection whose first statement was cancelled: it does nothing
 * then. `cancel()` awaits the connection that it opens nowhere: where the server is gone, the
 * unhandled rejection would end the process.
 */
export async function giveUp(statement: PendingStatement): Promise<void> {
  const { canceller, state } = statement
  if (state === null) {
    statement.strings = ['select 1']
    statement.args = []
    return
  }
  if (typeof canceller !== 'function') return statement.cancel()
  statement.canceller = null
  try {
    await canceller(statement)
  } catch {
    // The statement itself fails when its own connection is found to be dead.
  }
}

/**
 * Ends the transaction that was left open on the connection of a statement. The pool does not let
 * one choose its connection: it hands out one after the other.
 */
export async function endOpen(
  sql: Pick<PostgresJs<PostgresJsConnection>, 'reserve'>,
  { state }: PendingStatement,
): Promise<void> {
  for (let tries = 0; tries < mostTries; tries++) {
    const reserved = await sql.reserve()
    try {
      const asked = reserved.unsafe('select 1', [], unnamed)
      await asked.catch(() => {})
      if (asked.state !== state) continue
      await reserved.unsafe('rollback', [], unnamed)
      return
    } finally {
      reserved.release()
    }
  }
}

const mostTries = 20

/**
 * Refuses a pool with which handlers would stop for good.
 *
 * @throws WebhookError `STORE_UNSUITABLE`
 */
export function checkPool({ options = {} }: Pick<PostgresJs<never>, 'options'>): void {
  if ((options as { readonly fetch_types?: unknown }).fetch_types !== false) return
  throw new WebhookError(
    'STORE_UNSUITABLE',
    'postgres.js loses a connection that reserve() has to open while fetch_types is false, and transactions wait for it for ever: leave fetch_types out for the pool of the inbox, or use pg',
  )
}
