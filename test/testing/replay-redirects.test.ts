import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { replay } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

const one = { headers: [['x-service-signature', 'abc']], body: 'e30=' }

test.each([302, 307])(
  'replay follows no redirect: %i has failed, and nothing goes on',
  async (status) => {
    const asked: string[] = []
    const listener = (request: { method?: string; url?: string }, response: ServerResponse) => {
      asked.push(`${request.method} ${request.url}`)
      if (request.url === '/login') response.end('welcome')
      response.writeHead(status, { location: '/login' }).end()
    }
    const server = createServer(listener).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const options = { path: '/webhooks' }
    for (const target of [`http://127.0.0.1:${port}/webhooks`, listener]) {
      const report = await replay(target as never, [one], options)
      expect(report).toMatchObject({ taken: 0, failed: 1, results: [{ status }] })
    }
    expect(asked).toEqual(['POST /webhooks', 'POST /webhooks'])
    server.close()
  },
)

test('replay sends a GET that was captured without a body', async () => {
  const seen: string[] = []
  const app = async (request: Request) => {
    seen.push(`${request.method} ${(await request.text()).length}`)
    return new Response(null, { status: 405 })
  }
  const report = await replay(app, [{ ...one, method: 'GET' }])
  expect([report.refused, seen]).toEqual([1, ['GET 0']])
})
