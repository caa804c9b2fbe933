import {
  createReceiver,
  logOutcomes,
  type Observe,
  schemes,
  sign,
  toReply,
  verify,
} from 'idv-webhooks'
import { testSecret } from 'idv-webhooks/testing'
import { describe, expect, test, vi } from 'vitest'

const secret = 'diagnose-secret'
const utf8 = (text: string) => new TextEncoder().encode(text)
const json = {
  event: 'verification.approved',
  note: 'café / path',
  n: 1,
  data: { id: 'ver_1', a: [1, 2] },
}
const compact = JSON.stringify(json)

/** The diagnosis of `arrived` if the sender signed `signed`. */
async function diagnosis(signed: string | Uint8Array, arrived: string | Uint8Array) {
  const headers = await sign(signed, { secret })
  const body = typeof arrived === 'string' ? utf8(arrived) : arrived
  const result = await verify({ body, headers }, { secret })
  if (result.ok) throw new Error('it verifies')
  return result.diagnose()
}

const sorted = JSON.stringify({
  data: { a: [1, 2], id: 'ver_1' },
  event: json.event,
  n: 1,
  note: json.note,
})

describe('a diagnosis names only a proved cause', () => {
  test('the public test secret signed it, as it signs masked captures', async () => {
    const body = utf8(compact)
    const headers = await sign(body, { secret: testSecret })
    const result = await verify({ body, headers }, { secret })
    expect(!result.ok && (await result.diagnose())).toMatchObject({
      cause: 'test-secret',
      fix: expect.stringContaining('replay --resign'),
    })
  })

  test.each([
    ['written compactly', compact, JSON.stringify(json, null, 3)],
    ['indented by 2', JSON.stringify(json, null, 2), compact],
    ['indented by 4 with a line break', `${JSON.stringify(json, null, 4)}\n`, compact],
    ['with spaces after , and :', compact.replaceAll('":', '": ').replaceAll(',', ', '), compact],
    ['with sorted keys', sorted, compact],
    ['with escaped letters', compact.replace('é', '\\u00e9'), compact],
    ['with escaped slashes', compact.replace('/', '\\/'), compact],
  ])('the body was written again: signed %s', async (_, signed, arrived) => {
    expect(await diagnosis(signed, arrived)).toMatchObject({
      cause: 'body-reserialized',
      fix: expect.stringContaining('before any body parser'),
    })
  })

  test.each([
    ['a Buffer', (text: string) => Buffer.from(text)],
    ['a Uint8Array', utf8],
  ])('the bytes were sent as the JSON of %s', async (_, bytesOf) => {
    const arrived = JSON.stringify(bytesOf(compact))
    expect(await diagnosis(compact, arrived)).toMatchObject({
      cause: 'bytes-as-json',
      fix: expect.stringContaining('as they are'),
    })
    const others = arrived.replace(/\d+(?=\D*$)/, '256')
    expect(await diagnosis(compact, others)).toBeUndefined()
    expect(await diagnosis(compact, JSON.stringify(bytesOf('not signed')))).toBeUndefined()
  })

  test('a line break at the end came or went', async () => {
    for (const end of ['\n', '\r\n']) {
      for (const text of [compact, 'not json']) {
        expect(await diagnosis(text, text + end)).toMatchObject({ cause: 'trailing-newline' })
        expect(await diagnosis(text + end, text)).toMatchObject({ cause: 'trailing-newline' })
      }
    }
  })

  test('a byte order mark came or went', async () => {
    expect(await diagnosis(`\uFEFF${compact}`, compact)).toMatchObject({ cause: 'byte-order-mark' })
    expect(await diagnosis(compact, `\uFEFF${compact}`)).toMatchObject({ cause: 'byte-order-mark' })
  })

  test('the secret is outside its validity', async () => {
    const now = () => new Date('2026-06-01T00:00:00Z')
    const headers = await sign(compact, { secret: 'old-value' })
    for (const [times, hint] of [
      [{ notAfter: '2026-05-01T00:00:00Z' }, 'no longer'],
      [{ notBefore: '2026-07-01T00:00:00Z' }, 'not valid yet'],
    ] as const) {
      const secrets = [{ id: 'old', value: 'old-value', ...times }, { value: 'new-value' }]
      const result = await verify({ body: utf8(compact), headers }, { secret: secrets, now })
      expect(!result.ok && (await result.diagnose())).toMatchObject({
        cause: 'secret-outside-validity',
        message: expect.stringMatching(`secret old.*${hint}`),
      })
    }
  })

  test('the secret has to be decoded differently', async () => {
    const secret = Buffer.from('a secret of the sender').toString('base64')
    const headers = await sign(compact, { secret: Buffer.from(secret, 'base64') })
    const result = await verify({ body: utf8(compact), headers }, { secret })
    const found = !result.ok && (await result.diagnose())
    expect(found).toMatchObject({
      cause: 'secret-encoding',
      fix: expect.stringContaining("'base64'"),
    })
    expect(JSON.stringify(found)).not.toContain(secret)
  })

  test('a genuine delivery is late, a forged one is not called so', async () => {
    const scheme = schemes.standardWebhooks()
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const now = () => new Date('2026-06-01T00:00:00Z')
    const late = () => new Date('2026-06-01T01:00:00Z')
    const headers = await sign(compact, { secret, scheme, now })
    const say = async (body: string) => {
      const result = await verify({ body: utf8(body), headers }, { secret, scheme, now: late })
      return result.ok ? result : [result.code, await result.diagnose()]
    }
    expect(await say(compact)).toMatchObject([
      'TIMESTAMP_OUTSIDE_TOLERANCE',
      { cause: 'clock-skew', message: expect.stringContaining('3600 s') },
    ])
    expect(await say('{}')).toEqual(['TIMESTAMP_OUTSIDE_TOLERANCE', undefined])
  })

  test('and nothing is said of what cannot be proved', async () => {
    expect(await diagnosis('something else', compact)).toBeUndefined()
    expect(await diagnosis('x', '['.repeat(200_000))).toBeUndefined()
    expect(await diagnosis('x', Uint8Array.of(0xff, 0xfe))).toBeUndefined()
    const result = await verify({ body: utf8(compact), headers: {} }, { secret })
    expect(!result.ok && (await result.diagnose())).toBeUndefined()
  })
})

test('a diagnosis never reaches the sender', async () => {
  const receiver = createReceiver({ secret })
  const body = utf8(`${compact}\n`)
  const outcome = await receiver.receive({ body, headers: await sign(compact, { secret }) })
  expect(outcome.kind === 'rejected' && (await outcome.diagnose())).toBeTruthy()
  expect(JSON.stringify(toReply(outcome))).not.toMatch(/newline|line break/)
})

test('the log helper diagnoses under a budget and logs no data', async () => {
  const lines: string[] = []
  let now = new Date('2026-06-01T00:00:00Z')
  const wrote = Promise.withResolvers<void>()
  const write = (line: string) => {
    lines.push(line)
    if (lines.length === 7) wrote.resolve()
  }
  const observe = logOutcomes({ write, diagnosesPerMinute: 2 })
  const receiver = createReceiver({ secret, observe, now: () => now })
  receiver.on('client.created', () => {
    throw Object.assign(new RangeError('Canary Person'), { row: 'Canary' })
  })
  const forged = { body: utf8(`${compact}\n`), headers: await sign(compact, { secret }) }
  for (let sent = 0; sent < 4; sent++) await receiver.receive(forged)
  now = new Date('2026-06-01T00:01:00Z')
  await receiver.receive(forged)
  const body = utf8('{"event":"client.created","data":{"id":"c","email":"canary@person.test"}}')
  await receiver.receive({ body, headers: await sign(body, { secret }) })
  await wrote.promise
  const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(logged.filter((line) => line.diagnosis)).toHaveLength(3)
  expect(logged.find((line) => line.kind === 'failed')).toMatchObject({
    code: 'HANDLER_FAILED',
    name: 'client.created',
    handlers: [{ error: expect.stringMatching(/^RangeError at /) }],
  })
  expect(lines.join('\n')).not.toMatch(/canary/i)
})

test('an observer that diagnoses every forgery of a flood holds 64 of their bodies at most', async () => {
  const found: unknown[] = []
  const observe: Observe = (seen) =>
    seen.type === 'outcome' ? seen.diagnose().then((one) => found.push(one)) : undefined
  const receiver = createReceiver({ secret: 'diagnosed', observe })
  const headers = await sign('{"a":1}', { secret: 'diagnosed' })
  for (let forgery = 0; forgery < 200; forgery++) {
    const body = new TextEncoder().encode(forgery === 0 ? '{ "a": 1 }' : `{"a":${forgery + 1}}`)
    await receiver.receive({ body, headers })
  }
  // Most had no place in the queue; the first is diagnosed all the same.
  expect(found.length).toBeGreaterThan(100)
  await vi.waitUntil(() => found.length === 200, { timeout: 10_000 })
  expect(found.filter(Boolean)).toMatchObject([{ cause: 'body-reserialized' }])
})
