// An application may replace the global `Promise`: what proves bytes must not depend on it.
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import {
  createReceiver,
  createWorker,
  type Receiver,
  type ReceiverOptions,
  type Scheme,
  type Secret,
  type SecretOption,
  schemes,
  sign,
  verify,
} from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { toNode } from 'idv-webhooks/node'
import { describe, expect, test } from 'vitest'
import { isRefusal } from '../../src/verify.ts'
import { underOwnPromise } from '../own-promise.ts'

const bodyOf = (pad: string) =>
  new TextEncoder().encode(
    `{"event":"verification.approved","id":"e1","data":{"id":"v1","pad":"${pad}"}}`,
  )
const short = bodyOf('')
/** Beyond the bytes that are hashed in one turn, with ten secrets or nine pairs. */
const long = bodyOf('x'.repeat(1_000_000))
const service = schemes.service()
const timestamped = schemes.timestamped({ header: 'X-Sig' })
const secrets = (count: number) => Array.from({ length: count }, (_, nth) => `secret-${nth}`)

const named = (...values: readonly string[]): readonly Secret[] =>
  values.map((value) => ({ value }))

interface Case {
  readonly secret: SecretOption
  readonly scheme?: Scheme
  readonly body?: Uint8Array
  /** The secrets of the sender's claims and of a stranger's, one for each claim. */
  readonly signed?: readonly Secret[]
  readonly forged?: readonly Secret[]
}

const cases: readonly (readonly [name: string, one: Case])[] = [
  ['one secret', { secret: 'secret-0' }],
  ['two secrets', { secret: secrets(2) }],
  ['ten secrets and a long body', { secret: secrets(10), body: long }],
  [
    'three secrets and three claims with a long body',
    {
      ...{ secret: secrets(3), scheme: timestamped, body: long },
      signed: named('stale-1', 'secret-2', 'stale-2'),
      forged: named('stale-1', 'stale-2', 'stale-3'),
    },
  ],
  ['a function of secrets', { secret: async () => 'secret-0' }],
]

async function deliveries(one: Case) {
  const { body = short, signed = named('secret-0'), forged = named('stale-1') } = one
  const scheme = one.scheme ?? service
  const headersBy = async (by: readonly Secret[]) => {
    const now = Date.now()
    const claims = await Promise.all(
      by.map((secret, nth) =>
        sign(body, { secret, scheme, now: () => new Date(now - nth * 1000) }),
      ),
    )
    const [name = ''] = Object.keys(claims[0] ?? {})
    const value = claims.map((claim) => claim[name]).join(',')
    return { 'content-type': 'application/json', [name]: value }
  }
  return {
    genuine: { body, headers: await headersBy(signed) },
    forged: { body, headers: await headersBy(forged) },
  }
}

type Delivery = Awaited<ReturnType<typeof deliveries>>['genuine']

function counting(options: Parameters<typeof createReceiver>[0]) {
  const receiver = createReceiver({ observe: () => {}, ...options })
  const ran = { times: 0 }
  receiver.on('*', () => void ran.times++)
  return { receiver, ran }
}

async function statusOverNode(receiver: Receiver, { body, headers }: Delivery): Promise<number> {
  const request = new IncomingMessage(new PassThrough() as unknown as Socket)
  Object.assign(request, { method: 'POST', url: '/webhooks', headers })
  request.push(body)
  request.push(null)
  const response = new ServerResponse(request)
  await toNode(receiver)(request, response)
  return response.statusCode
}

describe('under a replaced Promise', () => {
  test.each(cases)('%s: forgeries are refused, and the sender is heard', async (_, one) => {
    const { genuine, forged } = await deliveries(one)
    const { secret, scheme = service } = one
    const options = { secret, scheme }
    await underOwnPromise(async () => {
      const refused = await verify(forged, options)
      expect(refused).toMatchObject({ ok: false, code: 'SIGNATURE_MISMATCH' })
      expect(await verify(genuine, options)).toMatchObject({
        ok: true,
        delivery: { body: one.body ?? short },
      })

      const { receiver, ran } = counting(options)
      expect(await receiver.receive(forged)).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
      expect(await statusOverNode(receiver, forged)).toBe(401)
      expect(ran.times).toBe(0)
      expect(await receiver.receive(genuine)).toMatchObject({ kind: 'handled' })
      expect(await statusOverNode(receiver, genuine)).toBe(200)
      expect(ran.times).toBe(2)

      const kept = counting({ ...options, inbox: createInbox({ store: memoryStore() }) })
      const worker = createWorker(kept.receiver)
      expect(await kept.receiver.receive(forged)).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
      expect(await worker.runOnce()).toMatchObject({ done: 0, dead: 0 })
      expect(await kept.receiver.receive(genuine)).toMatchObject({ kind: 'accepted' })
      expect(await worker.runOnce()).toMatchObject({ done: 1 })
      expect(kept.ran.times).toBe(1)
    })
  })

  test('two handlers of one event run once, and the answer waits for them', async () => {
    const { genuine } = await deliveries({ secret: 'secret-0' })
    await underOwnPromise(async () => {
      const receiver = createReceiver({ secret: 'secret-0', observe: () => {} })
      const ended: string[] = []
      for (const id of ['a', 'b']) {
        receiver.on(
          '*',
          async () => {
            await delay(20)
            ended.push(id)
          },
          { id },
        )
      }
      expect(await statusOverNode(receiver, genuine)).toBe(200)
      expect(ended).toEqual(['a', 'b'])
    })
  })

  test('drain waits for the handlers of a receiver, and of a worker', async () => {
    const { genuine } = await deliveries({ secret: 'secret-0' })
    await underOwnPromise(async () => {
      for (const inbox of [undefined, createInbox({ store: memoryStore() })]) {
        const receiver = createReceiver({
          secret: 'secret-0',
          observe: () => {},
          ...(inbox && { inbox }),
        })
        const ended: string[] = []
        let begun: () => void = () => {}
        const first = new Promise<void>((resolve) => {
          begun = resolve
        })
        for (const id of ['a', 'b']) {
          receiver.on(
            '*',
            async () => {
              begun()
              await delay(30)
              ended.push(id)
            },
            { id },
          )
        }
        const worker = inbox && createWorker(receiver)
        await worker?.start()
        const outcome = receiver.receive(genuine)
        await first
        await (worker ?? receiver).drain({ grace: 5_000 })
        expect(ended).toEqual(['a', 'b'])
        expect(await outcome).toMatchObject({ kind: inbox ? 'accepted' : 'handled' })
      }
    })
  })

  test('a schema that answers with a promise of any kind is refused', async () => {
    const { genuine } = await deliveries({ secret: 'secret-0' })
    const answers = [
      async () => ({ value: {} }),
      // biome-ignore lint/suspicious/noThenProperty: a promise of another library.
      () => ({ then: (resolve: (value: object) => void) => resolve({ value: {} }) }),
    ]
    for (const validate of answers) {
      const schema = { '~standard': { version: 1, vendor: 'own', validate } }
      const schemas = { 'verification.approved': schema } as unknown as NonNullable<
        ReceiverOptions['schemas']
      >
      await underOwnPromise(async () => {
        const { receiver, ran } = counting({ secret: 'secret-0', schemas })
        const outcome = await receiver.receive(genuine)
        expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'SCHEMA_ASYNC' } })
        expect(ran.times).toBe(0)
      })
    }
  })
})

test('only a delivery that was proved counts as proved', async () => {
  const { genuine, forged } = await deliveries({ secret: 'secret-0' })
  const proved = await verify(genuine, { secret: 'secret-0' })
  const refused = await verify(forged, { secret: 'secret-0' })
  expect(isRefusal(refused as never)).toBe(true)
  expect(proved.ok && isRefusal(proved.delivery)).toBe(false)
  expect(proved.ok).toBe(true)
  for (const neither of [Promise.resolve(genuine), proved, { ...genuine }, { ok: true }, []]) {
    expect(() => isRefusal(neither as never)).toThrow('was not verified')
  }
})
