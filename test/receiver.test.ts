import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type BodyReading,
  createReceiver,
  createWorker,
  logOutcomes,
  type Observation,
  type Outcome,
  type ReceiverOptions,
  type RespondOption,
  sign,
  toReply,
  WebhookError,
  type WebhookEvent,
} from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { afterEach, describe, expect, test, vi } from 'vitest'

const secret = 'receiver-secret'
const envelope = (event: string, data: object = { id: 'ver_1' }) => ({ id: 'evt_1', event, data })

async function delivery(body: unknown, headers: Record<string, string> = {}) {
  const bytes = new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))
  return { body: bytes, headers: { ...(await sign(bytes, { secret })), ...headers } }
}

function fresh(options: Partial<ReceiverOptions> = {}) {
  const seen: Observation[] = []
  const receiver = createReceiver({ secret, observe: (one) => seen.push(one), ...options })
  return {
    receiver,
    seen,
    deliver: async (body: unknown) => receiver.receive(await delivery(body)),
  }
}

const warnings: { code?: string; message: string }[] = []
const listen = (warning: Error & { code?: string }) => warnings.push(warning)
process.on('warning', listen)
afterEach(() => {
  warnings.length = 0
  vi.unstubAllEnvs()
})
const warned = async (code: string) => {
  await delay(0)
  return warnings.filter((one) => one.code === code).map((one) => one.message)
}

describe('handlers', () => {
  test('all that match run in the order of registration, each awaited', async () => {
    const { receiver, deliver } = fresh()
    const ran: string[] = []
    const note = (name: string) => async () => {
      ran.push(`${name} begins`)
      await delay(1)
      ran.push(`${name} ends`)
    }
    receiver
      .on('*', note('all'))
      .on('verification.approved', note('one'))
      .on(['client.created', 'verification.approved', 'verification.*'], note('list'))
      .on('client.*', note('never'))
      .fallback(note('never'))
    expect(await deliver(envelope('verification.approved'))).toMatchObject({ kind: 'handled' })
    expect(ran).toEqual(
      ['all', 'one', 'list'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    )
  })

  test('one that throws does not stop the others, and all errors are kept together', async () => {
    const { receiver, deliver } = fresh()
    const ran: string[] = []
    receiver
      .on(
        'verification.approved',
        () => {
          throw new Error('first')
        },
        { id: 'billing' },
      )
      .on('verification.approved', () => ran.push('second'))
      .on('verification.approved', async () => Promise.reject('third'))
    const outcome = await deliver(envelope('verification.approved'))
    expect(ran).toEqual(['second'])
    expect(outcome).toMatchObject({
      kind: 'failed',
      code: 'HANDLER_FAILED',
      errors: [
        { handler: 'billing', error: new Error('first') },
        { handler: 'verification.approved#3', error: 'third' },
      ],
    })
  })

  test('get unknown events by * and the fallback, never by a family', async () => {
    const { receiver, deliver } = fresh()
    const ran: [string, WebhookEvent['known']][] = []
    receiver.on('verification.*', () => ran.push(['family', true]))
    receiver.fallback((event) => ran.push([event.name, event.known]))
    await deliver(envelope('verification.archived'))
    await deliver(envelope('client.created', { id: 'c' }))
    expect(ran).toEqual([
      ['verification.archived', false],
      ['client.created', true],
    ])
  })

  test('that are not there leave an event ignored', async () => {
    expect(await fresh().deliver(envelope('client.deleted', { id: 'c' }))).toMatchObject({
      kind: 'ignored',
      event: { name: 'client.deleted' },
    })
  })

  test('are stopped at their time limit, by signal and by verdict', async () => {
    const { receiver, deliver } = fresh({ handlerTimeout: 20 })
    const aborted: unknown[] = []
    const ran: string[] = []
    receiver.on('verification.approved', async (_, { signal }) => {
      signal.addEventListener('abort', () => aborted.push(signal.reason))
      await new Promise(() => {})
    })
    receiver.on('verification.approved', () => ran.push('next'))
    const outcome = await deliver(envelope('verification.approved'))
    expect(outcome).toMatchObject({ kind: 'failed', code: 'HANDLER_TIMEOUT' })
    expect(aborted).toMatchObject([{ name: 'TimeoutError' }])
    expect(ran).toEqual(['next'])
  })

  test('that reject after their time limit have no effect', async () => {
    const { receiver, deliver } = fresh({ handlerTimeout: 5 })
    const late = Promise.withResolvers<never>()
    receiver.on('verification.approved', () => late.promise)
    expect(await deliver(envelope('verification.approved'))).toMatchObject({
      code: 'HANDLER_TIMEOUT',
    })
    late.reject(new Error('too late'))
    await delay(0)
  })

  test('are told the attempt, a stable key, the secret and the exact delivery', async () => {
    const { receiver } = fresh()
    const contexts: unknown[] = []
    receiver.on('*', (_, { attempt, idempotencyKey, secretId, delivery }) =>
      contexts.push([attempt, idempotencyKey, secretId, new TextDecoder().decode(delivery.body)]),
    )
    const withId = await delivery(envelope('client.created'))
    const without = await delivery({ event: 'client.created', data: { id: 'c' } })
    for (const one of [withId, without, without]) await receiver.receive(one)
    const digest = expect.stringMatching(/^sha256=[0-9a-f]{64}$/)
    expect(contexts).toEqual([
      [1, 'evt_1', undefined, JSON.stringify(envelope('client.created'))],
      [1, digest, undefined, expect.any(String)],
      [1, digest, undefined, expect.any(String)],
    ])
    expect(contexts[1]).toEqual(contexts[2])
  })

  test('read the current resource with a client, null once it is gone', async () => {
    const get = async (id: string) => {
      if (id === 'gone') throw Object.assign(new Error('not found'), { status: 404 })
      if (id === 'down') throw Object.assign(new Error('later'), { status: 500 })
      return { id, score: 97 } as never
    }
    const { receiver, deliver } = fresh({ client: { verifications: { get }, clients: { get } } })
    const got: unknown[] = []
    receiver.on('*', async (_, { fetch }) => got.push(await fetch()))
    await deliver(envelope('request.approved', { id: 'ver_1' }))
    await deliver(envelope('client.deleted', { id: 'gone' }))
    await deliver(envelope('other.thing', { id: 'x' }))
    expect(got).toEqual([{ id: 'ver_1', score: 97 }, null, null])
    expect(await deliver(envelope('client.updated', { id: 'down' }))).toMatchObject({
      kind: 'failed',
    })
    const alone = fresh()
    alone.receiver.on('*', (_, { fetch }) => fetch())
    expect(await alone.deliver(envelope('client.updated'))).toMatchObject({
      errors: [{ error: { code: 'CLIENT_MISSING' } }],
    })
  })
})

describe('registration', () => {
  test('of an unknown name throws with the nearest known one', () => {
    const { receiver } = fresh()
    const on = (name: string) => () => receiver.on(name as never, () => {})
    for (const [name, nearest] of [
      ['verification.aproved', 'verification.approved'],
      ['client.update', 'client.updated'],
      ['clients.*', 'client.*'],
      ['request.*x', 'request'],
    ] as const) {
      expect(on(name)).toThrow(expect.objectContaining({ code: 'EVENT_NAME_UNKNOWN' }))
      if (nearest !== 'request') expect(on(name)).toThrow(`Did you mean '${nearest}'`)
    }
    expect(() => receiver.on([], () => {})).toThrow(
      expect.objectContaining({ code: 'EVENT_NAME_UNKNOWN' }),
    )
    expect(() => receiver.on(undefined as never, () => {})).toThrow(
      expect.objectContaining({ code: 'EVENT_NAME_UNKNOWN' }),
    )
  })

  test('after the first delivery throws', async () => {
    const { receiver, deliver } = fresh()
    await deliver(envelope('client.created'))
    const code = expect.objectContaining({ code: 'REGISTERED_TOO_LATE' })
    expect(() => receiver.on('client.created', () => {})).toThrow(code)
    expect(() => receiver.fallback(() => {})).toThrow(code)
  })

  test('of no function or under a taken id throws', () => {
    const { receiver } = fresh()
    const code = expect.objectContaining({ code: 'HANDLER_INVALID' })
    expect(() => receiver.on('client.created', undefined as never)).toThrow(code)
    receiver.on('client.created', () => {}, { id: 'mine' })
    expect(() => receiver.on('client.updated', () => {}, { id: 'mine' })).toThrow(code)
  })

  test('of a legacy name registers the canonical one and warns once per name', async () => {
    const { receiver, deliver } = fresh()
    const names: string[] = []
    receiver.on('request.approved', (event) => names.push(`${event.name} ${event.receivedName}`))
    receiver.on('request.approved', () => {})
    receiver.on('request.*', () => {})
    await deliver(envelope('verification.approved'))
    await deliver(envelope('request.approved'))
    expect(names).toEqual([
      'verification.approved verification.approved',
      'verification.approved request.approved',
    ])
    expect(await warned('IDV_LEGACY_NAME')).toEqual([
      expect.stringContaining("'verification.approved'"),
      expect.stringContaining("'verification.*'"),
    ])
  })
})

describe('observe', () => {
  test('sees every outcome and attempt, legacy arrivals told apart, and no data', async () => {
    const { receiver, seen, deliver } = fresh()
    receiver.on('verification.approved', () => {}, { id: 'mine' })
    await deliver(envelope('request.approved', { id: 'ver_1', subjectName: 'Canary Person' }))
    await receiver.receive({ body: new Uint8Array(3), headers: {} })
    expect(seen).toMatchObject([
      { type: 'attempt', name: 'verification.approved', handler: 'mine', attempt: 1, ok: true },
      {
        type: 'outcome',
        kind: 'handled',
        name: 'verification.approved',
        receivedName: 'request.approved',
        legacy: true,
        eventId: 'evt_1',
      },
      { type: 'outcome', kind: 'rejected', code: 'SIGNATURE_MISSING', legacy: false, bytes: 3 },
    ])
    expect(JSON.stringify(seen)).not.toContain('Canary')
  })

  test('may throw without touching the delivery', async () => {
    const { deliver } = fresh({
      observe: () => {
        throw new Error('metrics are down')
      },
    })
    expect(await deliver(envelope('client.created'))).toMatchObject({ kind: 'ignored' })
    expect(await warned('IDV_OBSERVE_FAILED')).toHaveLength(1)
  })

  test('may reject without ending the process, and so may the writer of a log', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', note)
    const late = fresh({ observe: async () => Promise.reject(new RangeError('down')) })
    expect(await late.deliver(envelope('client.created'))).toMatchObject({ kind: 'ignored' })
    const write = () => {
      throw new SyntaxError('disk full')
    }
    const logged = fresh({ observe: logOutcomes({ write }) })
    const { receiver } = logged
    const one = await delivery(envelope('client.created'))
    await receiver.receive({ ...one, headers: await sign('other', { secret }) })
    await vi.waitFor(async () => expect(await warned('IDV_OBSERVE_FAILED')).toHaveLength(2))
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })

  test('left out, a failure on our side becomes a warning without the error text', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    const receiver = createReceiver({ secret })
    receiver.on(
      'client.created',
      () => {
        throw new TypeError('Canary Person is unknown')
      },
      { id: 'crm' },
    )
    const one = await delivery(envelope('client.created'))
    await receiver.receive(one)
    await receiver.receive(one)
    const [message, ...more] = await warned('IDV_HANDLER_FAILED')
    expect(message).toMatch(/client\.created.*crm: TypeError.*receiver\.test/)
    expect(message).not.toContain('Canary')
    expect(more).toEqual([])
  })

  test('left out, an error of our own is told with its code and fix, no derived one', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    class Derived extends WebhookError {}
    const receiver = createReceiver({ secret })
    receiver.on('client.created', (_, context) => context.fetch(), { id: 'reader' })
    receiver.on(
      'client.created',
      () => {
        throw new Derived('OPTION_INVALID', 'Canary Person is unknown')
      },
      { id: 'derived' },
    )
    await receiver.receive(await delivery(envelope('client.created')))
    const [message] = await warned('IDV_HANDLER_FAILED')
    expect(message).toMatch(/reader: WebhookError CLIENT_MISSING: .*createClient\(\{ … \}\)/)
    expect(message).toMatch(/derived: WebhookError at /)
    expect(message).not.toContain('Canary')
  })

  test('left out, a handler that fails on an entry of an inbox becomes one warning', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    const receiver = createReceiver({ secret, inbox: createInbox({ store: memoryStore() }) })
    const thrower = () => {
      throw new TypeError('Canary Person is unknown')
    }
    receiver.on('client.created', thrower, { id: 'ledger' })
    for (const id of ['evt_1', 'evt_2']) {
      await receiver.receive(await delivery({ ...envelope('client.created'), id }))
    }
    await createWorker(receiver).runOnce()
    const [message, ...more] = (await warned('IDV_HANDLER_FAILED')).filter((one) =>
      one.includes('ledger'),
    )
    expect(message).toMatch(/handler ledger failed for client\.created: TypeError.*receiver\.test/)
    expect(message).not.toContain('Canary')
    expect(more).toEqual([])
  })

  test('left out, a store that fails is told with the reason and the way on', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    const file = join(tmpdir(), 'idv-no-such-folder', 'inbox.db')
    const inbox = createInbox({ store: sqliteStore(file) })
    const receiver = createReceiver({ secret, inbox })
    await receiver.receive(await delivery(envelope('client.created')))
    const [message] = await warned('IDV_STORE_UNAVAILABLE')
    expect(message).toMatch(/WebhookError STORE_FAILED: folder .* does not exist: create it/)
  })
})

describe('what a sender or a bad mount does', () => {
  test('an event in place of a delivery is an error that says how to make one', async () => {
    const { receiver } = fresh()
    for (const wrong of [undefined, 'text', { event: 'client.created', data: {} }]) {
      await expect(receiver.receive(wrong as never)).rejects.toThrow(
        /delivery.*signedDelivery\(event\)/,
      )
    }
  })

  test('never makes receive throw', async () => {
    const { receiver } = fresh()
    const bodies = [undefined, null, 'text', { parsed: true }, new ArrayBuffer(1)]
    for (const body of bodies) {
      const outcome = await receiver.receive({ body: body as never, headers: {} })
      expect(outcome).toMatchObject({ kind: 'failed', code: 'BODY_CONSUMED' })
    }
    const hostile: never[] = [
      { 'x-service-signature': 'é\r\n☃' },
      [['a', 'b']],
      new Map(),
      {},
    ] as never[]
    for (const headers of hostile) {
      const outcome = await receiver.receive({ body: new Uint8Array(), headers })
      expect(outcome).toMatchObject({ kind: 'rejected' })
    }
  })

  test('costs no stack trace and runs no handler and no parser before the signature holds', async () => {
    const parsed = vi.spyOn(JSON, 'parse')
    const decoded = vi.spyOn(TextDecoder.prototype, 'decode')
    const traced = vi.spyOn(Error, 'captureStackTrace')
    let errors = 0
    const prepare = Error.prepareStackTrace
    Error.prepareStackTrace = (error) => {
      errors += 1
      return String(error)
    }
    const { receiver } = fresh()
    let handled = 0
    receiver.on('*', () => {
      handled += 1
    })
    const good = await delivery(envelope('client.created'))
    const forged = { ...good, headers: await sign('other', { secret }) }
    const kinds: string[] = []
    for (const one of [
      forged,
      { ...good, headers: {} },
      { ...good, headers: { 'x-service-signature': 'zz' } },
    ]) {
      const outcome = await receiver.receive(one)
      kinds.push('code' in outcome ? outcome.code : outcome.kind)
    }
    const counts = [parsed, decoded, traced].map((spy) => spy.mock.calls.length)
    vi.restoreAllMocks()
    Error.prepareStackTrace = prepare
    expect(kinds).toEqual(['SIGNATURE_MISMATCH', 'SIGNATURE_MISSING', 'SIGNATURE_MALFORMED'])
    expect([...counts, errors, handled]).toEqual([0, 0, 0, 0, 0])
  })

  test('is answered only by its code: no error text, stack, secret or body reaches the sender', async () => {
    const { receiver } = fresh()
    receiver.on('client.created', () => {
      throw new Error('db password=hunter2')
    })
    const one = await delivery(envelope('client.created', { id: 'c', email: 'canary@person.test' }))
    const reply = toReply(await receiver.receive(one))
    expect(reply).toEqual({
      status: 500,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: '{"code":"HANDLER_FAILED","message":"the event could not be handled","statusCode":500}',
    })
  })

  test('with an envelope function of ours that breaks is a refusal, not a crash', async () => {
    const { deliver } = fresh({
      envelope: () => {
        throw new Error('bug')
      },
    })
    expect(await deliver(envelope('client.created'))).toMatchObject({ code: 'ENVELOPE_INVALID' })
  })
})

describe('respond', () => {
  const reply = (outcome: Partial<Outcome>, respond: ReceiverOptions['respond']) =>
    toReply(outcome as Outcome, respond as RespondOption)

  test('overrides the outcome table by kind or, more closely, by code', () => {
    expect(reply({ kind: 'duplicate' }, { duplicate: 204 }).status).toBe(204)
    const respond = { rejected: 400, SIGNATURE_MISMATCH: { status: 403, headers: { 'x-a': 'b' } } }
    const text = { rejected: { headers: { 'Content-Type': 'text/plain' }, body: 'no' } }
    expect(reply({ kind: 'rejected', code: 'SIGNATURE_MISSING' }, text).headers).toEqual({
      'Content-Type': 'text/plain',
    })
    expect(reply({ kind: 'rejected', code: 'SIGNATURE_MISSING' }, respond)).toMatchObject({
      status: 400,
      body: expect.stringContaining('"statusCode":400'),
    })
    expect(reply({ kind: 'rejected', code: 'SIGNATURE_MISMATCH' }, respond)).toMatchObject({
      status: 403,
      headers: { 'x-a': 'b', 'content-type': expect.any(String) },
    })
  })

  test.each([
    [{ surprise: 200 }],
    [{ failed: 200 }],
    [{ STORE_UNAVAILABLE: { status: 202 } }],
    [{ handled: 99 }],
    [{ handled: 200.5 }],
    [404],
    [null],
    [{ rejected: null }],
    [{ rejected: '404' }],
    [{ rejected: [404] }],
    [{ rejected: () => 404 }],
    [{ SIGNATURE_MISSING: { status: 400, body: { hint: 'sign it' } } }],
    [{ OVERLOADED: { headers: { 'x-note': 'prüfen – bitte' } } }],
    [{ OVERLOADED: { headers: { 'x note': 'a' } } }],
    [{ OVERLOADED: { headers: { 'x-note': 'a\r\nb' } } }],
    [{ OVERLOADED: { headers: { 'x-note': undefined } } }],
    [{ OVERLOADED: { headers: { 'x-note': {} } } }],
    [{ OVERLOADED: { headers: 'x-note: a' } }],
    [{ OVERLOADED: { headers: [['x-note', 'a']] } }],
    [{ OVERLOADED: { headers: new Headers({ 'x-note': 'a' }) } }],
  ])('%j is refused at creation', (respond) => {
    expect(() => createReceiver({ secret, respond: respond as never })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })
})

test('respond takes what every server can send', () => {
  const headers = { 'retry-after': 30, 'set-cookie': ['a=1', 'b=2'], 'x-note': 'caf\u00e9' }
  for (const override of [404, undefined, {}, { body: '' }, { headers }, { body: null }]) {
    createReceiver({ secret, respond: { rejected: override as never } })
  }
})

describe('bounds', () => {
  test.each([
    ['maxBytes', 0],
    ['maxBytes', -1],
    ['maxBytes', 1.5],
    ['maxBytes', Number.NaN],
    ['maxBytes', Number.POSITIVE_INFINITY],
    ['maxBytes', '1mb'],
    ['maxBytes', null],
    ['maxInFlightBytes', 10],
    ['handlerTimeout', 0],
    ['handlerTimeout', 2 ** 31],
    ['observe', 'console'],
    ['now', new Date()],
    ['inbox', {}],
    ['scheme', { name: 'x' }],
    ['sceret', 'typo'],
  ])('%s: %s is refused at creation', (option, value) => {
    const make = () => createReceiver({ secret, [option]: value as never })
    expect(make).toThrow(expect.objectContaining({ name: 'WebhookError' }))
    expect(make).toThrow(option)
  })

  test('a read that gives neither bytes nor a known fault is a body that was consumed', async () => {
    const { receiver, seen } = fresh()
    const { headers } = await delivery({ event: 'client.created', data: {} })
    for (const given of ['text', undefined, null, {}, { code: 'x' }, new ArrayBuffer(1)]) {
      const reply = await receiver.handle({
        method: 'POST',
        headers,
        read: async () => given as never,
      })
      expect(reply, String(given)).toMatchObject({ status: 503 })
      const message = expect.stringMatching(/^`read` must resolve to the exact bytes/)
      expect(seen.at(-1), String(given)).toMatchObject({ code: 'BODY_CONSUMED', message })
    }
  })

  test('a body that is too large is refused, by its length or its bytes', async () => {
    const { receiver } = fresh({ maxBytes: 100 })
    const one = await delivery(`"${'x'.repeat(99)}"`)
    expect(await receiver.receive(one)).toMatchObject({ code: 'BODY_TOO_LARGE' })
    let read = 0
    const handled = await receiver.handle({
      method: 'POST',
      headers: { ...one.headers, 'content-length': '101' },
      read: async () => {
        read += 1
        return one.body
      },
    })
    expect([handled.status, read]).toEqual([413, 0])
  })

  test('the body of a request without a well-formed signature is not read', async () => {
    const { receiver } = fresh()
    for (const headers of [
      {},
      { 'x-service-signature': 'zz' },
      [
        ['x-service-signature', 'a'],
        ['X-Service-Signature', 'b'],
      ],
    ]) {
      const reply = await receiver.handle({
        method: 'POST',
        headers: headers as never,
        read: () => {
          throw new Error('read')
        },
      })
      expect([400, 401]).toContain(reply.status)
    }
  })

  test('bytes in flight count as they arrive: beyond the bound 503', async () => {
    const { receiver } = fresh({ maxBytes: 100, maxInFlightBytes: 150 })
    const { headers, body } = await delivery(envelope('client.created'))
    const gate = Promise.withResolvers<Uint8Array>()
    const late = Promise.withResolvers<Uint8Array>()
    const idle = receiver.handle({ method: 'POST', headers, read: () => late.promise })
    const held = receiver.handle({
      method: 'POST',
      headers,
      read: async (reading) => reading.take(100) ?? gate.promise,
    })
    const read = async (reading: BodyReading) => reading.take(body.length) ?? body
    const refused = await receiver.handle({ method: 'POST', headers, read })
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5'])
    expect(refused.body).toContain('OVERLOADED')
    gate.resolve(body)
    expect((await held).status).toBe(200)
    late.resolve(body)
    expect((await idle).status).toBe(200)
    const last = await receiver.handle({ method: 'POST', headers, read })
    expect(last.status).toBe(200)
  })

  test('one address holds at most half of the bytes in flight', async () => {
    const { receiver } = fresh({ maxBytes: 100, maxInFlightBytes: 400 })
    const { headers, body } = await delivery(envelope('client.created'))
    const gate = Promise.withResolvers<Uint8Array>()
    const hold = (address: string) =>
      receiver.handle({
        method: 'POST',
        headers,
        address,
        read: async (reading) => reading.take(100) ?? gate.promise,
      })
    const strangers = [hold('203.0.113.9'), hold('203.0.113.9')]
    expect((await hold('203.0.113.9')).status).toBe(503)
    const read = async (reading: BodyReading) => reading.take(body.length) ?? body
    const sender = { method: 'POST', headers, address: '198.51.100.1', read }
    expect((await receiver.handle(sender)).status).toBe(200)
    gate.resolve(body)
    expect((await Promise.all(strangers)).map(({ status }) => status)).toEqual([200, 200])
  })

  test('an adapter may count a body, or reserve its bytes first', async () => {
    const { receiver } = fresh()
    const { headers, body } = await delivery(envelope('client.created'))
    const reserved = async (reading: BodyReading) => {
      reading.onStop(() => {})
      if (body.length > reading.limit) return { code: 'BODY_TOO_LARGE' } as const
      return reading.reserve(body.length) ? body : (reading.take(body.length) ?? body)
    }
    expect((await receiver.handle({ method: 'POST', headers, read: reserved })).status).toBe(200)
    const read = async (reading: BodyReading) => reading.take(body.length) ?? body
    expect((await receiver.handle({ method: 'POST', headers, read })).status).toBe(200)
  })

  test('a body that does not arrive within bodyTimeout is refused', async () => {
    const { receiver, seen } = fresh({ bodyTimeout: 20 })
    const { headers } = await delivery(envelope('client.created'))
    const reply = await receiver.handle({
      method: 'POST',
      headers,
      read: (reading) => new Promise((resolve) => reading.onStop(resolve)),
    })
    expect(reply.status).toBe(400)
    expect(seen).toMatchObject([{ code: 'BODY_INCOMPLETE' }])
  })
})

describe('drain', () => {
  test('several side by side all end, idle or at work', async () => {
    const { receiver } = fresh()
    await Promise.all([receiver.drain(), receiver.drain({ grace: 5 }), receiver.drain()])
    const { receiver: busy } = fresh()
    const { promise, resolve } = Promise.withResolvers<void>()
    busy.on('*', () => promise)
    const outcome = busy.receive(await delivery(envelope('client.created')))
    const drains = [busy.drain(), busy.drain()]
    await new Promise((turn) => setTimeout(turn, 5))
    drains.push(busy.drain())
    const isOver = vi.fn()
    void Promise.race(drains).then(isOver)
    await new Promise((turn) => setTimeout(turn, 5))
    expect(isOver).not.toHaveBeenCalled()
    resolve()
    await Promise.all(drains)
    expect(await outcome).toMatchObject({ kind: 'handled' })
  })

  test('ends the work in flight, rejects later deliveries and aborts handlers that take too long', async () => {
    const { receiver } = fresh()
    const started = Promise.withResolvers<void>()
    let begun = 0
    receiver.on('client.created', async (_, { signal }) => {
      begun += 1
      started.resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    const one = await delivery(envelope('client.created'))
    const atWork = receiver.receive(one)
    await started.promise
    const drained = receiver.drain({ grace: 10 })
    const late = await receiver.receive(one)
    expect(late).toMatchObject({ kind: 'failed', code: 'DRAINING' })
    expect(begun).toBe(1)
    expect(toReply(late)).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
    await drained
    expect(await atWork).toMatchObject({ kind: 'failed', code: 'DRAINING' })
  })

  test('waits for the answer that a function makes', async () => {
    const { promise, resolve } = Promise.withResolvers<number>()
    const { receiver } = fresh({ respond: () => promise })
    const { body, headers } = await delivery(envelope('client.created'))
    const reply = receiver.handle({ method: 'POST', headers, read: async () => body })
    await new Promise((turn) => setTimeout(turn, 5))
    const isOver = vi.fn()
    const drained = receiver.drain().then(isOver)
    await new Promise((turn) => setTimeout(turn, 20))
    expect(isOver).not.toHaveBeenCalled()
    resolve(204)
    expect((await reply).status).toBe(204)
    await drained
  })

  test('does not wait for the answers to later deliveries', async () => {
    const { receiver } = fresh({
      respond: () => new Promise((resolve) => setTimeout(resolve, 60, 204)),
    })
    const { body, headers } = await delivery(envelope('client.created'))
    const deliver = () => receiver.handle({ method: 'POST', headers, read: async () => body })
    const first = deliver()
    await new Promise((turn) => setTimeout(turn, 5))
    const drained = receiver.drain()
    const flood = setInterval(() => void deliver(), 10)
    await drained
    clearInterval(flood)
    expect((await first).status).toBe(204)
  })

  test('ends although the clock failed as an outcome was observed', async () => {
    let calls = 0
    const now = () => {
      calls += 1
      if (calls > 1) throw new Error('no clock')
      return new Date()
    }
    const { receiver } = fresh({ now })
    const unsigned = receiver.receive({ body: new Uint8Array(), headers: {} })
    expect(await unsigned).toMatchObject({ code: 'SIGNATURE_MISSING' })
    await receiver.drain()
  })
})

test('with an inbox answers by the result of keeping, and 503 when it could not keep', async () => {
  const kept: unknown[] = []
  let answer: () => Promise<never> = async () => ({ kind: 'accepted', entryId: 'e1' }) as never
  const inbox = {
    keep: (arrival: object) => {
      kept.push(arrival)
      return answer()
    },
  }
  const { receiver, deliver } = fresh({ inbox: inbox as never })
  receiver.on('*', () => {
    throw new Error('a worker runs it, not the request')
  })
  expect(await deliver(envelope('request.approved'))).toMatchObject({
    kind: 'accepted',
    entryId: 'e1',
  })
  expect(kept).toMatchObject([
    {
      key: 'evt_1',
      name: 'verification.approved',
      receivedName: 'request.approved',
      entity: { id: 'ver_1' },
    },
  ])
  expect(await deliver('not json')).toMatchObject({ kind: 'accepted' })
  answer = async () => ({ kind: 'duplicate', entryId: 'e1' }) as never
  expect(await deliver(envelope('request.approved'))).toMatchObject({ kind: 'duplicate' })
  answer = async () => Promise.reject(new Error('disk full'))
  expect(await deliver(envelope('request.approved'))).toMatchObject({
    kind: 'failed',
    code: 'STORE_UNAVAILABLE',
  })
})
