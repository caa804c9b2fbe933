import { isWebhookError, type SchemeDefinition, schemes, sign, verify } from 'idv-webhooks'
import { describe, expect, test } from 'vitest'

const secret = 'a secret of words'
const at = Date.UTC(2026, 4, 1, 12, 0, 0, 250)
const now = () => new Date(at)
const body = new TextEncoder().encode('{"event":"client.created","data":{"id":"cli_1"}}')
const base: SchemeDefinition = {
  name: 'test',
  header: 'X-Sig',
  algorithm: 'sha256',
  key: 'utf8',
  encoding: 'hex',
  grammar: 'plain',
  signed: '{body}',
}
const define = (change: object) => schemes.define({ ...base, ...change } as SchemeDefinition)
const time = { header: 'X-Time' }

/** The result of verify for headers under a scheme. */
async function code(change: object, headers: Record<string, string>, clock = now) {
  const scheme = define(change)
  const result = await verify({ body, headers }, { secret, scheme, now: clock })
  return result.ok || result.code
}

describe('a definition that could not verify what its own sender writes', () => {
  test.each([
    [{ grammar: { prefix: 'v1,' } }, 'comma'],
    [{ grammar: { prefix: ' v1' } }, 'printable'],
    [
      { grammar: { prefix: 5 } },
      'prefix must be printable ASCII without a comma (for that use { list: { prefix } }), got number 5',
    ],
    [{ grammar: { prefix: 'é=' } }, 'printable'],
    [{ grammar: { prefix: 'HMAC ', optional: true } }, 'optional'],
    [{ grammar: { prefix: 'a=', pairs: { signature: 's' } } }, 'mix of prefix and pairs'],
    [{ grammar: { list: { prefix: 'v1 ' } } }, 'space'],
    [{ grammar: { list: { prefix: 5 } } }, 'list.prefix'],
    [{ grammar: { pairs: { signature: 'v=1' } } }, 'pairs.signature'],
    [{ grammar: { pairs: { signature: 'v,1' } } }, 'pairs.signature'],
    [{ grammar: { pairs: { signature: 'v 1' } } }, 'pairs.signature'],
    [{ grammar: { pairs: { signature: 's', timestamp: 's' } } }, 'same name'],
    [{ grammar: { pairs: { signature: 's', separator: '|' } } }, 'separator'],
    [{ grammar: { pairs: { signature: 's', seperator: ';' } } }, "Did you mean 'separator'"],
    [{ grammar: { lists: { prefix: 'v1,' } } }, 'grammar must be'],
    [{ grammar: [] }, 'grammar must be'],
    [{ signed: '{timestamp}.{body}', timestamp: { header: 'x-SIG' } }, 'twice'],
    [{ signed: '{id}.{body}', id: { header: 'X-sig' } }, 'twice'],
    [{ header: ['X-A', 'x-a'] }, 'twice'],
    [{ signed: '{header:x-sig}.{body}' }, 'twice'],
    [{ header: [] }, 'at least one header'],
    [{ tolerence: 5 }, "Did you mean 'tolerance'"],
    [{ signed: '{timestamp}.{body}', timestamp: { header: 'X-T', fromat: 'seconds' } }, 'format'],
    [{ signed: '{timestamp}.{body}', timestamp: { header: 'X-T', format: 'rfc' } }, 'seconds'],
    [{ signed: '{timestamp}.{body}', timestamp: { format: 'seconds' } }, 'which header carries it'],
    [{ encoding: 'any', algorithm: 'ed25519', key: 'hex' }, 'encoding'],
    [{ algorithm: 'ed25519', key: 'utf8' }, 'key'],
    [{ grammar: { jwt: { bodyHash: 'h' } } }, 'public key'],
    [{ signed: '{header:}{body}' }, 'header name'],
    [{ name: '' }, 'name'],
  ])('%j is refused when it is made, and told why', (change, hint) => {
    const make = () => define(change)
    expect(make).toThrow(expect.objectContaining({ code: 'SCHEME_INVALID' }))
    expect(make).toThrow(hint)
  })

  test('misspelt options of the builders are refused too', () => {
    for (const make of [
      () => schemes.standardWebhooks({ toleranceSeconds: 5 } as never),
      () => schemes.timestamped({ headr: 'X' } as never),
      () => schemes.service({ tolerance: 5 } as never),
      () => schemes.token({ header: 'X', prefx: 'y' } as never),
    ]) {
      expect(make).toThrow(expect.objectContaining({ code: 'SCHEME_INVALID' }))
    }
  })
})

describe('values side by side in a template', () => {
  test.each([
    ['{id}{timestamp}{body}', {}],
    ['{id}{timestamp}{body}', { format: 'milliseconds' }],
    ['{timestamp}{id}.{body}', {}],
    ['{id}{body}', {}],
    ['{body}{id}', {}],
    ['{url}{timestamp}.{body}', {}],
    ['{header:x-a}{timestamp}.{body}', {}],
    ['{body}{header:x-a}', {}],
    ['{url}{header:x-a}.{body}', {}],
  ])('%s with %j is refused: it could be split in two ways', (signed, format) => {
    const timestamp = signed.includes('{timestamp}') ? { header: 'X-T', ...format } : undefined
    const id = signed.includes('{id}') ? { header: 'X-Id' } : undefined
    expect(() => define({ signed, ...(timestamp && { timestamp }), ...(id && { id }) })).toThrow(
      /read in two ways/,
    )
  })

  test.each([
    ['{timestamp}{body}', {}],
    ['{body}{timestamp}', { format: 'milliseconds' }],
    ['{id}{timestamp}{body}', { format: 'iso8601' }],
    ['{method}{url}{body}{timestamp}', {}],
    ['{timestamp}{header:x-a}{body}', {}],
  ])('%s with %j is taken: the forms tell where one ends', async (signed, format) => {
    const id = signed.includes('{id}') ? { id: { header: 'X-Id' } } : {}
    const scheme = define({ signed, timestamp: { ...time, ...format }, ...id })
    const url = 'https://app.test/hook'
    const headers = await sign(body, { secret, scheme, now, url, headers: { 'X-A': '/a' } })
    expect(await verify({ body, headers, url }, { secret, scheme, now })).toMatchObject({
      ok: true,
    })
  })

  test('an id that holds a time between its dots is refused, for it could be split there', async () => {
    const scheme = schemes.standardWebhooks()
    const key = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const told = async (id: string) => {
      const headers = await sign(body, { secret: key, scheme, now, id })
      const result = await verify({ body, headers }, { secret: key, scheme, now })
      return result.ok || result.code
    }
    expect(await told('msg.with.dots')).toBe(true)
    expect(await told('evt.1790000000')).toBe('SIGNATURE_MALFORMED')
    expect(await told('evt.1790000000.x')).toBe('SIGNATURE_MALFORMED')
  })

  test('leading zeros of a time are refused, for digits could wander into it', async () => {
    const change = { signed: '{timestamp}.{body}', timestamp: time, tolerance: 'none' as const }
    const scheme = define(change)
    const headers = await sign(body, { secret, scheme, now })
    const zeros = { ...headers, 'x-time': `0${headers['x-time']}` }
    expect(await code(change, headers)).toBe(true)
    expect(await code(change, zeros)).toBe('SIGNATURE_MALFORMED')
  })
})

describe('a signed time', () => {
  test.each(['seconds', 'milliseconds', 'iso8601'] as const)(
    'in %s counts whole seconds to both sides',
    async (format) => {
      const change = { signed: '{timestamp}.{body}', timestamp: { ...time, format } }
      const headers = await sign(body, { secret, scheme: define(change), now })
      const late = (milliseconds: number) => () => new Date(at + milliseconds)
      expect(await code(change, headers, late(300_000))).toBe(true)
      // 300.7 s by the clock, but 300 by whole seconds, as every sender's own library counts.
      expect(await code(change, headers, late(300_700))).toBe(true)
      expect(await code(change, headers, late(300_750))).toBe('TIMESTAMP_OUTSIDE_TOLERANCE')
      expect(await code(change, headers, late(-300_000))).toBe(true)
      expect(await code(change, headers, late(-301_000))).toBe('TIMESTAMP_OUTSIDE_TOLERANCE')
    },
  )

  test.each([
    ['milliseconds', ['1790000000000.0', '+1790000000000', '1e12', '', '0x1', '9'.repeat(16)]],
    ['iso8601', ['2026-05-01', '2026-05-01T12:00:00', '2026-13-01T12:00:00Z', 'now', '1790000000']],
  ] as const)('in %s is refused in any other form', async (format, forms) => {
    const change = { signed: '{timestamp}.{body}', timestamp: { ...time, format } }
    const headers = await sign(body, { secret, scheme: define(change), now })
    for (const form of forms) {
      const told = await code(change, { ...headers, 'x-time': form })
      expect(told, form).toBe(form === '' ? 'SIGNATURE_MISSING' : 'SIGNATURE_MALFORMED')
    }
  })

  test('is diagnosed as clock skew in milliseconds too', async () => {
    const scheme = define({
      signed: '{timestamp}.{body}',
      timestamp: { ...time, format: 'milliseconds' },
    })
    const headers = await sign(body, { secret, scheme, now })
    const late = () => new Date(at + 3_600_000)
    const result = await verify({ body, headers }, { secret, scheme, now: late })
    expect(!result.ok && (await result.diagnose())).toMatchObject({
      cause: 'clock-skew',
      message: expect.stringContaining('3600 s'),
    })
  })
})

describe('pairs', () => {
  const change = {
    grammar: { pairs: { signature: 'v1', timestamp: 't' } },
    signed: '{timestamp}.{body}',
  }
  const written = async () => {
    const header = (await sign(body, { secret, scheme: define(change), now }))['x-sig'] as string
    return header.split(',') as [string, string]
  }

  test('may have white space around their separator, and groups between white space', async () => {
    const [t, v1] = await written()
    const other = `v1=${'0'.repeat(64)}`
    for (const value of [
      `${t}, ${v1}`,
      `${t} ,${v1}`,
      ` ${t},  ${other} ,${v1} `,
      `t=1,${other} ${t},${v1}`,
      `${t},${v1} t=1,${other}`,
      `t=1,${other}, ${t}, ${v1}`,
    ]) {
      expect(await code(change, { 'x-sig': value }), value).toBe(true)
    }
    // A signature counts for the time of its own group alone.
    expect(await code(change, { 'x-sig': `${t},${other} t=1,${v1}` })).toBe('SIGNATURE_MISMATCH')
  })

  test('of more than three times are rejected: each costs an HMAC over the body', async () => {
    const [t, v1] = await written()
    const group = `t=1,v1=${'0'.repeat(64)}`
    expect(await code(change, { 'x-sig': `${group} ${group} ${t},${v1}` })).toBe(true)
    expect(await code(change, { 'x-sig': `${group} ${group} ${group} ${t},${v1}` })).toBe(
      'SIGNATURE_MALFORMED',
    )
  })

  test('with another separator take only that one', async () => {
    const own = {
      ...change,
      grammar: { pairs: { signature: 'v1', timestamp: 't', separator: ';' } },
    }
    const [t, v1] = await written()
    expect(await code(own, { 'x-sig': `${t};${v1}` })).toBe(true)
    expect(await code(own, { 'x-sig': `${t},${v1}` })).toBe('SIGNATURE_MALFORMED')
  })
})

describe('several signature headers', () => {
  const numbered = { header: 'X-Sig-{n}', encoding: 'base64' }
  const scheme = define(numbered)

  test('take one key each, whichever is ours', async () => {
    const headers = await sign(body, { secret: ['first', secret], scheme })
    expect(Object.keys(headers)).toEqual(['x-sig-1', 'x-sig-2'])
    expect(await code(numbered, headers)).toBe(true)
    expect(await code(numbered, { 'x-sig-2': headers['x-sig-2'] as string })).toBe(true)
    expect(await code(numbered, { 'x-sig-1': headers['x-sig-1'] as string })).toBe(
      'SIGNATURE_MISMATCH',
    )
    expect(await code(numbered, {})).toBe('SIGNATURE_MISSING')
  })

  test('may each occur once', async () => {
    const headers = await sign(body, { secret, scheme })
    const value = headers['x-sig-1'] as string
    const twice = { 'x-sig-1': [value, value] }
    const result = await verify({ body, headers: twice }, { secret, scheme })
    expect(!result.ok && result.code).toBe('HEADER_AMBIGUOUS')
  })
})

describe('further signed headers and the method', () => {
  const change = { signed: '{method} {header:X-Tenant} {body}' }
  const scheme = define(change)

  test('are part of the proved text', async () => {
    const headers = await sign(body, { secret, scheme, headers: { 'X-Tenant': 'acme' } })
    const told = async (more: object, method?: string) => {
      const delivery = { body, headers: { ...headers, ...more }, ...(method && { method }) }
      const result = await verify(delivery, { secret, scheme })
      return result.ok || result.code
    }
    expect(await told({})).toBe(true)
    expect(await told({}, 'PUT')).toBe('SIGNATURE_MISMATCH')
    expect(await told({ 'x-tenant': 'globex' })).toBe('SIGNATURE_MISMATCH')
    expect(await told({ 'x-tenant': undefined })).toBe('SIGNATURE_MISSING')
    expect(await told({ 'x-tenant': ['acme', 'acme'] })).toBe('HEADER_AMBIGUOUS')
  })

  test('must be given to sign()', async () => {
    const error = await sign(body, { secret, scheme }).catch((caught: unknown) => caught)
    expect(isWebhookError(error) && error.message).toMatch(/x-tenant/)
  })
})

test('a prefix with a space is taken as it is', async () => {
  const change = { header: 'Authorization', encoding: 'base64', grammar: { prefix: 'HMAC ' } }
  const scheme = define(change)
  const { authorization } = await sign(body, { secret, scheme })
  expect(authorization).toMatch(/^HMAC [A-Za-z0-9+/]+=$/)
  expect(await code(change, { authorization: authorization as string })).toBe(true)
  for (const spoiled of [authorization?.slice(5), authorization?.replace(' ', ''), 'HMAC ']) {
    expect(await code(change, { authorization: spoiled as string })).toMatch(/SIGNATURE_M/)
  }
})

test('schemes survive JSON and being defined anew from themselves', () => {
  const all = [
    schemes.service(),
    schemes.timestamped(),
    schemes.standardWebhooks(),
    define({ header: 'X-Sig-{n}' }),
    schemes.token({ header: 'X-Token' }),
    schemes.token({ header: 'Authorization', prefix: 'Bearer ' }),
    schemes.ip({ allow: ['203.0.113.0/24', '2001:db8::/32'], proxies: 1 }),
  ]
  for (const scheme of all) {
    const copy = JSON.parse(JSON.stringify(scheme)) as SchemeDefinition
    expect(copy).toEqual(scheme)
    expect(schemes.define(copy)).toEqual(scheme)
  }
})
