// The queue before the writer (group commit): while one batch syncs, what arrives queues up, so
// batches form by themselves and nobody waits for a timer.
import { WebhookError, type WebhookErrorCode } from '../../../errors.ts'
import type { Answer, BatchAnswer, Call, Gives, Method, Takes } from './calls.ts'

/** Where batches are carried out: a thread of its own, or this one. */
export interface Writer {
  send(calls: readonly Call[], answered: (answer: BatchAnswer) => void): void
  /** Blocks until the batch that was sent is committed or has failed. */
  waitUntilIdle(): void
  close(): Promise<void>
}

/** Options of a call. */
export interface CallOptions {
  /** The size of what is written. */
  readonly bytes?: number
  /** Drops the call from the queue; one that was sent goes on. */
  readonly signal?: AbortSignal | undefined
}

interface PendingCall {
  readonly call: Call
  readonly bytes: number
  answered(answer: Answer): void
  failed(error: WebhookError): void
}

const mostCalls = 256
const mostBytes = 4 * 1024 ** 2

/** Queues calls and hands them to a writer, one batch at a time. */
export class WriteQueue {
  readonly #writer: Writer
  #queue: PendingCall[] = []
  #isSent = false
  #isPaused = false
  #broken: WebhookError | undefined
  #emptied: (() => void) | undefined

  constructor(writer: Writer) {
    this.#writer = writer
  }

  /** Resolves after the commit. */
  call<M extends Method>(
    method: M,
    argument: Takes<M>,
    { bytes = 0, signal }: CallOptions = {},
  ): Promise<Gives<M>> {
    if (this.#broken) return Promise.reject(this.#broken)
    return new Promise((resolve, reject) => {
      const drop = () => this.#drop(waiting)
      const failed = (error: WebhookError) => {
        signal?.removeEventListener('abort', drop)
        reject(error)
      }
      const waiting: PendingCall = {
        call: { method, argument } as Call,
        bytes,
        answered: (answer) => {
          if (!answer.ok) return failed(unread(answer.message))
          signal?.removeEventListener('abort', drop)
          // Trust is granted here: the writer answers in the order in which it was asked.
          resolve(answer.value as Gives<M>)
        },
        failed,
      }
      signal?.addEventListener('abort', drop)
      this.#queue.push(waiting)
      this.#pump()
    })
  }

  /** Abandoned calls must not fill the memory while the disk hangs. */
  #drop(waiting: PendingCall): void {
    const at = this.#queue.indexOf(waiting)
    if (at === -1) return
    this.#queue.splice(at, 1)
    waiting.failed(unwritten('nobody waited for it any more', 'STORE_TIMEOUT'))
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
    for (const waiting of this.#queue.splice(0)) waiting.failed(this.#broken)
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
    const batch = this.#take()
    if (batch.length === 0) {
      this.#emptied?.()
      return
    }
    this.#isSent = true
    this.#writer.send(
      batch.map(({ call }) => call),
      (answer) => {
        this.#isSent = false
        this.#tell(batch, answer)
        this.#pump()
      },
    )
  }

  #take(): PendingCall[] {
    let bytes = 0
    const end = this.#queue.findIndex((waiting, at) => {
      bytes += waiting.bytes
      return at === mostCalls || (at > 0 && bytes > mostBytes)
    })
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end)
  }

  #tell(batch: readonly PendingCall[], answer: BatchAnswer): void {
    if (answer.ok) {
      for (const [at, waiting] of batch.entries()) {
        waiting.answered(answer.answers[at] ?? { ok: false, message: 'the writer gave no answer' })
      }
      return
    }
    const error = unwritten(answer.message, answer.code)
    for (const waiting of batch) waiting.failed(error)
    if (answer.fatal) {
      this.break(`${answer.message}; nothing more is written until a restart`, answer.code)
    }
  }
}

function unread(message: string): WebhookError {
  return new WebhookError('STORE_FAILED', `the inbox could not be read: ${message}`)
}

function unwritten(message: string, code: WebhookErrorCode = 'STORE_FAILED'): WebhookError {
  // It may have been read alone.
  if (code === 'STORE_DAMAGED') return new WebhookError(code, message)
  return new WebhookError(code, `the inbox was not written: ${message}`)
}
