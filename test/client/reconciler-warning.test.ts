import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { createReconciler } from '../../src/client/index.ts'
import { open, secret } from './reconciling.ts'
import { start } from './service.ts'

/** The warning of a scheduled run that fails, where no `onError` is given. */
async function warned(options: Partial<Parameters<typeof createReconciler>[0]>): Promise<string> {
  const { api: client, receiver } = await open()
  const reconciler = createReconciler({ client, receiver, since: start, ...options })
  onTestFinished(() => reconciler.stop())
  const warning = once(process, 'warning') as Promise<[Error]>
  reconciler.start()
  const [{ message }] = await warning
  return message
}

test('a scheduled run that is refused warns of why, as our own errors have no data', async () => {
  const watermark = { read: () => ({ tenant: 'acme' }), write() {} }
  const message = await warned({ watermark })
  expect(message).toMatch(
    /^a run of reconcile failed: WebhookError OPTION_INVALID: the watermark .* verifications: .+ report$/,
  )
})

test('an error of another hand is named by its class, for its text may be data', async () => {
  const read = () => {
    throw new RangeError('Jane Doe')
  }
  const message = await warned({ watermark: { read, write() {} } })
  expect(message).toMatch(/^a run of reconcile failed: RangeError at /)
  expect(message).toMatch(/pass onError to see the error$/)
  expect(message).not.toContain('Jane')
})

test('a run that cannot read all records warns of one, for its watermark stays', async () => {
  const { api } = await open()
  const { id } = await api.clients.create({ email: 'jane@example.test' })
  const iterate: typeof api.clients.iterate = (query, options) => {
    const walk = api.clients.iterate(query, options)
    async function* pages() {
      for await (const page of walk.pages()) {
        yield { ...page, data: page.data.map((one) => ({ ...one, createdAt: 'soon' })) }
      }
    }
    return { ...walk, pages }
  }
  const message = await warned({ client: { ...api, clients: { ...api.clients, iterate } } })
  expect(message).toContain(`of 1 records cannot be read, the first is client ${id}.`)
  expect(message).not.toContain('jane')
})

test('a schedule without a tenant throws at its creation if all secrets name one', async () => {
  const { api: client, receiver } = await open({ secrets: { value: secret, tenant: 'acme' } })
  expect(() => createReconciler({ client, receiver })).toThrow('have tenants')
  createReconciler({ client, receiver, tenant: 'acme' })
})
