// A test as people write it for Jest in a CommonJS project, with its default configuration.
const { createServer } = require('node:http')
const express = require('express')
const { createReceiver } = require('idv-webhooks')
const { toExpress } = require('idv-webhooks/express')
const { toNode } = require('idv-webhooks/node')
const testing = require('idv-webhooks/testing')
const { fixture, recordHandlers, signedDelivery, testSecret } = testing
const { z } = require('zod')

test('an event that arrives over HTTP reaches its handler', async () => {
  const receiver = createReceiver({ secret: testSecret })
  const handled = jest.fn()
  receiver.on('verification.approved', (event) => handled(event.data.id))
  const app = express().post('/webhooks', toExpress(receiver)).use(express.json())
  const server = createServer(app).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { body, headers } = await signedDelivery(fixture('verification.approved'))
  const url = `http://127.0.0.1:${server.address().port}/webhooks`
  const reply = await fetch(url, { method: 'POST', body, headers })
  expect(reply.status).toBe(200)
  expect(handled).toHaveBeenCalledWith(fixture('verification.approved').data.id)
  server.close()
})

test('an error of the package is one of Jest’s realm too, and the own zod stays what it was', () => {
  expect(() => createReceiver({ secret: '' })).toThrow(/secret is empty/)
  expect(typeof recordHandlers).toBe('function')
  expect(z.iso).toBeUndefined()
})

test('what is loaded only when it is needed loads without a flag', async () => {
  const receiver = createReceiver({ secret: testSecret })
  const { body, headers } = await signedDelivery(fixture('client.created'))
  const respelled = Buffer.from(JSON.stringify(JSON.parse(Buffer.from(body)), null, 1))
  // The first refusal is warned of with its diagnosis, which is loaded too.
  const refused = await receiver.receive({ body: respelled, headers })
  expect(await refused.diagnose()).toMatchObject({ cause: 'body-reserialized' })
  const captured = await testing.capture({ body, headers })
  const app = express().post('/', toExpress(receiver))
  for (const target of [app, toNode(receiver)]) {
    const { taken } = await testing.replay(target, [captured])
    expect(taken).toBe(1)
  }
})
