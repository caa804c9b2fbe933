// Carries out batches of calls on an open file: each batch is one transaction, and so one sync.
import { isWebhookError, reasonOf, WebhookError } from '../../../errors.ts'
import { AdminCalls } from './admin-calls.ts'
import { ArrivalCalls } from './arrival-calls.ts'
import { AttemptCalls } from './attempt-calls.ts'
import type { BatchAnswer, CallAnswer, CallHandlers, Method, WriterCall } from './calls.ts'
import { Connection, type TypedStatement } from './connection.ts'
import { CopyCalls } from './copy.ts'
import { inTransaction, isDamage, isFatal } from './driver.ts'
import { damagedFile, lossOf } from './file-checks.ts'
import { Lanes } from './lanes.ts'
import type { InboxDatabase } from './opening.ts'
import { logOf, WalCheckpoint } from './wal-checkpoint.ts'

/** They change nothing, so that the others of a batch are committed even if one of them fails. */
const reads: ReadonlySet<Method> = new Set<Method>([
  'find',
  'stats',
  'lapsed',
  'copyOut',
  'copyLast',
  'copyTally',
])

export class Batches {
  readonly #opened: InboxDatabase
  readonly #connection: Connection
  readonly #handlers: CallHandlers
  readonly #log: WalCheckpoint
  readonly #loss: (() => string | undefined) | undefined
  readonly #setting: TypedStatement<{ readonly value: unknown }>

  constructor(opened: InboxDatabase) {
    const { db, epoch, path } = opened
    this.#opened = opened
    this.#connection = new Connection(db)
    this.#handlers = handlersOf(this.#connection, epoch)
    this.#log = new WalCheckpoint(logOf(db), { isOwner: epoch !== undefined })
    this.#loss = path === undefined ? undefined : lossOf(path)
    this.#setting = this.#connection.prepare('select value from idv_settings where name = ?')
  }

  /** Never throws. The message of a failure holds SQLite's words and ours, and no data. */
  carryOut(calls: readonly WriterCall[]): BatchAnswer {
    try {
      this.#log.assertSound()
      return { ok: true, answers: this.#commit(calls) }
    } catch (error) {
      return this.#failed(error)
    }
  }

  close(): void {
    this.#log.close()
    this.#opened.close()
  }

  #commit(calls: readonly WriterCall[]): readonly CallAnswer[] {
    const { db } = this.#connection
    const isReading = this.#isReading(calls)
    // A transaction that only reads holds no lock that a writer waits for.
    db.exec(isReading ? 'begin' : 'begin immediate')
    try {
      const { epoch } = this.#opened
      // On a disk whose locks do not work, an owner that was replaced must not write.
      if (epoch !== undefined && this.#setting.get('epoch')?.value !== epoch) throw replaced()
      const answers: CallAnswer[] = []
      for (const call of calls) answers.push(this.#answer(call))
      this.#connection.writeCounts()
      db.exec('commit')
      if (!isReading) this.#log.worked(this.#connection.hasErased)
      return answers
    } catch (error) {
      // A commit that failed has rolled back by itself; a second rollback would hide its error.
      if (inTransaction(db)) db.exec('rollback')
      throw error
    } finally {
      this.#connection.reset()
    }
  }

  /** Reads travel with deliveries, which must not fail with them. */
  #answer<M extends Method>({ method, args }: WriterCall<M>): CallAnswer<M> {
    try {
      return { ok: true, value: this.#handlers[method](...args) }
    } catch (error) {
      const isHarmless = reads.has(method) && inTransaction(this.#connection.db)
      if (!isHarmless || isFatal(error)) throw error
      return { ok: false, message: reasonOf(error) }
    }
  }

  #isReading(calls: readonly WriterCall[]): boolean {
    for (const { method, args } of calls) {
      if (reads.has(method)) continue
      // An inbox recalls settings when it opens, which writes only those that do not exist.
      if (method !== 'recall' || this.#setting.get(args[0]) === undefined) return false
    }
    return true
  }

  #failed(error: unknown): BatchAnswer {
    const loss = this.#loss?.()
    if (loss !== undefined) {
      return {
        ok: false,
        code: 'STORE_FAILED',
        message: `${reasonOf(error)}: ${loss}`,
        fatal: true,
      }
    }
    const { path } = this.#opened
    const reason = path !== undefined && isDamage(error) ? damagedFile(path, error) : error
    const code = isWebhookError(reason) ? reason.code : 'STORE_FAILED'
    return { ok: false, code, message: reasonOf(reason), fatal: isFatal(error) }
  }
}

function handlersOf(connection: Connection, epoch = 0): CallHandlers {
  const lanes = new Lanes(connection)
  const admin = new AdminCalls({ connection, lanes, isOwner: epoch > 0 })
  const deps = { connection, lanes, admin, epoch }
  // Their calls are properties of their own, so that a spread takes them.
  return {
    ...admin,
    ...new ArrivalCalls(deps),
    ...new AttemptCalls(deps),
    ...new CopyCalls(deps),
    align: (alignment) => lanes.align(alignment),
  }
}

function replaced(): WebhookError {
  return new WebhookError('STORE_OWNED', 'another process has taken the inbox over: stop this one')
}
