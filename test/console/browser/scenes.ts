// A sandbox and an inbox in which something has happened: deliveries that failed, dead letters,
// faults, mails. Tests look at every page of them.
import { createServer } from 'node:http'
import { createReceiver, createWorker } from 'idv-webhooks'
import { inboxConsole } from 'idv-webhooks/console'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { toNode } from 'idv-webhooks/node'
import { createSandbox } from 'idv-webhooks/sandbox'
import { signedDelivery } from 'idv-webhooks/testing'
import { ended, listening } from '../listening.ts'

export interface Scene {
  readonly url: string
  /** The addresses of all its pages, after the `#`. */
  readonly paths: readonly string[]
  readonly close: () => Promise<void>
}

const secret = 'a-secret-for-the-scene'

export async function sandboxScene(): Promise<Scene & { readonly subject: string }> {
  const receiver = createReceiver({ secret, observe: () => {} })
  receiver.on('*', () => {})
  const server = createServer(toNode(receiver))
  const hook = await listening(server)
  const sandbox = await createSandbox({
    seed: 1,
    rateLimit: false,
    subscriptions: [
      { url: `${hook}/webhooks`, secret },
      { url: `${hook}/older`, secret: 'another-secret', events: ['request.submitted'] },
    ],
  })
  const { url } = await sandbox.listen()
  const post = async (path: string, body: object) => {
    const response = await sandbox.fetch(`${sandbox.baseUrl}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await response.json()) as { readonly id: string; readonly accessToken: string }
  }
  const kyc = { type: 'kyc', requirements: ['document', 'person', 'consent'] }
  const thirdParties = [{ name: 'Bank', email: 'desk@bank.example', org: 'Bank' }]
  const client = await post('/clients', { nameFirst: 'Grace', nameLast: 'Hopper' })
  const ada = await post('/verifications', {
    ...kyc,
    subjectName: 'Ada Lovelace',
    subjectEmail: 'ada@example.org',
    clientId: client.id,
    thirdParties,
  })
  const joan = await post('/verifications', { ...kyc, subjectName: 'Joan Clarke' })
  for (const subjectName of ['Auto Approve', 'Auto Reject', 'Auto Review']) {
    await post('/verifications', { ...kyc, subjectName, subjectEmail: 'a@b.example' })
  }
  await sandbox.flush()
  sandbox.faults.set([{ kind: 'reserialized', times: 1 }])
  await sandbox.act(ada.id, ['start', 'submit'])
  await sandbox.flush()
  const changed = sandbox.deliveries
    .list()
    .find(({ attempts }) => attempts.some(({ fault }) => fault !== undefined))
  sandbox.faults.set([
    { kind: 'duplicate', times: 3 },
    { kind: 'error-500', path: '/clients', probability: 0.5 },
  ])
  const mail = (await (await fetch(`${url}/_sandbox/outbox`)).json()) as {
    readonly data: readonly { readonly id: string }[]
  }
  const paths = [
    'overview',
    'verifications',
    'verifications/new',
    `verifications/${ada.id}`,
    'clients',
    'clients/new',
    `clients/${client.id}`,
    'deliveries',
    `deliveries/${changed?.id}`,
    'subscriptions',
    'outbox',
    `outbox/${mail.data[0]?.id}`,
    'clock',
    'faults',
    'reference',
    'nope',
  ]
  const close = async () => {
    await sandbox.close()
    await ended(server)
  }
  return { url, paths, close, subject: `${url}/verify/${joan.accessToken}` }
}

export async function inboxScene(): Promise<Scene> {
  const inbox = createInbox({ store: memoryStore(), retry: { attempts: 2, delays: [3_600_000] } })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  receiver.on('verification.*', () => {}, { id: 'notify' })
  receiver.on(
    'verification.rejected',
    () => {
      throw new TypeError('the ledger is away')
    },
    { id: 'ledger' },
  )
  const names = ['verification.created', 'request.approved', 'verification.rejected', 'other.thing']
  const worker = createWorker(receiver)
  await worker.start()
  for (let at = 0; at < 12; at++) {
    const event = names[at % names.length]
    const data = { id: `2f0c8f5e-0000-4000-8000-0000000000${10 + at}`, subjectName: 'Ada' }
    const body = JSON.stringify({ id: `evt_${at}`, event, createdAt: new Date(), data })
    await receiver.receive(await signedDelivery(body, { secret }))
  }
  await receiver.receive(await signedDelivery('not JSON', { secret }))
  for (let open = 1; open > 0; ) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const { stored, leased } = await inbox.stats()
    open = stored + leased
  }
  await inbox.redrive({ state: 'dead' })
  const server = createServer(inboxConsole(inbox, { authorize: 'loopback', interval: 200 }).node)
  const url = await listening(server)
  const { entries } = await inbox.find({ name: 'verification.rejected' })
  const paths = ['overview', 'entries', `entries/${entries[0]?.id}`, 'audit-log', 'nope']
  const close = async () => {
    await ended(server)
    await worker.drain()
    await inbox.close()
  }
  return { url, paths, close }
}
