// The driver over `postgres` (postgres.js). It cannot destroy one connection: a statement that is
// given up is cancelled at the server, and its connection stays taken until that answers.
import { WebhookError } from '../../../errors.ts'
import { deferred } from '../../../foundation/promises.ts'
import { isPromise } from '../../../host/promises.ts'
import {
  beginSql,
  type PostgresDriver,
  type PostgresRow,
  type PostgresTransaction,
  type PostgresValue,
  rolledBack,
  wasOpen,
} from './driver.ts'
import { closeOnceOver } from './open-cursor.ts'
import {
  type Carrier,
  checkPool,
  endOpen,
  giveUp,
  type PostgresJs,
  type PostgresJsConnection,
  unnamed,
} from './postgres-js-pool.ts'

export type { PostgresJs, PostgresJsConnection }

/**
 * The driver for postgres.js. `context.tx` is a reserved connection of it, to be used as `tx\`…\``.
 * A connection that fails as it is opened can end the process (docs/scale.md, drivers).
 *
 * @throws WebhookError `STORE_UNSUITABLE` for a pool with `fetch_types: false`
 * @example postgresStore(fromPostgresJs(postgres(url, { connect_timeout: 5 })))
 */
export function fromPostgresJs<Reserved extends PostgresJsConnection>(
  sql: PostgresJs<Reserved>,
): PostgresDriver<Reserved> {
  checkPool(sql)
  return {
    name: 'postgres.js',
    query: (text, values, signal) => run(sql, { text, values }, { signal, left: sql }),
    begin: async (signal) => {
      const reserved = await sql.reserve()
      if (signal.aborted) reserved.release()
      signal.throwIfAborted()
      return ReservedTransaction.begin(reserved, { signal, closesCursor: sql.CLOSE })
    },
    listen: async (channel, heard) => {
      const { unlisten } = await sql.listen(channel, heard)
      return { close: unlisten }
    },
  }
}

/** A statement of postgres.js: sent by its `handler` when somebody first waits for it. */
interface UnsentStatement {
  readonly strings: readonly string[]
  readonly args: readonly unknown[]
  readonly executed: boolean
  /** Set where it was written into another statement. */
  readonly fragment?: boolean
  handler(statement: UnsentStatement): unknown
  reject(error: Error): void
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
  /** Statements that the handler made and has not awaited. */
  readonly #unsent = new Set<UnsentStatement>()
  #sent = 0
  #isOver = false
  #isDead = false
  #ending: Promise<void> | undefined

  /** Resolves with the sign that closes a cursor. */
  readonly #ended: Promise<unknown>
  #tellEnded: () => void

  private constructor(reserved: Reserved, closesCursor: unknown) {
    const { promise, resolve } = deferred<unknown>()
    this.#ended = promise
    this.#tellEnded = () => resolve(closesCursor)
    this.#reserved = reserved
    this.handle = this.#guarded(reserved)
  }

  static async begin<Reserved extends PostgresJsConnection>(
    reserved: Reserved,
    { signal, closesCursor }: { readonly signal: AbortSignal; readonly closesCursor: unknown },
  ): Promise<ReservedTransaction<Reserved>> {
    const tx = new ReservedTransaction(reserved, closesCursor)
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
      () => tx.#isDead || reserved.release(),
    )
    await begun
    signal.throwIfAborted()
    return tx
  }

  get sent(): number {
    return this.#sent
  }

  query(text: string, values: readonly PostgresValue[]): Promise<readonly PostgresRow[]> {
    const unsafe: PostgresJsConnection['unsafe'] = (...parts) =>
      this.#checked(this.#reserved.unsafe(...parts))
    return run({ unsafe }, { text, values })
  }

  async commit(): Promise<void> {
    if (this.#ending) throw over()
    if ([...this.#unsent].some(isForgotten)) throw new WebhookError('STORE_FAILED', forgotten)
    this.#ending = this.#end('commit')
    await this.#ending
  }

  async rollback(): Promise<void> {
    this.#ending ??= this.#end('rollback')
    await this.#ending.catch(() => {})
  }

  destroy(): void {
    void this.rollback()
  }

  /**
   * Once: afterwards the connection may be somebody else's. What the handler asked for in this turn
   * is sent before. A connection that has died left for the pool by itself.
   */
  async #end(how: 'commit' | 'rollback'): Promise<void> {
    queueMicrotask(() => {
      this.#isOver = true
      this.#tellEnded()
    })
    try {
      const command = await this.#last(how)
      if (how === 'commit' && command === 'ROLLBACK') throw new Error(rolledBack)
    } finally {
      if (!this.#isDead) this.#reserved.release()
    }
  }

  /** Statements of a connection go out in the order in which they were asked for. */
  async #last(how: 'commit' | 'rollback'): Promise<string | undefined> {
    for (;;) {
      if (this.#isDead) throw dead()
      try {
        return (await this.#watch(this.#reserved.unsafe(how))).command
      } catch (error) {
        if (codeOf(error) !== 'COPY_IN_PROGRESS') throw error
        // Nothing can be sent until the COPY ends that the handler left open.
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
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
          const misuse = misuses.get(name)
          if (misuse !== undefined) throw new WebhookError('STORE_FAILED', misuse)
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
    this.#unsent.add(value)
    closeOnceOver(value, this.#ended)
    for (const part of value.args.flat()) if (isStatement(part)) this.#unsent.delete(part)
    return this.#checked(value, () => {
      this.#unsent.delete(value)
      this.#sent++
    })
  }

  /** Refuses it at the moment at which it would be sent. */
  #checked<Value>(value: Value, sending = () => {}): Value {
    if (!isStatement(value)) return value
    const { handler } = value
    value.handler = (statement) => {
      const refusal = this.#refusal()
      sending()
      if (refusal) statement.reject(refusal)
      else handler(statement)
    }
    return this.#watch(value)
  }

  /** After such an error the connection is closed, or will be in a moment. */
  #watch<Value>(value: Value): Value {
    if (!isStatement(value)) return value
    const { reject } = value
    value.reject = (error) => {
      if (isFatal(error)) this.#isDead = true
      reject(error)
    }
    return value
  }

  #refusal(): Error | undefined {
    if (this.#isOver) return over()
    return this.#isDead ? dead() : undefined
  }
}

/** Methods of a reserved connection that a handler must not call. */
const misuses = new Map<string | symbol, string>([
  ['release', 'the inbox releases it'],
  // It reads first and sends then, and nothing can stop it in between.
  ['file', 'context.tx has no file(): read the file, and give its text to unsafe()'],
])

const over = () =>
  new WebhookError('STORE_FAILED', 'the handler is over, and its transaction with it')

const codeOf = (error: unknown) => String((error as { code?: unknown } | null)?.code)

/** The server's last word, or the error of a socket. */
function isFatal(error: Error): boolean {
  const { severity, syscall } = error as { severity?: unknown; syscall?: unknown }
  return severity === 'FATAL' || syscall !== undefined || codeOf(error).startsWith('CONNECTION_')
}

const dead = () => new WebhookError('STORE_FAILED', 'the connection of the transaction has ended')

const forgotten =
  'the handler made a statement of context.tx that it did not await, so it was never sent: await it'

/** Whether a statement that was not sent is more than a part for another statement. */
function isForgotten({ strings, executed, fragment }: UnsentStatement): boolean {
  return !executed && fragment !== true && statementWord.test(strings[0] ?? '')
}

const statementWord = /^\s*(insert|update|delete|merge|select|with|call|do|copy|truncate)\b/i

function isStatement(value: unknown): value is UnsentStatement {
  const { handler, reject } = (value ?? {}) as Partial<UnsentStatement>
  return isPromise(value) && typeof handler === 'function' && typeof reject === 'function'
}

async function run(
  connection: Pick<PostgresJsConnection, 'unsafe'>,
  { text, values }: { readonly text: string; readonly values: readonly PostgresValue[] },
  {
    signal,
    left,
  }: { signal?: AbortSignal; left?: Pick<PostgresJs<PostgresJsConnection>, 'reserve'> } = {},
): Promise<readonly PostgresRow[]> {
  signal?.throwIfAborted()
  const statement = connection.unsafe(text, values as readonly unknown[] as never[], unnamed)
  const cancel = () => void giveUp(statement)
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    // A statement that failed after its first rows leaves as many holes before those of the next.
    return (await statement).filter(() => true)
  } catch (error) {
    if (left && wasOpen(codeOf(error))) await endOpen(left, statement).catch(() => {})
    throw error
  } finally {
    signal?.removeEventListener('abort', cancel)
  }
}
