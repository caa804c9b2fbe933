// The main job, to be watched: an Express app with the receiver takes a stream of deliveries over
// HTTP, good and bad, and tells what became of each.
import type { AddressInfo } from 'node:net'
import { styleText } from 'node:util'
import express from 'express'
import { createReceiver, schemes } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { fixture, type SignedDelivery, signedDelivery } from 'idv-webhooks/testing'

const secret = 'a-secret-for-the-demo'
const handled: string[] = []

const receiver = createReceiver({ secret, observe: () => {} })
receiver.on('verification.approved', (event) => {
  handled.push(`${event.data.subjectName} is approved`)
})
receiver.on('verification.rejected', (event) => {
  handled.push(`${event.data.subjectName} is rejected`)
})
receiver.fallback((event) => {
  handled.push(`${event.name} has no handler of its own`)
})

const app = express().post('/webhooks', toExpress(receiver))
const server = app.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`

const approved = fixture('verification.approved')
const stream: [what: string, delivery: SignedDelivery][] = [
  ['approved', await signedDelivery(approved, { secret })],
  ['rejected', await signedDelivery(fixture('verification.rejected'), { secret })],
  [
    'approved, under its legacy name',
    await signedDelivery(fixture('request.approved'), { secret }),
  ],
  [
    'a name nobody knows yet',
    await signedDelivery({ ...approved, event: 'verification.archived' }, { secret }),
  ],
  [
    'two secrets while rotating',
    await signedDelivery(approved, { secret: ['another-secret', secret] }),
  ],
  [
    'forged: signed with another secret',
    await signedDelivery(approved, { secret, spoil: 'wrong-secret' }),
  ],
  ['forged: not signed at all', await signedDelivery(approved, { secret, spoil: 'unsigned' })],
  ['tampered: one bit is changed', await signedDelivery(approved, { secret, spoil: 'tampered' })],
  [
    'parsed and written again on its way',
    await signedDelivery(approved, { secret, spoil: 'reserialized' }),
  ],
  ['truncated', await signedDelivery(approved, { secret, spoil: 'truncated' })],
  [
    'another signature scheme',
    await signedDelivery(approved, { secret, scheme: schemes.timestamped() }),
  ],
  ['oversized: 2 MiB', await signedDelivery(' '.repeat(2 * 1024 ** 2), { secret })],
  ['signed, but no JSON', await signedDelivery('approved!', { secret })],
  ['the first one again, a duplicate', await signedDelivery(approved, { secret })],
]

console.log(`\nA receiver listens at ${url} and ${stream.length} deliveries arrive:\n`)
for (const [what, { body, headers }] of stream) {
  handled.length = 0
  const response = await fetch(url, { method: 'POST', body, headers })
  const reply = (await response.json()) as { outcome?: string; code?: string }
  const color = response.ok ? 'green' : 'red'
  const status = styleText(color, `${response.status} ${reply.outcome ?? reply.code}`)
  console.log(`  ${what.padEnd(38)} ${status}${handled.length ? `  → ${handled.join()}` : ''}`)
}
console.log('\nOnly what the secret proves reaches a handler; every refusal has its code.')
console.log('A duplicate is handled again here: telling duplicates needs an inbox.\n')
await receiver.drain()
server.close()
