// Reads of reconcile leave half of the rate to the calls of handlers.
import { createReceiver } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createClient, createLimiter, type Limiter, reconcile } from '../../src/client/index.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 5, 1) })
})
afterEach(() => {
  vi.useRealTimers()
})

const pages = 230

/** A list of so many pages, and what was asked when. */
function service() {
  const lists: number[] = []
  const fetch = async ({ url }: Request) => {
    const { pathname, searchParams } = new URL(url)
    if (/clients\/./.test(pathname)) return Response.json({ id: 'c' })
    const page = Number(searchParams.get('page'))
    lists.push(Date.now())
    const hasNext = pathname.endsWith('/verifications') && page < pages
    const time = new Date(Date.UTC(2026, 0, 1) - page * 1000).toISOString()
    const one = { id: `ver_${page}`, status: 'initiated', createdAt: time, updatedAt: time }
    const data = pathname.endsWith('/verifications') ? [one] : []
    const pagination = {
      page,
      limit: 100,
      total: pages,
      totalPages: pages,
      hasNext,
      hasPrev: false,
    }
    return Response.json({ data, pagination })
  }
  return { fetch, lists }
}

function started(limiter?: Limiter, { isShared = true } = {}) {
  const { fetch, lists } = service()
  const baseUrl = 'https://x.test/v2/api'
  const client = createClient({ baseUrl, apiKey: 'k1', observe: () => {}, fetch, limiter })
  const inbox = createInbox({ store: memoryStore() })
  onTestFinished(() => inbox.close())
  const receiver = createReceiver({
    secret: 'a-secret-of-the-tests',
    inbox,
    ...(isShared && { client }),
  })
  const stop = new AbortController()
  const { signal } = stop
  const run = reconcile({ client, receiver, since: '2020-01-01T00:00:00Z', dryRun: true, signal })
  const ended = run.catch(() => {})
  onTestFinished(async () => {
    stop.abort(new Error('the test has ended'))
    await ended
  })
  return { client, lists, run }
}

test('while reconcile reads, a call of a handler begins at once, and reconcile goes on', async () => {
  const { client, lists, run } = started()
  await vi.advanceTimersByTimeAsync(8_000)
  expect(lists).toHaveLength(100)
  let answered = 0
  for (let at = 0; at < 100; at++) void client.clients.get('c').then(() => answered++)
  await vi.advanceTimersByTimeAsync(10)
  expect(answered).toBe(100)
  await vi.advanceTimersByTimeAsync(3 * 60_000)
  expect(lists.length).toBeGreaterThan(pages)
  expect((await run).read.verifications).toBe(pages)
})

test('if no handler can read, as in the command, reconcile takes the whole rate', async () => {
  const { lists } = started(undefined, { isShared: false })
  await vi.advanceTimersByTimeAsync(8_000)
  expect(lists).toHaveLength(200)
})

test('a limiter of your own decides for reconcile as for every call', async () => {
  let granted = 0
  const acquire = async () => {
    granted++
    return () => {}
  }
  const { run } = started({ acquire, pause: () => {} })
  await vi.advanceTimersByTimeAsync(8_000)
  await run
  expect(granted).toBeGreaterThan(pages)
})

test('background callers have half of the rate, in order, and other callers do not wait for them', async () => {
  const limiter = createLimiter({ perMinute: 5 })
  const order: string[] = []
  const call = async (who: string, background: boolean) => {
    const leave = await limiter.acquire(undefined, 1_000, background)
    order.push(who)
    leave()
  }
  for (const who of ['b1', 'b2', 'b3', 'b4', 'b5']) void call(who, true)
  for (const who of ['f1', 'f2', 'f3', 'f4']) void call(who, false)
  await vi.advanceTimersByTimeAsync(0)
  expect(order).toEqual(['b1', 'b2', 'f1', 'f2', 'f3'])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(order.slice(5)).toEqual(['b3', 'b4', 'f4'])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(order.slice(8)).toEqual(['b5'])
})

test('a background request whose end is never reported gives its place back', async () => {
  const limiter = createLimiter({ perMinute: 1 })
  await limiter.acquire(undefined, 5_000, true)
  let granted = false
  void limiter.acquire(undefined, 5_000, true).then(() => (granted = true))
  await vi.advanceTimersByTimeAsync(65_999)
  expect(granted).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(granted).toBe(true)
})
