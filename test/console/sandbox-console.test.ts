import { request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import { createReceiver, verify } from 'idv-webhooks'
import { createSandbox } from 'idv-webhooks/sandbox'
import { readCapture, replay, testSecret } from 'idv-webhooks/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { bundleConsole } from '../../scripts/bundle-console.ts'
import { toTest } from '../../tools/console/pages/text.ts'

const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

test("the capture of a delivery is signed with the test secret, not with the user's", async () => {
  const secret = 'staging-secret-of-the-team'
  const receiver = createReceiver({ secret: testSecret }).on('*', () => {})
  const subscriptions = [{ url: 'http://app.test/' }]
  const fetch = async () => new Response(null, { status: 200 })
  const sandbox = await createSandbox({ seed: 1, secret, subscriptions, fetch })
  closing.push(() => sandbox.close())
  const create = async () => {
    await sandbox.fetch(`${sandbox.baseUrl}/verifications`, {
      method: 'POST',
      headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'idv', requirements: ['document'] }),
    })
    await sandbox.flush()
    const id = sandbox.deliveries.list()[0]?.id
    const answer = await sandbox.fetch(`${sandbox.url}/_console/deliveries/${id}/capture`)
    const { capture } = await answer.json()
    expect((await verify(readCapture(capture).delivery, { secret })).ok).toBe(false)
    return (await replay(receiver, [capture])).results
  }
  expect(await create()).toMatchObject([{ outcome: 'handled' }])
  sandbox.faults.set([{ kind: 'tampered' }])
  expect(await create()).toMatchObject([{ code: 'SIGNATURE_MISMATCH' }])
  const file = toTest({ title: 'one', capture: { version: 1 }, outcome: 'handled' })
  expect(file).toContain('createReceiver({ secret: testSecret })')
})

async function start() {
  const sandbox = await createSandbox({ seed: 1, rateLimit: false })
  closing.push(() => sandbox.close())
  const { url, port } = await sandbox.listen()
  return { sandbox, url, port }
}

const asPage = { accept: 'text/html,application/xhtml+xml' }

/** Headers that only a browser sets, and that fetch() of Node cannot: sent as they are. */
function raw(port: number, path: string, options: { method?: string; headers: object }) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const { method = 'GET', headers } = options
    httpRequest({ port, host: '127.0.0.1', path, method, headers: { ...headers } }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (part) => {
        body += part
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
    })
      .on('error', reject)
      .end(method === 'GET' ? undefined : '{}')
  })
}

describe('the door of the sandbox', () => {
  test('shows the console to a browser, and signposts to a program', async () => {
    const { url } = await start()
    const page = await fetch(url, { headers: asPage })
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';.*frame-ancestors 'none'/,
    )
    const html = await page.text()
    expect(html).not.toMatch(/<style|<script(?![^>]*src=)|https?:\/\/(?!www\.w3)/)
    expect(await (await fetch(url)).json()).toMatchObject({ api: `${url}/v2/api` })
    for (const path of ['/v2/api', '/_sandbox', '/_sandbox/']) {
      const answer = await fetch(`${url}${path}`, { headers: asPage, redirect: 'manual' })
      expect([answer.status, answer.headers.get('location')], path).toEqual([
        302,
        `${url}/#/reference`,
      ])
    }
  })

  test('weighs at most 90 kB gzipped with everything that a page loads', async () => {
    const { url } = await start()
    const html = await (await fetch(url, { headers: asPage })).text()
    const files = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path)
    expect(files).toEqual(['/_console/console.css', '/_console/console.js'])
    const texts = await Promise.all(files.map(async (path) => (await fetch(url + path)).text()))
    const bytes = [html, ...texts].map((text) => gzipSync(text).length)
    expect(Math.min(...bytes)).toBeGreaterThan(300)
    expect(bytes.reduce((one, other) => one + other)).toBeLessThanOrEqual(90_000)
  })

  test('asks for nothing from anywhere else, and has no way to make markup of text', async () => {
    const { script, style } = await bundleConsole()
    const addresses = new Set(script.match(/https?:\/\/[\w.]+/g))
    // A placeholder, and the name of a namespace: neither is asked for anything.
    expect(addresses).toEqual(new Set(['http://localhost', 'http://www.w3.org']))
    expect(style).not.toMatch(/url\(|@import/)
    expect(script).not.toMatch(/eval\(|new Function|document\.write/)
  })
})

describe('a change from a browser', () => {
  const paths = ['/_sandbox/reset', '/v2/api/clients', '/_console/subscriptions/none/test']
  const key = { 'x-api-key': 'key_acme', 'content-type': 'application/json' }

  test('is rejected without the token of a console page, for every client', async () => {
    const { port, url } = await start()
    const host = `127.0.0.1:${port}`
    const own = { host, origin: url, 'sec-fetch-site': 'same-origin', ...key }
    const page = await fetch(url, { headers: asPage })
    const cookie = page.headers.get('set-cookie')?.split(';')[0] ?? ''
    expect(page.headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Strict/)
    const token = cookie.split('=')[1]
    for (const path of paths) {
      const statusOf = async (headers: object) =>
        (await raw(port, path, { method: 'POST', headers })).status
      expect(await statusOf(own), path).toBe(403)
      expect(await statusOf({ ...own, cookie }), path).toBe(403)
      expect(await statusOf({ ...own, cookie, 'x-console-token': 'A'.repeat(32) }), path).toBe(403)
      const good = { ...own, cookie, 'x-console-token': token }
      expect(await statusOf(good), path).not.toBe(403)
    }
    const program = await raw(port, '/_sandbox/reset', {
      method: 'POST',
      headers: { host, ...key },
    })
    expect(program.status).toBe(200)
  })

  test('is refused from another site, also with a token, and under a name that was rebound', async () => {
    const { port, url } = await start()
    const page = await fetch(url, { headers: asPage })
    const cookie = page.headers.get('set-cookie')?.split(';')[0] ?? ''
    const whole = { cookie, 'x-console-token': cookie.split('=')[1], ...key }
    const host = `127.0.0.1:${port}`
    for (const path of ['/_sandbox/reset', '/_console/subscriptions/none/test']) {
      for (const headers of [
        { host, origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' },
        { host, origin: `http://127.0.0.1:${port + 1}`, 'sec-fetch-site': 'same-site' },
        { host: `evil.example:${port}`, 'sec-fetch-site': 'same-origin' },
      ]) {
        const { status } = await raw(port, path, {
          method: 'POST',
          headers: { ...whole, ...headers },
        })
        expect(status, JSON.stringify([path, headers])).toBe(403)
      }
    }
    for (const path of ['/', '/_console/keys', '/_console/console.js']) {
      const rebound = { host: `evil.example:${port}`, accept: 'text/html' }
      const { status, body } = await raw(port, path, { headers: rebound })
      expect([path, status]).toEqual([path, 403])
      expect(body).not.toContain('token')
    }
  })
})
