// Attacks and mistakes of senders against earlier versions, each held by a test.
import { createHmac } from 'node:crypto'
import {
  createReceiver,
  logOutcomes,
  type Observation,
  schemes,
  sign,
  verify,
  WebhookError,
} from 'idv-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { describeError } from '../src/observe/observe.ts'

const secret = 'attacks-secret-0123'
const bytes = (text: string) => new TextEncoder().encode(text)
const forged = { 'x-service-signature': 'a0'.repeat(32) }

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('a diagnosis', () => {
  const size = 1024 * 1024
  const shapes: Record<string, string> = {
    'text that is not JSON': 'x'.repeat(size),
    slashes: `"${'/'.repeat(size - 2)}"`,
    'a deep array': `${'['.repeat(62)}1${',1'.repeat(size / 2 - 63)}${']'.repeat(62)}`,
    'a deep array in a small body': `${'['.repeat(62)}1${',1'.repeat(30_000)}${']'.repeat(62)}`,
    'letters that are escaped': `${'['.repeat(62)}"字/"${',"字"'.repeat(8_000)}${']'.repeat(62)}`,
  }

  test.each(Object.entries(shapes))(
    'of a forged body of %s lets others run, and holds little memory',
    async (_, text) => {
      const lines: string[] = []
      const scheme = schemes.timestamped()
      const time = Math.floor(Date.now() / 1000)
      const groups = Array.from({ length: 3 }, (_, at) => `t=${time - at},v1=${'a0'.repeat(32)}`)
      const receiver = createReceiver({
        secret: [secret, `${secret}-2`, `${secret}-3`],
        scheme,
        maxBytes: 2 * size,
        observe: logOutcomes({
          write: (line) => {
            lines.push(line)
            had = turns
          },
        }),
      })
      const before = process.memoryUsage().rss
      // The turns of the event loop that others had until the diagnosis was there.
      let [turns, had] = [0, 0]
      const others = () => {
        turns++
        if (lines.length === 0) setImmediate(others)
      }
      const headers = { 'x-service-signature': groups.join(' ') }
      const outcome = await receiver.receive({ body: bytes(text), headers })
      setImmediate(others)
      expect(outcome).toMatchObject({ kind: 'rejected', code: 'SIGNATURE_MISMATCH' })
      await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 15_000 })
      expect(had).toBeGreaterThan(10)
      // It was half a gigabyte. `npm run attack` holds how long the event loop may stall.
      expect(process.memoryUsage().rss - before).toBeLessThan(200 * size)
    },
  )

  test('has a budget that only what can be diagnosed uses up', async () => {
    const lines: string[] = []
    const observe = logOutcomes({ write: (line) => lines.push(line), diagnosesPerMinute: 3 })
    const receiver = createReceiver({ secret, observe })
    for (let at = 0; at < 10; at++) await receiver.receive({ body: bytes('{}'), headers: {} })
    const headers = await sign('{"a":1}', { secret })
    await receiver.receive({ body: bytes('{"a":1}\n'), headers })
    await vi.waitFor(() => expect(lines.some((line) => line.includes('diagnosis'))).toBe(true))
  })

  test('runs one at a time, so that a slow one is not overtaken', async () => {
    const slow = { body: bytes(JSON.stringify({ a: { b: ['x'.repeat(9_000)] } })), headers: forged }
    const quick = { body: bytes('{"a":1}\n'), headers: await sign('{"a":1}', { secret }) }
    const refusals = await Promise.all([slow, quick].map((one) => verify(one, { secret })))
    const ended: number[] = []
    await Promise.all(
      refusals.map(async (one, at) => {
        if (!one.ok) await one.diagnose()
        ended.push(at)
      }),
    )
    expect(ended).toEqual([0, 1])
  })
})

describe('an error of a handler', () => {
  test('is described by its class and place, never by a line of its message', () => {
    const messages = [
      'no account for x\n    at CANARY (/srv/app.js:1:1)\nrest',
      'Apt 3\n at /CANARY:1:1',
      '\n    at CANARY \u001b[31mred',
    ]
    for (const message of messages) {
      const described = describeError(new TypeError(message))
      expect(described).toMatch(/^TypeError at .*attacks\.test\.ts:\d+:\d+\)?$/)
      expect(described).not.toContain('CANARY')
    }
  })

  test('whose name, stack or message was changed is described without them', () => {
    const named = Object.assign(new Error('x'), { name: 'CANARY\n at /CANARY:1:1' })
    const stacked = Object.assign(new Error('x'), { stack: 'CANARY\n    at CANARY (/a.js:1:1)' })
    const changed = new Error('first\n    at CANARY (/a.js:1:1)')
    changed.message = 'second'
    const ours = new WebhookError('OPTION_INVALID', "state must be x, got string 'CANARY'")
    for (const error of [named, stacked, changed, ours]) {
      expect(describeError(error)).not.toContain('CANARY')
    }
  })
})

test("a person's name is not observed as an event's name", async () => {
  const seen: Observation[] = []
  const receiver = createReceiver({ secret, observe: (one) => seen.push(one) })
  receiver.fallback(() => {})
  const body = bytes('{"id":"cli_9","name":"Zephyrine Quillfeather","email":"z@example.com"}')
  await receiver.receive({ body, headers: await sign(body, { secret }) })
  expect(seen.at(-1)).toMatchObject({ kind: 'handled', name: '(unrecognised)' })
  expect(JSON.stringify(seen)).not.toContain('Zephyrine')
})

test('lines of the log hold no control, bidi or endless text of a sender', async () => {
  const lines: string[] = []
  const receiver = createReceiver({
    secret,
    observe: logOutcomes({ write: (line) => lines.push(line) }),
  })
  const id = `\u009b2J\u202eevil${'x'.repeat(100_000)}`
  const body = bytes(JSON.stringify({ id, event: 'client.created', data: { id: 'c' } }))
  await receiver.receive({ body, headers: await sign(body, { secret }) })
  expect(lines).toHaveLength(1)
  expect(lines[0]?.length).toBeLessThan(2_000)
  expect(lines[0]).not.toMatch(/[\u0080-\u009f\u202e]/)
  expect(() => JSON.parse(lines[0] ?? '')).not.toThrow()
})

test('the default observer remembers at most a hundred texts, and prints no escapes', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  const warnings: string[] = []
  const hear = (warning: Error) => warnings.push(warning.message)
  process.on('warning', hear)
  const receiver = createReceiver({ secret })
  receiver.fallback(() => {
    throw new Error('always')
  })
  for (let at = 0; at < 300; at++) {
    const body = bytes(JSON.stringify({ event: `evil.\u001b[2Jx${at}`, data: { id: 'c' } }))
    await receiver.receive({ body, headers: await sign(body, { secret }) })
  }
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', hear)
  expect(warnings.length).toBeLessThanOrEqual(100)
  expect(warnings.join('')).not.toContain('\u001b')
})

test('idempotency keys of tenants cannot meet, nor can an id pass for the hash of a body', async () => {
  const keys = new Set<string>()
  let deliveries = 0
  const tenants = ['acme', 'acme:eu', 'sha256', undefined]
  const ids = ['eu:evt_7', 'evt_7', 'acme:eu:evt_7', 'sha256=00', undefined]
  for (const tenant of tenants) {
    const receiver = createReceiver({ secret: { value: secret, ...(tenant && { tenant }) } })
    receiver.on('*', (_, { idempotencyKey }) => keys.add(idempotencyKey))
    for (const id of ids) {
      const body = bytes(JSON.stringify({ id, event: 'client.created', data: { id: 'c' } }))
      await receiver.receive({ body, headers: await sign(body, { secret }) })
      deliveries += 1
      if (id !== undefined) continue
      const hash = await crypto.subtle.digest('SHA-256', body)
      const claimed = `sha256=${Buffer.from(hash).toString('hex')}`
      const other = bytes(JSON.stringify({ id: claimed, event: 'client.created', data: {} }))
      await receiver.receive({ body: other, headers: await sign(other, { secret }) })
      deliveries += 1
    }
  }
  expect(keys.size).toBe(deliveries)
})

describe('a secret', () => {
  test.each([
    ['zero bytes as text', '\0', 'utf8'],
    ['zero bytes', new Uint8Array(32), 'utf8'],
    ['zero bytes in base64', 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'whsec'],
    ['text in quotes', '"abcdefgh"', 'utf8'],
    ['the text undefined', 'undefined', 'utf8'],
    ['text after U+200B', '\u200babcdefgh', 'utf8'],
    ['bytes that begin with a space', bytes(' abcdefgh'), 'utf8'],
    ['bytes that end with a line break', bytes('abé\n'), 'utf8'],
  ] as const)(
    'of %s is refused, for anyone could sign with it or it cannot be meant',
    (_, value, key) => {
      const scheme = key === 'whsec' ? schemes.standardWebhooks() : schemes.service()
      expect(() => createReceiver({ secret: value, scheme })).toThrow(
        expect.objectContaining({ code: 'SECRET_INVALID' }),
      )
    },
  )

  test('with a misspelt field is refused: it would never expire', () => {
    const wrong = { value: secret, notafter: '2020-01-01T00:00:00Z' }
    expect(() => createReceiver({ secret: wrong as never })).toThrow("Did you mean 'notAfter'?")
  })

  test('that two tenants spell differently is still one secret', () => {
    const scheme = schemes.standardWebhooks()
    const encoded = Buffer.from('0123456789abcdef').toString('base64')
    const pairs = [
      [`whsec_${encoded}`, encoded],
      [`whsec_${encoded}`, Buffer.from('0123456789abcdef')],
      [Buffer.from('0123456789abcdef'), Buffer.from('0123456789abcdef\0')],
    ] as const
    for (const [one, other] of pairs) {
      const both = [
        { value: one, tenant: 'a' },
        { value: other, tenant: 'b' },
      ]
      expect(() => createReceiver({ secret: both, scheme })).toThrow('two tenants have the same')
    }
  })

  test('as the libraries of Standard Webhooks take it is taken', async () => {
    const scheme = schemes.standardWebhooks()
    const key = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwBr'
    const body = bytes('{"a":1}')
    const at = Math.floor(Date.now() / 1000)
    const digest = createHmac('sha256', Buffer.from(key, 'base64')).update(`m.${at}.{"a":1}`)
    const headers = {
      'webhook-id': 'm',
      'webhook-timestamp': String(at),
      'webhook-signature': `v1,${digest.digest('base64')}`,
    }
    for (const value of [key, `whsec_${key}`, `v1,whsec_${key}`]) {
      expect(await verify({ body, headers }, { secret: value, scheme })).toMatchObject({ ok: true })
    }
  })

  test('whose look-up never answers does not hold its delivery', async () => {
    vi.useFakeTimers()
    const receiver = createReceiver({ secret: () => new Promise<string>(() => {}) })
    const outcome = receiver.receive({ body: bytes('{}'), headers: forged })
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await outcome).toMatchObject({ kind: 'failed', code: 'SECRET_UNAVAILABLE' })
    vi.useRealTimers()
  })
})

test("a reply that echoes a sender's line breaks in a header is not sent", async () => {
  const echo = 'a\r\nset-cookie: stolen=1'
  const changes: readonly Record<string, string>[] = [{ 'x-echo': echo }, { [echo]: 'x' }]
  for (const headers of changes) {
    const receiver = createReceiver({ secret, observe() {}, respond: () => ({ headers }) })
    const read = async () => bytes('{}')
    const reply = await receiver.handle({ method: 'POST', headers: forged, read })
    expect(reply.status).toBe(401)
    expect(JSON.stringify(reply)).not.toContain('stolen')
  }
})

test('the tolerance is counted in whole seconds, as the senders count', async () => {
  const scheme = schemes.timestamped({ tolerance: 5 })
  const body = bytes('{"a":1}')
  const signedAt = new Date('2026-01-01T00:00:00.000Z')
  const headers = await sign(body, { secret, scheme, now: () => signedAt })
  const at = (time: string) =>
    verify({ body, headers }, { secret, scheme, now: () => new Date(time) })
  expect(await at('2026-01-01T00:00:05.999Z')).toMatchObject({ ok: true })
  expect(await at('2026-01-01T00:00:06.000Z')).toMatchObject({ ok: false })
  expect(await at('2025-12-31T23:59:55.000Z')).toMatchObject({ ok: true })
})

test('drain ends a body that never arrives', async () => {
  const receiver = createReceiver({ secret })
  const reply = receiver.handle({
    method: 'POST',
    headers: forged,
    read: (reading) => new Promise((resolve) => reading.onStop(resolve)),
  })
  await receiver.drain({ grace: 20 })
  expect((await reply).status).toBe(503)
})
