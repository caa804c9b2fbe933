import express from 'express'
import fastify from 'fastify'
import { createReceiver, sign } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { expect, test } from 'vitest'

test('smoke', async () => {
  const receiver = createReceiver({ secret: 's3cret' })
  const seen: string[] = []
  receiver.on('verification.approved', (event) => {
    seen.push(event.data.id)
  })
  const app = express()
  app.post('/webhooks', toExpress(receiver))
  const server = app.listen(0)
  const port = (server.address() as { port: number }).port
  const body = JSON.stringify({
    id: 'e',
    event: 'request.approved',
    createdAt: '2026-01-01T00:00:00Z',
    data: { id: 'v1' },
  })
  const headers = {
    'content-type': 'application/json',
    ...(await sign(body, { secret: 's3cret' })),
  }
  const res = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', body, headers })
  expect([res.status, await res.text()]).toEqual([200, '{"outcome":"handled"}'])
  const bad = await fetch(`http://127.0.0.1:${port}/webhooks`, {
    method: 'POST',
    body: `${body}\n`,
    headers,
  })
  expect([bad.status, await bad.text()]).toEqual([
    401,
    '{"code":"SIGNATURE_MISMATCH","message":"the signature does not match","statusCode":401}',
  ])
  const out = await receiver.receive({ body: Buffer.from(`${body}\n`), headers })
  expect(out.kind === 'rejected' && (await out.diagnose())).toMatchObject({
    cause: 'trailing-newline',
  })
  server.close()
  const f = fastify()
  f.post('/json', async (request) => ({ got: request.body }))
  await f.register(toFastify(receiver), { path: '/webhooks' })
  const r = await f.inject({ method: 'POST', url: '/webhooks', payload: body, headers })
  expect([r.statusCode, r.body]).toEqual([200, '{"outcome":"handled"}'])
  expect((await f.inject({ method: 'POST', url: '/json', payload: { a: 1 } })).json()).toEqual({
    got: { a: 1 },
  })
  expect(seen).toEqual(['v1', 'v1'])
})
