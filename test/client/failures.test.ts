import { getEventListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type ApiError,
  type ClientOptions,
  createClient,
  OutcomeUnknownError,
  type RequestObserved,
} from '../../src/client/index.ts'
import { clientOf, failure, nowhere, openSandbox, serve, start, strike } from './service.ts'

const input = { type: 'kyc', requirements: ['consent'], subjectName: 'Ada Lost' } as const
const apiKey = 'key_very_secret'

const client = (baseUrl: string, options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl, apiKey, retry: { baseDelay: 0 }, observe: () => {}, ...options })

const page = JSON.stringify({
  data: [],
  pagination: { page: 1, limit: 20, total: 0, totalPages: 0, hasNext: false, hasPrev: false },
})
const ok = { status: 200, body: page }

/** A server that gives its answers in order, the last one for ever. */
const script = (
  ...answers: { status: number; body?: string; headers?: Record<string, string> }[]
) => {
  let at = 0
  return serve((_, response) => {
    const answer = answers[Math.min(at++, answers.length - 1)]
    const headers = { 'content-type': 'application/json', ...answer?.headers }
    response.writeHead(answer?.status ?? 500, headers).end(answer?.body ?? '')
  })
}

describe('retries of reads', () => {
  test.each([
    ['a 500', { status: 500 }],
    ['a 503 with a page of a proxy', { status: 503, body: '<html>' }],
    ['a 429', { status: 429 }],
    ['JSON that was cut off', { status: 200, body: page.slice(0, 40) }],
  ])('a read is retried after %s', async (_, bad) => {
    const { baseUrl, seen } = await script(bad, bad, ok)
    expect((await client(baseUrl).clients.list()).data).toEqual([])
    expect(seen).toHaveLength(3)
  })

  test('a read is retried after a broken connection, before or during the response', async () => {
    let at = 0
    const { baseUrl, seen } = await serve((request, response) => {
      at += 1
      if (at === 1) {
        request.socket.destroy()
        return
      }
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': page.length })
      if (at > 2) response.end(page)
      else response.write(page.slice(0, 10), () => request.socket.destroy())
    })
    expect((await client(baseUrl).clients.list()).data).toEqual([])
    expect(seen).toHaveLength(3)
  })

  test('a read is retried as often as `retry` says, and then fails with the last error', async () => {
    const { baseUrl, seen } = await script({ status: 502, body: '<html>Bad gateway</html>' })
    const error = await failure(
      client(baseUrl, { retry: { retries: 2, baseDelay: 0 } }).clients.list(),
    )
    expect(error).toMatchObject({
      name: 'ServerError',
      code: 'SERVER_ERROR',
      status: 502,
      requestInfo: { endpoint: 'listClients', method: 'GET', path: '/clients', attempts: 3 },
    })
    expect(seen).toHaveLength(3)
  })

  test('a read is not retried when that cannot help', async () => {
    for (const status of [400, 401, 402, 403, 404, 409, 422, 301]) {
      const { baseUrl, seen } = await script({ status, headers: { location: 'https://x.test/' } })
      await failure(client(baseUrl).clients.list())
      expect(seen).toHaveLength(1)
    }
    const { baseUrl, seen } = await script({
      status: 200,
      body: '<html>Log in</html>',
      headers: { 'content-type': 'text/html' },
    })
    expect(await failure(client(baseUrl).clients.list())).toMatchObject({
      name: 'MalformedResponseError',
      code: 'RESPONSE_MALFORMED',
    })
    expect(seen).toHaveLength(1)
  })

  test('a read from an unreachable service fails with a NetworkError', async () => {
    expect(await failure(client(await nowhere()).clients.list())).toMatchObject({
      name: 'NetworkError',
      code: 'NETWORK_ERROR',
      requestInfo: { attempts: 5 },
      cause: { code: 'ECONNREFUSED' },
    })
  })
})

describe('faults of a sandbox', () => {
  const open = async (over: 'fetch' | 'HTTP', options: Partial<ClientOptions>) => {
    const sandbox = openSandbox()
    if (over === 'HTTP') await sandbox.listen()
    const { baseUrl } = sandbox
    const own = over === 'HTTP' ? { fetch, baseUrl } : { baseUrl }
    return { sandbox, api: clientOf(sandbox, { limiter: false, ...own, ...options }) }
  }

  test.each([
    ['a storm of 429s', { kind: 'error-429', times: 4 }],
    ['500s', { kind: 'error-500', times: 4 }],
    ['answers that never come', { kind: 'timeout', times: 2 }],
    ['JSON that is cut off', { kind: 'malformed-json', times: 4 }],
  ])('reads succeed in spite of %s, by fetch and over HTTP', async (_, fault) => {
    for (const over of ['fetch', 'HTTP'] as const) {
      const retry = { baseDelay: 0, maxRetryAfter: 0 }
      const { sandbox, api } = await open(over, { retry, timeout: 500 })
      // The first request has all the time that a busy machine needs.
      const { id } = await api.clients.create({ nameFirst: 'Ada' }, { timeout: 10_000 })
      strike(sandbox, { ...fault, path: '/clients' })
      expect(await api.clients.get(id)).toMatchObject({ nameFirst: 'Ada' })
    }
  })

  test('a slow response is awaited for as long as the timeout allows', async () => {
    const { sandbox, api } = await open('HTTP', { retry: false })
    strike(sandbox, { kind: 'slow', seconds: 0.2 })
    expect(await failure(api.clients.list({}, { timeout: 50 }))).toMatchObject({ code: 'TIMEOUT' })
    expect((await api.clients.list()).data).toEqual([])
  })
})

describe('status and error class', () => {
  test.each([
    [400, 'BadRequestError', 'BAD_REQUEST'],
    [401, 'UnauthorizedError', 'UNAUTHORIZED'],
    [402, 'PaymentRequiredError', 'PAYMENT_REQUIRED'],
    [403, 'ForbiddenError', 'FORBIDDEN'],
    [404, 'NotFoundError', 'NOT_FOUND'],
    [422, 'ValidationError', 'VALIDATION_ERROR'],
    [429, 'RateLimitedError', 'RATE_LIMITED'],
    [500, 'ServerError', 'SERVER_ERROR'],
    [504, 'ServerError', 'SERVER_ERROR'],
    [409, 'ApiError', 'HTTP_409'],
    [308, 'ApiError', 'HTTP_308'],
  ])('status %i gives %s, whatever the body', async (status, name, code) => {
    for (const body of ['<html>', '', '{', '[]', 'null', '{"code":7}', '\u0000']) {
      const { baseUrl } = await script({ status, body })
      const error = await failure(client(baseUrl, { retry: false }).clients.list())
      expect(error).toMatchObject({ name, code, status })
      expect(error).toBeInstanceOf(Error)
    }
  })

  test('an undocumented status keeps the service’s code', async () => {
    const body = JSON.stringify({ code: 'CLIENT_DELETED', message: 'gone', statusCode: 409 })
    const { baseUrl } = await script({ status: 409, body })
    const error = await failure(client(baseUrl).clients.get('c1'))
    expect(error).toMatchObject({ name: 'ApiError', code: 'CLIENT_DELETED', status: 409 })
  })
})

describe('error responses with unreadable bodies', () => {
  const bodies = {
    'is cut off': (response: ServerResponse) => {
      response.write('{"code":', () => response.destroy())
    },
    'has no end': (response: ServerResponse) => {
      const more = () => {
        while (!response.destroyed && response.write('<p>not here</p>'.repeat(1000)));
      }
      response.on('drain', more)
      more()
    },
    'stops in its middle': (response: ServerResponse) => {
      response.write('{"code":')
    },
  }
  test.each(Object.keys(bodies) as (keyof typeof bodies)[])(
    'an error body that %s still gives the class of its status',
    async (how) => {
      for (const [status, name] of [
        [401, 'UnauthorizedError'],
        [404, 'NotFoundError'],
        [422, 'ValidationError'],
        [302, 'ApiError'],
        [500, 'ServerError'],
      ] as const) {
        const { baseUrl } = await serve((_, response) => {
          response.writeHead(status, { 'content-type': 'application/json', location: '/' })
          bodies[how](response)
        })
        const api = client(baseUrl, { retry: false, timeout: 200 })
        expect(await failure(api.clients.list())).toMatchObject({ name, status })
        const lost = status === 500 ? 'OutcomeUnknownError' : name
        expect(await failure(api.clients.create())).toMatchObject({ name: lost, status })
      }
    },
  )

  test('a 429 with an unreadable body is still obeyed and retried', async () => {
    let at = 0
    const { baseUrl, seen } = await serve((_, response) => {
      const type = { 'content-type': 'application/json' }
      if (at++ > 0) return response.writeHead(200, type).end(page)
      response.writeHead(429, { ...type, 'retry-after': '9' })
      return bodies['is cut off'](response)
    })
    const paused: number[] = []
    const limiter = {
      waiting: 0,
      acquire: async () => () => {},
      pause: (ms: number) => void paused.push(ms),
    }
    const retry = { baseDelay: 0, maxRetryAfter: 1 }
    expect((await client(baseUrl, { limiter, retry }).clients.list()).data).toEqual([])
    expect([paused, seen.length]).toEqual([[1], 2])
  })

  test('a call aborted during an error body ends with the caller’s reason', async () => {
    const stop = new AbortController()
    const { baseUrl } = await serve((_, response) => {
      response.writeHead(404).write('{', () => stop.abort(new Error('the user left')))
    })
    const call = client(baseUrl).clients.list({}, { signal: stop.signal })
    expect(await failure(call)).toMatchObject({ message: 'the user left' })
  })
})

test('a 404 shows whether the service or something in front of it answered', async () => {
  const said = { code: 'NOT_FOUND', message: 'Client not found', statusCode: 404 }
  for (const [body, byService] of [
    [JSON.stringify(said), true],
    [JSON.stringify({ ...said, code: 'ROUTE_UNKNOWN' }), false],
    [JSON.stringify({ statusCode: 404, message: 'Cannot GET /v2', error: 'Not Found' }), false],
    ['<html>404</html>', false],
    ['', false],
  ] as const) {
    const { baseUrl } = await script({ status: 404, body })
    expect(await failure(client(baseUrl).clients.get('c1'))).toMatchObject({ byService })
  }
})

describe('Retry-After', () => {
  const waits = async (headers: Record<string, string>, options: Partial<ClientOptions> = {}) => {
    const { baseUrl } = await script({ status: 429, headers }, ok)
    const seen: RequestObserved[] = []
    const stop = new AbortController()
    const api = client(baseUrl, {
      limiter: false,
      observe: (one) => {
        seen.push(one)
        stop.abort()
      },
      ...options,
    })
    await failure(api.clients.list({}, { signal: stop.signal }))
    return seen[0]?.retryIn
  }

  test('Retry-After in seconds is obeyed', async () => {
    expect(await waits({ 'retry-after': '7' })).toBe(7000)
  })

  test('Retry-After as a date is obeyed, by the service’s own clock', async () => {
    const date = 'Sun, 01 Mar 2026 10:00:00 GMT'
    expect(await waits({ 'retry-after': 'Sun, 01 Mar 2026 10:00:09 GMT', date })).toBe(9000)
    expect(await waits({ 'retry-after': 'Sun, 01 Mar 2026 09:00:00 GMT', date })).toBe(0)
  })

  test('Retry-After is capped', async () => {
    expect(await waits({ 'retry-after': '86400' })).toBe(120_000)
    const retry = { baseDelay: 0, maxRetryAfter: 3000 }
    expect(await waits({ 'retry-after': '86400' }, { retry })).toBe(3000)
  })

  test('an unreadable Retry-After leaves the delay to the client', async () => {
    for (const text of ['soon', '-5', '', '0', 'Sun, 01 Mar 2020 10:00:00 GMT']) {
      expect(await waits({ 'retry-after': text })).toBe(0)
      const retry = { baseDelay: 20_000, maxDelay: 20_000 }
      const waited = [await waits({ 'retry-after': text }, { retry })]
      while (waited.length < 8) waited.push(await waits({ 'retry-after': text }, { retry }))
      expect(Math.max(...waited.map((ms) => ms ?? 0))).toBeGreaterThan(100)
    }
  })

  test('Retry-After is never undercut, and callers that got the same one do not return together', async () => {
    const waited: number[] = []
    const retry = { baseDelay: 1000, maxDelay: 1000 }
    while (waited.length < 6) waited.push((await waits({ 'retry-after': '7' }, { retry })) ?? 0)
    expect(Math.min(...waited)).toBeGreaterThanOrEqual(7000)
    expect(Math.max(...waited)).toBeLessThanOrEqual(8000)
    expect(new Set(waited).size).toBeGreaterThan(1)
  })

  test('Retry-After of a 503 is on the error, and every call of the limiter obeys it', async () => {
    const paused: number[] = []
    const limiter = {
      waiting: 0,
      acquire: async () => () => {},
      pause: (ms: number) => void paused.push(ms),
    }
    for (const [status, pauses] of [
      [503, [9000]],
      [429, [9000]],
      [500, []],
    ] as const) {
      const { baseUrl } = await script({ status, headers: { 'retry-after': '9' } })
      const error = await failure(client(baseUrl, { limiter, retry: false }).clients.list())
      expect(error).toMatchObject({ status, retryAfter: 9 })
      expect(paused.splice(0)).toEqual(pauses)
    }
  })
})

describe('retries of create calls', () => {
  test('a create call is retried after a 429, because nothing was done', async () => {
    const sandbox = openSandbox({ now: start })
    strike(sandbox, { kind: 'error-429', times: 3, method: 'POST' })
    const api = clientOf(sandbox, { limiter: false, retry: { maxRetryAfter: 0 } })
    await api.clients.create({ externalId: 'crm-1' })
    expect((await api.clients.list()).pagination.total).toBe(1)
  })

  test('a create call is retried without a connection, because nothing was sent', async () => {
    let calls = 0
    const sandbox = openSandbox()
    const gone = await nowhere()
    const api = clientOf(sandbox, {
      fetch: (request) => {
        calls += 1
        return calls < 3 ? fetch(gone) : sandbox.fetch(request)
      },
    })
    await api.clients.create()
    expect(calls).toBe(3)
  })

  test.each([
    ['a 500', { status: 500 }, 'ServerError'],
    ['an answer that nobody can read', { status: 201, body: '{"id":' }, 'MalformedResponseError'],
  ])('a create call is never retried after %s', async (_, answer, cause) => {
    const { baseUrl, seen } = await script(answer)
    const error = await failure(client(baseUrl).verifications.create(input))
    expect(error).toBeInstanceOf(OutcomeUnknownError)
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { name: cause } })
    expect(seen).toHaveLength(1)
  })

  test('a create call is never retried after a broken connection or a timeout', async () => {
    const broken = await serve((request) => request.socket.destroy())
    expect(await failure(client(broken.baseUrl).clients.create())).toMatchObject({
      name: 'OutcomeUnknownError',
      cause: { name: 'NetworkError' },
    })
    const silent = await serve(() => {})
    const error = await failure(client(silent.baseUrl).clients.create({}, { timeout: 50 }))
    expect(error).toMatchObject({ name: 'OutcomeUnknownError', cause: { name: 'TimeoutError' } })
    expect([broken.seen, silent.seen]).toEqual([['POST /v2/api/clients'], ['POST /v2/api/clients']])
  })

  test('a create call that is aborted after sending has an unknown outcome', async () => {
    const reason = new Error('the user left')
    const { baseUrl, seen } = await serve((request, response) => {
      if (request.method === 'GET') response.setHeader('content-type', 'application/json').end(page)
    })
    const stop = new AbortController()
    const told: RequestObserved[] = []
    const api = client(baseUrl, { observe: (one) => told.push(one) })
    const call = failure(api.clients.create({ externalId: 'crm-7' }, { signal: stop.signal }))
    while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve))
    stop.abort(reason)
    const error = (await call) as OutcomeUnknownError
    expect(error).toBeInstanceOf(OutcomeUnknownError)
    expect(error).toMatchObject({ cause: reason, requestInfo: { attempts: 1, path: '/clients' } })
    expect(told).toMatchObject([{ ok: false, code: 'ABORTED' }])
  })

  test('a create call that is aborted before sending ends with the signal’s reason', async () => {
    const reason = new Error('the user left')
    const busy = await script({ status: 429, headers: { 'retry-after': '60' } })
    const stop = new AbortController()
    const { promise: refused, resolve } = Promise.withResolvers<RequestObserved>()
    const api = client(busy.baseUrl, { observe: resolve })
    const waiting = failure(api.clients.create({}, { signal: stop.signal }))
    await refused
    // The limiter is paused now, so this one has not left either.
    const queued = failure(api.clients.create({}, { signal: stop.signal }))
    stop.abort(reason)
    expect(await waiting).toBe(reason)
    expect(await queued).toBe(reason)
    const late = {
      waiting: 0,
      pause: () => {},
      async acquire() {
        own.abort(reason)
        return () => {}
      },
    }
    const own = new AbortController()
    const never = client(busy.baseUrl, { limiter: late })
    expect(await failure(never.clients.create({}, { signal: own.signal }))).toBe(reason)
    expect(busy.seen).toHaveLength(1)
  })

  test('a refused create call has a known outcome', async () => {
    for (const status of [400, 401, 402, 403, 404, 409, 413, 422]) {
      const { baseUrl } = await script({ status })
      expect(await failure(client(baseUrl).clients.create())).toMatchObject({ status })
      expect(await failure(client(baseUrl).clients.create())).not.toBeInstanceOf(
        OutcomeUnknownError,
      )
    }
  })
})

describe('time limits and signals', () => {
  test('a service that is silent, or slow during the body, gives a TimeoutError', async () => {
    const silent = await serve(() => {})
    const slow = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":[')
    })
    for (const { baseUrl } of [silent, slow]) {
      const api = client(baseUrl, { timeout: 40, retry: { retries: 1, baseDelay: 0 } })
      expect(await failure(api.clients.list())).toMatchObject({
        name: 'TimeoutError',
        code: 'TIMEOUT',
        requestInfo: { attempts: 2 },
      })
    }
  })

  test('time limits apply to a fetch that ignores its signal', async () => {
    const api = client('https://x.test/v2/api', {
      fetch: () => new Promise(() => {}),
      retry: false,
    })
    expect(await failure(api.clients.list({}, { timeout: 30 }))).toMatchObject({ code: 'TIMEOUT' })
    let canceled = false
    const body = new ReadableStream({
      cancel() {
        canceled = true
      },
    })
    const slow = client('https://x.test/v2/api', {
      fetch: async () => new Response(body),
      retry: false,
    })
    expect(await failure(slow.clients.list({}, { timeout: 30 }))).toMatchObject({ code: 'TIMEOUT' })
    expect(canceled).toBe(true)
  })

  test('the caller’s signal ends a call at any point, with its own reason', async () => {
    const reason = new Error('the user left')
    const silent = await serve(() => {})
    const waiting = await script({ status: 429, headers: { 'retry-after': '60' } })
    for (const { baseUrl, seen } of [silent, waiting]) {
      const stop = new AbortController()
      const call = client(baseUrl).clients.list({}, { signal: stop.signal })
      while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve))
      stop.abort(reason)
      expect(await failure(call)).toBe(reason)
      expect(await failure(client(baseUrl).clients.list({}, { signal: stop.signal }))).toBe(reason)
    }
  })
})

test('a signal that outlives its calls keeps nothing of them', async () => {
  const { baseUrl } = await script({ status: 503 }, { status: 404 })
  const { signal } = new AbortController()
  const combined = vi.spyOn(AbortSignal, 'any')
  onTestFinished(() => combined.mockRestore())
  const api = client(baseUrl, { limiter: 10_000 })
  for (let call = 0; call < 5; call++) await failure(api.clients.list({}, { signal }))
  expect(getEventListeners(signal, 'abort')).toEqual([])
  // The sources of a combined signal hold it for as long as they live.
  expect(combined).not.toHaveBeenCalled()
})

describe('the API key', () => {
  test('the API key is sent with every request, and to no other host', async () => {
    const elsewhere = await script(ok)
    const keys: unknown[] = []
    const { baseUrl } = await serve((request, response) => {
      keys.push(request.headers['x-api-key'])
      response.writeHead(307, { location: elsewhere.baseUrl }).end()
    })
    expect(await failure(client(baseUrl).clients.list())).toMatchObject({ status: 307 })
    expect(keys).toEqual([apiKey])
    expect(elsewhere.seen).toEqual([])
  })

  test('the API key appears in no error, observation or inspection', async () => {
    const echo = { code: apiKey, message: `no such key: ${apiKey}`, statusCode: 422 }
    const errors = [{ field: apiKey, message: apiKey }]
    const shown: unknown[] = []
    const observe = (seen: RequestObserved) => shown.push(seen)
    for (const status of [401, 409, 422, 500]) {
      const { baseUrl } = await script({ status, body: JSON.stringify({ ...echo, errors }) })
      shown.push(await failure(client(baseUrl, { observe }).clients.create()))
    }
    const leaky = Object.assign(new Error(`failed with ${apiKey}`), {
      request: { headers: { 'x-api-key': apiKey } },
    })
    const named = Object.assign(new Error('no'), { name: `Error ${apiKey}`, code: `E_${apiKey}` })
    const caused = new TypeError('fetch failed', { cause: named })
    for (const fault of [leaky, named, caused]) {
      const fetch = () => Promise.reject(fault)
      const api = client('https://x.test/v2/api', { observe, fetch, retry: false })
      shown.push(await failure(api.clients.get('c1')), await failure(api.clients.create()), api)
    }
    const text = shown.flatMap((one) => [
      inspect(one, { depth: 20, showHidden: true }),
      JSON.stringify(one),
      String((one as Error).stack),
    ])
    expect(text.join('\n')).not.toContain(apiKey)
    expect(text.join('\n')).toContain('***')
  })

  test('queries and bodies appear in no error or observation', async () => {
    const { baseUrl } = await script({ status: 500 })
    const shown = [
      await failure(client(baseUrl).clients.list({ search: 'ada@example.com' })),
      await failure(client(baseUrl).clients.create({ email: 'ada@example.com' })),
    ]
    expect(inspect(shown, { depth: 20, showHidden: true })).not.toContain('ada@')
    expect((shown[0] as ApiError).message).toMatch(/^GET \/clients: 500 SERVER_ERROR/)
  })
})

describe('deeply nested responses', () => {
  const nested = (depth: number) =>
    `{"id":"c1","metadata":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`

  test('a deeply nested response is accepted, in a list too', async () => {
    const { baseUrl } = await script({
      status: 200,
      body: `{"data":[${nested(62)}],"pagination":{"hasNext":false}}`,
    })
    expect((await client(baseUrl).clients.list()).data).toMatchObject([{ id: 'c1' }])
  })
})

test('an observer that fails, at once or later, is warned of once and does not affect calls', async () => {
  const unhandled: unknown[] = []
  const warned: string[] = []
  const note = (error: unknown) => unhandled.push(error)
  const heard = ({ message }: Error) => warned.push(message)
  process.on('unhandledRejection', note)
  process.on('warning', heard)
  onTestFinished(() => {
    process.off('unhandledRejection', note)
    process.off('warning', heard)
  })
  const { baseUrl } = await script(ok)
  for (const observe of [
    async () => Promise.reject(new RangeError('mine')),
    () => {
      throw new SyntaxError('mine')
    },
  ]) {
    for (let time = 0; time < 2; time++) {
      expect((await client(baseUrl, { observe }).clients.list()).data).toEqual([])
    }
  }
  await new Promise((resolve) => setImmediate(resolve))
  expect(unhandled).toEqual([])
  expect(warned.sort()).toEqual([
    "the client's observe threw RangeError (shown once)",
    "the client's observe threw SyntaxError (shown once)",
  ])
})

test('a response that is not quite as documented is used, and reported', async () => {
  const odd = { id: 'v1', status: 'archived', type: 'biometric', newField: 1, expiresDays: 'many' }
  const { baseUrl } = await script({ status: 200, body: JSON.stringify(odd) })
  const seen: RequestObserved[] = []
  const api = client(baseUrl, { observe: (one) => seen.push(one) })
  expect(await api.verifications.get('v1')).toEqual(odd)
  expect(seen[0]?.strange).toContain('expiresDays')
  expect(seen[0]?.strange).not.toContain('status')
  for (const body of ['{}', '[]', '{"id":""}', '7']) {
    const bad = await script({ status: 200, body })
    expect(await failure(client(bad.baseUrl).verifications.get('v1'))).toMatchObject({
      code: 'RESPONSE_MALFORMED',
    })
  }
})

test('a response of many megabytes is refused', async () => {
  const body = JSON.stringify({ id: 'v1', requirements: Array(2 ** 23).fill(1) })
  const { baseUrl } = await script({ status: 200, body })
  expect(await failure(client(baseUrl).verifications.get('v1'))).toMatchObject({
    code: 'RESPONSE_MALFORMED',
    message: expect.stringContaining('too large'),
  })
})

test('the code of an error response is a word, or that of its status', async () => {
  for (const code of ['X'.repeat(100_000), 'EVIL\u001b[31m', 'two words']) {
    const body = JSON.stringify({ statusCode: 418, code, message: 'no' })
    const { baseUrl } = await script({ status: 418, body })
    expect(await failure(client(baseUrl).clients.list())).toMatchObject({ code: 'HTTP_418' })
  }
})
