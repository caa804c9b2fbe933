// The effect of a recorded delivery that is sent again, by scheme and with an inbox.
import { createReceiver, type Scheme, schemes, sign } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { expect, test } from 'vitest'

const secret = 'the-secret-of-the-replays'
const recorded = new Date('2026-03-01T10:00:00Z')

async function replayed({
  scheme,
  seconds,
}: {
  readonly scheme: Scheme
  readonly seconds: number
}) {
  const body = new TextEncoder().encode('{"id":"evt_1","event":"client.created","data":{"id":"c"}}')
  const headers = await sign(body, { secret, scheme, now: () => recorded })
  let runs = 0
  const now = () => new Date(recorded.getTime() + seconds * 1_000)
  const receiver = createReceiver({ secret, scheme, now, observe() {} })
  receiver.on('*', () => {
    runs += 1
  })
  const outcomes = []
  for (let at = 0; at < 5; at++) outcomes.push((await receiver.receive({ body, headers })).kind)
  return { runs, outcomes: [...new Set(outcomes)] }
}

test('the default scheme signs no time: a recorded delivery verifies years later', async () => {
  const scheme = schemes.service()
  const years = 10 * 365 * 24 * 3_600
  expect(await replayed({ scheme, seconds: years })).toEqual({ runs: 5, outcomes: ['handled'] })
})

test('a scheme that signs a time shortens that to its tolerance, and runs it as often within', async () => {
  const scheme = schemes.timestamped()
  expect(await replayed({ scheme, seconds: 300 })).toEqual({ runs: 5, outcomes: ['handled'] })
  expect(await replayed({ scheme, seconds: 301 })).toEqual({ runs: 0, outcomes: ['rejected'] })
})

test('an inbox runs a recorded delivery once, for 30 days', async () => {
  const body = new TextEncoder().encode('{"id":"evt_1","event":"client.created","data":{"id":"c"}}')
  const headers = await sign(body, { secret })
  let now = recorded
  const inbox = createInbox({ store: memoryStore(), now: () => now })
  const receiver = createReceiver({ secret, inbox, now: () => now })
  receiver.on('*', () => {})
  const days = async (count: number) => {
    now = new Date(recorded.getTime() + count * 24 * 3_600_000)
    await inbox.purge()
    return (await receiver.receive({ body, headers })).kind
  }
  expect([await days(0), await days(1), await days(29), await days(31)]).toEqual([
    'accepted',
    'duplicate',
    'duplicate',
    'accepted',
  ])
  await inbox.close()
})
