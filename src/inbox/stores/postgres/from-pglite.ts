// The driver over PGlite: Postgres in this process, for tests and for small tools. It has one
// connection, so that everything waits for an open transaction.
import { deferred } from '../../../foundation/promises.ts'
import { type PostgresDriver, type PostgresRow, txMark } from './driver.ts'

/** The part of PGlite and its transactions that the store and handlers use. */
export interface PgliteClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

interface OpenTransaction extends PgliteClient {
  rollback(): Promise<void>
}

/** A PGlite, by its shape. */
export interface Pglite extends PgliteClient {
  readonly dataDir?: string | undefined
  transaction<Result>(work: (tx: OpenTransaction) => Promise<Result>): Promise<Result>
  listen(channel: string, heard: (payload: string) => void): Promise<() => Promise<void>>
}

/**
 * The driver for PGlite.
 *
 * @example postgresStore(fromPglite(await PGlite.create()))
 */
export function fromPglite(db: Pglite): PostgresDriver<PgliteClient> {
  const rowsOf = async (client: PgliteClient, text: string, values: readonly unknown[]) =>
    (await client.query(text, [...values])).rows as PostgresRow[]
  return {
    name: 'PGlite',
    // It does not sync its files.
    survives: /^(?!memory:)./.test(db.dataDir ?? '') ? 'restart' : 'nothing',
    query: (text, values) => rowsOf(db, text, values),
    begin: async (signal) => {
      const begun = deferred<OpenTransaction>()
      const over = deferred<void>()
      const ended = db.transaction(async (tx) => {
        await tx.query(txMark)
        // Nobody waits for it any more, and everything else would wait for its end.
        signal.throwIfAborted()
        begun.resolve(tx)
        await over.promise
      })
      ended.catch(begun.reject)
      const tx = await begun.promise
      const end = async (last?: () => Promise<void>) => {
        try {
          await last?.()
        } finally {
          over.resolve()
        }
        await ended
      }
      const rollback = () => end(() => tx.rollback())
      return {
        handle: tx,
        query: (text, values) => rowsOf(tx, text, values),
        commit: () => end(),
        rollback,
        destroy: () => void rollback().catch(() => {}),
      }
    },
    lazily: (tx) => ({ query: (text, values) => tx.use((open) => open.query(text, values)) }),
    listen: async (channel, heard) => ({ close: await db.listen(channel, heard) }),
  }
}
