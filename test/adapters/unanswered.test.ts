// Nobody hears the promise of a listener: what throws behind it must end no process.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, type Observation, type Reply } from 'idv-webhooks'
import { toNextPages } from 'idv-webhooks/next'
import { type HandlesRequests, toNode } from 'idv-webhooks/node'
import { expect, onTestFinished, test, vi } from 'vitest'

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** The answer to an unsigned delivery, once the listener's own promise is fulfilled. */
async function answerOf(listener: Listener) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const server = createServer((request, response) => resolve(listener(request, response)))
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const reply = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })
  await promise
  return { status: reply.status, body: await reply.json() }
}

const failed = {
  status: 500,
  body: {
    code: 'HANDLER_FAILED',
    message: 'the event could not be handled',
    statusCode: 500,
  },
}

const unanswerable: readonly [string, HandlesRequests['handle']][] = [
  ['that throws', () => Promise.reject(new RangeError('canary'))],
  [
    'whose reply has a body that no server can send',
    async () => ({ status: 400, headers: {}, body: { hint: 'a' } }) as unknown as Reply,
  ],
  [
    'whose reply has a header that no server can send',
    async () => ({ status: 400, headers: { 'x-note': '\u2013' }, body: '' }),
  ],
]

test.each(unanswerable)('a receiver %s is 500 and a warning', async (_, handle) => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  for (const mount of [toNode, toNextPages]) {
    expect(await answerOf(mount({ handle }))).toEqual(failed)
  }
  expect(warned).toHaveBeenCalledTimes(2)
  expect(warned).toHaveBeenCalledWith(
    expect.stringMatching(/^webhook HANDLER_FAILED: a request could not be answered: \w+Error$/),
    { code: 'IDV_HANDLER_FAILED', detail: expect.stringContaining('/errors/handler-failed') },
  )
})

test('a clock that throws is a failure of ours, answered and observed', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const error = new Error('canary')
  const seen: Observation[] = []
  const now = () => {
    throw error
  }
  const receiver = createReceiver({ secret: 's', now, observe: (one) => seen.push(one) })
  expect(await answerOf(toNode(receiver))).toEqual(failed)
  expect(seen).toMatchObject([
    { kind: 'failed', code: 'HANDLER_FAILED', at: expect.any(Date), errors: [{ error }] },
  ])
  expect(String(warned.mock.calls)).toContain("the system's clock was read")
  expect(String(warned.mock.calls)).not.toContain('canary')
})
