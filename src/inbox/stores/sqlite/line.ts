// The line before the writer: while one commit syncs, what arrives queues up, so batches form by
// themselves and nobody waits for a timer.
import { WebhookError } from '../../../errors.ts'
import type { Call } from './engine.ts'

/** What a batch came to; `fatal` ends the service until a restart. */
export type BatchAnswer =
  | { readonly ok: true; readonly answers: readonly unknown[] }
  | { readonly ok: false; readonly message: string; readonly fatal: boolean }

/** Where batches are carried out: a thread of its own, or this one. */
export interface Writer {
  send(calls: readonly Call[], answered: (answer: BatchAnswer) => void): void
  /** Blocks until the batch that was sent is committed or has failed. */
  waitUntilIdle(): void
  close(): Promise<void>
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
export class Line {
  readonly #writer: Writer
  #queue: Waiting[] = []
  #isFlying = false
  #isSeized = false
  #broken: WebhookError | undefined
  #emptied: (() => void) | undefined

  constructor(writer: Writer) {
    this.#writer = writer
  }

  /** Resolves after the commit. `bytes` is the weight of what is written. */
  call<Answer>(method: Call[0], argument: unknown, bytes = 0): Promise<Answer> {
    if (this.#broken) return Promise.reject(this.#broken)
    return new Promise((resolve, reject) => {
      this.#queue.push({ call: [method, argument as never], bytes, resolve, reject })
      this.#pump()
    })
  }

  /** Keeps the writer away from the file until `release`; blocks for the batch on its way. */
  seize(): void {
    if (this.#isFlying) this.#writer.waitUntilIdle()
    this.#isSeized = true
  }

  release(): void {
    this.#isSeized = false
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
    if (this.#isFlying || this.#isSeized) return
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
      for (const [at, waiting] of batch.entries()) waiting.resolve(answer.answers[at] as never)
      return
    }
    const error = failure(answer.message)
    for (const waiting of batch) waiting.reject(error)
    if (answer.fatal) this.break(`${answer.message}; nothing more is written until a restart`)
  }
}

function failure(message: string): WebhookError {
  return new WebhookError('STORE_FAILED', `the inbox was not written: ${message}`)
}
