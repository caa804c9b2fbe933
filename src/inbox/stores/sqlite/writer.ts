// The writer's thread of the SQLite store: carries out one batch after the other.
import { parentPort, workerData } from 'node:worker_threads'
import { WebhookError } from '../../../errors.ts'
import { carryOut } from './batch.ts'
import { loadDriver } from './driver.ts'
import { type Owned, openBeside, openOwned } from './opening.ts'
import type { ThreadData, ThreadMessage } from './thread.ts'
import { WalCheckpoint } from './wal-checkpoint.ts'
import { type Call, WorkerQueries } from './worker-queries.ts'

function serve(
  { file, driver, check, access, busy }: ThreadData,
  tell: (message: ThreadMessage) => void,
) {
  const flag = new Int32Array(busy)
  let owned: Owned
  try {
    const opening = { file, open: loadDriver(driver), check }
    owned = access === 'own' ? openOwned(opening) : openBeside(opening)
  } catch (error) {
    const code = error instanceof WebhookError ? error.code : 'STORE_FAILED'
    tell({ opened: false, code, message: error instanceof Error ? error.message : String(error) })
    return
  }
  const engine = new WorkerQueries(owned)
  tell({ opened: true, epoch: owned.epoch })
  const log = new WalCheckpoint(engine)
  parentPort?.on('message', (message: readonly Call[] | 'close') => {
    if (message === 'close') {
      log.close()
      owned.close()
      parentPort?.close()
      return
    }
    const answer = carryOut(engine, log, message)
    Atomics.store(flag, 0, 0)
    Atomics.notify(flag, 0)
    tell(answer)
  })
}

if (parentPort) {
  const port = parentPort
  serve(workerData as ThreadData, (message) => port.postMessage(message))
}
