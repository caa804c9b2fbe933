// Takes the pictures of docs/images from a seeded scenario, in the Chromium of the tests: run it with
// `npm run screenshots`, and look at what it made.
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import chromium from '@sparticuz/chromium'
import { createReceiver, createWorker } from 'idv-webhooks'
import { inboxConsole } from 'idv-webhooks/console'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { toNode } from 'idv-webhooks/node'
import { createSandbox } from 'idv-webhooks/sandbox'
import { chromium as playwright } from 'playwright-core'

const secret = 'a-secret-for-the-pictures'
// No picture shows a path of the machine that took it.
Error.stackTraceLimit = 0
const folder = 'docs/images'
mkdirSync(folder, { recursive: true })

const inbox = createInbox({ store: memoryStore(), retry: { attempts: 1 } })
const receiver = createReceiver({ secret, inbox, observe: () => {} })
let broken = false
receiver.on('verification.*', () => {}, { id: 'notify' })
receiver.on(
  'verification.approved',
  () => {
    if (broken) throw new TypeError('the ledger is away')
  },
  { id: 'ledger' },
)
const worker = createWorker(receiver)
await worker.start()

const server = createServer(toNode(receiver))
const shown = createServer(inboxConsole(inbox, { authorize: 'loopback' }).node)
const [hook, inboxUrl] = await Promise.all([server, shown].map(listening))
const sandbox = await createSandbox({
  seed: 'pictures',
  rateLimit: false,
  subscriptions: [
    { url: `${hook}/webhooks`, secret },
    { url: `${hook}/older`, secret, events: ['request.submitted'] },
  ],
})
const { url } = await sandbox.listen()

const people = ['Ada Lovelace', 'Grace Hopper', 'Joan Clarke', 'Auto Approve', 'Auto Reject']
const ids: string[] = []
for (const [at, subjectName] of [...people, 'Auto Review', 'Hedy Lamarr'].entries()) {
  broken = subjectName === 'Auto Approve'
  ids.push(await create(subjectName, at))
  await sandbox.flush()
  await settled()
}
const [ada = '', grace = ''] = ids
await sandbox.act(ada, ['start', 'submit', 'review'])
sandbox.faults.set([{ kind: 'reserialized', times: 1 }])
await sandbox.act(grace, ['start', 'submit'])
await sandbox.flush()
const refused = sandbox.deliveries
  .list()
  .find(({ attempts }) => attempts.some(({ fault }) => fault !== undefined))

const browser = await playwright.launch({
  executablePath: await chromium.executablePath(),
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
})
const context = await browser.newContext({ viewport: { width: 1180, height: 720 } })
const page = await context.newPage()
await picture('verifications', `${url}/#/verifications/${ada}`)
await picture('delivery', `${url}/#/deliveries/${refused?.id}`)
await picture('inbox', `${inboxUrl}/#/overview`)
await page.setViewportSize({ width: 390, height: 720 })
const token = await tokenOf(ids.at(-1) ?? '')
await picture('subject', `${url}/verify/${token}`)

await browser.close()
await sandbox.close()
await receiver.drain()
await worker.drain()
for (const one of [server, shown]) {
  one.closeAllConnections()
  one.close()
}

async function listening(one: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((ready) => one.listen(0, '127.0.0.1', ready))
  return `http://127.0.0.1:${(one.address() as AddressInfo).port}`
}

async function create(subjectName: string, at: number): Promise<string> {
  const requirements = at % 2 === 0 ? ['document', 'person', 'consent'] : ['document']
  const response = await fetch(`${sandbox.baseUrl}/verifications`, {
    method: 'POST',
    headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({
      type: at % 3 === 0 ? 'kyc' : 'idv',
      requirements,
      subjectName,
      subjectEmail: `${subjectName.toLowerCase().replace(' ', '.')}@example.org`,
    }),
  })
  return ((await response.json()) as { readonly id: string }).id
}

async function tokenOf(id: string): Promise<string> {
  const response = await fetch(`${sandbox.baseUrl}/verifications/${id}`, {
    headers: { 'x-api-key': sandbox.apiKey },
  })
  return ((await response.json()) as { readonly accessToken: string }).accessToken
}

/** Handlers have had their turn. */
async function settled(): Promise<void> {
  for (let open = 1; open > 0; ) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const { stored, leased, retry } = await inbox.stats()
    open = stored + leased + retry
  }
}

async function picture(name: string, address: string) {
  await page.goto('about:blank')
  await page.goto(address)
  await page.locator('h1').waitFor({ state: 'attached' })
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 500))),
  )
  await page.screenshot({ path: `${folder}/${name}.png` })
}
