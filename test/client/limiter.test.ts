import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient, createLimiter } from '../../src/client/index.ts'
import { clientOf, failure, openSandbox } from './service.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
})
afterEach(() => {
  vi.useRealTimers()
})

/** No minute, wherever it begins, holds more than `most` of these times. */
const busiestMinute = (times: readonly number[]) =>
  Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 60_000).length))

describe('the limiter', () => {
  test('the limiter keeps exactly 200 a minute under 50 concurrent callers, and starves none', async () => {
    const sent: { at: number; who: number }[] = []
    const api = createClient({
      baseUrl: 'https://x.test/v2/api',
      apiKey: 'k1',
      observe: () => {},
      fetch: async (request) => {
        sent.push({ at: Date.now(), who: Number(request.url.split('/').at(-1)) })
        return Response.json({ id: 'c' })
      },
    })
    let stop = false
    const callers = Array.from({ length: 50 }, async (_, who) => {
      while (!stop) await api.clients.get(String(who))
    })
    await vi.advanceTimersByTimeAsync(5 * 60_000 - 1)
    expect(sent).toHaveLength(1000)
    expect(busiestMinute(sent.map(({ at }) => at))).toBe(200)
    const each = Array.from(
      { length: 50 },
      (_, who) => sent.filter((one) => one.who === who).length,
    )
    expect(each).toEqual(Array.from({ length: 50 }, () => 20))
    stop = true
    await vi.advanceTimersByTimeAsync(60_000)
    await Promise.all(callers)
  })

  test('the limiter of a client uses the client’s clock', async () => {
    let at = 0
    const api = createClient({
      baseUrl: 'https://x.test/v2/api',
      apiKey: 'k1',
      limiter: 1,
      now: () => new Date(at),
      observe: () => {},
      fetch: async () => Response.json({ id: 'c' }),
    })
    await api.clients.get('c')
    let done = false
    const second = api.clients.get('c').then(() => {
      done = true
    })
    await vi.advanceTimersByTimeAsync(120_000)
    expect(done).toBe(false)
    at = 60_000
    await vi.advanceTimersByTimeAsync(60_000)
    expect(done).toBe(true)
    await second
  })

  test('the limiter keeps the rate with slow responses, wherever the service’s window begins', async () => {
    const limiter = createLimiter({ perMinute: 10 })
    const arrived: number[] = []
    let dice = 1
    const call = async () => {
      const leave = await limiter.acquire()
      dice = (dice * 48_271) % 2_147_483_647
      // On its way for up to 20 s before the service counts it, and again back.
      await new Promise((resolve) => setTimeout(resolve, dice % 20_000))
      arrived.push(Date.now())
      await new Promise((resolve) => setTimeout(resolve, dice % 7000))
      leave()
    }
    const calls = Promise.all(Array.from({ length: 100 }, call))
    await vi.runAllTimersAsync()
    await calls
    expect(arrived).toHaveLength(100)
    expect(busiestMinute(arrived)).toBeLessThanOrEqual(10)
  })

  test('the limiter serves callers in order', async () => {
    const limiter = createLimiter({ perMinute: 3 })
    const order: number[] = []
    const calls = Promise.all(
      Array.from({ length: 20 }, async (_, who) => {
        const leave = await limiter.acquire()
        order.push(who)
        leave()
      }),
    )
    await vi.advanceTimersByTimeAsync(0)
    expect(order).toHaveLength(3)
    await vi.runAllTimersAsync()
    await calls
    expect(order).toEqual(Array.from({ length: 20 }, (_, who) => who))
  })

  test('an aborted caller leaves the queue at once, and the next one takes its place', async () => {
    const limiter = createLimiter({ perMinute: 1 })
    ;(await limiter.acquire())()
    const stop = new AbortController()
    const aborted = failure(limiter.acquire(stop.signal))
    const next = limiter.acquire()
    stop.abort(new Error('left'))
    expect(await aborted).toMatchObject({ message: 'left' })
    expect(await failure(limiter.acquire(stop.signal))).toMatchObject({ message: 'left' })
    await vi.advanceTimersByTimeAsync(60_000)
    ;(await next)()
  })

  test('the end of a request counts once, however often it is reported', async () => {
    const limiter = createLimiter({ perMinute: 2 })
    const leave = await limiter.acquire()
    leave()
    leave()
    const granted: number[] = []
    for (const who of [2, 3, 4]) limiter.acquire().then(() => granted.push(who))
    await vi.advanceTimersByTimeAsync(59_999)
    expect(granted).toEqual([2])
    // One of the two places is still taken by the second.
    await vi.advanceTimersByTimeAsync(60_000)
    expect(granted).toEqual([2, 3])
  })

  test('a request whose end is never reported counts until its timeout, and then as ended', async () => {
    const limiter = createLimiter({ perMinute: 2 })
    await limiter.acquire(undefined, 5_000)
    const leave = await limiter.acquire(undefined, 30_000)
    const granted: number[] = []
    for (const who of [3, 4]) limiter.acquire(undefined, 5_000).then(() => granted.push(who))
    await vi.advanceTimersByTimeAsync(65_999)
    expect(granted).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(granted).toEqual([3])
    // Ended at 31 s; told late, it counts no second time.
    leave()
    await vi.advanceTimersByTimeAsync(24_999)
    expect(granted).toEqual([3])
    await vi.advanceTimersByTimeAsync(1)
    expect(granted).toEqual([3, 4])
  })

  test('on a host that drops timers too, the next caller finds the places free', async () => {
    let at = 0
    const limiter = createLimiter({ perMinute: 3, now: () => new Date(at) })
    for (const timeout of [60_000, 60_000, 5_000]) await limiter.acquire(undefined, timeout)
    at = 66_000
    // The request that ended at 6 s is a minute old, though it began last.
    await limiter.acquire(undefined, 1_000)
    at = 3_600_000
    for (const timeout of [1_000, 1_000, 1_000]) await limiter.acquire(undefined, timeout)
    expect(vi.getTimerCount()).toBe(0)
  })

  test("a client passes its timeout, or the call's, to the limiter", async () => {
    const told: unknown[] = []
    const limiter = createLimiter()
    const acquire: typeof limiter.acquire = (signal, timeout) => {
      told.push(timeout)
      return limiter.acquire(signal, timeout)
    }
    const api = createClient({
      baseUrl: 'https://x.test/v2/api',
      apiKey: 'k1',
      timeout: 7_000,
      limiter: { acquire, pause: (ms) => limiter.pause(ms) },
      fetch: async () => Response.json({ id: 'c' }),
    })
    await api.clients.get('c')
    await api.clients.get('c', { timeout: 2_000 })
    expect(told).toEqual([7_000, 2_000])
  })

  test('the time for which a process was frozen counts, for pauses and for requests', async () => {
    const limiter = createLimiter({ perMinute: 1 })
    ;(await limiter.acquire())()
    let granted = 0
    const ask = async () => {
      const release = await limiter.acquire()
      release()
      granted += 1
    }
    ask()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(granted).toBe(0)
    const freeze = () => vi.setSystemTime(Date.now() + 3_600_000)
    freeze()
    ask()
    await vi.advanceTimersByTimeAsync(1)
    expect(granted).toBe(1)
    freeze()
    limiter.pause(30_000)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(granted).toBe(1)
    freeze()
    ask()
    await vi.advanceTimersByTimeAsync(1)
    expect(granted).toBe(2)
  })

  test('one call’s Retry-After pauses all callers', async () => {
    const sent: number[] = []
    const api = createClient({
      baseUrl: 'https://x.test/v2/api',
      apiKey: 'k1',
      retry: { baseDelay: 0 },
      observe: () => {},
      fetch: async () => {
        sent.push(Date.now())
        if (sent.length > 1) return Response.json({ id: 'c' })
        return Response.json({}, { status: 429, headers: { 'retry-after': '30' } })
      },
    })
    const first = api.clients.get('1')
    await vi.advanceTimersByTimeAsync(1)
    const others = Array.from({ length: 5 }, (_, who) => api.clients.get(String(who)))
    await vi.advanceTimersByTimeAsync(29_998)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(2)
    await Promise.all([first, ...others])
    expect(sent.slice(1).every((at) => at >= 30_000)).toBe(true)
  })

  test('50 callers stay within the sandbox’s own limit and never get a 429', async () => {
    const sandbox = openSandbox({ now: () => new Date(), rateLimit: 200 })
    const statuses: (number | undefined)[] = []
    const api = clientOf(sandbox, { observe: ({ status }) => statuses.push(status) })
    const callers = Promise.all(
      Array.from({ length: 50 }, async () => {
        for (let at = 0; at < 13; at++) await api.clients.list()
      }),
    )
    await vi.advanceTimersByTimeAsync(4 * 60_000)
    await callers
    expect(statuses).toEqual(Array.from({ length: 650 }, () => 200))
  })

  test('createLimiter refuses unknown options and bounds that are not whole numbers', () => {
    for (const wrong of [{ perMinit: 5 }, { perMinute: 0 }, { perMinute: '5' }, { now: 5 }]) {
      expect(() => createLimiter(wrong as never)).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID' }),
      )
    }
  })

  test('clients can share a limiter', async () => {
    let sent = 0
    const options = {
      baseUrl: 'https://x.test/v2/api',
      apiKey: 'k1',
      limiter: createLimiter({ perMinute: 2 }),
      observe: () => {},
      fetch: async () => {
        sent += 1
        return Response.json({ id: 'c' })
      },
    }
    const calls = [1, 2, 3].map(() => createClient(options).clients.get('c'))
    await vi.advanceTimersByTimeAsync(59_000)
    expect(sent).toBe(2)
    await vi.advanceTimersByTimeAsync(1000)
    await Promise.all(calls)
  })
})
