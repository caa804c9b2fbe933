// The queue before the writer (group commit): calls that arrive while one batch syncs form the next
// batch, so that no call waits for a timer.
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

export interface WriteOptions {
  readonly bytes?: number
  /** Drops the call while it is queued; a call that was sent continues. */
  readonly signal?: AbortSignal | undefined
}

interface PendingWrite {
  readonly call: WriterCall
  readonly bytes: number
  release?: () => void
  resolve(value: unknown): void
  reject(error: WebhookError): void
}

const maxCalls = 256
const maxBytes = 4 * 1024 ** 2

/** Queues calls and hands them to a writer, one batch at a time. */
export class WriteQueue {
  readonly #writer: BatchWriter
  readonly #queue: PendingWrite[] = []
  #sent: readonly PendingWrite[] | undefined
  #isPaused = false
  #broken: WebhookError | undefined
  #emptied: (() => void) | undefined

  constructor(writer: BatchWriter) {
    this.#writer = writer
  }

  call<M extends WriterMethod>(
    method: M,
    args: Takes<M>,
    { bytes = 0, signal }: WriteOptions = {},
  ): Promise<Gives<M>> {
    if (this.#broken) return Promise.reject(this.#broken)
    const { promise, resolve, reject } = Promise.withResolvers<Gives<M>>()
    // Trust is granted here: the writer answers in the order in which it was asked.
    const pending = { call: { method, args }, bytes, resolve, reject } as PendingWrite
    if (signal) this.#listen(pending, signal)
    this.#queue.push(pending)
    if (!this.#sent && !this.#isPaused) this.#send()
    return promise
  }

  /** Abandoned calls must not fill the memory while the disk hangs. */
  #listen(pending: PendingWrite, signal: AbortSignal): void {
    const drop = () => {
      const at = this.#queue.indexOf(pending)
      if (at === -1) return
      this.#queue.splice(at, 1)
      pending.release?.()
      pending.reject(unwritten('its caller stopped waiting', 'STORE_TIMEOUT'))
    }
    signal.addEventListener('abort', drop)
    pending.release = () => signal.removeEventListener('abort', drop)
  }

  /** Keeps the writer away from the file until `resume`; blocks for the batch that was sent. */
  pause(): void {
    // First, because an answer may arrive meanwhile and send the next batch.
    this.#isPaused = true
    try {
      if (this.#sent) this.#writer.waitUntilIdle()
    } catch (error) {
      this.resume()
      throw error
    }
  }

  resume(): void {
    this.#isPaused = false
    if (this.#sent) return
    if (this.#queue.length > 0) this.#send()
    else this.#emptied?.()
  }

  break(message: string, code: WebhookErrorCode = 'STORE_FAILED'): void {
    this.#broken = unwritten(message, code)
    fail(this.#queue.splice(0), this.#broken)
    this.#emptied?.()
  }

  async close(): Promise<void> {
    if (!this.#broken && (this.#sent || this.#queue.length > 0)) {
      await new Promise<void>((resolve) => {
        this.#emptied = resolve
      })
    }
    this.#broken ??= unwritten('the inbox is closed')
    await this.#writer.close()
  }

  #send(): void {
    const calls: WriterCall[] = []
    let all = 0
    for (const { call, bytes } of this.#queue) {
      all += bytes
      if (calls.length === maxCalls || (calls.length > 0 && all > maxBytes)) break
      calls.push(call)
    }
    this.#sent = this.#queue.splice(0, calls.length)
    this.#writer.send(calls, this.#answered)
  }

  /** One function for all batches: every delivery pays for each function that a call enters. */
  readonly #answered = (answer: BatchAnswer): void => {
    const batch = this.#sent ?? []
    this.#sent = undefined
    if (!answer.ok) {
      fail(batch, unwritten(answer.message, answer.code))
      if (answer.fatal) {
        this.break(`${answer.message}; nothing more is written until a restart`, answer.code)
      }
    } else {
      for (const [at, { release, resolve, reject }] of batch.entries()) {
        release?.()
        const one = answer.answers[at]
        if (one?.ok) resolve(one.value)
        else reject(unread(one?.message ?? 'the writer gave no answer'))
      }
    }
    if (this.#isPaused) return
    if (this.#queue.length > 0) this.#send()
    else this.#emptied?.()
  }
}

function fail(batch: readonly PendingWrite[], error: WebhookError): void {
  for (const { release, reject } of batch) {
    release?.()
    reject(error)
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
