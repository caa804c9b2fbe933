// The line before the writer: while one commit syncs, what arrives queues up, so batches form by
// themselves and nobody waits for a timer.
import { WebhookError } from '../../../errors.ts'
import type { Answer, Call } from './worker-queries.ts'

/** What a batch came to; `fatal` ends the service until a restart. */
export type BatchAnswer =
  | { readonly ok: true; readonly answers: readonly Answer[] }
  | { readonly ok: false; readonly message: string; readonly fatal: boolean }

/** Where batches are carried out: a thread of its own, or this one. */
export interface Writer {
  send(calls: readonly Call[], answered: (answer: BatchAnswer) => void): void
  /** Blocks until the batch that was sent is committed or has failed. */
  waitUntilIdle(): void
  close(): Promise<void>
}

/** What else the line must know of a call. */
export interface CallOptions {
  /** The weight of what is written. */
  readonly bytes?: number
  /** Drops the call from the line; one that is on its way goes on. */
  readonly signal?: AbortSignal
}

interface Waiting {
  readonly call: Call
  readonly bytes: number
  resolve(answer: never): void
  reject(error: WebhookError): void
}

const mostCalls = 256
const mostBytes = 4 * 1024 ** 2

/** Queues calls and hands them to a writer, one batch at a time. */
export class WriteQueue {
  readonly #writer: Writer
  #queue: Waiting[] = []
  #isFlying = false
  #isPaused = false
  #broken: WebhookError | undefined
  #emptied: (() => void) | undefined

  constructor(writer: Writer) {
    this.#writer = writer
  }

  /** Resolves after the commit. */
  call<Answer>(
    method: Call[0],
    argument: unknown,
    { bytes = 0, signal }: CallOptions = {},
  ): Promise<Answer> {
    if (this.#broken) return Promise.reject(this.#broken)
    return new Promise((resolve, reject) => {
      const drop = () => this.#drop(waiting)
      const forgetting = <Value>(tell: (value: Value) => void) => {
        return (value: Value) => {
          signal?.removeEventListener('abort', drop)
          tell(value)
        }
      }
      const waiting: Waiting = {
        call: [method, argument as never],
        bytes,
        resolve: forgetting(resolve),
        reject: forgetting(reject),
      }
      signal?.addEventListener('abort', drop)
      this.#queue.push(waiting)
      this.#pump()
    })
  }

  /** What nobody waits for must not fill the memory while the disk hangs. */
  #drop(waiting: Waiting): void {
    const at = this.#queue.indexOf(waiting)
    if (at === -1) return
    this.#queue.splice(at, 1)
    waiting.reject(failure('nobody waited for it any more'))
  }

  /** Keeps the writer away from the file until `resume`; blocks for the batch on its way. */
  pause(): void {
    if (this.#isFlying) this.#writer.waitUntilIdle()
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#pump()
  }

  /** Refuses everything from now on. */
  break(message: string): void {
    this.#broken = failure(message)
    for (const waiting of this.#queue.splice(0)) waiting.reject(this.#broken)
    this.#emptied?.()
  }

  async close(): Promise<void> {
    if (!this.#broken && (this.#isFlying || this.#queue.length > 0)) {
      await new Promise<void>((resolve) => {
        this.#emptied = resolve
      })
    }
    this.#broken ??= failure('the inbox is closed')
    await this.#writer.close()
  }

  #pump(): void {
    if (this.#isFlying || this.#isPaused) return
    const batch = this.#take()
    if (batch.length === 0) {
      this.#emptied?.()
      return
    }
    this.#isFlying = true
    this.#writer.send(
      batch.map(({ call }) => call),
      (answer) => {
        this.#isFlying = false
        this.#tell(batch, answer)
        this.#pump()
      },
    )
  }

  #take(): Waiting[] {
    let bytes = 0
    const end = this.#queue.findIndex((waiting, at) => {
      bytes += waiting.bytes
      return at === mostCalls || (at > 0 && bytes > mostBytes)
    })
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end)
  }

  #tell(batch: readonly Waiting[], answer: BatchAnswer): void {
    if (answer.ok) {
      for (const [at, waiting] of batch.entries()) {
        const one = answer.answers[at]
        if (one?.ok) waiting.resolve(one.value as never)
        else waiting.reject(unanswered(one?.message ?? 'nothing came'))
      }
      return
    }
    const error = failure(answer.message)
    for (const waiting of batch) waiting.reject(error)
    if (answer.fatal) this.break(`${answer.message}; nothing more is written until a restart`)
  }
}

function unanswered(message: string): WebhookError {
  return new WebhookError('STORE_FAILED', `the inbox could not be read: ${message}`)
}

function failure(message: string): WebhookError {
  return new WebhookError('STORE_FAILED', `the inbox was not written: ${message}`)
}
