// The main job, to be watched: the service in a box on one port, an Express app with the receiver
// on another. A verification lives its life over the API, and its events arrive, good and bad.
import type { AddressInfo } from 'node:net'
import { styleText } from 'node:util'
import express from 'express'
import { createReceiver, type Observation } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { createSandbox, type FaultKind } from 'idv-webhooks/sandbox'

const secret = 'a-secret-for-the-demo'
/** What a handler did, by the id of its event. */
const said = new Map<string | undefined, string>()

const receiver = createReceiver({ secret, observe: print })
receiver.on('verification.approved', async (event) => {
  said.set(event.id, `${event.data.subjectName} is approved`)
})
receiver.on('verification.rejected', async (event) => {
  said.set(event.id, `${event.data.subjectName} is rejected`)
})
receiver.fallback(() => {})

const server = express().post('/webhooks', toExpress(receiver)).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const hooks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`

const sandbox = await createSandbox({ seed: 'demo', subscriptions: [{ url: hooks, secret }] })
await sandbox.listen()

/** Calls the service's API as any client would. */
async function api(path: string, body?: object) {
  const response = await fetch(`${sandbox.baseUrl}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  console.log(`  ${body ? 'POST' : 'GET '} ${path} ${styleText('dim', String(response.status))}`)
  return (await response.json()) as { readonly id: string; readonly [field: string]: unknown }
}

/** A line for what became of each delivery. */
function print(one: Observation): void {
  if (one.type !== 'outcome') return
  const name = one.receivedName ?? 'a delivery that proves nothing'
  const known = one.name && one.name !== one.receivedName ? ` = ${one.name}` : ''
  const good = one.kind !== 'rejected' && one.kind !== 'failed'
  const outcome = styleText(good ? 'green' : 'red', one.code ?? one.kind)
  const words = said.get(one.eventId)
  console.log(`      ${`${name}${known}`.padEnd(52)} ${outcome}${words ? `  → ${words}` : ''}`)
}

console.log(`
The service runs at ${sandbox.baseUrl}, the receiver at ${hooks}.

A verification is created, its subject completes it, an operator approves:`)
const ada = await api('/verifications', {
  type: 'kyc',
  requirements: ['document', 'biometric_face'],
  subjectName: 'Ada Lovelace',
})
await sandbox.drain()
await sandbox.act(ada.id, ['start', 'submit', 'review', 'approve'])
await sandbox.drain()
const { status, score } = await api(`/verifications/${ada.id}`)
console.log(`      status ${status}, score ${score}`)

console.log('\nAn older subscription hears the same under the legacy names:')
const [subscription] = sandbox.deliveries.subscriptions.list()
sandbox.deliveries.subscriptions.create({ url: hooks, secret, events: ['request.*'] })
const grace = await api('/verifications', {
  type: 'idv',
  requirements: ['document'],
  subjectName: 'Grace Hopper',
})
await sandbox.act(grace.id, ['start', 'submit', 'reject'])
await sandbox.drain()

console.log('\nA week passes in an instant, and what nobody completed expires:')
await api('/verifications', { type: 'share', requirements: ['consent'], subjectName: 'No Answer' })
await sandbox.clock.advance({ days: 8 })
await sandbox.drain()

console.log('\nEverything a sender or a stranger can get wrong, one after the other:')
sandbox.deliveries.subscriptions.update(subscription?.id ?? '', { active: false })
const faults: readonly FaultKind[] = [
  ...(['wrong-signature', 'missing-signature', 'tampered', 'truncated'] as const),
  ...(['re-serialised', 'oversized', 'unknown-event', 'duplicate'] as const),
]
const { id } = sandbox.deliveries.subscriptions.create({
  url: hooks,
  secret,
  events: ['client.created'],
})
for (const kind of faults) {
  sandbox.faults.set([{ kind, subscriptionId: id, times: 1 }])
  console.log(`    ${kind}`)
  await sandbox.fetch(
    new Request(`${sandbox.baseUrl}/clients`, {
      method: 'POST',
      headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
      body: '{"nameFirst":"Alan"}',
    }),
  )
  await sandbox.drain()
}

console.log(`
Only what the secret proves reaches a handler; every refusal has its code.
A duplicate is handled again here: telling duplicates needs an inbox.
`)
await sandbox.close()
await receiver.drain()
server.close()
