// The calling side of the writer's thread: batches go in by message, and a flag in shared memory
// shows when one is committed.
import { Worker } from 'node:worker_threads'
import { WebhookError, type WebhookErrorCode } from '../../../errors.ts'
import type { BatchAnswer } from './calls.ts'
import type { FileCheck, FileMode } from './opening.ts'
import type { BatchWriter, OpenWriter } from './write-queue.ts'
import { writerScript } from './writer-script.ts'

export interface ThreadOpening {
  readonly file: string
  readonly driver: string
  readonly check?: FileCheck | undefined
  readonly mode: FileMode
}

export interface ThreadData extends ThreadOpening {
  /** One 32-bit word: 1 while a batch is carried out. */
  readonly busy: SharedArrayBuffer
}

/** Messages of the thread: the result of opening, the answer to each batch, and that it closed. */
export type ThreadMessage =
  | { readonly opened: true; readonly epoch: number | undefined }
  | { readonly opened: false; readonly code: WebhookErrorCode; readonly message: string }
  | { readonly closed: true }
  | BatchAnswer

/** Milliseconds for a batch that a handler's transaction waits for; nothing else runs meanwhile. */
const idleTimeout = 1_000

export function openThread(
  opening: ThreadOpening,
  broken: (message: string) => void,
): Promise<OpenWriter> {
  const busy = new SharedArrayBuffer(4)
  const flag = new Int32Array(busy)
  const data: ThreadData = { ...opening, busy }
  const options = { workerData: data, execArgv: [], name: 'inbox', eval: true }
  const thread = new Worker(writerScript(), options)
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  let answered: ((answer: BatchAnswer) => void) | undefined
  let sentAt = 0
  let isClosing = false
  const writer: BatchWriter = {
    send: (calls, callback) => {
      answered = callback
      sentAt = performance.now()
      Atomics.store(flag, 0, 1)
      // A thread at work keeps the process alive, an idle one does not.
      thread.ref()
      thread.postMessage(calls)
    },
    waitUntilIdle: () => {
      // If the disk hangs, all handlers together stop this thread for `idleTimeout`, not each.
      const left = Math.max(0, sentAt + idleTimeout - performance.now())
      if (Atomics.wait(flag, 0, 1, left) !== 'timed-out') return
      const message = `the disk did not finish a write within ${idleTimeout} ms`
      throw new WebhookError('STORE_TIMEOUT', message)
    },
    close: () => {
      isClosing = true
      thread.ref()
      thread.postMessage('close')
      return ended
    },
  }
  return new Promise((resolve, reject) => {
    thread.on('message', (message: ThreadMessage) => {
      thread.unref()
      if ('ok' in message) answered?.(message)
      // Not every runtime lets a thread end itself.
      else if ('closed' in message) void thread.terminate()
      else if (message.opened) resolve({ ...writer, epoch: message.epoch })
      else reject(new WebhookError(message.code, message.message))
    })
    const fail = (message: string) => {
      reject(new WebhookError('STORE_FAILED', `the writer's thread ended: ${message}`))
      if (isClosing) return
      answered?.({ ok: false, code: 'STORE_FAILED', message, fatal: true })
      broken(message)
    }
    thread.once('error', (error) => fail(error instanceof Error ? error.message : 'it threw'))
    thread.once('exit', (code) => fail(`exit ${code}`))
  })
}
