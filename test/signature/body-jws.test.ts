// A body that is a compact JWS, made by node:crypto alone.
import { createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto'
import { createReceiver, createWorker, parse, schemes, sign, toReply, verify } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { jwks, publicKey } from 'idv-webhooks/keys'
import { capture, readCapture, signedDelivery, tamperings } from 'idv-webhooks/testing'
import { securityEvents } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test, vi } from 'vitest'

const secret = 'a-secret-of-thirty-two-characters'
const at = Date.UTC(2026, 4, 1, 12)
const now = () => new Date(at)
const part = (value: object | string) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const payload = { event: 'client.created', jti: 'evt_1', data: { id: 'cli_1' } }
const bytes = (text: string) => new TextEncoder().encode(text)

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed25519 = generateKeyPairSync('ed25519')
const pem = (key: typeof rsa.publicKey) => String(key.export({ format: 'pem', type: 'spki' }))

const makers = {
  hs256: (input: string) => createHmac('sha256', secret).update(input).digest(),
  rs256: (input: string) => signBytes('sha256', Buffer.from(input), rsa.privateKey),
  es256: (input: string) =>
    signBytes('sha256', Buffer.from(input), { key: p256.privateKey, dsaEncoding: 'ieee-p1363' }),
  ed25519: (input: string) => signBytes(null, Buffer.from(input), ed25519.privateKey),
}
const names = { hs256: 'HS256', rs256: 'RS256', es256: 'ES256', ed25519: 'EdDSA' }
const keys = {
  hs256: secret,
  rs256: publicKey(pem(rsa.publicKey)),
  es256: publicKey(pem(p256.publicKey)),
  ed25519: publicKey(pem(ed25519.publicKey)),
}
type Algorithm = keyof typeof makers
const all = Object.keys(makers) as Algorithm[]

interface Made {
  readonly algorithm?: Algorithm
  readonly header?: object
  readonly claims?: object
}

function tokenOf({ algorithm = 'hs256', header = {}, claims = payload }: Made = {}): string {
  const input = `${part({ alg: names[algorithm], typ: 'JWT', ...header })}.${part(claims)}`
  return `${input}.${makers[algorithm](input).toString('base64url')}`
}

const scheme = schemes.bodyJws({ algorithms: ['hs256'] })
const codeOf = async (
  token: string,
  by: Parameters<typeof verify>[1] = { secret, scheme, now },
) => {
  const result = await verify({ body: bytes(token), headers: {} }, by)
  return result.ok || result.code
}

test.each(all)('%s: the payload that was proved is what parse reads', async (algorithm) => {
  const by = { scheme: schemes.bodyJws({ algorithms: [algorithm] }), secret: keys[algorithm] }
  const token = tokenOf({ algorithm })
  const verified = await verify({ body: bytes(`${token}\n`), headers: {} }, by)
  if (!verified.ok) throw new Error(verified.code)
  expect(Buffer.from(verified.delivery.body).toString()).toBe(JSON.stringify(payload))
  expect(parse(verified)).toMatchObject({ ok: true, key: 'evt_1', event: { data: payload.data } })
  const [head, , signature] = token.split('.')
  const forged = [head, part({ ...payload, jti: 'evt_2' }), signature].join('.')
  const respaced = [head, part(JSON.stringify(payload, null, 1)), signature].join('.')
  for (const one of [forged, respaced]) expect(await codeOf(one, by)).toBe('SIGNATURE_MISMATCH')
})

test('RFC 7515, appendix A.1', async () => {
  const token =
    'eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const k = 'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow'
  const key = Buffer.from(k, 'base64url')
  const before = () => new Date(1_300_819_000_000)
  expect(await codeOf(token, { secret: key, scheme, now: before })).toBe(true)
  expect(await codeOf(token, { secret: key, scheme, now })).toBe('TIMESTAMP_OUTSIDE_TOLERANCE')
})

test('what is no token of the scheme is rejected before any key is tried', async () => {
  const good = tokenOf()
  const [head = '', claims = '', signature = ''] = good.split('.')
  const others = [
    ...['', '{}', JSON.stringify(payload), `${head}.${claims}`, `${good}.${claims}`, `${good}=`],
    ...[`${head}.${claims}.`, `${head}.${claims}.${signature.slice(4)}`],
    `${part({ alg: 'none' })}.${claims}.`,
    tokenOf({ header: { alg: 'HS512' } }),
    tokenOf({ header: { crit: ['b64'], b64: false } }),
    tokenOf({ header: { kid: 7 } }),
    tokenOf({ algorithm: 'rs256' }),
  ]
  for (const one of others) expect(await codeOf(one), one).toBe('SIGNATURE_MALFORMED')
  expect(await codeOf(good, { secret: 'another-secret-of-some-length', scheme })).toBe(
    'SIGNATURE_MISMATCH',
  )
})

test('a public key never serves as a shared secret', async () => {
  const asPublic = schemes.bodyJws({ algorithms: ['rs256', 'es256'] })
  const input = `${part({ alg: 'HS256' })}.${part(payload)}`
  const hmac = createHmac('sha256', pem(rsa.publicKey)).update(input).digest('base64url')
  const by = { scheme: asPublic, secret: keys.rs256 }
  expect(await codeOf(`${input}.${hmac}`, by)).toBe('SIGNATURE_MALFORMED')
  const create = (algorithm: Algorithm, key: Algorithm) => () =>
    createReceiver({ scheme: schemes.bodyJws({ algorithms: [algorithm] }), secret: keys[key] })
  expect(create('hs256', 'rs256')).toThrow('needs a shared secret')
  expect(create('rs256', 'hs256')).toThrow('needs a public key')
})

test('a key set serves several algorithms, each with the key of its id', async () => {
  const set = [
    { kid: 'r', alg: 'RS256', ...rsa.publicKey.export({ format: 'jwk' }) },
    { kid: 'e', alg: 'ES256', ...p256.publicKey.export({ format: 'jwk' }) },
  ]
  const algorithms = ['rs256', 'es256'] as const
  const fetch = async () => Response.json({ keys: set })
  const by = {
    scheme: schemes.bodyJws({ algorithms }),
    secret: jwks('https://keys.test', { algorithms, fetch }),
  }
  const kids = { rs256: 'r', es256: 'e' }
  for (const algorithm of algorithms) {
    const token = tokenOf({ algorithm, header: { kid: kids[algorithm] } })
    expect(await codeOf(token, by)).toBe(true)
  }
  const crossed = tokenOf({ algorithm: 'es256', header: { kid: 'r' } })
  expect(await codeOf(crossed, by)).not.toBe(true)
})

describe('claims', () => {
  const seconds = at / 1000
  const rule = { algorithms: ['hs256'], issuer: 'https://idp.test', audience: 'us' } as const
  const claims = { ...payload, iss: rule.issuer, aud: ['them', 'us'] }
  test.each([
    ['as they have to be', {}, true],
    ['an old iat', { iat: seconds - 86_400 }, true],
    ['in time', { exp: seconds - 299, nbf: seconds + 299 }, true],
    ['expired', { exp: seconds - 301 }, 'TIMESTAMP_OUTSIDE_TOLERANCE'],
    ['not yet valid', { nbf: seconds + 301 }, 'TIMESTAMP_OUTSIDE_TOLERANCE'],
    ['a time that is none', { exp: 'soon' }, 'TIMESTAMP_OUTSIDE_TOLERANCE'],
    ['another issuer', { iss: 'https://evil.test' }, 'SIGNATURE_MISMATCH'],
    ['another audience', { aud: 'them' }, 'SIGNATURE_MISMATCH'],
    ['no audience', { aud: undefined }, 'SIGNATURE_MISMATCH'],
  ])('%s', async (_, change, expected) => {
    const by = { secret, scheme: schemes.bodyJws(rule), now }
    expect(await codeOf(tokenOf({ claims: { ...claims, ...change } }), by)).toBe(expected)
  })

  test('a type that is asked for', async () => {
    const by = { secret, scheme: schemes.bodyJws({ algorithms: ['hs256'], type: 'secevent+jwt' }) }
    const typed = (typ?: string) => codeOf(tokenOf({ header: { typ } }), by)
    expect(await typed('secevent+jwt')).toBe(true)
    expect(await typed('application/SecEvent+JWT')).toBe(true)
    for (const typ of ['JWT', undefined]) expect(await typed(typ)).toBe('SIGNATURE_MALFORMED')
  })
})

test('an inbox keeps the payload, once for each jti, under any content type', async () => {
  const inbox = createInbox({ store: memoryStore() })
  onTestFinished(() => inbox.close())
  const receiver = createReceiver({ scheme, secret, inbox, now, observe: () => {} })
  const heard = vi.fn()
  receiver.on('client.created', ({ data }) => heard(data.id))
  const kinds: string[] = []
  for (const type of ['application/jwt', 'text/plain', 'application/secevent+jwt']) {
    const headers = { 'content-type': type }
    kinds.push((await receiver.receive({ body: bytes(tokenOf()), headers })).kind)
  }
  await createWorker(receiver).runOnce()
  expect(kinds).toEqual(['accepted', 'duplicate', 'duplicate'])
  expect(heard.mock.calls).toEqual([['cli_1']])
  const compressed = await receiver.receive({
    body: bytes(tokenOf()),
    headers: { 'content-encoding': 'gzip' },
  })
  expect(compressed).toMatchObject({ code: 'ENCODING_UNSUPPORTED' })
})

test('the scheme survives JSON and a capture, and signs whole deliveries', async () => {
  const rule = { algorithms: ['hs256'], issuer: 'i', audience: 'a', type: 'x+jwt' } as const
  const full = schemes.bodyJws(rule)
  expect(schemes.define(JSON.parse(JSON.stringify(full)))).toEqual(full)
  const sent = await signedDelivery(payload, { scheme, secret })
  expect(sent.headers).toEqual({ 'content-type': 'application/jwt' })
  expect(await verify(sent, { scheme, secret })).toMatchObject({ ok: true })
  for (const redact of [true, false]) {
    const made = await capture(sent, { scheme, secret, redact })
    const read = readCapture(JSON.parse(JSON.stringify(made)))
    expect(
      await verify(read.delivery, { scheme: read.scheme ?? full, secret }),
      `${redact}`,
    ).toMatchObject({ ok: true })
  }
  await expect(sign('{}', { scheme, secret })).rejects.toMatchObject({ code: 'SCHEME_INVALID' })
})

test.each(tamperings.filter((one) => one !== 'stale'))('signedDelivery: %s', async (tamper) => {
  const sent = await signedDelivery(payload, { scheme, secret, tamper })
  expect(await verify(sent, { scheme, secret })).toMatchObject({ ok: false })
})

test.each([
  [undefined, 'schemes.bodyJws'],
  [{}, "bodyJws.algorithms must be ['hs256'] with a shared secret, or a list of"],
  [{ algorithms: [] }, 'bodyJws.algorithms must be'],
  [{ algorithms: ['none'] }, 'bodyJws.algorithms must be'],
  [{ algorithms: ['hs256', 'rs256'] }, 'bodyJws.algorithms must be'],
  [{ algorithms: ['rs256'], keys: 'x' }, "has no option 'keys'"],
  [{ algorithms: ['rs256'], audience: ['us'] }, 'bodyJws.audience must be text'],
  [{ algorithms: ['rs256'], tolerance: 0 }, 'tolerance must be seconds'],
])('the rule %j is rejected', (rule, message) => {
  expect(() => schemes.bodyJws(rule as never)).toThrow(message)
})

describe('security event tokens', () => {
  const issuer = 'https://transmitter.test'
  const uri = 'https://schemas.openid.net/secevent/caep/event-type/assurance-level-change'
  const disabled = 'https://schemas.openid.net/secevent/risc/event-type/account-disabled'
  const subject = { format: 'iss_sub', iss: issuer, sub: 'user-1' }
  const set = {
    ...{ iss: issuer, aud: 'us', jti: 'set_1', iat: 1_769_600_000, sub_id: subject },
    events: { [uri]: { current_level: 'nist-aal2' } },
  }
  const header = { typ: 'secevent+jwt' }
  const given = securityEvents({ algorithms: ['hs256'], issuer, audience: 'us' })

  function receiving() {
    const inbox = createInbox({ store: memoryStore() })
    onTestFinished(() => inbox.close())
    const receiver = createReceiver({ ...given, secret, inbox, now, observe: () => {} })
    const send = (token: string) =>
      receiver.handle({
        method: 'POST',
        headers: { 'content-type': 'application/secevent+jwt' },
        read: async () => bytes(token),
      })
    return { inbox, receiver, send }
  }

  test('one is an event by its URI, its jti and its subject', async () => {
    const { inbox, receiver, send } = receiving()
    const heard: unknown[] = []
    receiver.on('*', ({ name, id, data, entity, occurredAt }) => {
      heard.push({ name, id, data, entity, occurredAt })
    })
    expect(await send(tokenOf({ header, claims: set }))).toMatchObject({ status: 202, body: '' })
    expect(await send(tokenOf({ header, claims: set }))).toMatchObject({ status: 202, body: '' })
    await createWorker(receiver).runOnce()
    expect(heard).toEqual([
      {
        ...{ name: uri, id: 'set_1', data: { current_level: 'nist-aal2' } },
        entity: { type: 'subject', id: `${issuer}#user-1` },
        occurredAt: new Date(1_769_600_000_000),
      },
    ])
    expect((await inbox.find({})).entries).toHaveLength(1)
  })

  test('all events of one are entries of their own', async () => {
    const { inbox, send } = receiving()
    const claims = { ...set, toe: 1_769_599_000, events: { ...set.events, [disabled]: {} } }
    expect(await send(tokenOf({ header, claims }))).toMatchObject({ status: 202 })
    expect(await send(tokenOf({ header, claims }))).toMatchObject({ status: 202 })
    const { entries } = await inbox.find({})
    expect(entries.map(({ occurredAt }) => occurredAt)).toEqual(
      [1, 2].map(() => new Date(1_769_599_000_000)),
    )
  })

  test.each([
    [{ format: 'opaque', id: 's_1' }, 's_1'],
    [{ format: 'email', email: 'person@example.com' }, undefined],
    [undefined, undefined],
  ])('the subject %j is the entity %s', async (sub_id, id) => {
    const { inbox, send } = receiving()
    await send(tokenOf({ header, claims: { ...set, sub_id } }))
    const [entry] = (await inbox.find({})).entries
    expect(entry?.entity?.id).toBe(id)
  })

  test.each([
    ['forged', `${tokenOf({ header, claims: set }).slice(0, -4)}AAAA`, 'authentication_failed'],
    [
      'of another issuer',
      tokenOf({ header, claims: { ...set, iss: 'x' } }),
      'authentication_failed',
    ],
    ['of another type', tokenOf({ claims: set }), 'invalid_request'],
    ['no token', '{}', 'invalid_request'],
  ])('what is %s is answered as RFC 8935 says', async (_, token, err) => {
    const reply = await receiving().send(token)
    expect(reply).toMatchObject({ status: 400, headers: { 'content-language': 'en' } })
    expect(JSON.parse(reply.body)).toEqual({ err, description: expect.any(String) })
  })

  test('a token without events is rejected without an inbox, and a failure stays one', async () => {
    const receiver = createReceiver({ ...given, secret, now, observe: () => {} })
    receiver.on('*', () => {
      throw new Error('down')
    })
    const send = (claims: object) =>
      receiver.handle({
        ...{ method: 'POST', headers: {} },
        read: async () => bytes(tokenOf({ header, claims })),
      })
    expect(await send({ ...set, events: {} })).toMatchObject({ status: 400 })
    expect(await send(set)).toMatchObject({ status: 500 })
    expect(toReply({ kind: 'ignored' } as never).status).toBe(200)
  })
})
