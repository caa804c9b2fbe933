import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { createReceiver, sign } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { toLambda } from 'idv-webhooks/lambda'
import { toNext } from 'idv-webhooks/next'
import { toNode } from 'idv-webhooks/node'
import { senders } from 'idv-webhooks/vendors'
import { expect, test } from 'vitest'

const secret = 'the-signing-secret'
const scheme = senders.square()
const body = new TextEncoder().encode('{"type":"payment.created","data":{"id":"p1"}}')

test.each([
  ['toFetch', toFetch],
  ['toNext', toNext],
])('%s: a scheme that signs the address holds behind a proxy', async (_, mount) => {
  const urls: (string | undefined)[] = []
  const receiver = createReceiver({
    scheme,
    secret: ({ url }) => {
      urls.push(url)
      return secret
    },
    envelope: { name: 'type' },
    observe: () => {},
  })
  const handle = mount(receiver)
  const status = async (url: string, headers: Record<string, string>, signed: string) => {
    const signature = await sign(body, { secret, scheme, url: signed })
    const all = { ...headers, ...signature }
    return (await handle(new Request(url, { method: 'POST', body, headers: all }))).status
  }
  const outside = 'https://app.example/webhooks?x=1'
  // As Next.js, Node's adapters of Hono, Bun and Deno have it.
  const within = 'http://localhost:3000/webhooks?x=1'
  const proxied = { host: 'app.example', 'x-forwarded-proto': 'https, http' }
  expect(await status(within, proxied, outside)).toBe(200)
  expect(await status(within, {}, within)).toBe(200)
  const odd = { host: 'app.example', 'x-forwarded-proto': 'ht tp' }
  expect(await status(within, odd, 'http://app.example/webhooks?x=1')).toBe(200)
  expect(await status(within, proxied, within)).toBe(401)
  for (const host of [
    'evil/acme?',
    'evil#',
    'a b',
    '[',
    'x:y',
    'name@evil',
    '1.2.3.999',
    'evil\\\\x',
  ]) {
    expect(await status(within, { host }, within)).toBe(200)
  }
  expect(new Set(urls)).toContain(outside)
})

test.each<[string, Record<string, string>, string, string]>([
  [
    'a Host that is more than a name',
    { host: 'evil/acme?' },
    '/globex?x=1',
    'http://localhost/globex?x=1',
  ],
  ...[
    'good/',
    'good\\',
    'good/.',
    'good/./',
    'good/x/..',
    'good/%2e%2e/',
    '@good',
    'good\t',
    'good\x01',
  ].map((host): [string, { host: string }, string, string] => [
    `the Host ${JSON.stringify(host)}`,
    { host },
    '/w',
    'http://localhost/w',
  ]),
  ['a Host that is none', { host: '[' }, '/globex', 'http://localhost/globex'],
  ['no Host', {}, '/globex', 'http://localhost/globex'],
  ['a target of a star', { host: 'app.example' }, '*@evil/w', 'http://app.example/*@evil/w'],
  [
    'an odd scheme',
    { host: 'app.example', 'x-forwarded-proto': 'javascript' },
    '/w',
    'http://app.example/w',
  ],
  [
    'the outermost scheme',
    { host: 'app.example', 'x-forwarded-proto': 'https, http' },
    '/w',
    'https://app.example/w',
  ],
  [
    'a whole target',
    { host: 'app.example' },
    'http://other.example/w?x=1',
    'http://app.example/w?x=1',
  ],
])('over node and Lambda the address is an address: %s', async (_, headers, target, expected) => {
  const urls: (string | undefined)[] = []
  const receiver = createReceiver({
    secret: ({ url }) => {
      urls.push(url)
      return secret
    },
    observe: () => {},
  })
  const signed = { ...headers, ...(await sign(body, { secret })) }
  const request = new IncomingMessage(new PassThrough() as unknown as Socket)
  Object.assign(request, { method: 'POST', url: target, headers: signed })
  request.push(body)
  request.push(null)
  await toNode(receiver)(request, new ServerResponse(request))
  const [rawPath = '', rawQueryString = ''] = target.replace('http://other.example', '').split('?')
  const event = { rawPath, rawQueryString, headers: signed, body: new TextDecoder().decode(body) }
  const requestContext = { http: { method: 'POST', path: rawPath, sourceIp: '127.0.0.1' } }
  await toLambda(receiver)({ version: '2.0', requestContext, ...event }, {} as never)
  const isKnown = !expected.includes('localhost')
  const other = isKnown ? expected.replace('http:', 'https:') : expected
  expect(urls).toEqual([expected, other])
})
