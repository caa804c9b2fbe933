// A receiver with an inbox and a worker, and deliveries for it.
import {
  createReceiver,
  createWorker,
  type Observation,
  type ReceiverOptions,
  type WorkerOptions,
} from 'idv-webhooks'
import { createInbox, type InboxOptions, memoryStore } from 'idv-webhooks/inbox'
import { signedDelivery, testSecret } from 'idv-webhooks/testing'
import { onTestFinished } from 'vitest'

export interface Parts extends Omit<InboxOptions, 'store'> {
  readonly store?: InboxOptions['store']
  readonly receiver?: Partial<ReceiverOptions>
  readonly worker?: WorkerOptions
}

/** No waiting between attempts unless a test asks for it. */
const soon = { attempts: 3, delays: [0] }

export function setUp({ receiver: options, worker: workerOptions, ...parts }: Parts = {}) {
  const seen: Observation[] = []
  const inbox = createInbox({ store: memoryStore(), retry: soon, ...parts })
  const receiver = createReceiver({
    secret: testSecret,
    inbox,
    observe: (one) => seen.push(one),
    ...options,
  })
  const worker = createWorker(receiver, workerOptions)
  onTestFinished(async () => {
    await worker.drain({ grace: 0 })
    await inbox.close()
  })
  return {
    inbox,
    receiver,
    worker,
    seen,
    settled: () => seen.filter((one) => one.type === 'settled').map(({ state }) => state),
    deliver: async (event: unknown) => receiver.receive(await signedDelivery(event)),
  }
}

let count = 0

/** An event with an id of its own. */
export function event(name = 'verification.approved', data: object = {}, envelope: object = {}) {
  const id = `evt_${++count}`
  return { id, event: name, data: { id: 'ver_1', ...data }, ...envelope }
}

/** Resolves when a condition holds, asked again whenever the event loop turns. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2))
}
