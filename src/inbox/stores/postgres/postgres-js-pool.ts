// A pool of postgres.js, by its shape, and how the inbox takes a connection of it.
import { warn } from '../../../foundation/warn.ts'
import type { PostgresRow } from './driver.ts'

/** Rows, with the first word of what the server has done. */
export type Rows = readonly PostgresRow[] & { readonly command?: string }

export interface PendingStatement extends Promise<Rows> {
  cancel(): void
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
  unsafe: PostgresJsConnection['unsafe']
  reserve(): Promise<Reserved>
  listen(channel: string, heard: (payload: string) => void): Promise<{ unlisten(): Promise<void> }>
}

export const unnamed = { prepare: false } as const

/** It awaits that query nowhere. */
const typesAreFetched =
  'postgres.js asks every new connection for its array types, and a connection that fails just then ends the process: pass { fetch_types: false } to postgres(), and give arrays their type, as in sql.array(ids, 25)'

/** The connection that carries a statement out, as postgres.js shows it to the statement. */
export interface Carrier {
  onclose: ((error: Error) => void) | null
}

/** Takes a connection out of the pool; warns where one that fails as it begins ends the process. */
export function reserving<Reserved extends PostgresJsConnection>(
  sql: PostgresJs<Reserved>,
): (signal: AbortSignal) => Promise<Reserved> {
  const { fetch_types: fetchesTypes } = (sql.options ?? {}) as { readonly fetch_types?: unknown }
  if (fetchesTypes === true) warn(typesAreFetched, 'POSTGRES_FETCH_TYPES')
  return (signal) => {
    if (fetchesTypes !== false) return sql.reserve()
    // On a connection that it has to open first, and whose types it does not fetch, reserve() never
    // resolves: so it is asked right after a statement, whose connection is open and free then.
    return sql.unsafe('select 1', [], unnamed).then(() => {
      signal.throwIfAborted()
      return sql.reserve()
    })
  }
}
