// The physical limit beside the load: a thread that appends one page to a file of its own and
// syncs it, fifty times a second. Posts the milliseconds of each sync.
import { fdatasyncSync, openSync, writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

const page = Buffer.alloc(4_096, 1)
const file = openSync(workerData as string, 'w')
setInterval(() => {
  const due = performance.now()
  writeSync(file, page)
  fdatasyncSync(file)
  parentPort?.postMessage(performance.now() - due)
}, 20)
