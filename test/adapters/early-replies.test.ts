// Senders that write a body in pieces, close the connection and read the reply at the end.
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { createReceiver, type Receiver } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toNode } from 'idv-webhooks/node'
import { describe, expect, onTestFinished, test } from 'vitest'

const receiverFor = (maxBytes: number) =>
  createReceiver({ secret: 'a-secret-of-this-test', maxBytes, observe: () => {} })

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const mounts: Record<string, (receiver: Receiver) => Promise<number>> = {
  'node:http': (receiver) => portOf(createServer(toNode(receiver) as RequestListener)),
  Express: (receiver) => portOf(createServer(express().post('/', toExpress(receiver)))),
  Fastify: async (receiver) => {
    const app = fastify()
    await app.register(toFastify(receiver), { path: '/' })
    onTestFinished(() => app.close())
    await app.listen({ port: 0, host: '127.0.0.1' })
    return (app.server.address() as AddressInfo).port
  },
}

/** The status that a sender reads once it has written its whole body, in pieces. */
async function statusRead(port: number, headers: readonly string[]) {
  const socket = connect(port, '127.0.0.1')
  const { promise, resolve } = Promise.withResolvers<string>()
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', (error) => resolve(`no reply: ${error.message}`))
  socket.on('close', () => resolve(received.split(' ', 2)[1] ?? 'no reply'))
  const pieces = 40
  const size = 64 * 1024
  const head = ['POST / HTTP/1.1', 'Host: localhost', `Content-Length: ${pieces * size}`]
  socket.write(`${[...head, 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`)
  // Nothing is read before everything is written, as in a sender without a thread for reading.
  socket.pause()
  for (let piece = 0; piece < pieces; piece++) {
    socket.write(new Uint8Array(size))
    await new Promise((next) => setImmediate(next))
  }
  socket.resume()
  return promise
}

const json = 'Content-Type: application/json'
const signature = `X-Service-Signature: ${'0'.repeat(64)}`

describe.each(Object.entries(mounts))('%s', (_, mount) => {
  test.each<[string, string, { maxBytes: number; headers: readonly string[] }]>([
    ['too large', '413', { maxBytes: 1024 ** 2, headers: [json, signature] }],
    ['not signed', '401', { maxBytes: 4 * 1024 ** 2, headers: [json] }],
    [
      'not JSON',
      '415',
      { maxBytes: 4 * 1024 ** 2, headers: ['Content-Type: text/xml', signature] },
    ],
  ])('a sender reads the reply to a body that is %s', async (_, status, { maxBytes, headers }) => {
    expect(await statusRead(await mount(receiverFor(maxBytes)), headers)).toBe(status)
  })
})
