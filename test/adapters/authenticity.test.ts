import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type HttpBindings, serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import express from 'express'
import { type Context, Hono } from 'hono'
import {
  createReceiver,
  type Outcome,
  type Receiver,
  type Scheme,
  schemes,
  sign,
} from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { toFetch } from 'idv-webhooks/fetch'
import { toNext, toNextPages } from 'idv-webhooks/next'
import { type SenderName, senders } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Mount, mounts, rawRequest } from '../mounts.ts'
import { byHand } from '../vendors/by-hand.ts'

const secret = 'a-token-that-both-sides-know'
const json = { 'content-type': 'application/json' }
const body = Buffer.from('{"event":"verification.approved","data":{"id":"ver_1"}}')
const elsewhere = ['203.0.113.0/24']
const here = ['127.0.0.1/32', '::1']

function receiverOf(scheme: Scheme, outcomes: Outcome['kind'][] = []): Receiver {
  const { authenticity } = scheme
  const receiver = createReceiver({
    secret: authenticity === 'ip' ? undefined : secret,
    scheme,
    authenticity,
    observe: (seen) => void (seen.type === 'outcome' && outcomes.push(seen.kind)),
  })
  receiver.on('verification.approved', (_, context) => {
    expect(context.authenticity).toBe(authenticity)
  })
  return receiver
}

async function listening<App extends { Bindings: HttpBindings }>(app: Hono<App>) {
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => new Promise<void>((closed) => server.close(() => closed()))
  return { port, url: `http://127.0.0.1:${port}/webhooks`, close }
}

/** Hono on Node, whose own connection information is handed to the adapter. */
const hono: Mount = {
  name: 'fetch over hono, with its connection information',
  distinctHeaders: false,
  start: async (receiver) => {
    type App = { Bindings: HttpBindings }
    const address = (_: Request, context: Context<App>) => getConnInfo(context).remote.address
    const handle = toFetch(receiver, { address })
    const app = new Hono<App>().post('/webhooks', (context) => handle(context.req.raw, context))
    return listening(app)
  },
}

/** A route of Next's App Router: its host says what the address is, Next does not. */
const nextApp: Mount = {
  name: 'next app router, with a declared address',
  distinctHeaders: false,
  start: async (receiver) => {
    type App = { Bindings: HttpBindings }
    const address = (_: Request, context: Context<App>) => getConnInfo(context).remote.address
    const post = toNext(receiver, { address })
    const app = new Hono<App>().post('/webhooks', (context) => post(context.req.raw, context))
    return listening(app)
  },
}

/** Express that believes every proxy, which must change nothing. */
const trusting: Mount = {
  name: 'express that trusts every proxy',
  distinctHeaders: true,
  start: async (receiver) => {
    const app = express().set('trust proxy', true).all('/webhooks', toExpress(receiver))
    const server = createServer(app)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const close = () => new Promise<void>((closed) => server.close(() => closed()))
    return { port, url: `http://127.0.0.1:${port}/webhooks`, close }
  },
}

async function started({ start }: Mount, receiver: Receiver) {
  const mounted = await start(receiver)
  onTestFinished(() => mounted.close())
  return mounted
}

/** The status of a request whose header lines are just these. */
async function statusOf(port: number, lines: readonly string[]): Promise<number> {
  const head = [
    ...['POST /webhooks HTTP/1.1', 'host: x', 'connection: close'],
    ...['content-type: application/json', `content-length: ${body.length}`],
    ...lines,
  ]
  const answer = await rawRequest(port, [`${head.join('\r\n')}\r\n\r\n`, body])
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
}

const forged = [
  'x-forwarded-for: 203.0.113.9',
  'x-forwarded-for: 203.0.113.9, 203.0.113.9, 203.0.113.9',
  'forwarded: for=203.0.113.9',
  'x-real-ip: 203.0.113.9',
  'x-client-ip: 203.0.113.9',
  'cf-connecting-ip: 203.0.113.9',
  'true-client-ip: 203.0.113.9',
]

const knowing = [
  ...mounts.filter(({ distinctHeaders }) => distinctHeaders),
  hono,
  nextApp,
  trusting,
]

describe.each(knowing)('an address list over $name', (mount) => {
  test('takes the address of the connection, and no header for it', async () => {
    const taking = await started(mount, receiverOf(schemes.ip({ allow: here, proxies: 0 })))
    expect(await statusOf(taking.port, [])).toBe(200)
    expect(await statusOf(taking.port, ['x-forwarded-for: 198.51.100.1'])).toBe(200)
    const refusing = await started(mount, receiverOf(schemes.ip({ allow: elsewhere, proxies: 0 })))
    for (const line of ['accept: */*', ...forged]) {
      expect(await statusOf(refusing.port, [line]), line).toBe(403)
    }
    expect(await statusOf(refusing.port, forged)).toBe(403)
  })

  test('trusts the entries of X-Forwarded-For that the declared proxies wrote', async () => {
    const { port } = await started(mount, receiverOf(schemes.ip({ allow: elsewhere, proxies: 1 })))
    const status = (...lines: string[]) => statusOf(port, lines)
    expect(await status('x-forwarded-for: 203.0.113.9')).toBe(200)
    expect(await status('x-forwarded-for: 198.51.100.1, 203.0.113.9')).toBe(200)
    expect(await status('x-forwarded-for: 203.0.113.9, 198.51.100.1')).toBe(403)
    expect(await status('x-forwarded-for: 203.0.113.9', 'x-forwarded-for: 198.51.100.1')).toBe(403)
    for (const line of ['accept: */*', ...forged.slice(2)]) expect(await status(line)).toBe(403)
  })
})

test('a fetch adapter that is told no address refuses every one', async () => {
  const plain = mounts.find(({ name }) => name === 'fetch over hono') as Mount
  const { port } = await started(
    plain,
    receiverOf(schemes.ip({ allow: ['0.0.0.0/0', '::/0'], proxies: 0 })),
  )
  for (const line of ['accept: */*', ...forged]) expect(await statusOf(port, [line])).toBe(403)
})

test('the fetch adapter takes the address as a function; adapters that see the socket have no such option', () => {
  const receiver = createReceiver({ secret })
  expect(() => toFetch(receiver, { address: '127.0.0.1' as never })).toThrow(/address/)
  expect(() => toNextPages(receiver, { address: () => '127.0.0.1' } as never)).toThrow(/address/)
})

describe.each(mounts)('over $name', (mount) => {
  test('a token receiver takes no signature, and a signature receiver no token', async () => {
    const outcomes: Outcome['kind'][] = []
    const scheme = schemes.token({ header: 'X-Service-Signature' })
    const ofTokens = await started(mount, receiverOf(scheme, outcomes))
    const ofSignatures = await started(mount, receiverOf(schemes.service(), outcomes))
    const post = async (url: string, headers: Record<string, string>) => {
      const reply = await fetch(url, { method: 'POST', body, headers: { ...json, ...headers } })
      return [reply.status, ((await reply.json()) as { readonly code?: string }).code]
    }
    const signed = await sign(body, { secret })
    const token = { 'x-service-signature': secret }
    expect(await post(ofTokens.url, signed)).toEqual([401, 'SIGNATURE_MISMATCH'])
    expect(await post(ofTokens.url, {})).toEqual([401, 'SIGNATURE_MISSING'])
    expect(await post(ofSignatures.url, token)).toEqual([401, 'SIGNATURE_MALFORMED'])
    expect(outcomes).not.toContain('handled')
    expect(await post(ofTokens.url, token)).toEqual([200, undefined])
    expect(await post(ofSignatures.url, signed)).toEqual([200, undefined])
  })
})

/** The widest net: a token receiver on the very header of each sender's signature. */
test('a token receiver answers no 2xx to the traffic of any sender that signs', async () => {
  const node = mounts.find(({ name }) => name === 'node') as Mount
  const at = Date.UTC(2026, 2, 4, 5, 6, 7)
  const sent = { body, at, id: 'msg_1', url: 'https://app.test/webhooks' }
  const signing = (Object.keys(senders) as SenderName[]).filter(
    (name) => senders[name]().authenticity === 'signature',
  )
  expect(signing.length).toBeGreaterThan(40)
  for (const name of signing) {
    const scheme = schemes.token({ header: senders[name]().header })
    const mounted = await node.start(receiverOf(scheme))
    const headers = { ...json, ...byHand[name]?.headers(sent) }
    expect((await fetch(mounted.url, { method: 'POST', body, headers })).status, name).toBe(401)
    await mounted.close()
  }
})
