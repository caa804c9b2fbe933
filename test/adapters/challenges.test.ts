import { createHmac } from 'node:crypto'
import { createReceiver, type Responder, type Scheme, sign } from 'idv-webhooks'
import { challenges, senders, vendors } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Mount, mounts } from '../mounts.ts'

const secret = 'a-secret-of-thirty-two-characters'

interface Given {
  readonly respond?: Responder
  readonly scheme?: Scheme
}

/** The address of a receiver whose handler must never run. */
async function mounted({ start }: Mount, given: Given): Promise<string> {
  const receiver = createReceiver({ secret, observe: () => {}, ...given })
  receiver.on('verification.approved', () => expect.unreachable())
  const { url, close } = await start(receiver)
  onTestFinished(close)
  return url
}

async function told(url: string, request: RequestInit = {}) {
  const reply = await fetch(url, request)
  const type = reply.headers.get('content-type')?.split(';', 1)[0]
  return { status: reply.status, type, text: await reply.text() }
}

describe.each(mounts)('over $name', (mount) => {
  test('Meta and Dropbox get the challenge of their GET back', async () => {
    const meta = await mounted(mount, { respond: challenges.meta({ verifyToken: 'ours' }) })
    const query = (token: string) =>
      `?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=1158201444`
    const echoed = { status: 200, type: 'text/plain', text: '1158201444' }
    expect(await told(meta + query('ours'))).toEqual(echoed)
    expect(await told(meta + query('theirs'))).toMatchObject({ status: 405 })
    expect(await told(meta)).toMatchObject({ status: 405 })
    const dropbox = await mounted(mount, { respond: challenges.dropbox() })
    const asked = await told(`${dropbox}?challenge=a%20b%26c`)
    expect(asked).toEqual({ status: 200, type: 'text/plain', text: 'a b&c' })
  })

  test('Microsoft Graph gets the token that its unsigned POST brings', async () => {
    const url = await mounted(mount, { respond: challenges.microsoftGraph() })
    const token = 'Validation: Testing client application reachability'
    const request = { method: 'POST', headers: { 'content-type': 'text/plain; charset=utf-8' } }
    const reply = await told(`${url}?validationToken=${encodeURIComponent(token)}`, request)
    expect(reply).toEqual({ status: 200, type: 'text/plain', text: token })
    expect(await told(url, { method: 'POST', body: '{}' })).toMatchObject({ status: 415 })
  })

  test('Slack and Zoom get an answer made from a signed event, an unsigned request gets none', async () => {
    const token = 'qgg8vlvZRS6UYooatFL8Aw'
    const encryptedToken = createHmac('sha256', secret).update(token).digest('hex')
    const cases: readonly (readonly [Responder, Scheme, object, object])[] = [
      [
        challenges.slack(),
        senders.slack(),
        { type: 'url_verification', challenge: token },
        { challenge: token },
      ],
      [
        challenges.zoom({ secret }),
        senders.zoom(),
        { event: 'endpoint.url_validation', payload: { plainToken: token } },
        { plainToken: token, encryptedToken },
      ],
    ]
    for (const [respond, scheme, event, answer] of cases) {
      const url = await mounted(mount, { respond, scheme })
      const body = JSON.stringify(event)
      const post = async (key: string) => {
        const signed = await sign(body, { secret: key, scheme })
        const headers = { 'content-type': 'application/json', ...signed }
        return told(url, { method: 'POST', body, headers })
      }
      const reply = await post(secret)
      expect([reply.status, JSON.parse(reply.text)]).toEqual([200, answer])
      const stranger = await post('another-secret')
      expect(stranger.status).toBe(401)
      expect(stranger.text).not.toContain(token)
    }
  })

  test("Trulioo's preset answers its handshake by itself", async () => {
    const vendor = vendors.trulioo()
    const receiver = createReceiver({ vendor, secret, observe: () => {} })
    const { url, close } = await mount.start(receiver)
    onTestFinished(close)
    const body = JSON.stringify({ type: 'URL_VERIFICATION', challenge: 'E5KUIHF', token: 't' })
    const signed = await sign(body, { secret, scheme: vendor.scheme })
    const headers = { 'content-type': 'application/json', ...signed }
    const reply = await told(url, { method: 'POST', body, headers })
    expect([reply.status, reply.text]).toEqual([200, '{"challenge":"E5KUIHF"}'])
  })
})
