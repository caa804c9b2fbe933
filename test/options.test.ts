// Invalid options are rejected when they are passed, with the option that was meant.
import {
  createReceiver,
  createWorker,
  isWebhookError,
  logOutcomes,
  parse,
  type ReceiverOptions,
  type WebhookErrorCode,
} from 'idv-webhooks'
import { createClient } from 'idv-webhooks/client'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox, type InboxOptions, memoryStore } from 'idv-webhooks/inbox'
import { toNext, toNextPages } from 'idv-webhooks/next'
import { toNode } from 'idv-webhooks/node'
import { createSandbox } from 'idv-webhooks/sandbox'
import { capture, fakeClock, fixture, replay, signedDelivery } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

const secret = 'options-secret'
const receiver = (options: object = {}) =>
  createReceiver({ secret, ...options } as unknown as ReceiverOptions)
const inbox = (options: object = {}) =>
  createInbox({ store: memoryStore(), ...options } as unknown as InboxOptions)
const worker = (options?: unknown) =>
  createWorker(receiver({ inbox: inbox() }), options as undefined)
const event = fixture('verification.approved')

/** Values that JavaScript lets through, and the error for each. */
type Wrong = readonly [name: string, call: () => unknown, says: RegExp]

test.each<Wrong>([
  ['a receiver', () => receiver({ secrett: 'x' }), /'secrett'.*Did you mean 'secret'/],
  ['a client', () => createClient({ baseURL: 'x' } as never), /Did you mean 'baseUrl'/],
  ['a sandbox', () => createSandbox({ sed: 1 } as never), /'sed'.*Did you mean 'seed'/],
  ['an inbox', () => inbox({ dedup: 'id' }), /'dedup'.*Did you mean 'dedupe'/],
  ['retries', () => inbox({ retry: { attemps: 3 } }), /retry .*Did you mean 'attempts'/],
  ['a retention', () => inbox({ retention: { doen: 3 } }), /Did you mean 'done'/],
  ['an encryption', () => inbox({ encryption: { keey: '' } }), /Did you mean 'key'/],
  ['a need', () => inbox({ needs: { txx: true } }), /needs .*'txx'.*Did you mean 'tx'/],
  ['a worker', () => worker({ concurency: 3 }), /Did you mean 'concurrency'/],
  [
    'a worker by a number',
    () => worker(3),
    /createWorker expects an options object .*, got number 3/,
  ],
  ['runOnce', () => worker().runOnce({ limt: 1 } as never), /Did you mean 'limit'/],
  ['logOutcomes', () => logOutcomes({ wrte: 1 } as never), /Did you mean 'write'/],
  ['a delivery', () => signedDelivery(event, { secrett: 'x' } as never), /mean 'secret'/],
  ['a replay', () => replay(receiver(), [], { pat: '/' } as never), /Did you mean 'path'/],
  ['a drain', () => receiver().drain({ grce: 1 } as never), /'grce'.*Did you mean 'grace'/],
  ['parse', () => parse({} as never, { legcy: 'reject' } as never), /Did you mean 'legacy'/],
  [
    'an erasure, which would reach all tenants',
    () => inbox().forget('client:a', { tennant: 'x' } as never),
    /'tennant'.*Did you mean 'tenant'/,
  ],
  ['a look', () => inbox().get('x', { withDelivry: true } as never), /mean 'withDelivery'/],
  ['a capture', () => capture({} as never, { redat: false } as never), /mean 'redact'/],
  ['a clock', () => fakeClock().advance({ day: 1 } as never), /Did you mean 'days'/],
  [
    'a mount',
    () => toFetch(receiver(), { workr: 1 } as never),
    /no option 'workr'. Known options: worker/,
  ],
])('an unknown option of %s is refused, with the closest known one', async (_, call, says) => {
  await refused(call, says)
})

test.each<Wrong>([
  ['survives', () => inbox({ needs: { survives: 'powercut' } }), /Did you mean 'power-cut'/],
  ['order', () => inbox({ needs: { order: 'entitty' } }), /Did you mean 'entity'/],
  [
    'tx',
    () => inbox({ needs: { tx: 'yes' } }),
    /needs\.tx must be true or false, got string 'yes'/,
  ],
  ['signals that are no list', () => worker({ signals: 'SIGTERM' }), /signals must be an array/],
  ['a signal', () => worker({ signals: ['SIGTEMR'] }), /Did you mean 'SIGTERM'/],
  ['a limit', () => worker().runOnce({ limit: Number.NaN }), /limit must be a number, 0 or more/],
  ['a tampering', () => signedDelivery(event, { tamper: 'tampred' as never }), /mean 'tampered'/],
  ['a time', () => fakeClock('nope'), /valid Date or ISO 8601.*, got string 'nope'/],
  ['a time to set', () => fakeClock().set('nope'), /got string 'nope'/],
  ['a distance in time', () => fakeClock().advance({ days: Number.NaN }), /valid Date/],
  ['a writer', () => logOutcomes({ write: 1 as never }), /write must be a function, e\.g\./],
  ['a target of replay', () => replay(3 as never, []), /replay needs a receiver/],
  ['captures of replay', () => replay(receiver(), {} as never), /a list of captures/],
  [
    'a client',
    () => receiver({ client: {} }),
    /`?client`? must be an object from createClient\(\)/,
  ],
  [
    'a promise of a client',
    () => receiver({ client: Promise.resolve({}) }),
    /client is a promise: await it/,
  ],
  [
    'a worker to mount',
    () => toFetch(receiver(), { worker: {} as never }),
    /toFetch needs a `worker` from createWorker/,
  ],
  [
    'a waitUntil',
    () => toNextPages(receiver(), { waitUntil: 1 as never }),
    /needs a function as `waitUntil`/,
  ],
])('a wrong value for %s is refused at the call', async (_, call, says) => {
  await refused(call, says)
})

test.each<Wrong>([
  [
    'a handler',
    () => receiver().on('*', () => {}, { ID: 'x' } as never),
    /'ID'.*Did you mean 'id'/,
  ],
  [
    'a fallback',
    () => receiver().fallback(() => {}, { stal: 'skip' } as never),
    /Did you mean 'stale'/,
  ],
  [
    'an id',
    () => receiver().on('*', () => {}, { id: 1 as never }),
    /the id of the handler for \* must be text .*, got number 1/,
  ],
  ...['a\0b', 'mail\n', 'half \ud83d', '\udc00'].map(
    (id) =>
      [
        `an id that Postgres does not keep (${JSON.stringify(id)})`,
        () => receiver().on('*', () => {}, { id }),
        /the id of the handler for \* must be text without control characters/,
      ] as const,
  ),
  ...['schema', 'worker'].map(
    (id) =>
      [
        `an id that stands for a step of the attempt (${id})`,
        () => receiver().on('*', () => {}, { id }),
        new RegExp(
          `the id of the handler for \\* must be text .* none of schema, worker, decision, got string '${id}'`,
        ),
      ] as const,
  ),
  [
    'tx',
    () => receiver().on('*', () => {}, { tx: 'yes' as never }),
    /tx must be true or false, got string 'yes'/,
  ],
])('a wrong option for %s is refused at its registration', async (_, call, says) => {
  await refused(call, says, 'HANDLER_INVALID')
})

test.each([toExpress, toFastify, toFetch, toNext, toNextPages, toNode])(
  '%o without a receiver is refused at the mount',
  async (mount) => {
    await refused(() => mount(undefined as never), new RegExp(`^${mount.name}.*createReceiver`))
  },
)

test('an invalid client of a tenant fails the handler instead of reporting the resource as deleted', async () => {
  const failed: unknown[] = []
  const late = receiver({ client: async () => ({}), observe: () => {} })
  late.on('*', async (_, context) => {
    await context.fetch().catch((error: unknown) => {
      failed.push(error)
    })
  })
  await late.receive(await signedDelivery(event, { secret }))
  expect(failed).toMatchObject([{ code: 'OPTION_INVALID', message: /not a promise/ }])
})

async function refused(
  call: () => unknown,
  says: RegExp,
  code: WebhookErrorCode = 'OPTION_INVALID',
): Promise<void> {
  const error: unknown = await (async () => call())().then(
    () => 'nothing was refused',
    (thrown: unknown) => thrown,
  )
  expect(isWebhookError(error) && error.message).toMatch(says)
  expect(error).toMatchObject({ code })
}
