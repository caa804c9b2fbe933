import { runInNewContext } from 'node:vm'
import { createReceiver, sign, verify } from 'idv-webhooks'
import { capture, readCapture, signedDelivery } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

const text = '{"event":"client.created","data":{"id":"cli_1"}}'
/** Bytes as Jest and Vitest with jsdom have them, whose Uint8Array is another class. */
const foreign: Uint8Array = runInNewContext('Uint8Array.from(codes)', {
  codes: [...new TextEncoder().encode(text)],
})
const secret: Uint8Array = runInNewContext('Uint8Array.from({ length: 32 }, (_, at) => at + 1)')

test('bytes of another realm are signed, verified, received and captured', async () => {
  expect(foreign).not.toBeInstanceOf(Uint8Array)
  const delivery = { body: foreign, headers: await sign(foreign, { secret }) }
  expect(await verify(delivery, { secret })).toMatchObject({ ok: true })
  const receiver = createReceiver({ secret })
  expect(await receiver.receive(delivery)).toMatchObject({ kind: 'ignored' })
  const read = async () => foreign
  expect(await receiver.handle({ method: 'POST', ...delivery, read })).toMatchObject({
    status: 200,
  })
  const kept = readCapture(JSON.stringify(await capture(delivery)))
  expect(new TextDecoder().decode(kept.delivery.body)).toContain('client.created')
  expect((await signedDelivery(foreign)).body).toHaveLength(text.length)
})
