// The drivers whose transactions are callbacks: postgres.js, through its public functions, and
// PGlite (Postgres in this process), for tests and small tools.
import { WebhookError } from '../../../errors.ts'
import {
  idleLimit,
  type PostgresDriver,
  type PostgresRow,
  type PostgresValue,
  txMark,
} from './driver.ts'

/** The part of a postgres.js connection that the store uses. */
export interface PostgresJsConnection {
  unsafe(
    text: string,
    values?: never[],
    options?: { readonly prepare: false },
  ): Promise<readonly PostgresRow[]>
}

/** `postgres(…)`, by its shape. */
export interface PostgresJs<Tx extends PostgresJsConnection> {
  unsafe: PostgresJsConnection['unsafe']
  begin(options: string, work: (tx: Tx) => Promise<void>): Promise<unknown>
  listen(channel: string, heard: (payload: string) => void): Promise<{ unlisten(): Promise<void> }>
}

/**
 * Creates the driver for postgres.js. `context.tx` is the `sql` of its `begin`, used as `tx\`…\``. It cannot
 * end a connection: a statement that is given up keeps it until the server answers.
 * A connection that fails as it is opened can end the process (docs/scale.md, drivers).
 *
 * @example postgresStore(fromPostgresJs(postgres(url, { connect_timeout: 5 })))
 */
export function fromPostgresJs<Tx extends PostgresJsConnection>(
  sql: PostgresJs<Tx>,
): PostgresDriver<Tx> {
  return {
    name: 'postgres.js',
    query: (text, values) => rowsOf(sql, text, values),
    begin: async (signal) => {
      let pid = 0
      let sent = 0
      const prepare = async (tx: Tx) => {
        await rowsOf(tx, `${txMark}; ${idleLimit}`, [])
        const [row] = await rowsOf(tx, 'select pg_backend_pid() as pid', [])
        pid = Number(row?.pid)
      }
      const run = async (work: (tx: Tx) => Promise<void>) => {
        try {
          await sql.begin('read write', work)
        } finally {
          pid = 0
        }
      }
      const { handle, isOver, commit, rollback } = await holdOpen(run, prepare, signal)
      // postgres.js would send a statement on a connection that has ended or belongs to another
      // call by now.
      const assertOpen = () => {
        if (isOver() || pid === 0) throw new WebhookError('STORE_FAILED', over)
      }
      return {
        handle: guarded(handle, () => {
          assertOpen()
          sent++
        }),
        get sent() {
          return sent
        },
        query: async (text, values) => {
          assertOpen()
          return rowsOf(handle, text, values)
        },
        commit: async () => {
          assertOpen()
          await commit()
        },
        rollback,
        destroy: () => {
          if (pid === 0) return
          rowsOf(sql, 'select pg_terminate_backend($1::int)', [pid]).catch(() => {})
          pid = 0
        },
      }
    },
    listen: async (channel, heard) => {
      const { unlisten } = await sql.listen(channel, heard)
      return { close: unlisten }
    },
  }
}

const over = 'the handler is over, and its transaction with it'

function guarded<Tx extends PostgresJsConnection>(handle: Tx, use: () => void): Tx {
  return new Proxy(handle, {
    apply: (target, self, parts) => {
      use()
      return Reflect.apply(target as unknown as (...parts: unknown[]) => unknown, self, parts)
    },
    get: (target, name) => {
      use()
      return Reflect.get(target, name)
    },
  })
}

async function rowsOf(
  connection: PostgresJsConnection,
  text: string,
  values: readonly PostgresValue[],
): Promise<readonly PostgresRow[]> {
  const statement = connection.unsafe(text, [...values] as never[], { prepare: false })
  // A statement of the application that failed after its first rows leaves holes before the next.
  return (await statement).filter(() => true)
}

/** The part of PGlite and its transactions that the store and handlers use. */
export interface PgliteClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** A PGlite, by its shape. */
export interface Pglite extends PgliteClient {
  readonly dataDir?: string | undefined
  transaction<Result>(work: (tx: PgliteClient) => Promise<Result>): Promise<Result>
  listen(channel: string, heard: (payload: string) => void): Promise<() => Promise<void>>
}

/**
 * Creates the driver for PGlite. PGlite has one connection, so every call waits for an open
 * transaction.
 *
 * @example postgresStore(fromPglite(await PGlite.create()))
 */
export function fromPglite(db: Pglite): PostgresDriver<PgliteClient> {
  const ask = async (client: PgliteClient, text: string, values: readonly unknown[]) =>
    (await client.query(text, [...values])).rows as PostgresRow[]
  return {
    name: 'PGlite',
    // It does not sync its files.
    survives: /^(?!memory:)./.test(db.dataDir ?? '') ? 'restart' : 'nothing',
    query: (text, values) => ask(db, text, values),
    begin: async (signal) => {
      const run = (work: (tx: PgliteClient) => Promise<void>) => db.transaction(work)
      const held = await holdOpen(run, (tx) => tx.query(txMark), signal)
      const { handle, commit, rollback } = held
      return {
        handle,
        query: (text, values) => ask(handle, text, values),
        commit,
        rollback,
        destroy: () => void rollback(),
      }
    },
    lazily: (tx) => ({ query: (text, values) => tx.use((open) => open.query(text, values)) }),
    listen: async (channel, heard) => ({ close: await db.listen(channel, heard) }),
  }
}

/** A transaction that its driver runs in a callback, and that calls end. */
interface HeldTransaction<Tx> {
  readonly handle: Tx
  isOver(): boolean
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** Holds the transaction open that `run` gives to its callback, after `prepare`. */
async function holdOpen<Tx>(
  run: (work: (tx: Tx) => Promise<void>) => Promise<unknown>,
  prepare: (tx: Tx) => Promise<unknown>,
  signal: AbortSignal,
): Promise<HeldTransaction<Tx>> {
  const [begun, ending] = [Promise.withResolvers<Tx>(), Promise.withResolvers<void>()]
  let isOver = false
  const ended = run(async (tx) => {
    await prepare(tx)
    // The caller has stopped waiting, and the transaction would keep its connection.
    signal.throwIfAborted()
    begun.resolve(tx)
    await ending.promise
  })
  ended.catch((error) => {
    isOver = true
    begun.reject(error)
  })
  const handle = await begun.promise
  const end = async (settle: () => void) => {
    // The connection of a transaction that failed by itself takes no further statement.
    if (!isOver) settle()
    isOver = true
    await ended
  }
  return {
    handle,
    isOver: () => isOver,
    commit: () => end(() => ending.resolve()),
    rollback: () => end(() => ending.reject(new Error('rolled back'))).catch(() => {}),
  }
}
