// A vitest test that replays a delivery captured in production: without the person in it, signed
// again with the test secret, and otherwise byte for byte what the sender sent.
import { readFileSync } from 'node:fs'
import { createReceiver } from 'idv-webhooks'
import { recordHandlers, replay, testSecret } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

const captured = readFileSync(new URL('captures/request-approved.json', import.meta.url), 'utf8')

test('an approval that was captured in production activates the account', async () => {
  const receiver = createReceiver({ secret: testSecret })
  const recorder = recordHandlers(receiver, 'verification.approved')

  const { results } = await replay(receiver, [captured])

  expect(results).toMatchObject([{ status: 200, outcome: 'handled' }])
  expect(recorder.events[0]).toMatchObject({ receivedName: 'request.approved' })
})
