// How fast what is kept is handled, and whether a claim feels the backlog behind it.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInbox } from '../../dist/inbox.js'
import { sqliteStore } from '../../dist/inbox-sqlite.js'
import { createReceiver, createWorker } from '../../dist/index.js'
import { signedDelivery } from '../../dist/testing.js'

const secret = 'a-secret-for-the-bench'

/** Entries a second that a worker settles when its handlers do nothing. */
export async function drainRate(parent: string, count: number): Promise<number> {
  const folder = mkdtempSync(join(parent, 'idv-drain-'))
  const inbox = createInbox({ store: sqliteStore(join(folder, 'inbox.db')) })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  receiver.on('*', () => {}, { tx: false })
  const deliveries = Array.from({ length: count }, async (_, at) => {
    const event = { id: `e${at}`, event: 'client.updated', data: { id: `c${at % 500}` } }
    return receiver.receive(await signedDelivery(event, { secret }))
  })
  await Promise.all(deliveries)
  const worker = createWorker(receiver, { concurrency: 64 })
  const begun = performance.now()
  await worker.drainOnce()
  const took = (performance.now() - begun) / 1_000
  await inbox.close()
  rmSync(folder, { recursive: true })
  return Math.round(count / took)
}

/** Milliseconds of a claim of 16 and its settling, the median of many. */
export async function claimCost(parent: string, backlog: number): Promise<number> {
  const folder = mkdtempSync(join(parent, 'idv-claim-'))
  const store = sqliteStore(join(folder, 'inbox.db'), { check: 'quick' })
  await store.open(() => {})
  const facts = new Uint8Array(64)
  const body = new Uint8Array(200)
  for (let from = 0; from < backlog; from += 5_000) {
    await Promise.all(
      Array.from({ length: Math.min(5_000, backlog - from) }, (_, index) => {
        const at = from + index
        const id = `entry-${String(at).padStart(9, '0')}`
        const lane = `lane-${at % 500}`
        return store.insert({
          id,
          lane,
          digest: id,
          source: 'webhook',
          storedAt: 1,
          bytes: 200,
          facts,
          body,
        })
      }),
    )
  }
  const times: number[] = []
  for (let turn = 0; turn < 50; turn++) {
    const begun = performance.now()
    const { entries } = await store.claim({ now: 10, limit: 16, until: 1e12 })
    times.push(performance.now() - begun)
    await Promise.all(
      entries.map(({ id, fence }) =>
        store.settle({ lease: { id, fence }, at: 10, handled: [], to: 'done' }),
      ),
    )
  }
  await store.close()
  rmSync(folder, { recursive: true })
  return times.toSorted((one, other) => one - other)[25] ?? 0
}
