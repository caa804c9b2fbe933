import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import {
  subscriptionService,
  wasNotCreated,
} from '../../../tools/cli/migrate/subscriptions/subscription-routes.ts'

async function listen(handle: RequestListener): Promise<string> {
  const server = createServer(handle)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([302, 307])('a subscription route that redirects by %i is refused', async (status) => {
  let reached = 0
  const elsewhere = await listen((_, response) => {
    reached += 1
    response.end('[]')
  })
  const url = await listen((_, response) => {
    response.writeHead(status, { location: `${elsewhere}/login` }).end()
  })
  const service = subscriptionService({ url, apiKey: 'key_1' })
  const input = { url: 'https://a.test', events: [], secret: 'a-secret', others: {} }
  const calls = [
    () => service.list(),
    () => service.create(input as never),
    () => service.setEvents('sub_1', []),
    () => service.remove('sub_1'),
  ]
  for (const call of calls) {
    const error = await call().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'SERVICE_REFUSED',
      message: expect.stringContaining(`responded ${status}; redirects are not followed`),
    })
    expect(wasNotCreated(error)).toBe(true)
  }
  expect(reached).toBe(0)
})
