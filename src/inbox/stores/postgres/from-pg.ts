// The driver over a pool of `pg`. It destroys a client that hangs, and gives every client an
// `error` listener: without one, a broken connection ends the process.
import { isBytes } from '../../../foundation/bytes.ts'
import {
  idleLimit,
  type PostgresDriver,
  type PostgresRow,
  type PostgresTransaction,
  type PostgresValue,
  txMark,
} from './driver.ts'

/** The part of a `pg` client that the store and handlers use. */
export interface PgClient {
  query(text: string, values?: readonly unknown[]): Promise<PgResult>
}

interface PgResult {
  readonly rows: PostgresRow[]
  /** The command that the server has carried out, in one word. */
  readonly command?: string
}

interface PooledClient extends PgClient {
  on(event: 'error', listener: () => void): unknown
  release(broken?: boolean): void
}

interface ListeningClient extends PgClient {
  connect(): Promise<unknown>
  end(): Promise<unknown>
  on(event: 'error' | 'end', listener: () => void): unknown
  on(event: 'notification', listener: (notice: { readonly payload?: string }) => void): unknown
}

/** A pool of `pg`, by its shape. */
export interface PgPool {
  connect(): Promise<PooledClient>
  on(event: 'error' | 'connect', listener: () => void): unknown
}

/** Options of `fromPg`. */
export interface FromPgOptions {
  /**
   * Makes the client that listens, if the pool leads to a pooler in transaction mode, which would
   * lose its `listen`: `() => new pg.Client({ port: 5432, … })`. By default the pool makes it.
   */
  readonly listener?: () => ListeningClient
}

const ignore = () => {}
const beginSql = `begin isolation level read committed; ${idleLimit}; ${txMark}`
const guarded = new WeakSet<PgPool | PooledClient>()

/** Never removed: between two users of a client no other listener would handle its errors. */
function guard(subject: PgPool | PooledClient): void {
  if (!guarded.has(subject)) subject.on('error', ignore)
  guarded.add(subject)
}

function guardFirst(...heard: readonly unknown[]): void {
  // Trust is granted here: a pool passes its new client.
  guard(heard[0] as PooledClient)
}

/**
 * The driver for a pool of `pg`. Give the pool a `connectionTimeoutMillis`, so that a server that
 * does not answer holds none of its places for ever.
 *
 * @example postgresStore(fromPg(new pg.Pool({ connectionString, connectionTimeoutMillis: 5_000 })))
 */
export function fromPg(pool: PgPool, options: FromPgOptions = {}): PostgresDriver<PgClient> {
  // Set before the pool hands out a new client, because its connection may end at once.
  if (!guarded.has(pool)) pool.on('connect', guardFirst)
  guard(pool)
  return {
    name: 'pg',
    query: async (text, values, signal) => {
      const client = await connected(pool, signal)
      return aborting(client, { signal, keeps: false }, () => rowsOf(client, text, values))
    },
    begin: async (signal) => {
      const client = await connected(pool, signal)
      await aborting(client, { signal, keeps: true }, () => client.query(beginSql))
      return transaction(client)
    },
    lazily: (tx) => ({ query: (...statement) => tx.use((client) => client.query(...statement)) }),
    listen: async (channel, heard, lost, signal) => {
      const client = options.listener?.() ?? clientLike(pool)
      client.on('error', ignore)
      client.on('notification', ({ payload = '' }) => heard(payload))
      const stop = () => destroy(client)
      signal?.addEventListener('abort', stop, { once: true })
      try {
        await client.connect()
        await client.query(`listen "${channel}"`)
      } catch (error) {
        await client.end().catch(ignore)
        throw error
      } finally {
        signal?.removeEventListener('abort', stop)
      }
      // Not earlier: a connection that was never established is reported by its error only.
      client.on('end', lost)
      return {
        close: async (over) => {
          over?.addEventListener('abort', stop, { once: true })
          await client.end()
        },
      }
    },
  }
}

async function rowsOf(client: PgClient, text: string, given?: readonly PostgresValue[]) {
  const values = given?.map(toParameter)
  // Trust is granted here: `pg` takes a configuration in place of the text.
  return (await client.query({ text, values, types } as unknown as string)).rows
}

/** Parsers of boolean, bytea and integer, by the number of the type. */
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't',
  17: (text) =>
    text.startsWith('\\x')
      ? Buffer.from(text.slice(2), 'hex')
      : Buffer.from(unescaped(text), 'latin1'),
  23: Number,
}

/** Bytes as a server with `bytea_output = escape` writes them. */
const unescaped = (text: string) =>
  text.replace(/\\(\d{3}|\\)/g, (_, code) =>
    code === '\\' ? code : String.fromCharCode(Number.parseInt(code, 8)),
  )

/** The inbox's own parsers, because the whole process shares those of `pg`. */
const types = { getTypeParser: (oid: number) => parsers[oid] ?? ((text: string) => text) }

/** `pg` sends a Buffer as bytes; other arrays of bytes it would write out as JSON. */
function toParameter(value: PostgresValue): unknown {
  if (!isBytes(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

async function connected(pool: PgPool, signal: AbortSignal): Promise<PooledClient> {
  signal.throwIfAborted()
  const client = await pool.connect()
  guard(client)
  if (!signal.aborted) return client
  client.release()
  throw signal.reason
}

/**
 * Tells an error about the statement itself. Any other error may come from the connection, which
 * the application may have left read-only or in another role.
 */
const isOwn = (code: unknown) => typeof code === 'string' && /^(P0V|22|23|40|54)/.test(code)

/** Works on a client, then returns it unless it `keeps` it; destroys it once `signal` is aborted. */
async function aborting<Result>(
  client: PooledClient,
  { signal, keeps }: { readonly signal: AbortSignal; readonly keeps: boolean },
  work: () => Promise<Result>,
): Promise<Result> {
  let isOut = true
  const back = (broken?: boolean) => {
    if (isOut) client.release(broken)
    isOut = false
  }
  const stop = () => back(true)
  signal.addEventListener('abort', stop, { once: true })
  try {
    const result = await work()
    if (!keeps) back()
    return result
  } catch (error) {
    back(keeps || !isOwn((error as { readonly code?: unknown } | null)?.code))
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function transaction(client: PooledClient): PostgresTransaction<PgClient> {
  let isOut = true
  const back = (broken = false) => {
    if (isOut) client.release(broken)
    isOut = false
  }
  const end = async (how: 'commit' | 'rollback') => {
    if (!isOut) return
    let command: string | undefined
    try {
      command = (await client.query(how)).command
    } catch (error) {
      back(true)
      throw error
    }
    back()
    // A commit of a transaction in which a statement failed is answered so, and not as an error.
    if (how === 'commit' && command === 'ROLLBACK') throw new Error(rolledBack)
  }
  return {
    handle: client,
    query: (text, values) => rowsOf(client, text, values),
    commit: () => end('commit'),
    rollback: () => end('rollback'),
    destroy: () => back(true),
  }
}

const rolledBack =
  'the transaction was rolled back: a statement failed that the handler did not wait for'

/** `end()` of a client waits for the server, which may no longer answer. */
function destroy(client: ListeningClient): void {
  const { connection } = client as ListeningClient & {
    readonly connection?: { readonly stream?: { destroy(): unknown } }
  }
  if (connection?.stream) connection.stream.destroy()
  else void client.end().catch(ignore)
}

/** A pool of `pg` carries its options and the class of its clients. */
function clientLike(pool: PgPool): ListeningClient {
  const { Client, options } = pool as PgPool & {
    readonly Client: new (options: unknown) => ListeningClient
    readonly options: unknown
  }
  // It is idle for hours, and a router in between may drop it without a word.
  const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 30_000 }
  return new Client({ ...Object(options), ...keepAlive })
}
