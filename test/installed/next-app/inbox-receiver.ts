import { createReceiver, createWorker } from 'idv-webhooks'
import { inbox } from './kept-inbox'

export const receiver = createReceiver({ secret: () => process.env.WEBHOOK_SECRET, inbox })
receiver.on('verification.approved', (event) => console.log(`handler 1: ${event.data.id}`))

export const worker = createWorker(receiver, { signals: ['SIGTERM', 'SIGINT'] })
const isBuild = process.env.NEXT_PHASE === 'phase-production-build'
const start = (): Promise<void> =>
  worker.start().catch((error) => {
    // The process before may still have the file, or the database is not up yet.
    console.error(error)
    setTimeout(start, 5_000)
  })
if (!isBuild && process.env.NODE_ENV !== 'test') start()
