// A worker: handles what any receiver has kept. Run as many as you need.
import { createWorker } from 'idv-webhooks'
import { receiver } from './app.ts'

const worker = createWorker(receiver, { concurrency: 16, signals: ['SIGTERM', 'SIGINT'] })
await worker.start()
console.log('ready')
