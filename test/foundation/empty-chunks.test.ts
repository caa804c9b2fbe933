import { createReceiver, sign } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { expect, test } from 'vitest'
import { readStream } from '../../src/foundation/bytes.ts'

/** A stream that always has another chunk without bytes; errors at last, so that nothing hangs. */
function empties(): ReadableStream<Uint8Array> {
  let left = 2_000_000
  return new ReadableStream({
    pull(controller) {
      if (--left > 0) controller.enqueue(new Uint8Array())
      else controller.error(new Error('no timer has had its turn'))
    },
  })
}

test('a stream of empty chunks leaves timers their turn, and the signal ends it', async () => {
  const read = readStream(empties(), { most: 10, signal: AbortSignal.timeout(20) })
  await expect(read).rejects.toMatchObject({ name: 'TimeoutError' })
})

test('a body of empty chunks is given up at its deadline', async () => {
  const secret = 'a-secret-of-empty-chunks'
  const receiver = createReceiver({ secret, bodyTimeout: 20, observe: () => {} })
  const headers = await sign('{}', { secret })
  const given = { method: 'POST', headers, body: empties(), duplex: 'half' }
  const reply = await toFetch(receiver)(new Request('http://a.test/', given))
  expect([reply.status, await reply.json()]).toMatchObject([400, { code: 'BODY_INCOMPLETE' }])
})

test('a body with a few empty chunks is whole', async () => {
  const parts = ['', 'a', '', '', 'b', ''].map((one) => new TextEncoder().encode(one))
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
  expect(new TextDecoder().decode(await readStream(stream, { most: 10 }))).toBe('ab')
})
