import { createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { Webhooks } from '@octokit/webhooks'
import { build } from 'esbuild'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import { describe, expect, test } from 'vitest'
import { diagnosisByCondition } from '../scripts/shared-files.ts'
import { createReceiver, schemes, sign, verify } from '../src/index.ts'
import { textOf } from './house/sources.ts'

const page = textOf('docs/comparison.md')

/** Kilobytes of a bundle for a worker, minified and gzipped. */
async function sizeOf(code: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: `${import.meta.dirname}/..`, loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['worker', 'browser'],
    alias: { '#hmac': `${import.meta.dirname}/../src/signature/hmac/web.ts` },
    plugins: [diagnosisByCondition],
    logLevel: 'silent',
  })
  return gzipSync(outputFiles[0]?.contents ?? '').length / 1000
}

describe('the page of comparison is true about', () => {
  test.each([
    ['`Webhooks` of `@octokit/webhooks`', "export { Webhooks } from '@octokit/webhooks'"],
    ['`Webhook` of `standardwebhooks`', "export { Webhook } from 'standardwebhooks'"],
    ['`Webhook` of `svix`', "export { Webhook } from 'svix'"],
    ['`verify` of `idv-webhooks`', "export { verify } from './src/index.ts'"],
    ['`stripe`', "export { default } from 'stripe'"],
    [
      '`createReceiver` and `toFetch` of `idv-webhooks`, with zod',
      "export { createReceiver } from './src/index.ts'; export { toFetch } from './adapters/fetch.ts'",
    ],
  ])('the size of %s', async (what, code) => {
    const row = page.split('\n').find((line) => line.startsWith(`| ${what} |`))
    const stated = Number(row?.split('|')[2])
    const measured = await sizeOf(code)
    expect(measured / stated, `${measured.toFixed(1)} kB`).toBeGreaterThan(0.93)
    expect(measured / stated, `${measured.toFixed(1)} kB`).toBeLessThan(1.07)
  })

  test('the versions that are compared', () => {
    const { devDependencies } = JSON.parse(textOf('package.json')) as {
      devDependencies: Record<string, string>
    }
    for (const name of ['standardwebhooks', 'svix', '@octokit/webhooks', 'stripe']) {
      expect(page).toContain(`\`${name}\` ${devDependencies[name]}`)
    }
  })

  test.each([
    ['standardwebhooks', Webhook],
    ['svix', SvixWebhook],
  ])('bytes, Headers and future times of %s', async (_, Peer) => {
    const secret = `whsec_${Buffer.from('a'.repeat(32)).toString('base64')}`
    const scheme = schemes.standardWebhooks()
    const peer = new Peer(secret)
    const text = '{"type":"client.created"}'
    const body = new TextEncoder().encode(text)
    const signed = (now = new Date()) => sign(body, { secret, scheme, id: 'msg_1', now: () => now })
    const headers = await signed()
    expect(() => peer.verify(text, headers)).not.toThrow()
    expect(() => peer.verify(body as unknown as string, headers)).toThrow(/string or Buffer/)
    const asFetch = new Headers(headers)
    expect(() => peer.verify(text, asFetch as unknown as typeof headers)).toThrow(/Missing/)
    expect(await verify({ body, headers: asFetch }, { secret, scheme })).toMatchObject({ ok: true })
    const ahead = await signed(new Date(Date.now() + 365 * 86_400_000))
    expect(() => peer.verify(text, ahead)).toThrow(/too new/)
    expect(await verify({ body, headers: ahead }, { secret, scheme })).toMatchObject({ ok: false })
  })

  test('future times of stripe', async () => {
    const { webhooks } = new Stripe('sk_test_none')
    const [payload, secret] = ['{"id":"evt_1","object":"event"}', 'a-secret']
    const timestamp = Math.floor(Date.now() / 1000) + 365 * 86_400
    const header = webhooks.generateTestHeaderString({ payload, secret, timestamp })
    expect(webhooks.constructEvent(payload, header, secret).id).toBe('evt_1')
    const scheme = schemes.timestamped({ header: 'stripe-signature' })
    const delivery = {
      body: new TextEncoder().encode(payload),
      headers: { 'stripe-signature': header },
    }
    const verified = await verify(delivery, { secret, scheme })
    expect(verified).toMatchObject({ ok: false, code: 'TIMESTAMP_OUTSIDE_TOLERANCE' })
  })

  test('upper-case signatures and thrown errors of octokit', async () => {
    const [payload, secret] = ['{"event":"client.created","data":{"id":"c"}}', 'a-secret']
    const mac = createHmac('sha256', secret).update(payload).digest('hex')
    const peer = new Webhooks({ secret })
    expect(await peer.verify(payload, `sha256=${mac}`)).toBe(true)
    expect(await peer.verify(payload, `sha256=${mac.toUpperCase()}`)).toBe(false)
    const boom = () => {
      throw new Error('the password is x')
    }
    peer.on('ping', boom)
    const sent = { id: '1', name: 'ping', payload, signature: `sha256=${mac}` }
    await expect(peer.verifyAndReceive(sent)).rejects.toThrow('the password is x')
    const receiver = createReceiver({ secret, observe: () => {} })
    receiver.on('client.created', boom)
    const headers = { 'x-service-signature': mac.toUpperCase(), 'content-type': 'application/json' }
    const read = async () => new TextEncoder().encode(payload)
    const reply = await receiver.handle({ method: 'POST', headers, read })
    expect(reply).toMatchObject({ status: 500, body: expect.stringContaining('HANDLER_FAILED') })
    expect(reply.body).not.toContain('password')
  })
})
