import { createReceiver, createWorker, sign, verify } from 'idv-webhooks'
import { createClient } from 'idv-webhooks/client'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { createSandbox } from 'idv-webhooks/sandbox'
import { fixture, signedDelivery } from 'idv-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'

const secret = 'a-secret-under-fake-timers'

function useFakeTimers(): void {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
}

test('an inbox in SQLite keeps and handles deliveries under fake timers', async () => {
  useFakeTimers()
  const inbox = createInbox({ store: sqliteStore(':memory:') })
  const receiver = createReceiver({ secret, inbox })
  const handled: string[] = []
  receiver.on('*', async ({ name }) => void handled.push(name))
  const delivery = await signedDelivery(fixture('client.created'), { secret })
  expect(await receiver.receive(delivery)).toMatchObject({ kind: 'accepted' })
  await createWorker(receiver).runOnce()
  expect(handled).toEqual(['client.created'])
  expect(await inbox.stats()).toMatchObject({ done: 1 })
  await inbox.close()
})

test('a worker that runs handles what arrives under fake timers', async () => {
  useFakeTimers()
  const inbox = createInbox({ store: sqliteStore(':memory:') })
  const receiver = createReceiver({ secret, inbox })
  const { promise, resolve } = Promise.withResolvers<string>()
  receiver.on('*', async ({ name }) => resolve(name))
  const worker = createWorker(receiver)
  await worker.start()
  await receiver.receive(await signedDelivery(fixture('client.created'), { secret }))
  expect(await promise).toBe('client.created')
  await worker.drain()
})

test('a forgery that is proved in several turns, and its diagnosis, end under fake timers', async () => {
  useFakeTimers()
  const body = new Uint8Array(900_000).fill(32)
  const headers = await sign(body, { secret: 'another-secret-than-yours' })
  const secrets = Array.from({ length: 20 }, (_, at) => `a-secret-of-yours-${at}`)
  const refused = await verify({ body, headers }, { secret: secrets })
  expect(refused).toMatchObject({ ok: false, code: 'SIGNATURE_MISMATCH' })
  expect(!refused.ok && (await refused.diagnose())).toBeUndefined()
})

test('the sandbox delivers under fake timers', async () => {
  useFakeTimers()
  let delivered = 0
  const fetch = async () => {
    delivered += 1
    return new Response()
  }
  const sandbox = await createSandbox({ subscriptions: [{ url: 'http://localhost/hooks' }], fetch })
  const client = createClient({
    baseUrl: `${sandbox.url}/v2/api`,
    apiKey: sandbox.apiKey,
    fetch: sandbox.fetch,
  })
  await client.clients.create({ nameFirst: 'Robin', nameLast: 'Example' })
  await sandbox.flush()
  expect(delivered).toBe(1)
  await sandbox.close()
})
