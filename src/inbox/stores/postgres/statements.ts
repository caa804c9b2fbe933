// Statements with a time limit on our side. Errors carry an SQLSTATE and words of our own: the
// message of a server may hold data of an entry.

import { isWebhookError, WebhookError } from '../../../errors.ts'
import { orAborted } from '../../../foundation/abortable.ts'
import { defined } from '../../../foundation/defined.ts'
import { warnOnce } from '../../../foundation/warn.ts'
import {
  type PostgresDriver,
  type PostgresRow,
  type PostgresTransaction,
  type PostgresValue,
  wasOpen,
} from './driver.ts'

/** Serialization failures and deadlocks: the transaction was undone as a whole. */
const repeatable = ['40001', '40P01']
const maxRepeats = 5
const rollbackLimit = 5_000

type StatementCode = 'STORE_FAILED' | 'STORE_TIMEOUT' | 'STORE_UNSUITABLE'

/** An error of this store; with `sqlState` if the server refused a statement. */
export type StatementError = WebhookError & { readonly sqlState?: string }

/** Not a subclass: observers show the text of a `WebhookError` only. */
export function statementError(
  code: StatementCode,
  message: string,
  sqlState?: string,
): StatementError {
  return Object.assign(new WebhookError(code, message), defined({ sqlState }))
}

/** Tells whether the server itself rejected the statement because of its content. */
export function isRefused(error: unknown): boolean {
  return /^(22|23|54)/.test(toStoreError(error).sqlState ?? '')
}

export class Statements {
  readonly driver: PostgresDriver
  readonly limit: number
  isOpen = false
  readonly #schema: string

  constructor(driver: PostgresDriver, { limit, schema }: { limit: number; schema: string }) {
    this.driver = driver
    this.limit = limit
    this.#schema = schema
  }

  text(sql: string): string {
    return inSchema(sql, this.#schema)
  }

  async run(
    sql: string,
    values: readonly PostgresValue[] = [],
    limit = this.limit,
  ): Promise<readonly PostgresRow[]> {
    if (!this.isOpen) throw statementError('STORE_FAILED', 'the inbox is closed')
    const text = this.text(sql)
    for (let repeat = 0; ; repeat++) {
      try {
        return await this.within(limit, (signal) => this.driver.query(text, values, signal))
      } catch (error) {
        const { sqlState } = error as StatementError
        if (wasOpen(sqlState)) warn(wasLeftOpen, 'POSTGRES_OPEN_TRANSACTION')
        else if (!repeatable.includes(sqlState ?? '')) throw error
        if (repeat === maxRepeats) throw error
      }
    }
  }

  async first(sql: string, values: readonly PostgresValue[] = [], limit = this.limit) {
    const [row = {}] = await this.run(sql, values, limit)
    return row
  }

  /** Calls a function in its own transaction, so that its answer is committed. */
  async call(
    name: string,
    values: readonly PostgresValue[],
    limit = this.limit,
  ): Promise<readonly PostgresRow[]> {
    const parameters = [...values.map((_, at) => `$${at + 1}`), 'null'].join(', ')
    const sql = `call idv.alone_${name}(${parameters})`
    const { answers } = await this.first(sql, values, limit)
    if (answers === null) return []
    if (typeof answers === 'string') return JSON.parse(answers)
    throw statementError('STORE_FAILED', 'a statement was answered without its rows')
  }

  async ask(...asked: Parameters<Statements['call']>): Promise<unknown> {
    return (await this.call(...asked))[0]?.answer
  }

  /** Rolls back within a time limit: a connection may have gone silent. */
  async undo(tx: PostgresTransaction): Promise<void> {
    await this.within(rollbackLimit, () => tx.rollback()).catch(() => tx.destroy())
  }

  /** Does work that may hang: after the limit its signal is aborted and the promise rejects. */
  async within<Result>(
    limit: number,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const over = new AbortController()
    const timer = setTimeout(() => over.abort(late(limit)), limit)
    try {
      return await orAborted(work(over.signal), over.signal)
    } catch (error) {
      throw toStoreError(error)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The statements of an operator's store: they reject the work of an application. */
export class OperatorStatements extends Statements {
  override isOpen = true

  override async within(): Promise<never> {
    throw statementError('STORE_UNSUITABLE', "mode: 'operator' keeps and claims nothing")
  }
}

const wasLeftOpen =
  'a connection of the pool was in a transaction that was left open; the inbox used another connection. Find the code that begins a transaction and returns without commit or rollback'
const warn = /* @__PURE__ */ warnOnce()

export function inSchema(sql: string, schema: string): string {
  return sql.replaceAll(/\bidv\./g, `${quoted(schema)}.`)
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function late(limit: number): StatementError {
  return statementError('STORE_TIMEOUT', `Postgres did not answer within ${limit} ms`)
}

/** How to fix the errors of a first connection, by their codes. */
const fixes = new Map([
  ['ECONNREFUSED', 'start it, or check host and port'],
  ['ENOTFOUND', 'check the host'],
  ['ETIMEDOUT', 'check host, port and firewall'],
  ['2D000', 'a transaction was left open on a connection of the pool: commit it or roll it back'],
  ['28P01', 'check user and password'],
  ['28000', 'check user, password and pg_hba.conf'],
  ['3D000', 'create the database, or check its name'],
  ['42501', 'give the role rights, or let another role make the schema'],
])

/** Names an error only by its code; errors of this package stay as they are. */
export function toStoreError(error: unknown): StatementError {
  if (isWebhookError(error)) return error
  const { code } = (error ?? {}) as { readonly code?: unknown }
  const known = typeof code === 'string' && /^[\w-]{1,40}$/.test(code) ? code : undefined
  const sqlState = known !== undefined && /^[0-9A-Z]{5}$/.test(known) ? known : undefined
  const what = sqlState === undefined ? 'the connection to Postgres failed' : 'Postgres refused'
  const fix = fixes.get(known ?? '')
  const said = known === undefined ? what : `${what} (${known})`
  return statementError('STORE_FAILED', fix ? `${said}: ${fix}` : said, sqlState)
}
