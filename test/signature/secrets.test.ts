import { createReceiver, isWebhookError, schemes, sign, verify } from 'idv-webhooks'
import { describe, expect, onTestFinished, test } from 'vitest'

const body = new TextEncoder().encode('{"event":"verification.approved","data":{"id":"ver_1"}}')
const utf8 = (text: string) => new TextEncoder().encode(text)

describe('a secret that cannot be meant', () => {
  test.each([
    ['missing', undefined, 'WEBHOOK_SECRET'],
    ['null', null, 'WEBHOOK_SECRET'],
    ['no list entry', [], 'WEBHOOK_SECRET'],
    ['empty', '', 'empty'],
    ['white space alone', '  ', 'empty'],
    ['empty bytes', new Uint8Array(), 'empty'],
    ['a line break at its end', 's3cret-value\n', 'white space'],
    ['a space in front', ' s3cret-value', 'white space'],
    ['a tab inside', 's3cret\tvalue', 'white space'],
    ['a text file not trimmed', utf8('s3cret-value\n'), 'trim'],
    ['a list with an empty one', ['s3cret-value', ''], 'secret 2'],
    ['a wrong date', [{ value: 's3cret-value', notAfter: 'soon' }], 'notAfter'],
    ['a date as a number', [{ value: 's3cret-value', notAfter: 20270101 }], 'notAfter'],
    ['a number', 42, 'WEBHOOK_SECRET'],
  ])('(%s) throws at creation, says how to mend it and never shows it', (_, secret, hint) => {
    const make = () => createReceiver({ secret: secret as never })
    expect(make).toThrow(expect.objectContaining({ code: 'SECRET_INVALID' }))
    expect(make).toThrow(hint)
    expect(make).not.toThrow('s3cret')
  })

  test('is one that does not decode as its scheme says', () => {
    const scheme = schemes.standardWebhooks()
    const make = () => createReceiver({ secret: 'whsec_not*base64', scheme })
    expect(make).toThrow(expect.objectContaining({ code: 'SECRET_INVALID' }))
    expect(make).not.toThrow('not*base64')
  })
})

describe('rotation', () => {
  const at = (iso: string) => () => new Date(iso)
  const secret = [
    { id: 'old', value: 'old-value', notAfter: '2026-02-01T00:00:00Z' },
    { id: 'new', value: 'new-value', notBefore: new Date('2026-01-01T00:00:00Z') },
  ]
  const verdict = async (value: string, iso: string) => {
    const headers = await sign(body, { secret: value })
    const result = await verify({ body, headers }, { secret, now: at(iso) })
    return result.ok ? result.secretId : result.code
  }

  test('takes each secret in its time and says which one it was', async () => {
    expect(await verdict('old-value', '2025-12-31T00:00:00Z')).toBe('old')
    expect(await verdict('new-value', '2025-12-31T00:00:00Z')).toBe('SIGNATURE_MISMATCH')
    expect(await verdict('old-value', '2026-01-15T00:00:00Z')).toBe('old')
    expect(await verdict('new-value', '2026-01-15T00:00:00Z')).toBe('new')
    expect(await verdict('old-value', '2026-02-01T00:00:00Z')).toBe('old')
    expect(await verdict('old-value', '2026-02-01T00:00:01Z')).toBe('SIGNATURE_MISMATCH')
    expect(await verdict('new-value', '2026-03-01T00:00:00Z')).toBe('new')
  })

  test('has no end if a row or JSON has null for it', async () => {
    const one = { value: 'a-value', notBefore: null, notAfter: null } as never
    const headers = await sign(body, { secret: 'a-value' })
    for (const secret of [[one], () => [one]]) {
      expect(await verify({ body, headers }, { secret })).toMatchObject({ ok: true })
    }
  })

  test('puts the id on context and outcome', async () => {
    const receiver = createReceiver({ secret, now: at('2026-01-15T00:00:00Z') })
    const ids: (string | undefined)[] = []
    receiver.on('verification.approved', (_, context) => ids.push(context.secretId))
    const headers = await sign(body, { secret: 'new-value' })
    expect(await receiver.receive({ body, headers })).toMatchObject({
      kind: 'handled',
      secretId: 'new',
    })
    expect(ids).toEqual(['new'])
  })
})

describe('a look-up of secrets', () => {
  const headers = () => sign(body, { secret: 'tenant-a' })

  test('may be asynchronous and sees the delivery', async () => {
    const receiver = createReceiver({
      secret: async ({ url }) => (url === '/a' ? { id: 'a', value: 'tenant-a' } : 'tenant-b'),
    })
    const deliver = async (url: string) => receiver.receive({ body, headers: await headers(), url })
    expect(await deliver('/a')).toMatchObject({ kind: 'ignored', secretId: 'a' })
    expect(await deliver('/b')).toMatchObject({ kind: 'rejected', code: 'SIGNATURE_MISMATCH' })
  })

  test.each([
    ['rejects', async () => Promise.reject(new Error('vault is down'))],
    [
      'throws',
      () => {
        throw new Error('vault is down')
      },
    ],
    ['gives nothing', async () => undefined as never],
    ['gives an empty secret', () => ''],
  ])('that %s is 503 on our side, not 401', async (_, secret) => {
    const receiver = createReceiver({ secret, observe: () => {} })
    const outcome = await receiver.receive({ body, headers: await headers() })
    expect(outcome).toMatchObject({ kind: 'failed', code: 'SECRET_UNAVAILABLE' })
    const reply = await receiver.handle({
      method: 'POST',
      headers: await headers(),
      read: async () => body,
    })
    expect(reply.status).toBe(503)
    expect(reply.headers).toHaveProperty('retry-after')
    expect(reply.body).not.toContain('vault')
  })

  test('that gives nothing is named as what gave it, with the variable to set', async () => {
    for (const [given, named] of [
      [undefined, 'undefined'],
      ['', 'an empty string'],
    ] as const) {
      const receiver = createReceiver({ secret: () => given, observe: () => {} })
      const outcome = await receiver.receive({ body, headers: await headers() })
      expect(outcome.kind === 'failed' && outcome.error).toMatchObject({
        code: 'SECRET_INVALID',
        reason: expect.stringContaining(
          `the \`secret\` function returned ${named}: set the environment variable that it reads`,
        ),
      })
    }
  })

  test('is not asked about a delivery without a signature', async () => {
    let asked = 0
    const secret = () => {
      asked += 1
      return 'never needed'
    }
    const receiver = createReceiver({ secret })
    await receiver.receive({ body, headers: {} })
    expect(asked).toBe(0)
  })
})

test('many of them let other work run while a large body is tried', async () => {
  const secrets = Array.from({ length: 64 }, (_, at) => ({
    value: `s3cret-of-tenant-${at}`,
    tenant: `tenant-${at}`,
  }))
  const receiver = createReceiver({ secret: secrets, observe: () => {} })
  const text = JSON.stringify({ event: 'client.created', data: { id: 'x'.repeat(1_000_000) } })
  let turns = 0
  const timer = setInterval(() => {
    turns += 1
  }, 0)
  onTestFinished(() => clearInterval(timer))
  const receive = async (secret: string) =>
    receiver.receive({ body: utf8(text), headers: await sign(text, { secret }) })
  const forged = await receive('s3cret-of-nobody')
  expect(forged).toMatchObject({ kind: 'rejected', code: 'SIGNATURE_MISMATCH' })
  expect(turns).toBeGreaterThan(2)
  expect(await receive('s3cret-of-tenant-63')).toMatchObject({ tenant: 'tenant-63' })
})

test('WebhookError is told across installed copies', async () => {
  const error = await Promise.resolve()
    .then(() => createReceiver({ secret: '' }))
    .catch((thrown: unknown) => thrown)
  expect(isWebhookError(error)).toBe(true)
  expect(isWebhookError({ [Symbol.for('idv-webhooks.WebhookError')]: true })).toBe(true)
  expect(isWebhookError(new Error('other'))).toBe(false)
})

test.each([schemes.service(), schemes.token({ header: 'X-Token' })])(
  'bytes of a secret that are wiped once they are handed over still prove: $name',
  async (scheme) => {
    const text = 'the-secret-that-a-key-service-gave'
    const value = Buffer.from(text)
    const { authenticity } = scheme
    const receiver = createReceiver({ secret: value, scheme, authenticity })
    value.fill(0)
    const body = Buffer.from('{"event":"client.created","data":{"id":"cli_1"}}')
    const kindOf = async (secret: string | Uint8Array) =>
      (await receiver.receive({ body, headers: await sign(body, { secret, scheme }) })).kind
    expect(await kindOf(text)).toBe('ignored')
    expect(await kindOf('a-secret-of-somebody-else')).toBe('rejected')
    value.write('another-secret')
    expect(await kindOf(text)).toBe('ignored')
  },
)
