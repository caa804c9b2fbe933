import { join } from 'node:path'
import express from 'express'
import fastify from 'fastify'
import {
  createReceiver,
  createWorker,
  isWebhookError,
  parse,
  schemes,
  sign,
  toReply,
  verify,
} from 'idv-webhooks'
import { createClient } from 'idv-webhooks/client'
import { inboxConsole } from 'idv-webhooks/console'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { postgresStore } from 'idv-webhooks/inbox/postgres'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { toLambda } from 'idv-webhooks/lambda'
import { WebhookModule } from 'idv-webhooks/nest'
import { toNext, toNextPages } from 'idv-webhooks/next'
import { toNode } from 'idv-webhooks/node'
import { createSandbox } from 'idv-webhooks/sandbox'
import { capture, fakeClock, fixture, replay, signedDelivery } from 'idv-webhooks/testing'
import { vendors } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test, vi } from 'vitest'

const secret = 'a-secret-of-the-mistakes'
const make = (options: object) => () => createReceiver({ secret, ...options } as never)
const on = (...given: unknown[]) => {
  const { on: register } = createReceiver({ secret }) as { on(...all: unknown[]): unknown }
  return register(...given)
}
/** Values that JavaScript lets through. */
const given = (value: unknown) => value as never
const handler = () => {}
const body = new TextEncoder().encode('{}')
const receiver = () => createReceiver({ secret, observe: () => {} })

/** Mistakes of newcomers in code, each with the message that they get. */
const mistakes: Readonly<Record<string, () => unknown>> = {
  'a variable that is not set': () => createReceiver({ secret: process.env.NO_SUCH_SECRET }),
  'an empty secret': make({ secret: '' }),
  'a secret with a line break': make({ secret: 'abc\n' }),
  'a secret in quotes': make({ secret: '"abc"' }),
  "the text 'undefined'": make({ secret: 'undefined' }),
  'a number for a secret': make({ secret: 42 }),
  'an empty list of secrets': make({ secret: [] }),
  'no options': () => createReceiver(given(undefined)),
  'a secret left out': () => createReceiver(given({ validate: 'off' })),
  'a misspelt option': make({ secrets: [] }),
  'an option of another library': make({ webhookSecret: 'abc' }),
  'an option that nobody has': make({ name: 'hooks' }),
  'a misspelt choice': make({ validate: 'rejct' }),
  'a string for a number': make({ maxBytes: '1mb' }),
  'a name for a scheme': make({ scheme: 'service' }),
  'a builder for a scheme': make({ scheme: schemes.service }),
  'a name for a vendor': make({ vendor: 'onfido' }),
  'a preset that was not called': make({ vendor: vendors.onfido }),
  'a scheme beside a vendor': make({ vendor: vendors.onfido(), scheme: schemes.service() }),
  'a store for an inbox': make({ inbox: memoryStore() }),
  'a file for an inbox': make({ inbox: 'inbox.db' }),
  'an API key for a client': make({ client: 'key_acme' }),
  'an object for an observer': make({ observe: {} }),
  'a schema that is none': make({ schemas: { 'matter.closed': {} } }),
  'a misspelt event': () => on('verification.aproved', handler),
  'half of a name': () => on('approved', handler),
  'an event that nobody knows': () => on('invoice.paid', handler),
  'an object for a name': () => on({ name: 'client.created' }, handler),
  'no handler': () => on('client.created'),
  'a misspelt option of a handler': () => on('client.created', handler, { ids: 'a' }),
  'tx without an inbox': () => on('client.created', handler, { tx: true }),
  'tx with a store that has none': () =>
    createReceiver({ secret, inbox: createInbox({ store: memoryStore() }) }).on('*', handler, {
      tx: true,
    }),
  'two handlers of one id': () =>
    receiver().on('*', handler, { id: 'a' }).on('*', handler, { id: 'a' }),
  'a handler after the first delivery': async () => {
    const own = receiver()
    await own.receive({ body, headers: {} })
    own.on('*', handler)
  },
  'a handler after the start of a worker': async () => {
    const own = createReceiver({ secret, inbox: createInbox({ store: memoryStore() }) })
    const worker = createWorker(own)
    await worker.start()
    await worker.drain()
    own.on('*', handler)
  },
  'a store that is a file name': () => createInbox(given({ store: 'inbox.db' })),
  'a store that is an address': () => createInbox(given({ store: 'postgres://db/app' })),
  'a misspelt option of an inbox': () => createInbox(given({ store: memoryStore(), retries: 3 })),
  'a folder that is missing': async () => {
    const inbox = createInbox({ store: sqliteStore(join('no-such-folder', 'inbox.db')) })
    await inbox.open()
  },
  'an address for a file': () => sqliteStore('postgres://db/app'),
  'a pool for a driver': () => postgresStore(given({ query: () => {} })),
  'a worker without an inbox': () => createWorker(receiver()),
  'a worker of an inbox': () => createWorker(given(createInbox({ store: memoryStore() }))),
  'a misspelt option of a worker': () =>
    createWorker(
      createReceiver({ secret, inbox: createInbox({ store: memoryStore() }) }),
      given({ concurency: 4 }),
    ),
  'no receiver to mount': () => toExpress(given(undefined)),
  'options of toExpress': () => toExpress(receiver(), given({ maxBytes: 1 })),
  'options of toNode': () => toNode(receiver(), given({ path: '/webhooks' })),
  'the path in toFastify': () => toFastify(receiver(), given({ path: '/webhooks' })),
  'no path for Fastify': () => fastify().register(toFastify(receiver()), given({})).ready(),
  'options of toFetch': () => toFetch(receiver(), given({ workers: 1 })),
  'options of toNext': () => toNext(receiver(), given({ adress: () => '' })),
  'a worker that is none': () => toNextPages(receiver(), given({ worker: {} })),
  'another event for Lambda': () => toLambda(receiver())(given({ Records: [] })),
  'a receiver alone for Nest': () => WebhookModule.forRoot(given(receiver())),
  'a path for Nest without a slash': () =>
    WebhookModule.forRoot({ receiver: receiver(), path: 'webhooks' }),
  'a body that was parsed': async () => {
    const app = express().use(express.json())
    const seen: string[] = []
    const own = createReceiver({
      secret,
      observe: (one) => void (one.type === 'outcome' && seen.push(one.message ?? '')),
    })
    app.post('/', toExpress(own))
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
    await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers })
    server.close()
    throw new Error(seen.join())
  },
  'a body that is an object': async () => {
    const outcome = await receiver().receive(given({ body: { event: 'x' }, headers: {} }))
    throw new Error(outcome.kind === 'failed' ? outcome.message : outcome.kind)
  },
  'a delivery without headers': () => receiver().receive(given({ body })),
  'bytes that nobody verified': () => parse(given({ body, headers: [] })),
  'verify without a secret': () => verify({ body, headers: {} }, given({})),
  'verify of no delivery': () => verify(given(undefined), { secret }),
  'verify without headers': () => verify(given({ body }), { secret }),
  'verify with text for headers': () => verify(given({ body, headers: 'a: b' }), { secret }),
  'verify without options': () => verify({ body, headers: {} }, given(undefined)),
  'sign of nothing': () => sign(given(undefined), { secret }),
  'a reply to no outcome': () => toReply(given({ kind: 'x' })),
  'a reply to a code that nobody knows': () => toReply(given({ kind: 'rejected', code: 'TYPO' })),
  'a reply to nothing': () => toReply(given(undefined)),
  'handling of nothing': () => receiver().handle(given(undefined)),
  'sign with a builder': () => sign('{}', { secret, scheme: given(schemes.service) }),
  'sign with a time for a clock': () => sign('{}', { secret, now: given(new Date(0)) }),
  'verify with a time for a clock': () =>
    verify({ body, headers: {} }, { secret, now: given(new Date(0)) }),
  'sign without a secret': () => sign('{}', given({})),
  'fetch without a client': async () => {
    const own = createReceiver({ secret, observe: () => {} })
    own.on('client.created', (_, context) => context.fetch())
    const outcome = await own.receive(await signedDelivery(fixture('client.created'), { secret }))
    throw outcome.kind === 'failed' ? outcome.errors?.[0]?.error : outcome
  },
  'a client without a key': () => createClient(given({ baseUrl: 'http://localhost' })),
  'a client without an address': () => createClient(given({ apiKey: 'k' })),
  'a misspelt option of a client': () =>
    createClient(given({ baseUrl: 'http://localhost', apiKey: 'k', retries: 3 })),
  'a console without authorize': () =>
    inboxConsole(createInbox({ store: memoryStore() }), given({})),
  'a console for loopback in production': () => {
    vi.stubEnv('NODE_ENV', 'production')
    try {
      inboxConsole(createInbox({ store: memoryStore() }), { authorize: 'loopback' })
    } finally {
      vi.unstubAllEnvs()
    }
  },
  'a misspelt option of the sandbox': () => createSandbox(given({ sed: 7 })),
  'a fixture of no event': () => fixture(given('verification.aproved')),
  'a field beside the data of a fixture': () =>
    fixture('verification.approved', given({ status: 'approved' })),
  'a misspelt part of a fixture': () => fixture('client.created', given({ dta: {} })),
  'a capture of no delivery': () => capture(given({})),
  'a replay of no capture': () => replay(receiver(), [given({})]),
  'a clock at no time': () => fakeClock(given('soon')),
}

const isLong = ({ length }: string) => length > 200

test('every mistake in code says what is wrong and how to fix it, in 200 characters', async () => {
  const told: string[] = []
  for (const [name, makes] of Object.entries(mistakes)) {
    const error = await Promise.resolve()
      .then(makes)
      .then(
        () => new Error('NOTHING'),
        (thrown: Error) => thrown,
      )
    const text = isWebhookError(error) ? `${error.code}: ${error.reason}` : error.message
    told.push(`${name}\n  ${text}\n`)
  }
  const whole = told.join('\n').replaceAll(process.cwd(), 'CWD')
  expect(whole).not.toContain('NOTHING')
  await expect(whole).toMatchFileSnapshot('mistakes.snapshot')
  expect(told.map((text) => text.split('\n')[1] ?? '').filter(isLong)).toEqual([])
})

test.each([
  'a variable that is not set',
  'a name for a vendor',
  'a misspelt option',
  'a misspelt event',
  'no handler',
  'no options',
  'no receiver to mount',
  'options of toExpress',
  'options of toNode',
  'options of toFetch',
  'a worker that is none',
  'a receiver alone for Nest',
  'a store that is a file name',
  'an address for a file',
  'a pool for a driver',
  'a worker without an inbox',
  'a fixture of no event',
  'options of toNext',
  'no path for Fastify',
])('the stack of %s begins where the mistake is', async (name) => {
  try {
    await mistakes[name]?.()
    throw new Error('nothing was thrown')
  } catch (error) {
    const [first] = (error as Error).stack?.match(/^ {4}at .*$/m) ?? []
    expect(first).toContain('mistakes.test.ts')
  }
})

test('a misspelt event is answered with what begins alike in production too', () => {
  vi.stubEnv('NODE_ENV', 'production')
  onTestFinished(() => void vi.unstubAllEnvs())
  const receiver = createReceiver({ secret: 'a-secret-of-thirty-two-characters' })
  const misspelt = 'verification.aproved' as 'verification.approved'
  expect(() => receiver.on(misspelt, () => {})).toThrow('Known: verification.approved.')
})
