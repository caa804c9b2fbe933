// A hook of the app replaces the request's stream, and that stream breaks: no process may end.
import type { AddressInfo } from 'node:net'
import { Transform } from 'node:stream'
import { createGunzip } from 'node:zlib'
import fastify, { type preParsingHookHandler } from 'fastify'
import { createReceiver } from 'idv-webhooks'
import { toFastify } from 'idv-webhooks/fastify'
import { toFetch } from 'idv-webhooks/fetch'
import { expect, onTestFinished, test } from 'vitest'
import { rawRequest } from '../mounts.ts'

const replaced =
  (make: () => Transform): preParsingHookHandler =>
  (_request, _reply, payload, done) => {
    const stream = make()
    payload.pipe(stream)
    done(null, stream)
  }

const failsAt = () =>
  new Transform({
    transform: (chunk, _encoding, done) =>
      String(chunk).includes('BOOM') ? done(new Error('BOOM')) : done(null, chunk),
  })

const signed = `x-service-signature: ${'a0'.repeat(32)}\r\n`
const large = `bb8\r\n${'y'.repeat(3_000)}\r\n`

test.each([
  ['of a request without a signature', createGunzip, '', ['5\r\nplain\r\n', '0\r\n\r\n'], 401],
  ['while it is read', failsAt, signed, ['4\r\nBOOM\r\n', '0\r\n\r\n'], 400],
  ['after its body was too large', failsAt, signed, [large, '4\r\nBOOM\r\n', '0\r\n\r\n'], 413],
] as const)('a stream that breaks %s ends no process', async (_, make, header, parts, status) => {
  const errors: unknown[] = []
  const hear = (error: unknown) => errors.push(error)
  process.on('uncaughtException', hear)
  onTestFinished(() => void process.off('uncaughtException', hear))
  const app = fastify()
  app.addHook('preParsing', replaced(make))
  const receiver = createReceiver({ secret: 's', maxBytes: 2_000, observe: () => {} })
  await app.register(toFastify(receiver), { path: '/webhooks' })
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const head = `POST /webhooks HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n${header}transfer-encoding: chunked\r\n\r\n`
  const { port } = app.server.address() as AddressInfo
  const answer = await rawRequest(port, [head, ...parts])
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(errors).toEqual([])
})

test.each([
  ['of a declared length', { 'content-length': '20' }],
  ['in chunks', {}],
])('a body %s that the host refuses as too large is so for the receiver', async (_, more) => {
  const seen: unknown[] = []
  const receiver = createReceiver({ secret: 's', observe: (one) => seen.push(one) })
  // As SvelteKit does above BODY_SIZE_LIMIT, and h3 above its own limit.
  const refused = Object.assign(new Error('Payload Too Large'), { status: 413 })
  const body = new ReadableStream({ pull: (stream) => stream.error(refused) })
  const headers = { 'content-type': 'application/json', 'x-service-signature': 'a0'.repeat(32) }
  const init = { method: 'POST', body, headers: { ...headers, ...more }, duplex: 'half' } as const
  const { status } = await toFetch(receiver)(new Request('http://a.test', init))
  expect(status).toBe(413)
  expect(seen).toMatchObject([{ kind: 'rejected', code: 'BODY_TOO_LARGE' }])
})
