import {
  createReceiver,
  createWorker,
  NonRetryable,
  type Observation,
  type ReceiverOptions,
  schemes,
  sign,
} from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { type LambdaReply, toLambda } from 'idv-webhooks/lambda'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { exactBodies, notUtf8 } from '../bodies.ts'
import { httpApi, integrations, loadBalancer, type Request, restApi } from './lambda-events.ts'

const secret = 'lambda-secret'
const body = Buffer.from('{"id":"evt_1","event":"verification.approved","data":{"id":"ver_1"}}')

function setUp(options: Partial<ReceiverOptions> = {}) {
  const receiver = createReceiver({ secret, observe: () => {}, ...options })
  const deliveries: { body: Buffer; url: string | undefined }[] = []
  receiver.on('*', (_, { delivery }) => {
    deliveries.push({ body: Buffer.from(delivery.body), url: delivery.url })
  })
  return { receiver, deliveries }
}

async function signed(sent: Uint8Array, more: Partial<Request> = {}): Promise<Request> {
  const headers = Object.entries(await sign(sent, { secret }))
  const own = [
    ['Host', 'hooks.example.com'],
    ['Content-Type', 'application/json'],
    ['X-Forwarded-Proto', 'https'],
  ] as const
  return { method: 'POST', path: '/webhooks', headers: [...own, ...headers], body: sent, ...more }
}

const codeOf = ({ body }: LambdaReply) => (JSON.parse(body) as { code?: string }).code

describe.each(integrations)('behind %s', (_, toEvent) => {
  test.each(exactBodies)(
    'the exact bytes of a body with %s arrive, as text or base64',
    async (_, sent) => {
      const { receiver, deliveries } = setUp()
      const handler = toLambda(receiver)
      for (const binary of [false, true]) {
        const reply = await handler(toEvent(await signed(sent, { binary })))
        expect(reply).toMatchObject({ statusCode: 200, body: '{"outcome":"handled"}' })
        expect(reply.headers['content-type']).toBe('application/json; charset=utf-8')
        expect(deliveries.pop()?.body).toEqual(Buffer.from(sent))
      }
    },
  )

  test('bytes that are not UTF-8 arrive as base64, and are refused once they are proved', async () => {
    const handler = toLambda(setUp().receiver)
    const reply = await handler(toEvent(await signed(notUtf8, { binary: true })))
    expect([reply.statusCode, codeOf(reply)]).toEqual([400, 'BODY_NOT_UTF8'])
  })

  test('a forged body is 401, a compressed one 415 and one that is too long 413', async () => {
    const handler = toLambda(setUp({ maxBytes: 100 }).receiver)
    const good = await signed(body)
    const forged = await handler(toEvent({ ...good, body: Buffer.from(`${body} `) }))
    expect([forged.statusCode, codeOf(forged)]).toEqual([401, 'SIGNATURE_MISMATCH'])
    const headers = [...good.headers, ['Content-Encoding', 'gzip'] as const]
    expect(codeOf(await handler(toEvent({ ...good, headers })))).toBe('ENCODING_UNSUPPORTED')
    const long = await handler(toEvent(await signed(Buffer.alloc(101, 32))))
    expect([long.statusCode, codeOf(long)]).toEqual([413, 'BODY_TOO_LARGE'])
  })

  test.each([
    ['a middleware parsed', () => JSON.parse(String(body)), 'httpJsonBodyParser()'],
    [
      'a test passed as bytes',
      () => new Uint8Array(body),
      'got Uint8Array: pass new TextDecoder()',
    ],
  ])('a body that %s is 503, and the operator reads the fix', async (_, given, fix) => {
    const seen: Observation[] = []
    const { receiver, deliveries } = setUp({ observe: (one) => seen.push(one) })
    const event = { ...toEvent(await signed(body)), body: given() }
    const reply = await toLambda(receiver)(event)
    expect([reply.statusCode, codeOf(reply)]).toEqual([503, 'BODY_CONSUMED'])
    const message = expect.stringContaining(fix)
    expect(seen).toMatchObject([{ kind: 'failed', code: 'BODY_CONSUMED', message }])
    expect(deliveries).toEqual([])
  })

  test('a request without a body is not JSON, and one by GET is 405 with Allow', async () => {
    const handler = toLambda(setUp().receiver)
    const empty = await handler(toEvent(await signed(new Uint8Array())))
    expect([empty.statusCode, codeOf(empty)]).toEqual([400, 'BODY_NOT_JSON'])
    const reply = await handler(toEvent({ method: 'GET', path: '/webhooks', headers: [] }))
    expect([reply.statusCode, reply.headers.allow]).toEqual([405, 'POST'])
  })
})

test('a repeated signature header is rejected if the event shows it', async () => {
  const handler = toLambda(setUp().receiver)
  const good = await signed(body)
  const twice = { ...good, headers: [...good.headers, ['X-Service-Signature', 'aa'] as const] }
  for (const event of [restApi(twice), loadBalancer(twice, true)]) {
    const reply = await handler(event)
    expect([reply.statusCode, codeOf(reply)]).toEqual([400, 'HEADER_AMBIGUOUS'])
  }
  // An HTTP API has joined them: they are the list that a sender writes while its secret rotates.
  expect((await handler(httpApi(twice))).statusCode).toBe(200)
})

test('handlers see the address that the sender used, with its stage and its parameters', async () => {
  const { receiver, deliveries } = setUp()
  const handler = toLambda(receiver)
  const request = await signed(body, { query: 'a=1&a=2&b=c%20d' })
  await handler(httpApi(request))
  await handler(restApi(request))
  await handler(loadBalancer(request, true))
  await handler({ ...httpApi(request), headers: Object.fromEntries(request.headers.slice(1)) })
  expect(deliveries.map(({ url }) => url)).toEqual([
    'https://hooks.example.com/webhooks?a=1&a=2&b=c%20d',
    'https://hooks.example.com/prod/webhooks?a=1&a=2&b=c+d',
    'https://hooks.example.com/webhooks?a=1&a=2&b=c%20d',
    'https://api.execute-api.eu-west-1.amazonaws.com/webhooks?a=1&a=2&b=c%20d',
  ])
})

test('the source address comes from AWS; an ALB is a proxy that appends it to a header', async () => {
  const allow = ['203.0.113.0/24']
  const handlerOf = (proxies: number) => {
    const scheme = schemes.ip({ allow, proxies })
    return toLambda(setUp({ secret: undefined, scheme, authenticity: 'ip' }).receiver)
  }
  const from = async (sourceIp: string) => signed(body, { sourceIp })
  for (const toEvent of [httpApi, restApi]) {
    expect((await handlerOf(0)(toEvent(await from('203.0.113.9')))).statusCode).toBe(200)
    expect((await handlerOf(0)(toEvent(await from('198.51.100.7')))).statusCode).toBe(403)
  }
  const behindAlb = loadBalancer(await from('203.0.113.9'))
  expect((await handlerOf(0)(behindAlb)).statusCode).toBe(403)
  expect((await handlerOf(1)(behindAlb)).statusCode).toBe(200)
})

test('an empty multiValueHeaders, as events of tests have it, hides no header', async () => {
  const { headers, ...event } = restApi(await signed(body)) as { headers: object }
  const given = { ...event, headers, multiValueHeaders: {} } as never
  expect((await toLambda(setUp().receiver)(given)).statusCode).toBe(200)
})

test('only an ALB with multi-value headers is answered with them', async () => {
  const handler = toLambda(setUp().receiver)
  const request = await signed(body)
  const { multiValueHeaders } = await handler(loadBalancer(request, true))
  expect(multiValueHeaders).toEqual({ 'content-type': ['application/json; charset=utf-8'] })
  for (const event of [httpApi(request), restApi(request), loadBalancer(request)]) {
    expect(await handler(event)).not.toHaveProperty('multiValueHeaders')
  }
})

test('the test button of the console, whose event has no headers, is answered too', async () => {
  const event = { ...restApi(await signed(body)), headers: null, multiValueHeaders: null }
  const reply = await toLambda(setUp().receiver)(event)
  expect([reply.statusCode, codeOf(reply)]).toEqual([401, 'SIGNATURE_MISSING'])
})

test.each([[{}], [{ Records: [{ eventSource: 'aws:sqs' }] }], [undefined]])(
  'an event that is no request fails the invocation: %j',
  async (event) => {
    const invoked = toLambda(setUp().receiver)(event as never)
    await expect(invoked).rejects.toThrow(/toLambda expects the event of an HTTP request/)
  },
)

describe('with a worker', () => {
  const withInbox = () => {
    const inbox = createInbox({ store: memoryStore() })
    const { receiver, deliveries } = setUp({ inbox })
    return { receiver, deliveries, inbox, worker: createWorker(receiver) }
  }
  const context = (left: number) => ({ getRemainingTimeInMillis: () => left })

  /** Lets time pass, a millisecond after the other, until a call has settled. */
  async function passing<Reply>(call: Promise<Reply>): Promise<Reply> {
    let isOver = false
    const end = () => {
      isOver = true
    }
    call.then(end, end)
    while (!isOver) await vi.advanceTimersByTimeAsync(1)
    return call
  }
  const ownClock = () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
    onTestFinished(() => void vi.useRealTimers())
  }

  test('kept entries are handled before the answer, and a rejected request starts no work', async () => {
    const { receiver, deliveries, worker } = withInbox()
    const handler = toLambda(receiver, { worker })
    const runOnce = vi.spyOn(worker, 'runOnce')
    expect((await handler(httpApi({ ...(await signed(body)), headers: [] }))).statusCode).toBe(401)
    expect(runOnce).not.toHaveBeenCalled()
    expect((await handler(httpApi(await signed(body)), context(3_000))).statusCode).toBe(202)
    expect(deliveries).toHaveLength(1)
    expect(runOnce).toHaveBeenCalledWith({ timeout: 2_000, grace: 0 })
  })

  test('the run ends in time for the answer, whatever handlers do', async () => {
    ownClock()
    const inbox = createInbox({ store: memoryStore() })
    const receiver = createReceiver({ secret, inbox, observe: () => {} })
    let end = () => {}
    receiver.on('*', () => new Promise<void>((resolve) => (end = resolve)))
    const handler = toLambda(receiver, { worker: createWorker(receiver) })
    // Without a bound the call would hang until the test times out.
    const { statusCode } = await passing(handler(httpApi(await signed(body)), context(1_100)))
    expect(statusCode).toBe(202)
    end()
  })

  const works = async () => {}
  const fails = async () => {
    throw new Error('not today')
  }
  test.each([
    ['alone', ['hangs']],
    ['before another', ['hangs', works]],
    ['between others', [works, 'hangs', works]],
    ['after one that fails', [fails, 'hangs', works]],
  ] as const)(
    'a handler that hangs for a run, %s, has timed out: it is not begun by every run',
    async (_, all) => {
      ownClock()
      const retry = { delays: [60_000], random: () => 1 }
      const inbox = createInbox({ store: memoryStore(), retry })
      const receiver = createReceiver({ secret, inbox, observe: () => {} })
      const aborted: string[] = []
      const hangs = async (_: unknown, { signal }: { signal: AbortSignal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        aborted.push((signal.reason as Error).name)
        throw signal.reason
      }
      for (const [at, one] of all.entries()) {
        receiver.on('*', one === 'hangs' ? hangs : one, { id: `handler ${at}` })
      }
      const handler = toLambda(receiver, { worker: createWorker(receiver) })
      for (let times = 0; times < 3; times++) {
        await passing(handler(httpApi(await signed(body)), context(1_100)))
      }
      expect(aborted).toEqual(['TimeoutError'])
      const [entry] = (await inbox.find()).entries
      expect(entry).toMatchObject({ state: 'retry', attempts: 1 })
      expect(entry?.failures?.map(({ code }) => code)).toContain('HANDLER_TIMEOUT')
    },
  )

  test('a handler that began late in a run is aborted and its entry released, for the next run', async () => {
    ownClock()
    const inbox = createInbox({ store: memoryStore() })
    const receiver = createReceiver({ secret, inbox, observe: () => {} })
    const aborted: string[] = []
    let handled = 0
    receiver.on('*', async (_, { signal }) => {
      // The first of the entity takes most of the run.
      if (++handled === 1) return new Promise((resolve) => setTimeout(resolve, 800))
      if (handled > 2) return
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      aborted.push((signal.reason as Error).name)
      throw signal.reason
    })
    await receiver.receive({ ...(await signed(body)), body })
    const later = Buffer.from(body.toString().replace('evt_1', 'evt_2'))
    const handler = toLambda(receiver, { worker: createWorker(receiver) })
    await passing(handler(httpApi(await signed(later)), context(2_000)))
    expect(aborted).toEqual(['AbortError'])
    expect((await inbox.find({ state: 'stored' })).entries).toMatchObject([{ attempts: 0 }])
    await passing(handler(httpApi(await signed(body)), context(3_000)))
    expect(await inbox.stats()).toMatchObject({ done: 2, leased: 0 })
  })

  test("an invocation out of time aborts its own handlers, not another invocation's", async () => {
    ownClock()
    const inbox = createInbox({ store: memoryStore(), retry: { delays: [60_000] } })
    const receiver = createReceiver({ secret, inbox, observe: () => {} })
    const ended: string[] = []
    receiver.on('*', async (event, { signal }) => {
      const took = event.id === 'evt_1' ? 600 : 5_000
      await new Promise((resolve) => {
        setTimeout(resolve, took)
        signal.addEventListener('abort', resolve)
      })
      ended.push(`${event.id} ${signal.aborted}`)
    })
    const handler = toLambda(receiver, { worker: createWorker(receiver) })
    const first = handler(httpApi(await signed(body)), context(15_000))
    await vi.advanceTimersByTimeAsync(1)
    expect((await inbox.stats()).leased).toBe(1)
    const text = body.toString().replace('evt_1', 'evt_2').replace('ver_1', 'ver_2')
    await passing(handler(httpApi(await signed(Buffer.from(text))), context(1_100)))
    expect(ended).toEqual(['evt_2 true'])
    await passing(first)
    expect(ended).toEqual(['evt_2 true', 'evt_1 false'])
    expect(await inbox.stats()).toMatchObject({ done: 1, retry: 1 })
  })

  test.each([
    ['lacks the time that remains', {}],
    [
      'throws for it',
      {
        getRemainingTimeInMillis: () => {
          throw new Error('no time')
        },
      },
    ],
    ['has no number for it', { getRemainingTimeInMillis: () => Number.NaN }],
  ])('a context that %s handles what was kept', async (_, given) => {
    const { receiver, deliveries, worker } = withInbox()
    const reply = await toLambda(receiver, { worker })(httpApi(await signed(body)), given as never)
    expect([reply.statusCode, deliveries.length]).toEqual([202, 1])
  })

  test('a handler that the end of a run cut is neither lost nor unnamed beside one that failed for good', async () => {
    ownClock()
    const inbox = createInbox({ store: memoryStore(), retry: { delays: [0] } })
    const receiver = createReceiver({ secret, inbox, observe: () => {} })
    let finished = 0
    receiver.on(
      '*',
      () => {
        throw new NonRetryable('no such customer')
      },
      { id: 'crm' },
    )
    receiver.on(
      '*',
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 300))
        finished += 1
      },
      { id: 'ledger' },
    )
    const worker = createWorker(receiver)
    await receiver.receive({ ...(await signed(body)), body })
    // It begins within the second half of the run.
    const { leases } = inbox as unknown as { leases: { claim(limit: number): Promise<unknown> } }
    const claim = leases.claim.bind(leases)
    leases.claim = async (limit) => {
      await new Promise((resolve) => setTimeout(resolve, 120))
      return claim(limit)
    }
    await passing(worker.runOnce({ timeout: 200, grace: 0 }))
    const [entry] = (await inbox.find()).entries
    expect(entry?.state).toBe('retry')
    expect(entry?.failures?.map(({ handler }) => handler)).toEqual(['crm', 'ledger'])
    await passing(worker.runOnce())
    expect(finished).toBe(2)
    expect((await inbox.find()).entries).toMatchObject([{ state: 'dead', reason: 'NON_RETRYABLE' }])
  })

  test('a run gets no more than 20 seconds, and one that fails changes no answer', async () => {
    const { receiver } = withInbox()
    const bounds: unknown[] = []
    const runOnce = async (given?: object): Promise<never> => {
      bounds.push(given)
      throw new Error('the store is down')
    }
    const handler = toLambda(receiver, { worker: { runOnce } })
    const request = await signed(body)
    expect((await handler(httpApi(request), context(900_000))).statusCode).toBe(202)
    expect((await handler(httpApi(request), context(10))).statusCode).toBe(200)
    expect((await handler(httpApi(request))).statusCode).toBe(200)
    expect(bounds).toEqual([20_000, 0, 19_000].map((timeout) => ({ timeout, grace: 0 })))
  })
})

test('a wrong mount throws when it is made', () => {
  const { receiver } = setUp()
  expect(() => toLambda({} as never)).toThrow(/toLambda expects a receiver from createReceiver/)
  expect(() => toLambda(receiver, { waitUntil: 1 } as never)).toThrow(
    "toLambda has no option 'waitUntil'. Known options: worker",
  )
})
