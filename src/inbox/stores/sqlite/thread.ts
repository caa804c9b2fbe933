// The writer's thread, seen from the outside: batches go in by message, and a flag in shared
// memory tells when one is committed.
import { Worker } from 'node:worker_threads'
import { WebhookError, type WebhookErrorCode } from '../../../errors.ts'
import type { BatchAnswer } from './calls.ts'
import type { OpenWriter } from './inline.ts'

/** Data that the thread is started with. */
export interface ThreadData {
  readonly file: string
  readonly driver: string
  readonly check?: 'integrity' | 'quick'
  readonly mode: 'owner' | 'operator'
  /** One 32-bit word: 1 while a batch is carried out. */
  readonly busy: SharedArrayBuffer
}

/** Messages of the thread: the result of opening, the answer to each batch, and that it closed. */
export type ThreadMessage =
  | { readonly opened: true; readonly epoch: number | undefined }
  | { readonly opened: false; readonly code: WebhookErrorCode; readonly message: string }
  | { readonly closed: true }
  | BatchAnswer

/**
 * `broken` is called when the thread ended by itself. The program is a text: of a file that is not
 * known at build time a bundler takes every file of the package for the thread's.
 */
export function openThread(
  script: string,
  data: Omit<ThreadData, 'busy'>,
  broken: (message: string) => void,
): Promise<OpenWriter> {
  const busy = new SharedArrayBuffer(4)
  const options = { workerData: { ...data, busy }, execArgv: [], name: 'inbox' }
  const thread = new Worker(script, { ...options, eval: true })
  const writer = new ThreadWriter(thread, new Int32Array(busy), broken)
  return writer.opened
}

/** Milliseconds for a batch that a handler's transaction waits for; nothing else runs meanwhile. */
const patience = 1_000

class ThreadWriter {
  readonly opened: Promise<OpenWriter>
  readonly #thread: Worker
  readonly #busy: Int32Array
  readonly #ended: Promise<void>
  #answered: ((answer: BatchAnswer) => void) | undefined
  /** When the batch under way was sent, by `performance.now()`. */
  #sentAt = 0
  #isClosing = false

  constructor(thread: Worker, busy: Int32Array, broken: (message: string) => void) {
    this.#thread = thread
    this.#busy = busy
    this.#ended = new Promise((resolve) => thread.once('exit', () => resolve()))
    this.opened = new Promise((resolve, reject) => {
      thread.on('message', (message: ThreadMessage) => {
        thread.unref()
        // Not every runtime lets a thread end itself.
        if ('closed' in message) void thread.terminate()
        else if (!('opened' in message)) this.#answered?.(message)
        else if (message.opened) resolve(this.#writer(message.epoch))
        else reject(new WebhookError(message.code, message.message))
      })
      const fail = (message: string) => {
        reject(new WebhookError('STORE_FAILED', `the writer's thread ended: ${message}`))
        if (this.#isClosing) return
        this.#answered?.({ ok: false, code: 'STORE_FAILED', message, fatal: true })
        broken(message)
      }
      thread.once('error', (error) => fail(error instanceof Error ? error.message : 'it threw'))
      thread.once('exit', (code) => fail(`exit ${code}`))
    })
  }

  #writer(epoch: number | undefined): OpenWriter {
    return {
      epoch,
      send: (calls, answered) => {
        this.#answered = answered
        this.#sentAt = performance.now()
        Atomics.store(this.#busy, 0, 1)
        // A thread at work keeps the process alive, an idle one does not.
        this.#thread.ref()
        this.#thread.postMessage(calls)
      },
      waitUntilIdle: () => {
        // One disk that hangs stops this thread once for so long, however many handlers there are.
        const left = Math.max(0, this.#sentAt + patience - performance.now())
        if (Atomics.wait(this.#busy, 0, 1, left) === 'timed-out') {
          throw new WebhookError(
            'STORE_TIMEOUT',
            `the disk did not finish what was written within ${patience} ms`,
          )
        }
      },
      close: () => {
        this.#isClosing = true
        this.#thread.ref()
        this.#thread.postMessage('close')
        return this.#ended
      },
    }
  }
}
