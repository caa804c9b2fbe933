import fc from 'fast-check'
import { type Scheme, schemes, sign, verify, WebhookError } from 'idv-webhooks'
import { describe, expect, test } from 'vitest'
import { fromHex, toBase64, toBase64url } from '../../src/signature/encoding.ts'

const now = () => new Date('2026-05-01T12:00:00Z')
const seconds = now().getTime() / 1000
const body = new TextEncoder().encode('{"event":"verification.approved","data":{"id":"ver_1"}}')
const define = (changes: Partial<Parameters<typeof schemes.define>[0]>) =>
  schemes.define({
    name: 'test',
    header: 'X-Sig',
    algorithm: 'sha256',
    key: 'utf8',
    encoding: 'hex',
    grammar: 'plain',
    signed: '{body}',
    ...changes,
  })

const base64Secret = toBase64(new TextEncoder().encode('0123456789abcdef0123456789abcdef'))
const many: [scheme: Scheme, secret: string][] = [
  [schemes.service(), 'text secret'],
  [schemes.timestamped(), 'text secret'],
  [schemes.timestamped({ header: 'Persona-Signature', tolerance: 'none' }), 'text secret'],
  [schemes.standardWebhooks(), `whsec_${base64Secret}`],
  [schemes.standardWebhooks({ header: 'svix' }), base64Secret],
  [define({}), 'plain'],
  [define({ algorithm: 'sha512', encoding: 'base64' }), 'plain'],
  [define({ algorithm: 'sha1', grammar: { prefix: 'sha1=' } }), 'plain'],
  [define({ encoding: 'base64url', key: 'base64' }), base64Secret],
  [define({ encoding: 'any', key: 'hex' }), '00ff'.repeat(8)],
  [define({ grammar: { list: { prefix: 'v1,' } }, encoding: 'base64' }), 'plain'],
  [
    define({
      signed: 'v0:{timestamp}:{body}',
      timestamp: { header: 'X-Time' },
      grammar: { prefix: 'v0=' },
    }),
    'plain',
  ],
  [define({ signed: '{url}{body}' }), 'plain'],
  [define({ signed: '{id}.{body}', id: { header: 'X-Id' } }), 'plain'],
]

const url = 'https://app.test/webhooks'
const bodies = fc.uint8Array({ maxLength: 300 })
const anyScheme = fc.constantFrom(...many)

describe('any body, under any scheme', () => {
  test('that we sign verifies', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, anyScheme, async (bytes, [scheme, secret]) => {
        const headers = await sign(bytes, { secret, scheme, now, url })
        const result = await verify({ body: bytes, headers, url }, { secret, scheme, now })
        expect(result).toMatchObject({ ok: true })
      }),
    )
  })

  test('does not verify once a single bit of it is changed', async () => {
    const flipped = fc.uint8Array({ minLength: 1, maxLength: 300 })
    await fc.assert(
      fc.asyncProperty(flipped, anyScheme, fc.nat(), async (bytes, [scheme, secret], at) => {
        const headers = await sign(bytes, { secret, scheme, now, url })
        const changed = Uint8Array.from(bytes)
        const bit = at % (bytes.length * 8)
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        const result = await verify({ body: changed, headers, url }, { secret, scheme, now })
        expect(result).toMatchObject({ ok: false, code: 'SIGNATURE_MISMATCH' })
      }),
    )
  })

  test('does not verify under another secret', async () => {
    const secrets = fc.uint8Array({ minLength: 16, maxLength: 64 })
    await fc.assert(
      fc.asyncProperty(bodies, secrets, secrets, async (bytes, one, other) => {
        fc.pre(Buffer.compare(one, other) !== 0 && one.at(-1) !== 10 && other.at(-1) !== 10)
        fc.pre(one.at(-1) !== 13 && other.at(-1) !== 13)
        const headers = await sign(bytes, { secret: one })
        const result = await verify({ body: bytes, headers }, { secret: other })
        expect(result).toMatchObject({ ok: false, code: 'SIGNATURE_MISMATCH' })
      }),
    )
  })

  test('with any header whatsoever never throws and never verifies', async () => {
    const values = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.base64String())
    await fc.assert(
      fc.asyncProperty(bodies, anyScheme, values, async (bytes, [scheme, secret], value) => {
        const headers = {
          [scheme.header]: value,
          ...(scheme.timestamp?.header && { [scheme.timestamp.header]: String(seconds) }),
          ...(scheme.id && { [scheme.id.header]: 'x' }),
        }
        const result = await verify({ body: bytes, headers, url }, { secret, scheme, now })
        expect(result.ok).toBe(false)
      }),
    )
  })
})

describe('the service scheme', () => {
  const secret = 'rotation'
  const right = async () => (await sign(body, { secret }))['x-service-signature'] as string
  const codeFor = async (value: string) => {
    const result = await verify({ body, headers: { 'X-Service-Signature': value } }, { secret })
    return result.ok ? 'ok' : result.code
  }

  test('takes hex of either case, base64 and base64url, padded or not, with or without sha256=', async () => {
    const hex = await right()
    const digest = fromHex(hex) as Uint8Array
    const forms = [hex, hex.toUpperCase(), toBase64(digest), toBase64url(digest)]
    forms.push(toBase64(digest).replace('=', ''), `${toBase64url(digest)}=`)
    for (const form of [...forms, ...forms.map((one) => `sha256=${one}`)]) {
      expect(await codeFor(form), form).toBe('ok')
    }
  })

  test('finds the valid one of several signatures in any place', async () => {
    const other = (await sign(body, { secret: 'other' }))['x-service-signature']
    const hex = await right()
    for (const value of [`${hex},${other}`, `${other}, ${hex}`, `${other} ${hex} ${other}`]) {
      expect(await codeFor(value)).toBe('ok')
    }
    expect(await codeFor(`${other},${other}`)).toBe('SIGNATURE_MISMATCH')
    expect(await codeFor(Array(17).fill(hex).join(','))).toBe('SIGNATURE_MALFORMED')
  })

  test('calls a signature of any other length or alphabet malformed', async () => {
    const hex = await right()
    const digest = toBase64(fromHex(hex) as Uint8Array)
    const unusedBits = digest.replace(
      /.=$/,
      (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}=`,
    )
    const malformed = ['zz', 'deadbeef', hex.slice(1), `${hex}0`, `${hex}00`, `g${hex.slice(1)}`]
    malformed.push(
      'sha256=',
      `sha1=${hex}`,
      `"${hex}"`,
      `${digest}=`,
      unusedBits,
      '\u0130'.repeat(64),
    )
    for (const value of malformed) expect(await codeFor(value), value).toBe('SIGNATURE_MALFORMED')
    for (const value of ['', ' ']) expect(await codeFor(value)).toBe('SIGNATURE_MISSING')
  })
})

describe('a scheme that signs a time', () => {
  const secret = 'timed'
  const scheme = schemes.timestamped()
  const at = (time: number) => () => new Date((seconds + time) * 1000)
  const code = async (headers: Record<string, string>, options = { scheme }) => {
    const result = await verify({ body, headers }, { secret, now, ...options })
    return result.ok ? 'ok' : result.code
  }

  test('holds the tolerance to both sides, its ends included', async () => {
    for (const [skew, want] of [
      [300, 'ok'],
      [-300, 'ok'],
      [301, 0],
      [-301, 0],
      [31536000, 0],
    ] as const) {
      const headers = await sign(body, { secret, scheme, now: at(skew) })
      expect(await code(headers)).toBe(want || 'TIMESTAMP_OUTSIDE_TOLERANCE')
    }
  })

  test("takes another tolerance, and 'none' spelled out", async () => {
    const headers = await sign(body, { secret, scheme, now: at(-900) })
    expect(await code(headers, { scheme: schemes.timestamped({ tolerance: 1000 }) })).toBe('ok')
    expect(await code(headers, { scheme: schemes.timestamped({ tolerance: 'none' }) })).toBe('ok')
  })

  test('refuses a timestamp that parseInt would take', async () => {
    const value = (await sign(body, { secret, scheme, now }))['x-service-signature'] as string
    const spoiled = [
      `${seconds}abc`,
      ` ${seconds}`,
      `${seconds}.0`,
      `+${seconds}`,
      '1e9',
      'NaN',
      '-1',
      '',
    ]
    for (const time of spoiled) {
      const header = value.replace(/^t=\d+/, `t=${time}`)
      expect(await code({ 'x-service-signature': header }), time).toBe('SIGNATURE_MALFORMED')
    }
  })

  test('reads several signatures in a group and several groups', async () => {
    const value = async (secret: string, time = 0) =>
      (await sign(body, { secret, scheme, now: at(time) }))['x-service-signature'] as string
    const [right, other, old] = [
      await value(secret),
      await value('other'),
      await value('other', -9000),
    ]
    const digest = right.split('v1=')[1]
    const foreign = other.split('v1=')[1]
    for (const header of [
      `t=${seconds},v1=${foreign},v1=${digest},v0=ignored`,
      `${right} ${other}`,
      `${other} ${right}`,
      `${other},${right}`,
      `${old} ${right}`,
    ]) {
      expect(await code({ 'x-service-signature': header }), header).toBe('ok')
    }
    // A signature counts for the time of its own group alone.
    const swapped = `t=${seconds - 1},v1=${digest}`
    expect(await code({ 'x-service-signature': swapped })).toBe('SIGNATURE_MISMATCH')
  })

  test('refuses a scheme header that is missing, repeated or empty', async () => {
    const standard = schemes.standardWebhooks()
    const secret = `whsec_${base64Secret}`
    const headers = await sign(body, { secret, scheme: standard, now, id: 'msg_1' })
    const check = async (changed: Record<string, string | string[]>) => {
      const given = { ...headers, ...changed }
      const result = await verify({ body, headers: given }, { secret, scheme: standard, now })
      return result.ok ? result.delivery.signedId : result.code
    }
    expect(await check({})).toBe('msg_1')
    expect(await check({ 'webhook-id': '' })).toBe('SIGNATURE_MISSING')
    expect(await check({ 'webhook-timestamp': [] })).toBe('SIGNATURE_MISSING')
    expect(await check({ 'webhook-id': ['msg_1', 'msg_1'] })).toBe('HEADER_AMBIGUOUS')
    expect(await check({ 'webhook-timestamp': [`${seconds}`, '1'] })).toBe('HEADER_AMBIGUOUS')
    expect(await check({ 'webhook-id': 'msg_2' })).toBe('SIGNATURE_MISMATCH')
  })
})

describe('a scheme that cannot hold is refused when it is defined', () => {
  test.each([
    [{ algorithm: 'md5' }, 'algorithm'],
    [{ key: 'rot13' }, 'key'],
    [{ encoding: 'utf8' }, 'encoding'],
    [{ header: 'X Sig' }, 'header'],
    [{ header: '' }, 'header'],
    [{ grammar: 'odd' }, 'grammar'],
    [{ grammar: { pairs: {} } }, 'grammar'],
    [{ signed: '{timestamp}' }, '{body}'],
    [{ signed: '{body}{nonce}' }, '{nonce}'],
    [{ signed: '{timestamp}.{body}' }, 'timestamp'],
    [{ signed: '{id}.{body}' }, 'id'],
    [{ timestamp: { header: 'X-Time' } }, 'not signed'],
    [{ id: { header: 'X-Id' } }, 'not signed'],
    [{ signed: '{timestamp}{body}', timestamp: { header: 'X-T' }, tolerance: 0 }, "'none'"],
    [
      { signed: '{timestamp}{body}', timestamp: { header: 'X-T' }, tolerance: Number.NaN },
      "'none'",
    ],
  ])('%j', (changes, hint) => {
    const make = () => define(changes as never)
    expect(make).toThrow(WebhookError)
    expect(make).toThrow(expect.objectContaining({ code: 'SCHEME_INVALID' }))
    expect(make).toThrow(hint)
  })
})

test('the ready scheme of the service is what its definition gives', () => {
  expect(schemes.service({ header: 'X-Service-Signature' })).toEqual(schemes.service())
  expect(Object.isFrozen(schemes.service())).toBe(true)
})

test('the reader of the service scheme reads what the reader of every scheme reads', async () => {
  const secret = 'text secret'
  const { 'x-service-signature': hex = '' } = await sign(body, { secret })
  const base64 = toBase64(fromHex(hex) ?? new Uint8Array())
  const piece = fc.constantFrom('sha256=', hex, base64, hex.toUpperCase(), ' ', ',', 'x', '0', '')
  const scheme = schemes.service({ header: 'X-Service-Signature' })
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
      const headers = { 'x-service-signature': pieces.join('') }
      const own = await verify({ body, headers }, { secret })
      const other = await verify({ body, headers }, { secret, scheme })
      expect([own.ok, !own.ok && own.code]).toEqual([other.ok, !other.ok && other.code])
    }),
  )
})

test.each([
  ['JSON', (scheme: Scheme) => JSON.parse(JSON.stringify(scheme))],
  ['a spread', (scheme: Scheme) => ({ ...scheme, tolerance: 'none' })],
])('a copy of a scheme by %s is data for schemes.define()', async (_, copied) => {
  const copy: Scheme = copied(schemes.timestamped())
  const secret = 'text secret'
  const headers = await sign(body, { secret, scheme: schemes.define(copy) })
  await expect(verify({ body, headers }, { secret, scheme: copy })).rejects.toThrow(
    'scheme must be created with schemes.define()',
  )
})
