// Carries out batches of calls on an open file: each batch is one transaction, and so one sync.
import { isWebhookError, reasonOf, WebhookError } from '../../../errors.ts'
import type { BatchAnswer, CallAnswer, CallHandlers, WriterCall, WriterMethod } from './calls.ts'
import { attemptCalls } from './claim.ts'
import { copyStatement } from './copy.ts'
import { inTransaction, isDamage, isFatal, transact } from './driver.ts'
import { eraseCalls } from './erase.ts'
import { damagedFile, lossOf } from './file-checks.ts'
import { keepCalls } from './keep.ts'
import type { InboxDatabase } from './opening.ts'
import { operatorCalls } from './operate.ts'
import { InboxTables } from './tables.ts'
import { WalCheckpoint } from './wal-checkpoint.ts'

/** Reads change nothing, so the other calls of a batch are committed even if a read fails. */
const reads: ReadonlySet<WriterMethod> = new Set<WriterMethod>([
  'find',
  'findDone',
  'stats',
  'lapsed',
])

export class Batches {
  readonly epoch: number | undefined
  readonly #opened: InboxDatabase
  readonly #tables: InboxTables
  readonly #handlers: CallHandlers
  readonly #log: WalCheckpoint
  readonly #loss: (() => string | undefined) | undefined

  constructor(opened: InboxDatabase) {
    const { db, epoch, path } = opened
    this.#opened = opened
    this.epoch = epoch
    this.#tables = new InboxTables(db, epoch ?? 0)
    this.#handlers = handlersOf(this.#tables)
    this.#log = new WalCheckpoint(db, { isOwner: epoch !== undefined })
    this.#loss = path === undefined ? undefined : lossOf(path)
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
    const isReading = this.#isReading(calls)
    const answerAll = () => {
      // On a disk whose locks do not work, a replaced owner must not write.
      if (this.epoch !== undefined && this.#tables.setting('epoch') !== this.epoch) {
        throw replaced()
      }
      const answers: CallAnswer[] = []
      for (const call of calls) answers.push(this.#answer(call))
      this.#tables.writeCounts()
      return answers
    }
    try {
      // A transaction that only reads holds no lock that a writer waits for.
      const answers = transact(this.#tables.db, answerAll, isReading ? 'begin' : 'begin immediate')
      if (!isReading) this.#log.worked(this.#tables.hasErased)
      return answers
    } finally {
      this.#tables.reset()
    }
  }

  /** Reads travel with deliveries, which must not fail with them. */
  #answer<M extends WriterMethod>({ method, args }: WriterCall<M>): CallAnswer<M> {
    try {
      return { ok: true, value: this.#handlers[method](...args) }
    } catch (error) {
      const isHarmless = reads.has(method) && inTransaction(this.#tables.db)
      if (!isHarmless || isFatal(error)) throw error
      return { ok: false, message: reasonOf(error) }
    }
  }

  #isReading(calls: readonly WriterCall[]): boolean {
    for (const { method, args } of calls) {
      if (reads.has(method)) continue
      // An inbox that opens writes only the settings that do not exist.
      if (method !== 'recall' || this.#tables.setting(args[0]) === undefined) return false
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

function handlersOf(tables: InboxTables): CallHandlers {
  return {
    ...keepCalls(tables),
    ...attemptCalls(tables),
    ...operatorCalls(tables),
    ...eraseCalls(tables),
    copy: (sql, values) => copyStatement(tables.db, sql, values),
    align: (alignment) => tables.lanes.align(alignment),
  }
}

function replaced(): WebhookError {
  return new WebhookError('STORE_OWNED', 'another process has taken the inbox over: stop this one')
}
