// What no option can be is refused where it is given, with what was meant.
import {
  createReceiver,
  createWorker,
  isWebhookError,
  logOutcomes,
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
import { fakeClock, fixture, replay, signedDelivery } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

const secret = 'options-secret'
const receiver = (options: object = {}) =>
  createReceiver({ secret, ...options } as unknown as ReceiverOptions)
const inbox = (options: object = {}) =>
  createInbox({ store: memoryStore(), ...options } as unknown as InboxOptions)
const worker = (options?: unknown) =>
  createWorker(receiver({ inbox: inbox() }), options as undefined)
const event = fixture('verification.approved')

/** What JavaScript lets through, and what the error must say. */
type Wrong = readonly [name: string, call: () => unknown, says: RegExp]

test.each<Wrong>([
  ['a receiver', () => receiver({ secrett: 'x' }), /'secrett': did you mean 'secret'/],
  ['a client', () => createClient({ baseURL: 'x' } as never), /did you mean 'baseUrl'/],
  ['a sandbox', () => createSandbox({ sed: 1 } as never), /'sed': did you mean 'seed'/],
  ['an inbox', () => inbox({ dedup: 'id' }), /'dedup': did you mean 'dedupe'/],
  ['retries', () => inbox({ retry: { attemps: 3 } }), /retry: .*did you mean 'attempts'/],
  ['a retention', () => inbox({ retention: { doen: 3 } }), /did you mean 'done'/],
  ['an encryption', () => inbox({ encryption: { keey: '' } }), /did you mean 'key'/],
  ['a need', () => inbox({ needs: { txx: true } }), /needs: .*'txx': did you mean 'tx'/],
  ['a worker', () => worker({ concurency: 3 }), /did you mean 'concurrency'/],
  ['a worker by a number', () => worker(3), /createWorker takes its options as an object/],
  ['drainOnce', () => worker().drainOnce({ limt: 1 } as never), /did you mean 'limit'/],
  ['logOutcomes', () => logOutcomes({ wrte: 1 } as never), /did you mean 'write'/],
  ['a delivery', () => signedDelivery(event, { secrett: 'x' } as never), /mean 'secret'/],
  ['a replay', () => replay(receiver(), [], { pat: '/' } as never), /did you mean 'path'/],
  ['a clock', () => fakeClock().advance({ day: 1 } as never), /did you mean 'days'/],
  ['a mount', () => toFetch(receiver(), { workr: 1 } as never), /'workr': did you mean worker/],
])('an option of %s that is none is refused, with the nearest', async (_, call, says) => {
  await refused(call, says)
})

test.each<Wrong>([
  ['survives', () => inbox({ needs: { survives: 'powercut' } }), /did you mean 'power-cut'/],
  ['order', () => inbox({ needs: { order: 'entitty' } }), /did you mean 'entity'/],
  ['tx', () => inbox({ needs: { tx: 'yes' } }), /needs\.tx is 'yes': use true or false/],
  ['signals that are no list', () => worker({ signals: 'SIGTERM' }), /signals is no list/],
  ['a signal', () => worker({ signals: ['SIGTEMR'] }), /did you mean 'SIGTERM'/],
  ['a limit', () => worker().drainOnce({ limit: Number.NaN }), /limit is NaN/],
  ['a spoil', () => signedDelivery(event, { spoil: 'tampred' as never }), /mean 'tampered'/],
  ['a time', () => fakeClock('nope'), /no time \(nope\)/],
  ['a time to set', () => fakeClock().set('nope'), /no time \(nope\)/],
  ['a distance in time', () => fakeClock().advance({ days: Number.NaN }), /no time/],
  ['a writer', () => logOutcomes({ write: 1 as never }), /write is no function/],
  ['a target of replay', () => replay(3 as never, []), /replay needs a receiver/],
  ['captures of replay', () => replay(receiver(), {} as never), /a list of captures/],
  ['a client', () => receiver({ client: {} }), /client is none: give what createClient/],
  [
    'a promise of a client',
    () => receiver({ client: Promise.resolve({}) }),
    /client is a promise: await it/,
  ],
  ['a worker to mount', () => toFetch(receiver(), { worker: {} as never }), /worker is none/],
  ['a waitUntil', () => toNextPages(receiver(), { waitUntil: 1 as never }), /no function/],
])('a value that %s cannot have is refused where it is given', async (_, call, says) => {
  await refused(call, says)
})

test.each<Wrong>([
  [
    'a handler',
    () => receiver().on('*', () => {}, { ID: 'x' } as never),
    /'ID': did you mean 'id'/,
  ],
  [
    'a fallback',
    () => receiver().fallback(() => {}, { stal: 'skip' } as never),
    /did you mean 'stale'/,
  ],
  ['an id', () => receiver().on('*', () => {}, { id: 1 as never }), /id for \* is no text/],
  ['tx', () => receiver().on('*', () => {}, { tx: 'yes' as never }), /neither true nor false/],
])('what %s cannot be told is refused at its registration', async (_, call, says) => {
  await refused(call, says, 'HANDLER_INVALID')
})

test.each([toExpress, toFastify, toFetch, toNext, toNextPages, toNode])(
  '%o without a receiver is refused where it is mounted',
  async (mount) => {
    await refused(() => mount(undefined as never), new RegExp(`^${mount.name}.*createReceiver`))
  },
)

test('a client of a tenant that is none fails the handler, and is not told as gone', async () => {
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
