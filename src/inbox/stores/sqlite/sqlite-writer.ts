// The writer's thread of the SQLite store: carries out one batch after the other.
import { parentPort, workerData } from 'node:worker_threads'
import { isWebhookError, reasonOf } from '../../../errors.ts'
import { Batches } from './batches.ts'
import type { Call } from './calls.ts'
import { loadDriver } from './driver.ts'
import { type Owned, openBeside, openOwned } from './opening.ts'
import type { ThreadData, ThreadMessage } from './thread.ts'

function serve(
  { file, driver, check, mode, busy }: ThreadData,
  tell: (message: ThreadMessage) => void,
) {
  const flag = new Int32Array(busy)
  let owned: Owned
  try {
    const opening = { file, open: loadDriver(driver), check }
    owned = mode === 'owner' ? openOwned(opening) : openBeside(opening)
  } catch (error) {
    const code = isWebhookError(error) ? error.code : 'STORE_FAILED'
    tell({ opened: false, code, message: reasonOf(error) })
    return
  }
  const batches = new Batches(owned)
  tell({ opened: true, epoch: owned.epoch })
  parentPort?.on('message', (message: readonly Call[] | 'close') => {
    if (message === 'close') {
      batches.close()
      tell({ closed: true })
      return
    }
    const answer = batches.carryOut(message)
    Atomics.store(flag, 0, 0)
    Atomics.notify(flag, 0)
    tell(answer)
  })
}

if (parentPort) {
  const port = parentPort
  serve(workerData as ThreadData, (message) => port.postMessage(message))
}
