// The main job, to be watched: the service in a box on one port, an Express app with the receiver
// and its inbox in a SQLite file on another. A verification lives its life over the API, and its
// events arrive, good and bad; what is proved is kept, then handled.
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { styleText } from 'node:util'
import express from 'express'
import {
  createReceiver,
  createWorker,
  NonRetryable,
  type Observation,
  type Outcome,
  toReply,
} from 'idv-webhooks'
import { inboxConsole } from 'idv-webhooks/console'
import { toExpress } from 'idv-webhooks/express'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { createSandbox, type FaultKind } from 'idv-webhooks/sandbox'

const secret = 'a-secret-for-the-demo'
let fails = 0
let broken = false
/** The name of a delivery that proves nothing, not even its event. */
let nameless = ''
const mismatches: { diagnose(): Promise<{ readonly message: string } | undefined> }[] = []

const folder = mkdtempSync(join(tmpdir(), 'idv-webhooks-demo-'))
const inbox = createInbox({
  store: sqliteStore(join(folder, 'inbox.db')),
  retry: { delays: [1] },
})
const receiver = createReceiver({ secret, inbox, observe: print })
receiver.on('verification.approved', (event) => say(`${event.data.subjectName} is approved`))
receiver.on('verification.rejected', (event) => say(`${event.data.subjectName} is rejected`))
receiver.on('client.updated', () => {
  if (broken) throw new NonRetryable('a handler with a bug')
  if (fails-- > 0) throw new Error('the database of the application is down')
  say('the client is updated')
})
const worker = createWorker(receiver)

const app = express().post('/webhooks', toExpress(receiver))
app.use('/inbox', inboxConsole(inbox, { authorize: 'loopback' }).node)
const server = app.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const home = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const hooks = `${home}/webhooks`

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

/** A line for each delivery, with the answer it gets, and for each attempt to handle it that failed. */
function print(one: Observation): void {
  if (one.type === 'settled' && (one.state === 'retry' || one.state === 'dead')) {
    const words = { retry: 'an attempt failed and will be made again', dead: 'a dead letter' }
    line(words[one.state], styleText('yellow', one.state))
  }
  if (one.type !== 'outcome') return
  const name = one.receivedName ?? nameless
  const known = one.name && one.name !== one.receivedName ? ` = ${one.name}` : ''
  const good = one.kind !== 'rejected' && one.kind !== 'failed'
  const { status } = toReply(one as unknown as Outcome)
  line(`${name}${known}`, styleText(good ? 'green' : 'red', `${status} ${one.code ?? one.kind}`))
  if (one.code === 'SIGNATURE_MISMATCH') mismatches.push(one)
}

function line(left: string, right: string): void {
  console.log(`      ${left.padEnd(52)} ${right}`)
}

/** A line of a handler. */
function say(words: string): void {
  console.log(`        ${styleText('cyan', `handler: ${words}`)}`)
}

/** Brings what is due, then handles what was kept. */
async function settle(): Promise<void> {
  await sandbox.flush()
  await worker.runOnce()
}

console.log(`
The service runs at ${sandbox.baseUrl}, the receiver at ${hooks}.

A verification is created, its subject completes it, an operator approves:`)
const ada = await api('/verifications', {
  type: 'kyc',
  requirements: ['document', 'biometric_face'],
  subjectName: 'Ada Lovelace',
})
await settle()
await sandbox.act(ada.id, ['start', 'submit', 'review', 'approve'])
await settle()
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
await settle()

console.log('\nA week passes in an instant, and what nobody completed expires:')
await api('/verifications', { type: 'share', requirements: ['consent'], subjectName: 'No Answer' })
await sandbox.clock.advance({ days: 8 })
await settle()

console.log('\nEvery mistake of a sender, and every forgery, one after another:')
sandbox.deliveries.subscriptions.update(subscription?.id ?? '', { active: false })
const faults: readonly FaultKind[] = [
  ...(['wrong-secret', 'unsigned', 'tampered', 'truncated'] as const),
  ...(['reserialized', 'oversized', 'unknown-event', 'duplicate'] as const),
]
const { id } = sandbox.deliveries.subscriptions.create({
  url: hooks,
  secret,
  events: ['client.created'],
})
for (const kind of faults) {
  sandbox.faults.set([{ kind, subscriptionId: id, times: 1 }])
  nameless = kind
  await sandbox.fetch(
    new Request(`${sandbox.baseUrl}/clients`, {
      method: 'POST',
      headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
      body: '{"nameFirst":"Alan"}',
    }),
  )
  await settle()
  const diagnosis = await mismatches.pop()?.diagnose()
  if (diagnosis) console.log(`        ${styleText('dim', `proved: ${diagnosis.message}`)}`)
}

sandbox.faults.clear()

console.log('\nA handler fails twice; the event waits in the inbox and is handled in the end:')
fails = 2
const client = await api('/clients', { nameFirst: 'Barbara' })
sandbox.deliveries.subscriptions.update(id, { events: ['client.updated'] })
await moves('Guelph')
await settle()
for (let waited = 0; waited < 2; waited++) {
  await new Promise((resolve) => setTimeout(resolve, 10))
  await worker.runOnce()
}

console.log('\nA bug makes a dead letter; once it is mended, an operator hands the event back:')
broken = true
await moves('Cambridge')
await settle()
broken = false
console.log(`  ${styleText('bold', "inbox.redrive({ state: 'dead' })")}`)
await inbox.redrive({ state: 'dead' })
await worker.runOnce()

/** The client changes, as an operator of the service would do it. */
async function moves(city: string): Promise<void> {
  await sandbox.fetch(`${sandbox.url}/_sandbox/clients/${client.id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ city }),
  })
}

const { done, dead, skipped, retry } = await inbox.stats()
console.log(`
Only what the secret proves gets in; it is on the disk before it is acknowledged, and handled once.
The inbox: ${done} done, ${skipped} skipped because no handler asked for them, ${retry} to be tried again, ${dead} dead.

Go on: npx idv-webhooks sandbox      the service on a port of its own, to develop against
       npx idv-webhooks doctor       probes your receiver, once it runs
       examples/, docs/              whole programs, and everything in detail
`)
console.log(`The console of the sandbox: ${sandbox.url}
The console of the inbox:   ${home}/inbox`)
if (process.stdin.isTTY) {
  // Events that start in the console are handled too.
  await worker.start()
  console.log('Look around in a browser; any key ends it.')
  process.stdin.setRawMode(true)
  await new Promise((resolve) => process.stdin.once('data', resolve))
  process.stdin.setRawMode(false).pause()
}
await sandbox.close()
await receiver.drain()
await worker.drain()
await inbox.close()
server.closeAllConnections()
server.close()
rmSync(folder, { recursive: true })
