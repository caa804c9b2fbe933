// A worker that is killed after it has read a decision and before its handler runs:
// node --import test/kept/from-source.ts crashing-worker.ts <inbox> <address of the API> <body>
import { createHmac } from 'node:crypto'
import { createInbox } from '../../src/inbox/inbox.ts'
import { sqliteStore } from '../../src/inbox/stores/sqlite/sqlite.ts'
import { createReceiver } from '../../src/receiver.ts'
import { stripeIdentity } from '../../src/vendors/stripe-identity.ts'
import { createWorker } from '../../src/worker/worker.ts'

const [file = '', baseUrl = '', body = ''] = process.argv.slice(2)
const secret = 'a-secret-of-thirty-two-characters'
const receiver = createReceiver({
  vendor: stripeIdentity({ api: { token: 'the-token', baseUrl } }),
  secret,
  inbox: createInbox({ store: sqliteStore(file) }),
  observe: (seen) => {
    if (seen.type === 'attempt' && seen.handler === 'decision') process.kill(process.pid, 'SIGKILL')
  },
})
receiver.on('verification.approved', () => console.log('handled'))
const time = Math.floor(Date.now() / 1000)
const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
const headers = { 'stripe-signature': `t=${time},v1=${signature}` }
const outcome = await receiver.receive({ body: Buffer.from(body), headers })
console.log(outcome.kind)
await createWorker(receiver).runOnce()
