// The driver over `postgres` (postgres.js). It cannot destroy one connection: a statement that is
// given up is cancelled at the server, and its connection stays taken until that answers.
import { WebhookError } from '../../../foundation/errors.ts'
import {
  beginSql,
  type PostgresDriver,
  type PostgresRow,
  type PostgresTransaction,
  type PostgresValue,
  rolledBack,
} from './driver.ts'

/** Rows, with the first word of what the server has done. */
type Rows = readonly PostgresRow[] & { readonly command?: string }

interface PendingStatement extends Promise<Rows> {
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
      if (signal.aborted) reserved.release()
      signal.throwIfAborted()
      return ReservedTransaction.begin(reserved, signal)
    },
    listen: async (channel, heard) => {
      const { unlisten } = await sql.listen(channel, heard)
      return { close: unlisten }
    },
  }
}

/** A statement of postgres.js: sent by its `handler` when somebody first waits for it. */
interface UnsentStatement {
  handler(statement: UnsentStatement): unknown
  reject(error: Error): void
}

/** The connection that carries a statement out, as postgres.js shows it to the statement. */
interface Carrier {
  onclose: ((error: Error) => void) | null
}

type Callable = (...parts: unknown[]) => unknown

/**
 * A transaction on a reserved connection. The connection goes back to the pool while a handler
 * whose time was over may still have it: what the handler sends then would run in anybody's
 * transaction. And what is sent on a connection that has died ends the process.
 */
class ReservedTransaction<Reserved extends PostgresJsConnection>
  implements PostgresTransaction<Reserved>
{
  readonly handle: Reserved
  readonly #reserved: Reserved
  #isOver = false
  #isDead = false
  #isReleased = false

  private constructor(reserved: Reserved) {
    this.#reserved = reserved
    this.handle = this.#guarded(reserved)
  }

  static async begin<Reserved extends PostgresJsConnection>(
    reserved: Reserved,
    signal: AbortSignal,
  ): Promise<ReservedTransaction<Reserved>> {
    const tx = new ReservedTransaction(reserved)
    const onexecute = (carrier: Carrier): true => {
      carrier.onclose = () => {
        tx.#isDead = true
      }
      return true
    }
    const begun = reserved.unsafe(beginSql, [], { ...unnamed, onexecute })
    begun.then(
      // Nobody waited for it any more: it must not keep its connection.
      () => signal.aborted && void tx.rollback(),
      () => tx.#release(),
    )
    await begun
    signal.throwIfAborted()
    return tx
  }

  query(text: string, values: readonly PostgresValue[]): Promise<readonly PostgresRow[]> {
    return run(this.handle, { text, values })
  }

  async commit(): Promise<void> {
    this.#end()
    try {
      await this.#last('commit')
    } finally {
      this.#release()
    }
  }

  async rollback(): Promise<void> {
    this.#end()
    await this.#last('rollback').catch(() => {})
    this.#release()
  }

  destroy(): void {
    void this.rollback()
  }

  /** A turn later: what the handler sent before, without waiting for it, belongs to it. */
  #end(): void {
    queueMicrotask(() => {
      this.#isOver = true
    })
  }

  /** Statements of a connection go out in the order in which they were asked for. */
  async #last(how: 'commit' | 'rollback'): Promise<void> {
    if (this.#isDead) throw dead()
    const { command } = await this.#watch(this.#reserved.unsafe(how))
    if (how === 'commit' && command === 'ROLLBACK') throw new Error(rolledBack)
  }

  /**
   * Once, for by then it may be somebody else's: a commit that was given up may end after its
   * rollback. One that died has left for the pool by itself.
   */
  #release(): void {
    if (this.#isDead || this.#isReleased) return
    this.#isReleased = true
    this.#reserved.release()
  }

  #guarded(reserved: Reserved): Reserved {
    return new Proxy(reserved, {
      apply: (target, self, parts) => {
        return this.#guard(Reflect.apply(target as unknown as Callable, self, parts))
      },
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...parts: unknown[]) => {
          if (name === 'release') throw new WebhookError('STORE_FAILED', 'the inbox releases it')
          // It sends at once, by a statement that nobody sees.
          const refusal = name === 'notify' ? this.#refusal() : undefined
          if (refusal) return Promise.reject(refusal)
          return this.#guard(Reflect.apply(value as Callable, target, parts))
        }
      },
    })
  }

  #guard<Value>(value: Value): Value {
    if (!isStatement(value)) return value
    const { handler } = value
    value.handler = (statement) => {
      const refusal = this.#refusal()
      if (refusal) statement.reject(refusal)
      else handler(statement)
    }
    return this.#watch(value)
  }

  /** A server that answers so closes the connection next. */
  #watch<Value>(value: Value): Value {
    if (!isStatement(value)) return value
    const { reject } = value
    value.reject = (error) => {
      if ((error as { severity?: unknown }).severity === 'FATAL') this.#isDead = true
      reject(error)
    }
    return value
  }

  #refusal(): Error | undefined {
    if (this.#isOver) {
      const message = 'the handler is over, and its transaction with it'
      return new WebhookError('STORE_FAILED', message)
    }
    return this.#isDead ? dead() : undefined
  }
}

const dead = () => new WebhookError('STORE_FAILED', 'the connection of the transaction has ended')

function isStatement(value: unknown): value is UnsentStatement {
  const { handler, reject } = (value ?? {}) as Partial<UnsentStatement>
  return value instanceof Promise && typeof handler === 'function' && typeof reject === 'function'
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
