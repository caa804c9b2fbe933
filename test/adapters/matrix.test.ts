import { request as httpRequest } from 'node:http'
import { createReceiver, sign } from 'idv-webhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exactBodies, notUtf8 } from '../bodies.ts'
import { type Mounted, mounts, rawRequest } from '../mounts.ts'

const secret = 'matrix-secret'
const json = { 'content-type': 'application/json' }

/** Sends a body with an exact length, or in chunks of one byte. */
function post(url: string, body: Uint8Array, headers: Record<string, string>, bytewise = false) {
  return new Promise<{ status: number; text: string; headers: Record<string, unknown> }>(
    (resolve, reject) => {
      const length = bytewise ? {} : { 'content-length': String(body.length) }
      const request = httpRequest(url, { method: 'POST', headers: { ...headers, ...length } })
      request.on('error', reject)
      request.on('response', async (response) => {
        const chunks: Buffer[] = []
        for await (const chunk of response) chunks.push(chunk)
        const text = Buffer.concat(chunks).toString()
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers })
      })
      if (bytewise) for (const byte of body) request.write(Uint8Array.of(byte))
      else request.write(body)
      request.end()
    },
  )
}

const codeOf = (text: string) => (JSON.parse(text) as { code?: string }).code

describe.each(mounts)('$name', ({ start, distinctHeaders }) => {
  const ids: string[] = []
  let bodies: Uint8Array[] = []
  let mounted: Mounted

  beforeAll(async () => {
    const receiver = createReceiver({ secret, maxBytes: 100_000 })
    receiver.on('verification.approved', (event, context) => {
      ids.push(event.data.id)
      bodies.push(context.delivery.body)
    })
    mounted = await start(receiver)
  })
  afterAll(() => mounted.close())

  test.each(exactBodies)('hands on the exact bytes of a body with %s', async (_, body) => {
    for (const bytewise of [false, true]) {
      bodies = []
      const headers = { ...json, ...(await sign(body, { secret })) }
      const reply = await post(mounted.url, body, headers, bytewise)
      expect(reply).toMatchObject({ status: 200, text: '{"outcome":"handled"}' })
      expect(reply.headers['content-type']).toBe('application/json; charset=utf-8')
      expect(Buffer.from(bodies[0] ?? [])).toEqual(Buffer.from(body))
    }
  })

  test('refuses bytes that are not UTF-8 only after the signature was accepted', async () => {
    const signed = await post(mounted.url, notUtf8, {
      ...json,
      ...(await sign(notUtf8, { secret })),
    })
    expect([signed.status, codeOf(signed.text)]).toEqual([400, 'BODY_NOT_UTF8'])
    const forged = await sign(notUtf8, { secret: 'another' })
    const refused = await post(mounted.url, notUtf8, { ...json, ...forged })
    expect([refused.status, codeOf(refused.text)]).toEqual([401, 'SIGNATURE_MISMATCH'])
  })

  test('answers by the outcome table in the error form of the service', async () => {
    const [, body] = exactBodies[0] as (typeof exactBodies)[0]
    const signed = await sign(body, { secret })
    const cases: [Record<string, string>, number, string][] = [
      [json, 401, 'SIGNATURE_MISSING'],
      [{ ...json, 'x-service-signature': 'zz' }, 401, 'SIGNATURE_MALFORMED'],
      [{ ...signed, ...json, 'content-encoding': 'gzip' }, 415, 'ENCODING_UNSUPPORTED'],
      [{ ...signed, 'content-type': 'text/plain' }, 415, 'CONTENT_TYPE_UNSUPPORTED'],
    ]
    for (const [headers, status, code] of cases) {
      const reply = await post(mounted.url, body, headers)
      expect(reply.status).toBe(status)
      expect(JSON.parse(reply.text)).toEqual({
        code,
        message: expect.any(String),
        statusCode: status,
      })
    }
  })

  test('refuses a body beyond the limit, declared or not', async () => {
    const body = new Uint8Array(100_001).fill(0x20)
    const headers = { ...json, ...(await sign(body, { secret })) }
    const declared = await post(mounted.url, body, headers)
    expect([declared.status, codeOf(declared.text)]).toEqual([413, 'BODY_TOO_LARGE'])
    const chunk = `${body.length.toString(16)}\r\n${' '.repeat(body.length)}\r\n0\r\n\r\n`
    const lines = Object.entries({
      ...headers,
      host: 'x',
      'transfer-encoding': 'chunked',
      connection: 'close',
    })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    const answer = await rawRequest(mounted.port, [`POST /webhooks HTTP/1.1\r\n${head}\r\n`, chunk])
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('refuses a repeated signature header', async () => {
    const [, body] = exactBodies[1] as (typeof exactBodies)[0]
    const signature = (await sign(body, { secret }))['x-service-signature']
    const head = [
      'POST /webhooks HTTP/1.1',
      'host: x',
      'connection: close',
      'content-type: application/json',
      `content-length: ${body.length}`,
      `x-service-signature: ${distinctHeaders ? signature : 'deadbeef'}`,
      `x-service-signature: ${distinctHeaders ? signature : 'also-wrong'}`,
    ]
    const answer = await rawRequest(mounted.port, [`${head.join('\r\n')}\r\n\r\n`, body])
    if (distinctHeaders) expect(answer).toMatch(/^HTTP\/1\.1 400 .*HEADER_AMBIGUOUS/s)
    else expect(answer).toMatch(/^HTTP\/1\.1 401 .*SIGNATURE_MALFORMED/s)
  })

  test('answers 405 with Allow to a method other than POST', async () => {
    const reply = await fetch(mounted.url, { method: 'PUT', body: '{}' })
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'POST'])
    expect(await reply.json()).toMatchObject({ statusCode: 405 })
  })

  test('lives on when a sender goes away in the middle of a body', async () => {
    const [, body] = exactBodies[2] as (typeof exactBodies)[0]
    const headers = { ...json, ...(await sign(body, { secret })) }
    await new Promise<void>((resolve) => {
      const request = httpRequest(mounted.url, {
        method: 'POST',
        headers: { ...headers, 'content-length': String(body.length) },
      })
      request.on('error', () => resolve())
      request.write(body.subarray(0, 10), () => setImmediate(() => request.destroy()))
      request.on('close', () => resolve())
    })
    expect((await post(mounted.url, body, headers)).status).toBe(200)
  })
})
