import { createReceiver, createWorker } from 'idv-webhooks'
import { inbox } from './kept-inbox'

export const receiver = createReceiver({ secret: () => process.env.WEBHOOK_SECRET, inbox })
receiver.on('verification.approved', (event) => console.log(`handler 1: ${event.data.id}`))

export const worker = createWorker(receiver, { signals: ['SIGTERM', 'SIGINT'] })
const isBuild = process.env.NEXT_PHASE === 'phase-production-build'
if (!isBuild && process.env.NODE_ENV !== 'test') worker.start().catch(console.error)
