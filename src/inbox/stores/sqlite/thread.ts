// The writer's thread, seen from the outside: batches go in by message, and a flag in shared
// memory tells when one is committed.
import { Worker } from 'node:worker_threads'
import { WebhookError, type WebhookErrorCode } from '../../../errors.ts'
import type { Call } from './worker-queries.ts'
import type { BatchAnswer, Writer } from './write-queue.ts'

/** What the thread is told at its birth. */
export interface ThreadData {
  readonly file: string
  readonly driver: string
  readonly check: 'integrity' | 'quick'
  readonly access: 'own' | 'operate'
  /** One 32-bit word: 1 while a batch is carried out. */
  readonly busy: SharedArrayBuffer
}

/** What the thread says: first how opening went, then the answer of each batch. */
export type ThreadMessage =
  | { readonly opened: true; readonly epoch: number | undefined }
  | { readonly opened: false; readonly code: WebhookErrorCode; readonly message: string }
  | BatchAnswer

type Opened = Writer & { readonly epoch: number | undefined }

/** `script` is the thread's file; `broken` hears when it ended by itself. */
export function openThread(
  script: URL,
  data: Omit<ThreadData, 'busy'>,
  broken: (message: string) => void,
): Promise<Opened> {
  const busy = new SharedArrayBuffer(4)
  const flag = new Int32Array(busy)
  const thread = new Worker(script, { workerData: { ...data, busy }, execArgv: [], name: 'inbox' })
  let answered: ((answer: BatchAnswer) => void) | undefined
  let closing = false
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  const writer = (epoch: number | undefined): Opened => ({
    epoch,
    send: (calls: readonly Call[], tell) => {
      answered = tell
      Atomics.store(flag, 0, 1)
      // A thread at work keeps the process alive, an idle one does not.
      thread.ref()
      thread.postMessage(calls)
    },
    waitUntilIdle: () => {
      if (Atomics.wait(flag, 0, 1, 5_000) === 'timed-out') {
        throw new WebhookError('STORE_FAILED', 'the writer did not come to rest within 5 s')
      }
    },
    close: () => {
      closing = true
      thread.ref()
      thread.postMessage('close')
      return ended
    },
  })
  return new Promise((resolve, reject) => {
    thread.on('message', (message: ThreadMessage) => {
      if ('opened' in message) {
        thread.unref()
        if (message.opened) resolve(writer(message.epoch))
        else reject(new WebhookError(message.code, message.message))
        return
      }
      thread.unref()
      answered?.(message)
    })
    const fail = (message: string) => {
      reject(new WebhookError('STORE_FAILED', `the writer's thread ended: ${message}`))
      if (closing) return
      answered?.({ ok: false, message, fatal: true })
      broken(message)
    }
    thread.once('error', (error) => fail(error instanceof Error ? error.message : 'it threw'))
    thread.once('exit', (code) => fail(`exit ${code}`))
  })
}
