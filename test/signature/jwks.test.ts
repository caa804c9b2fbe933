import {
  createHash,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
} from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, schemes, sign, verify } from 'idv-webhooks'
import { type Jwk, type JwksOptions, jwks, privateKey } from 'idv-webhooks/keys'
import { vendors } from 'idv-webhooks/vendors'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'

const body = Buffer.from('{"webhook_code":"STATUS_UPDATED","identity_verification_id":"idv_1"}')
const start = Date.UTC(2026, 4, 1)
const { scheme } = vendors.plaid()
const pairOf = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const first = pairOf()
const second = pairOf()
const jwkOf = ({ publicKey }: { publicKey: KeyObject }, more: object): Jwk => ({
  ...publicKey.export({ format: 'jwk' }),
  use: 'sig',
  alg: 'ES256',
  ...more,
})

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token as Plaid's document describes it, made by node:crypto alone. */
function tokenOf(
  key: KeyObject,
  header: object = {},
  claims: object = {},
  of: Uint8Array = body,
): string {
  const hash = createHash('sha256').update(of).digest('hex')
  const input = `${part({ alg: 'ES256', typ: 'JWT', kid: 'k1', ...header })}.${part({ iat: start / 1000, request_body_sha256: hash, ...claims })}`
  const signature = signBytes('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: start }))
afterEach(() => void vi.useRealTimers())

/** A key server, and the clock of the client that asks it. */
class KeyServer {
  keys: readonly Jwk[] = [jwkOf(first, { kid: 'k1' })]
  asked = 0
  get at() {
    return Date.now()
  }
  set at(time: number) {
    vi.setSystemTime(time)
  }
  answer: (signal: AbortSignal | null) => Promise<Response> = async () =>
    Response.json({ keys: this.keys })

  source(options: Partial<JwksOptions> = {}) {
    return jwks('https://keys.example/jwks.json', {
      algorithms: ['es256'],
      fetch: async (_, init) => {
        this.asked += 1
        // Workers know no `error`, and an answer that was followed is refused as well.
        expect(init).toMatchObject({ redirect: 'manual' })
        return this.answer(init?.signal ?? null)
      },
      ...options,
    })
  }

  async told(source: ReturnType<typeof jwks>, token: string, of: Uint8Array = body) {
    const headers = { 'plaid-verification': token }
    const options = { secret: source, scheme, now: () => new Date(start) }
    const result = await verify({ body: of, headers }, options)
    return result.ok ? (result.secretId ?? true) : result.code
  }
}

describe('a JWT that holds the hash of the body', () => {
  test('proves the body, its time and its key', async () => {
    const server = new KeyServer()
    const source = server.source()
    expect(await server.told(source, tokenOf(first.privateKey))).toBe('k1')
    const changed = Buffer.from(body)
    changed.writeUInt8((changed[0] ?? 0) ^ 1, 0)
    expect(await server.told(source, tokenOf(first.privateKey), changed)).toBe('SIGNATURE_MISMATCH')
    expect(await server.told(source, tokenOf(second.privateKey))).toBe('SIGNATURE_MISMATCH')
    const late = tokenOf(first.privateKey, {}, { iat: start / 1000 - 301 })
    expect(await server.told(source, late)).toBe('TIMESTAMP_OUTSIDE_TOLERANCE')
  })

  test('is rejected under any algorithm but the pinned one', async () => {
    const server = new KeyServer()
    const source = server.source()
    const [, claims] = tokenOf(first.privateKey).split('.')
    const spki = first.publicKey.export({ format: 'pem', type: 'spki' })
    const hmac = (header: string) =>
      createHmac('sha256', spki).update(`${header}.${claims}`).digest('base64url')
    for (const alg of ['none', 'None', 'HS256', 'RS256', 'ES384', 'es256', '', null, ['ES256']]) {
      const header = part({ alg, typ: 'JWT', kid: 'k1' })
      for (const signature of ['', hmac(header), tokenOf(first.privateKey).split('.')[2]]) {
        expect(await server.told(source, `${header}.${claims}.${signature}`)).toBe(
          'SIGNATURE_MALFORMED',
        )
      }
    }
  })

  test('is refused under a key id that names another key, or anything but a key', async () => {
    const server = new KeyServer()
    server.keys = [jwkOf(first, { kid: 'k1' }), jwkOf(second, { kid: 'k2' })]
    const source = server.source()
    expect(await server.told(source, tokenOf(first.privateKey, { kid: 'k1' }))).toBe('k1')
    expect(await server.told(source, tokenOf(first.privateKey, { kid: 'k2' }))).toBe(
      'SIGNATURE_MISMATCH',
    )
    for (const kid of ['__proto__', 'constructor', '0', '../k1', "k1' or '1'='1", 'k1\u0000']) {
      server.at += 30_000
      const code = await server.told(source, tokenOf(first.privateKey, { kid }))
      expect(['SIGNATURE_MISMATCH', 'SIGNATURE_MALFORMED'], kid).toContain(code)
    }
    for (const kid of [['k1'], { k1: true }, 1, true]) {
      const code = await server.told(source, tokenOf(first.privateKey, { kid }))
      expect(code, JSON.stringify(kid)).toBe('SIGNATURE_MALFORMED')
    }
    // A key or an address that the token itself brings counts for nothing.
    for (const header of [
      { jwk: jwkOf(second, {}), kid: 'k1' },
      { jku: 'https://attacker.example/jwks.json', kid: 'k1' },
      { x5u: 'https://attacker.example/cert', kid: 'k1' },
    ]) {
      const code = await server.told(source, tokenOf(second.privateKey, header))
      expect(['SIGNATURE_MISMATCH', 'SIGNATURE_MALFORMED']).toContain(code)
    }
  })

  test('is refused in any other form', async () => {
    const server = new KeyServer()
    const source = server.source()
    const token = tokenOf(first.privateKey)
    const [header, claims, signature] = token.split('.')
    for (const spoiled of [
      `${header}.${claims}`,
      `${token}.x`,
      `${header}.${claims}.${signature}=`,
      `${header}=.${claims}.${signature}`,
      `.${claims}.${signature}`,
      `${part([])}.${claims}.${signature}`,
      tokenOf(first.privateKey, { crit: ['b64'], b64: false }),
      tokenOf(first.privateKey, {}, { request_body_sha256: 7 }),
      tokenOf(first.privateKey, {}, { request_body_sha256: 'ab' }),
      tokenOf(first.privateKey, {}, { iat: 'now' }),
      tokenOf(first.privateKey, {}, { iat: 1.5 }),
      'x'.repeat(10_000),
    ]) {
      expect(await server.told(source, spoiled), spoiled.slice(0, 60)).toBe('SIGNATURE_MALFORMED')
    }
    expect(server.asked).toBe(0)
  })

  test('is written by sign() too', async () => {
    const server = new KeyServer()
    const secret = {
      id: 'k1',
      value: privateKey(first.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()),
    }
    const headers = await sign(body, { secret, scheme, now: () => new Date(start) })
    expect(await server.told(server.source(), headers['plaid-verification'] as string)).toBe('k1')
  })
})

describe('keys by address', () => {
  test('are fetched once for all who ask at a time, and kept', async () => {
    const server = new KeyServer()
    const source = server.source()
    const token = tokenOf(first.privateKey)
    const told = await Promise.all(Array.from({ length: 20 }, () => server.told(source, token)))
    expect(new Set(told)).toEqual(new Set(['k1']))
    server.at += 599_000
    await server.told(source, token)
    expect(server.asked).toBe(1)
    server.at += 2000
    await server.told(source, token)
    expect(server.asked).toBe(2)
  })

  test('are asked for again when a key id is new, but not for every made-up one', async () => {
    const server = new KeyServer()
    const source = server.source()
    expect(await server.told(source, tokenOf(first.privateKey))).toBe('k1')
    server.keys = [jwkOf(first, { kid: 'k1' }), jwkOf(second, { kid: 'k2' })]
    const rotated = tokenOf(second.privateKey, { kid: 'k2' })
    // It may be genuine, and the address may not be asked again yet: its sender repeats it.
    expect(await server.told(source, rotated)).toBe('SECRET_UNAVAILABLE')
    server.at += 30_000
    expect(await server.told(source, rotated)).toBe('k2')
    for (let round = 0; round < 50; round += 1) {
      const forged = tokenOf(pairOf().privateKey, { kid: `../../${round}` })
      expect(await server.told(source, forged)).toBe('SECRET_UNAVAILABLE')
    }
    expect(server.asked).toBe(2)
    server.at += 30_000
    const forged = tokenOf(pairOf().privateKey, { kid: 'in no set' })
    expect(await server.told(source, forged)).toBe('SIGNATURE_MISMATCH')
  })

  test('say nothing of a new key id if they were requested before it arrived', async () => {
    const server = new KeyServer()
    const source = server.source()
    await server.told(source, tokenOf(first.privateKey))
    server.at += 30_000
    const before = Response.json({ keys: server.keys })
    let release = () => {}
    server.answer = () =>
      new Promise((resolve) => {
        release = () => resolve(before)
      })
    const forged = server.told(source, tokenOf(pairOf().privateKey, { kid: 'in no set' }))
    await vi.waitFor(() => expect(server.asked).toBe(2))
    const genuine = server.told(source, tokenOf(second.privateKey, { kid: 'k2' }))
    await new Promise((turn) => setTimeout(turn, 20))
    release()
    expect([await forged, await genuine]).toEqual(['SIGNATURE_MISMATCH', 'SECRET_UNAVAILABLE'])
    expect(server.asked).toBe(2)
  })

  test('remain usable while the address is down, up to their limit', async () => {
    const server = new KeyServer()
    const source = server.source({ staleFor: 3_600_000 })
    const token = tokenOf(first.privateKey)
    await server.told(source, token)
    server.answer = async () => new Response('down', { status: 503 })
    server.at += 3_600_000
    expect(await server.told(source, token)).toBe('k1')
    expect(await server.told(source, token)).toBe('k1')
    expect(server.asked).toBe(2)
    const rotated = tokenOf(second.privateKey, { kid: 'k2' })
    expect(await server.told(source, rotated)).toBe('SECRET_UNAVAILABLE')
    server.at += 700_000
    expect(await server.told(source, token)).toBe('SECRET_UNAVAILABLE')
  })

  test.each([
    ['is empty', []],
    ['has it as one for encryption', [jwkOf(first, { kid: 'k1', use: 'enc' })]],
    ['has another algorithm alone', [{ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'r1' }]],
  ])('are withdrawn by a set that %s, which is no outage', async (_, keys) => {
    const server = new KeyServer()
    const source = server.source()
    const token = tokenOf(first.privateKey)
    expect(await server.told(source, token)).toBe('k1')
    server.keys = keys
    server.at += 600_000
    expect(await server.told(source, token)).toBe('SECRET_UNAVAILABLE')
    server.keys = [jwkOf(second, { kid: 'k2' })]
    server.at += 30_000
    expect(await server.told(source, tokenOf(second.privateKey, { kid: 'k2' }))).toBe('k2')
    server.at += 30_000
    expect(await server.told(source, token)).toBe('SIGNATURE_MISMATCH')
  })

  test('serve on while the address hangs, and hold no delivery up for long', async () => {
    const server = new KeyServer()
    const source = server.source({ timeout: 60_000 })
    const token = tokenOf(first.privateKey)
    await server.told(source, token)
    server.answer = () => new Promise(() => {})
    server.at += 3_600_000
    expect(await server.told(source, token)).toBe('k1')
  })

  test('are used though another of the set is broken', async () => {
    const { privateKey } = first
    const of = schemes.define({
      ...({ name: 'plain', header: 'x-signature', algorithm: 'es256', key: 'pem' } as const),
      ...({ encoding: 'base64url', grammar: 'plain', signed: '{body}' } as const),
    })
    const signature = signBytes('sha256', body, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    const headers = { 'x-signature': signature.toString('base64url') }
    const broken = jwkOf(second, { x: Buffer.alloc(32, 1).toString('base64url') })
    const code = async (keys: readonly Jwk[]) => {
      const fetch = async () => Response.json({ keys })
      const secret = jwks('https://keys.example/', { algorithms: ['es256'], fetch })
      const result = await verify({ body, headers }, { secret, scheme: of })
      return result.ok || result.code
    }
    expect(await code([broken, jwkOf(first, {})])).toBe(true)
    expect(await code([broken])).toBe('SECRET_UNAVAILABLE')
  })

  test.each([
    [
      'down',
      async () => {
        throw new TypeError('fetch failed')
      },
    ],
    ['an error', async () => new Response('no', { status: 500 })],
    ['not JSON', async () => new Response('<html>')],
    ['not a set', async () => Response.json({ key: [] })],
    ['empty', async () => Response.json({ keys: [] })],
    ['huge', async () => Response.json({ keys: [], fill: 'x'.repeat(70_000) })],
    [
      'endless',
      async () =>
        new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(8192)) })),
    ],
    [
      'of too many keys',
      async () => Response.json({ keys: Array(101).fill(jwkOf(first, { kid: 'k1' })) }),
    ],
    [
      'of other algorithms',
      async () => Response.json({ keys: [jwkOf(first, { kid: 'k1', alg: 'ES384' })] }),
    ],
    [
      'for encryption',
      async () => Response.json({ keys: [jwkOf(first, { kid: 'k1', use: 'enc' })] }),
    ],
    ['retired', async () => Response.json({ keys: [jwkOf(first, { kid: 'k1', expired_at: 1 })] })],
    ['a secret', async () => Response.json({ keys: [{ kty: 'oct', kid: 'k1', k: 'c2VjcmV0' }] })],
  ])('that are %s are our fault, answered 503 and not retried at once', async (_, answer) => {
    const server = new KeyServer()
    server.answer = answer
    const source = server.source()
    expect(await server.told(source, tokenOf(first.privateKey))).toBe('SECRET_UNAVAILABLE')
    expect(await server.told(source, tokenOf(first.privateKey))).toBe('SECRET_UNAVAILABLE')
    expect(server.asked).toBe(1)
  })

  test('are not taken from the target of a redirect, whichever client follows it', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/keys')
        response.end(JSON.stringify({ keys: [jwkOf(first, { kid: 'k1' })] }))
      else response.writeHead(302, { location: '/keys' }).end('{"keys":[]}')
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    onTestFinished(() => new Promise<void>((closed) => server.close(() => closed())))
    const { port } = server.address() as AddressInfo
    const told = (path: string, change: RequestInit = {}) => {
      const keys = new KeyServer()
      const ask: typeof fetch = (_, init) =>
        fetch(`http://127.0.0.1:${port}${path}`, { ...init, ...change })
      return keys.told(keys.source({ fetch: ask }), tokenOf(first.privateKey))
    }
    expect(await told('/keys')).toBe('k1')
    expect(await told('/moved')).toBe('SECRET_UNAVAILABLE')
    expect(await told('/moved', { redirect: 'follow' })).toBe('SECRET_UNAVAILABLE')
  })

  test('that come slowly are given up', async () => {
    const server = new KeyServer()
    server.answer = (signal) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const source = server.source({ timeout: 20 })
    expect(await server.told(source, tokenOf(first.privateKey))).toBe('SECRET_UNAVAILABLE')
  })

  test('are taken only from https, and the algorithms must be pinned', () => {
    const pinned = { algorithms: ['es256'] } as const
    for (const url of ['http://keys.example/', 'ftp://x', 'keys', 'https://u:p@keys.example/']) {
      expect(() => jwks(url, pinned), url).toThrow('https')
    }
    for (const options of [
      {},
      { algorithms: [] },
      { algorithms: ['HS256'] },
      { algorithms: 'es256' },
    ]) {
      expect(() => jwks('https://keys.example/', options as never)).toThrow('algorithms')
    }
    expect(() => jwks('https://x/', { ...pinned, maxAges: 1 } as never)).toThrow("'maxAge'")
  })

  test('do not go with a scheme of shared secrets', () => {
    const secret = jwks('https://keys.example/', { algorithms: ['es256'] })
    expect(() => createReceiver({ secret })).toThrow('public keys')
  })
})

describe('keys that an API gives one by one', () => {
  const source = (
    load: (keyId: string) => Promise<Jwk | undefined>,
    more: Partial<JwksOptions> = {},
  ) => jwks(load, { algorithms: ['es256'], ...more })

  test('are asked for by the id of the token, once', async () => {
    const asked: string[] = []
    const keys = source(async (keyId) => {
      asked.push(keyId)
      return keyId === 'k1' ? jwkOf(first, { kid: 'another', expired_at: null }) : undefined
    })
    const server = new KeyServer()
    const token = tokenOf(first.privateKey)
    const told = await Promise.all([server.told(keys, token), server.told(keys, token)])
    expect([...told, await server.told(keys, token)]).toEqual(['k1', 'k1', 'k1'])
    expect(asked).toEqual(['k1'])
  })

  test('cost at most sixty requests in a cooldown for invented ids, and none for malformed ids', async () => {
    const asked: string[] = []
    const keys = source(async (keyId) => {
      asked.push(keyId)
      return undefined
    })
    const server = new KeyServer()
    for (let round = 0; round < 100; round += 1) {
      const forged = tokenOf(second.privateKey, { kid: `made-up-${round}` })
      // A delivery whose key cannot be looked up now may be genuine: its sender is asked to repeat
      // it.
      const code = round < 60 ? 'SIGNATURE_MISMATCH' : 'SECRET_UNAVAILABLE'
      expect(await server.told(keys, forged)).toBe(code)
    }
    expect(asked).toHaveLength(60)
    for (const kid of ['..', '../../etc/passwd', "' or 1=1", 'x'.repeat(300), '', 7, { a: 1 }]) {
      await server.told(keys, tokenOf(second.privateKey, { kid }))
    }
    expect(asked).toHaveLength(60)
  })

  test('are had while made-up ids come at half the rate that is asked for', async () => {
    const keys = source(async (keyId) => (keyId === 'k1' ? jwkOf(first, {}) : undefined))
    const server = new KeyServer()
    for (let round = 0; round < 120; round += 1) {
      await server.told(keys, tokenOf(second.privateKey, { kid: `made-up-${round}` }))
      vi.setSystemTime(Date.now() + 1_000)
    }
    expect(await server.told(keys, tokenOf(first.privateKey))).toBe('k1')
  })

  test('are had in the midst of a flood, by one of a few attempts', async () => {
    const keys = source(async (keyId) => (keyId === 'k1' ? jwkOf(first, {}) : undefined))
    const server = new KeyServer()
    const told: unknown[] = []
    for (let attempt = 0; attempt < 8; attempt += 1) {
      // Twice as many as are asked for.
      for (let round = 0; round < 40; round += 1) {
        const forged = tokenOf(second.privateKey, { kid: `made-up-${Date.now()}` })
        await server.told(keys, forged)
        vi.setSystemTime(Date.now() + 731)
      }
      told.push(await server.told(keys, tokenOf(first.privateKey)))
    }
    expect(told).toContain('k1')
  })

  test('are read again while invented ids use up the requests for unknown ids', async () => {
    const asked: string[] = []
    const load = async (keyId: string) => {
      asked.push(keyId)
      return keyId === 'k1' && Date.now() < start + 1_200_000 ? jwkOf(first, {}) : undefined
    }
    const keys = source(load)
    const server = new KeyServer()
    const told = () => server.told(keys, tokenOf(first.privateKey))
    const flood = async () => {
      for (let round = 0; round < 100; round += 1) {
        const forged = tokenOf(second.privateKey, { kid: `made-up-${Date.now()}-${round}` })
        await server.told(keys, forged)
      }
    }
    expect(await told()).toBe('k1')
    vi.setSystemTime(Date.now() + 600_000)
    await flood()
    expect(await told()).toBe('k1')
    expect(asked.filter((id) => id === 'k1')).toHaveLength(2)
    // The sender has withdrawn it: no stranger keeps it in use.
    vi.setSystemTime(Date.now() + 600_000)
    await flood()
    expect(await told()).toBe('SIGNATURE_MISMATCH')
  })

  test('serve on while the API hangs, and hold no delivery up for long', async () => {
    let isHanging = false
    const load = async () => (isHanging ? new Promise<never>(() => {}) : jwkOf(first, {}))
    const keys = source(load)
    expect(await keys.keysFor('k1', 'es256')).toHaveLength(1)
    isHanging = true
    vi.setSystemTime(Date.now() + 600_000)
    const all = Promise.all([keys.keysFor('k1', 'es256'), keys.keysFor('k1', 'es256')])
    const late = new Promise((resolve) => setTimeout(resolve, 3_000, 'late'))
    expect(await Promise.race([all, late])).toMatchObject([[{ id: 'k1' }], [{ id: 'k1' }]])
  })

  test('that cannot be had are our fault', async () => {
    const keys = source(async () => {
      throw new Error('the API is down')
    })
    expect(await new KeyServer().told(keys, tokenOf(first.privateKey))).toBe('SECRET_UNAVAILABLE')
  })
})
