// The driver over `postgres` (postgres.js). It cannot destroy one connection: a statement that is
// given up is cancelled at the server, and its connection stays taken until that answers.
import { beginSql, type PostgresDriver, type PostgresRow, type PostgresValue } from './driver.ts'

interface PendingStatement extends Promise<readonly PostgresRow[]> {
  cancel(): void
}

/** The part of a reserved postgres.js connection that the store uses. */
export interface PostgresJsConnection {
  unsafe(text: string, values?: never[], options?: { readonly prepare: false }): PendingStatement
  release(): void
}

/** `postgres(…)`, by its shape. */
export interface PostgresJs<Reserved extends PostgresJsConnection> {
  unsafe: PostgresJsConnection['unsafe']
  reserve(): Promise<Reserved>
  listen(channel: string, heard: (payload: string) => void): Promise<{ unlisten(): Promise<void> }>
}

const unnamed = { prepare: false } as const

/**
 * The driver for postgres.js. `context.tx` is a reserved connection of it, to be used as `tx\`…\``.
 *
 * @example postgresStore(fromPostgresJs(postgres(url, { connect_timeout: 5 })))
 */
export function fromPostgresJs<Reserved extends PostgresJsConnection>(
  sql: PostgresJs<Reserved>,
): PostgresDriver<Reserved> {
  return {
    name: 'postgres.js',
    query: (text, values, signal) => run(sql, { text, values }, signal),
    begin: async (signal) => {
      const reserved = await sql.reserve()
      const ended = async (how: 'commit' | 'rollback') => {
        await reserved.unsafe(how).finally(() => reserved.release())
      }
      if (signal.aborted) reserved.release()
      signal.throwIfAborted()
      await reserved.unsafe(beginSql)
      return {
        handle: reserved,
        query: (text, values) => run(reserved, { text, values }),
        commit: () => ended('commit'),
        rollback: () => ended('rollback'),
        destroy: () => void ended('rollback').catch(() => {}),
      }
    },
    listen: async (channel, heard) => {
      const { unlisten } = await sql.listen(channel, heard)
      return { close: unlisten }
    },
  }
}

async function run(
  connection: Pick<PostgresJsConnection, 'unsafe'>,
  { text, values }: { readonly text: string; readonly values: readonly PostgresValue[] },
  signal?: AbortSignal,
): Promise<readonly PostgresRow[]> {
  signal?.throwIfAborted()
  const statement = connection.unsafe(text, values as readonly unknown[] as never[], unnamed)
  const cancel = () => statement.cancel()
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    return await statement
  } finally {
    signal?.removeEventListener('abort', cancel)
  }
}
