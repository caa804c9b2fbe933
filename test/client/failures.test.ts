import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
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

describe('reads', () => {
  test.each([
    ['a 500', { status: 500 }],
    ['a 503 with a page of a proxy', { status: 503, body: '<html>' }],
    ['a 429', { status: 429 }],
    ['JSON that was cut off', { status: 200, body: page.slice(0, 40) }],
  ])('are repeated after %s', async (_, bad) => {
    const { baseUrl, seen } = await script(bad, bad, ok)
    expect((await client(baseUrl).clients.list()).data).toEqual([])
    expect(seen).toHaveLength(3)
  })

  test('are repeated after a connection that broke, before or within the answer', async () => {
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

  test('are repeated so often and no more, and the last error is told', async () => {
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

  test('are not repeated when it cannot help', async () => {
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

  test('of a service that is not there end in a NetworkError', async () => {
    expect(await failure(client(await nowhere()).clients.list())).toMatchObject({
      name: 'NetworkError',
      code: 'NETWORK_ERROR',
      requestInfo: { attempts: 5 },
      cause: { code: 'ECONNREFUSED' },
    })
  })
})

describe('what a sandbox does on purpose', () => {
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
  ])('%s: reads come through, by fetch and over HTTP', async (_, fault) => {
    for (const over of ['fetch', 'HTTP'] as const) {
      const retry = { baseDelay: 0, maxRetryAfter: 0 }
      const { sandbox, api } = await open(over, { retry, timeout: 100 })
      const { id } = await api.clients.create({ nameFirst: 'Ada' })
      strike(sandbox, { ...fault, path: '/clients' })
      expect(await api.clients.get(id)).toMatchObject({ nameFirst: 'Ada' })
    }
  })

  test('a slow answer is waited for as long as it may take', async () => {
    const { sandbox, api } = await open('HTTP', { retry: false })
    strike(sandbox, { kind: 'slow', seconds: 0.2 })
    expect(await failure(api.clients.list({}, { timeout: 50 }))).toMatchObject({ code: 'TIMEOUT' })
    expect((await api.clients.list()).data).toEqual([])
  })
})

describe('every status has its class, whatever the body', () => {
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
  ])('%i is %s', async (status, name, code) => {
    for (const body of ['<html>', '', '{', '[]', 'null', '{"code":7}', '\u0000']) {
      const { baseUrl } = await script({ status, body })
      const error = await failure(client(baseUrl, { retry: false }).clients.list())
      expect(error).toMatchObject({ name, code, status })
      expect(error).toBeInstanceOf(Error)
    }
  })

  test('a status that the document does not list keeps the service’s code', async () => {
    const body = JSON.stringify({ code: 'CLIENT_DELETED', message: 'gone', statusCode: 409 })
    const { baseUrl } = await script({ status: 409, body })
    const error = await failure(client(baseUrl).clients.get('c1'))
    expect(error).toMatchObject({ name: 'ApiError', code: 'CLIENT_DELETED', status: 409 })
  })
})

test('a 404 tells whether the service said it, or something before it', async () => {
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

  test('in seconds is obeyed', async () => {
    expect(await waits({ 'retry-after': '7' })).toBe(7000)
  })

  test('as a date is obeyed, by the service’s own clock', async () => {
    const date = 'Sun, 01 Mar 2026 10:00:00 GMT'
    expect(await waits({ 'retry-after': 'Sun, 01 Mar 2026 10:00:09 GMT', date })).toBe(9000)
    expect(await waits({ 'retry-after': 'Sun, 01 Mar 2026 09:00:00 GMT', date })).toBe(0)
  })

  test('is capped', async () => {
    expect(await waits({ 'retry-after': '86400' })).toBe(120_000)
    const retry = { baseDelay: 0, maxRetryAfter: 3000 }
    expect(await waits({ 'retry-after': '86400' }, { retry })).toBe(3000)
  })

  test('that says nothing leaves the wait to us', async () => {
    for (const text of ['soon', '-5', '', '0', 'Sun, 01 Mar 2020 10:00:00 GMT']) {
      expect(await waits({ 'retry-after': text })).toBe(0)
      const retry = { baseDelay: 20_000, maxDelay: 20_000 }
      const waited = [await waits({ 'retry-after': text }, { retry })]
      while (waited.length < 8) waited.push(await waits({ 'retry-after': text }, { retry }))
      expect(Math.max(...waited.map((ms) => ms ?? 0))).toBeGreaterThan(100)
    }
  })

  test('is never undercut, and those that heard the same do not come back together', async () => {
    const waited: number[] = []
    const retry = { baseDelay: 1000, maxDelay: 1000 }
    while (waited.length < 6) waited.push((await waits({ 'retry-after': '7' }, { retry })) ?? 0)
    expect(Math.min(...waited)).toBeGreaterThanOrEqual(7000)
    expect(Math.max(...waited)).toBeLessThanOrEqual(8000)
    expect(new Set(waited).size).toBeGreaterThan(1)
  })

  test('of a 503 is told, and obeyed by every call of the limiter', async () => {
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

describe('creations', () => {
  test('are repeated after a 429, for nothing was done', async () => {
    const sandbox = openSandbox({ now: start })
    strike(sandbox, { kind: 'error-429', times: 3, method: 'POST' })
    const api = clientOf(sandbox, { limiter: false, retry: { maxRetryAfter: 0 } })
    await api.clients.create({ externalId: 'crm-1' })
    expect((await api.clients.list()).pagination.total).toBe(1)
  })

  test('are repeated when there was no connection, for nothing was sent', async () => {
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
  ])('are never repeated after %s', async (_, answer, cause) => {
    const { baseUrl, seen } = await script(answer)
    const error = await failure(client(baseUrl).verifications.create(input))
    expect(error).toBeInstanceOf(OutcomeUnknownError)
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { name: cause } })
    expect(seen).toHaveLength(1)
  })

  test('are never repeated after a broken connection or a timeout', async () => {
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

  test('that are aborted on their way are unclear, with a look-up', async () => {
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
    expect(await error.lookUp()).toEqual([])
  })

  test('that are aborted before they left end with the signal’s reason', async () => {
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

  test('that were refused are not unclear', async () => {
    for (const status of [400, 401, 402, 403, 404, 409, 413, 422]) {
      const { baseUrl } = await script({ status })
      expect(await failure(client(baseUrl).clients.create())).toMatchObject({ status })
      expect(await failure(client(baseUrl).clients.create())).not.toBeInstanceOf(
        OutcomeUnknownError,
      )
    }
  })
})

describe('a lost creation', () => {
  /** The service does its work, and its answer is lost. */
  const losing = () => {
    const sandbox = openSandbox()
    let lose = true
    const api = clientOf(sandbox, {
      limiter: false,
      fetch: async (request) => {
        const answer = await sandbox.fetch(request)
        if (request.method !== 'POST' || !lose) return answer
        throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
      },
    })
    return { api, keep: () => (lose = false) }
  }
  const unknownOf = async (work: Promise<unknown>) => (await failure(work)) as OutcomeUnknownError

  test('of a client is found by its externalId', async () => {
    const { api } = losing()
    const error = await unknownOf(api.clients.create({ externalId: 'crm-42', nameFirst: 'Ada' }))
    await failure(api.clients.create({ externalId: 'crm-421' }))
    const found = await error.lookUp()
    expect(found.map(({ externalId }) => externalId)).toEqual(['crm-42'])
  })

  test('of a client without one is found by what it was called', async () => {
    const { api } = losing()
    const error = await unknownOf(
      api.clients.create({ nameFirst: 'Ada', email: 'ada@example.com', metadata: { a: 1 } }),
    )
    await failure(api.clients.create({ nameFirst: 'Bo', email: 'ada@example.com' }))
    expect(await error.lookUp()).toMatchObject([{ nameFirst: 'Ada', email: 'ada@example.com' }])
  })

  test('of a verification is found by its subject, since the call', async () => {
    const { api } = losing()
    const error = await unknownOf(api.verifications.create(input))
    await failure(api.verifications.create({ ...input, requirements: ['document'] }))
    await failure(api.verifications.create({ ...input, subjectName: 'Ada Lostington' }))
    expect(await error.lookUp()).toMatchObject([{ subjectName: 'Ada Lost', type: 'kyc' }])
  })

  test('is not mistaken for a record that says more than the call did', async () => {
    const { api } = losing()
    const more = { ...input, subjectEmail: 'ada@example.com', expiresDays: 30 }
    await failure(api.verifications.create(more))
    const error = await unknownOf(api.verifications.create(input))
    expect(await error.lookUp()).toMatchObject([{ subjectEmail: null, expiresDays: 7 }])
    const named = { nameFirst: 'Ada', nameLast: 'Lost' }
    await failure(api.clients.create({ ...named, externalId: 'crm-9' }))
    await failure(api.clients.create({ ...named, country: 'US' }))
    await failure(api.clients.create({ ...named, memberType: 'business' }))
    await failure(api.clients.create({ ...named, metadata: { a: 1 } }))
    const client = await unknownOf(api.clients.create(named))
    expect(await client.lookUp()).toMatchObject([
      { externalId: null, country: 'CA', metadata: null },
    ])
    const kept = await unknownOf(
      api.clients.create({ ...named, metadata: { b: [{ d: 1, c: 2 }], a: 1 } }),
    )
    expect(await kept.lookUp()).toMatchObject([{ metadata: { a: 1, b: [{ c: 2, d: 1 }] } }])
  })

  test('of a linked verification is found, though its subject came from the client', async () => {
    const { api } = losing()
    const client = await unknownOf(api.clients.create({ nameFirst: 'Ada', externalId: 'crm-1' }))
    const [{ id: clientId } = { id: '' }] = await client.lookUp()
    const linked = {
      type: 'kyc',
      requirements: ['consent'],
      clientId: clientId.toUpperCase(),
    } as const
    const error = await unknownOf(api.verifications.create(linked))
    expect(await error.lookUp()).toMatchObject([{ clientId, subjectName: 'Ada' }])
  })

  test('is found by what was sent, on whichever page it is', async () => {
    const { api } = losing()
    for (let at = 0; at < 101; at++) {
      await failure(api.clients.create({ nameFirst: 'Ada', externalId: `crm-${at}` }))
      await failure(api.verifications.create({ ...input, requirements: ['document'] }))
    }
    const own = { externalId: 'crm-1', nameFirst: 'Bo' }
    const first = await unknownOf(api.clients.create(own))
    own.externalId = 'crm-2'
    expect((await first.lookUp()).map(({ externalId }) => externalId)).toEqual(['crm-1', 'crm-1'])
    const lost = await unknownOf(api.verifications.create({ ...input, requirements: ['document'] }))
    expect(await lost.lookUp()).toHaveLength(102)
  })

  test('is looked up within the time and the signal of the look-up', async () => {
    const { baseUrl, seen } = await serve((request, response) => {
      if (request.method === 'POST') response.writeHead(500).end()
    })
    const api = client(baseUrl, { retry: false })
    const error = await unknownOf(api.verifications.create(input))
    expect(await failure(error.lookUp({ timeout: 30 }))).toMatchObject({ code: 'TIMEOUT' })
    const stop = new AbortController()
    const asking = failure(error.lookUp({ signal: stop.signal }))
    while (seen.length < 3) await new Promise((resolve) => setImmediate(resolve))
    stop.abort(new Error('enough'))
    expect(await asking).toMatchObject({ message: 'enough' })
  })

  test('that never happened is not found', async () => {
    const { baseUrl } = await script({ status: 500 }, ok)
    const error = await unknownOf(client(baseUrl).verifications.create(input))
    expect(await error.lookUp()).toEqual([])
  })
})

describe('time limits and signals', () => {
  test('a service that is silent, or slow within its body, ends in a TimeoutError', async () => {
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

  test('hold for a fetch that does not listen to its signal', async () => {
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

  test('the caller’s signal ends a call wherever it is, with its own reason', async () => {
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

describe('the API key', () => {
  test('goes with every request, and to no other host', async () => {
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

  test('appears in no error, observation or inspection', async () => {
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
    const api = client('https://x.test/v2/api', { observe, fetch: () => Promise.reject(leaky) })
    shown.push(await failure(api.clients.get('c1')), await failure(api.clients.create()), api)
    const text = shown.flatMap((one) => [
      inspect(one, { depth: 20, showHidden: true }),
      JSON.stringify(one),
      String((one as Error).stack),
    ])
    expect(text.join('\n')).not.toContain(apiKey)
    expect(text.join('\n')).toContain('***')
  })

  test('nor does what was asked: queries and bodies hold people', async () => {
    const { baseUrl } = await script({ status: 500 })
    const shown = [
      await failure(client(baseUrl).clients.list({ search: 'ada@example.com' })),
      await failure(client(baseUrl).clients.create({ email: 'ada@example.com' })),
    ]
    expect(inspect(shown, { depth: 20, showHidden: true })).not.toContain('ada@')
    expect((shown[0] as ApiError).message).toMatch(/^GET \/clients: 500 SERVER_ERROR/)
  })
})

test('an answer that is not quite as documented is taken, and told', async () => {
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
