import { createReceiver, sign } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { toNext } from 'idv-webhooks/next'
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
