// A receiver, its inbox and its worker, made to do everything once that an observer hears of.
import { createReceiver, createWorker, type ReceiverOptions } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'

type Observed = Pick<ReceiverOptions, 'observe' | 'around'>

/**
 * A delivery that is done, another that becomes a dead letter, a rejection, and a store that fails.
 */
export async function everything(options: Observed, headers: Record<string, string> = {}) {
  const store = memoryStore()
  const inbox = createInbox({ store, retry: { attempts: 1 } })
  const receiver = createReceiver({ secret: testSecret, inbox, ...options })
  receiver.on('client.created', () => {}, { id: 'crm' })
  receiver.on('verification.approved', () => Promise.reject(new Error('no')), { id: 'mail' })
  const worker = createWorker(receiver)
  const createdAt = new Date(Date.now() - 90_000).toISOString()
  for (const name of ['client.created', 'verification.approved'] as const) {
    const sent = await signedDelivery(fixture(name, { createdAt }))
    await receiver.receive({ ...sent, headers: { ...sent.headers, ...headers } })
  }
  await worker.runOnce()
  const forged = await signedDelivery(fixture('client.updated'), { tamper: 'tampered' })
  await receiver.receive(forged)
  await inbox.redrive({ state: 'dead' })
  await worker.runOnce()
  const { insert } = store
  store.insert = () => Promise.reject(new Error('gone'))
  await receiver.receive(await signedDelivery(fixture('client.deleted')))
  store.insert = insert
  await failOnce(store)
  return { inbox, receiver }

  async function failOnce({ claim }: typeof store) {
    const { promise: failed, resolve } = Promise.withResolvers<void>()
    store.claim = () => {
      store.claim = claim
      resolve()
      return Promise.reject(new Error('gone'))
    }
    await worker.start()
    await failed
    await worker.drain()
  }
}
