// The queue before the writer (group commit): calls that arrive while one batch syncs form the next
// one, so that batches form by themselves and no call waits for a timer.
import { WebhookError, type WebhookErrorCode } from '../../../errors.ts'
import type { BatchAnswer, Gives, Takes, WriterCall, WriterMethod } from './calls.ts'

/** Carries out batches, in a thread or in this one. */
export interface BatchWriter {
  send(calls: readonly WriterCall[], answered: (answer: BatchAnswer) => void): void
  /** Blocks until the batch that was sent is committed or has failed. */
  waitUntilIdle(): void
  close(): Promise<void>
}

/** A writer with the number of its ownership; an operator's has none. */
export interface OpenWriter extends BatchWriter {
  readonly epoch: number | undefined
}

/** Options of a call. */
export interface WriteOptions {
  /** The size of what is written. */
  readonly bytes?: number
  /** Drops the call while it is queued; one that was sent goes on. */
  readonly signal?: AbortSignal | undefined
}

interface PendingWrite {
  readonly call: WriterCall
  readonly bytes: number
  /** Ends the listening to the caller's signal. */
  release?: () => void
  resolve(value: unknown): void
  reject(error: WebhookError): void
}

const maxCalls = 256
const maxBytes = 4 * 1024 ** 2

/** Queues calls and hands them to a writer, one batch at a time. */
export class WriteQueue {
  readonly #writer: BatchWriter
  #queue: PendingWrite[] = []
  #isSent = false
  #isPaused = false
  #broken: WebhookError | undefined
  #emptied: (() => void) | undefined

  constructor(writer: BatchWriter) {
    this.#writer = writer
  }

  /** Resolves after the commit. */
  call<M extends WriterMethod>(
    method: M,
    args: Takes<M>,
    { bytes = 0, signal }: WriteOptions = {},
  ): Promise<Gives<M>> {
    return new Promise((resolve, reject) => {
      if (this.#broken) return reject(this.#broken)
      // Trust is granted here: the writer answers in the order in which it was asked.
      const settle = resolve as (value: unknown) => void
      const queued: PendingWrite = {
        call: { method, args } as WriterCall,
        bytes,
        resolve: settle,
        reject,
      }
      if (signal) this.#listen(queued, signal)
      this.#queue.push(queued)
      this.#pump()
    })
  }

  /** Abandoned calls must not fill the memory while the disk hangs. */
  #listen(queued: PendingWrite, signal: AbortSignal): void {
    const drop = () => {
      const at = this.#queue.indexOf(queued)
      if (at === -1) return
      this.#queue.splice(at, 1)
      queued.release?.()
      queued.reject(unwritten('its caller stopped waiting', 'STORE_TIMEOUT'))
    }
    signal.addEventListener('abort', drop)
    queued.release = () => signal.removeEventListener('abort', drop)
  }

  /** Keeps the writer away from the file until `resume`; blocks for the batch that was sent. */
  pause(): void {
    // First: what was sent may be answered meanwhile, and would send the next.
    this.#isPaused = true
    try {
      if (this.#isSent) this.#writer.waitUntilIdle()
    } catch (error) {
      this.resume()
      throw error
    }
  }

  resume(): void {
    this.#isPaused = false
    this.#pump()
  }

  /** Rejects everything from now on. */
  break(message: string, code: WebhookErrorCode = 'STORE_FAILED'): void {
    this.#broken = unwritten(message, code)
    this.#fail(this.#queue.splice(0), this.#broken)
    this.#emptied?.()
  }

  async close(): Promise<void> {
    if (!this.#broken && (this.#isSent || this.#queue.length > 0)) {
      await new Promise<void>((resolve) => {
        this.#emptied = resolve
      })
    }
    this.#broken ??= unwritten('the inbox is closed')
    await this.#writer.close()
  }

  #pump(): void {
    if (this.#isSent || this.#isPaused) return
    if (this.#queue.length === 0) {
      this.#emptied?.()
      return
    }
    const batch: PendingWrite[] = []
    const calls: WriterCall[] = []
    let bytes = 0
    for (const queued of this.#queue) {
      bytes += queued.bytes
      if (batch.length === maxCalls || (batch.length > 0 && bytes > maxBytes)) break
      batch.push(queued)
      calls.push(queued.call)
    }
    this.#queue = this.#queue.slice(batch.length)
    this.#isSent = true
    this.#writer.send(calls, (answer) => {
      this.#isSent = false
      this.#answer(batch, answer)
      this.#pump()
    })
  }

  #answer(batch: readonly PendingWrite[], answer: BatchAnswer): void {
    if (!answer.ok) {
      this.#fail(batch, unwritten(answer.message, answer.code))
      if (answer.fatal) {
        this.break(`${answer.message}; nothing more is written until a restart`, answer.code)
      }
      return
    }
    for (const [at, queued] of batch.entries()) {
      queued.release?.()
      const one = answer.answers[at]
      if (one?.ok) queued.resolve(one.value)
      else queued.reject(unread(one?.message ?? 'the writer gave no answer'))
    }
  }

  #fail(calls: readonly PendingWrite[], error: WebhookError): void {
    for (const { release, reject } of calls) {
      release?.()
      reject(error)
    }
  }
}

function unread(message: string): WebhookError {
  return new WebhookError('STORE_FAILED', `the inbox could not be read: ${message}`)
}

function unwritten(message: string, code: WebhookErrorCode = 'STORE_FAILED'): WebhookError {
  // A batch of reads finds damage too.
  if (code === 'STORE_DAMAGED') return new WebhookError(code, message)
  return new WebhookError(code, `the inbox was not written: ${message}`)
}
