// The program of the writer's thread: it carries out one batch after another.
import { parentPort, workerData } from 'node:worker_threads'
import { isWebhookError, reasonOf } from '../../../errors.ts'
import { Batches } from './batches.ts'
import type { WriterCall } from './calls.ts'
import { loadDriver } from './driver.ts'
import { openInMode } from './opening.ts'
import type { ThreadData, ThreadMessage } from './thread.ts'

function serve(
  { file, driver, check, mode, busy }: ThreadData,
  post: (message: ThreadMessage) => void,
) {
  const flag = new Int32Array(busy)
  let batches: Batches
  try {
    batches = new Batches(openInMode({ file, open: loadDriver(driver), check }, mode))
  } catch (error) {
    const code = isWebhookError(error) ? error.code : 'STORE_FAILED'
    post({ opened: false, code, message: reasonOf(error) })
    return
  }
  post({ opened: true, epoch: batches.epoch })
  parentPort?.on('message', (message: readonly WriterCall[] | 'close') => {
    if (message === 'close') {
      batches.close()
      post({ closed: true })
      return
    }
    const answer = batches.carryOut(message)
    Atomics.store(flag, 0, 0)
    Atomics.notify(flag, 0)
    post(answer)
  })
}

if (parentPort) {
  const port = parentPort
  serve(workerData as ThreadData, (message) => port.postMessage(message))
}
