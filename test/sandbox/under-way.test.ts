import { afterEach, describe, expect, test } from 'vitest'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import { minimal } from './conformance-rows.ts'
import { caller, type Json, openSandbox } from './open-sandbox.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const url = 'http://a.test/'

async function fresh(options: SandboxOptions = {}) {
  const sandbox = await openSandbox({ subscriptions: [{ url }], ...options })
  closing.push(() => sandbox.close())
  const call = caller(sandbox.url, sandbox.fetch)
  const create = async (body: Json = {}) =>
    (await call('POST', '/v2/api/verifications', { body: { ...minimal, ...body } })).body
  return { sandbox, call, create }
}

/** A receiver whose first answer waits until it is let go. */
function holding(status = 200) {
  const seen: string[] = []
  const arrived = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  let first = true
  const receive: typeof fetch = async (input) => {
    const { data } = await (input as Request).json()
    seen.push(data.subjectName)
    if (!first) return new Response()
    first = false
    arrived.resolve()
    await answer.promise
    return new Response(null, { status })
  }
  return { seen, arrived: arrived.promise, release: answer.resolve, fetch: receive }
}

const bodyOf = (attempt: Json) => JSON.parse(atob(attempt.request.body)).data.subjectName

describe('a reset, or a restore, while a delivery is under way', () => {
  test.each(['reset', 'restore'] as const)(
    'a delivery in flight leaves nothing behind after a %s',
    async (way) => {
      const peer = holding()
      const { sandbox, create } = await fresh({ fetch: peer.fetch })
      const before = sandbox.snapshot()
      const first = await create({ subjectName: 'Before' })
      const drained = sandbox.flush()
      await peer.arrived
      if (way === 'reset') sandbox.reset()
      else sandbox.restore(before)
      await drained
      const second = await create({ subjectName: 'After' })
      expect(second.id).toBe(first.id)
      await sandbox.flush()
      const check = () => {
        const [{ id }, ...more] = sandbox.deliveries.list() as [Json, ...Json[]]
        const delivery = sandbox.deliveries.get(id)
        expect([more, delivery?.status, delivery?.attempts.length]).toEqual([[], 'delivered', 1])
        expect(bodyOf(delivery?.attempts[0])).toBe('After')
      }
      check()
      peer.release()
      await sandbox.flush()
      check()
      expect(peer.seen).toEqual(['Before', 'After'])
    },
  )

  test('a reset neither waits for a delivery in flight nor fails with it', async () => {
    const peer = holding(500)
    const { sandbox, create } = await fresh({ fetch: peer.fetch })
    await create({ subjectName: 'Before' })
    const drained = sandbox.flush()
    await peer.arrived
    sandbox.reset()
    peer.release()
    await drained
    await create({ subjectName: 'After' })
    await sandbox.flush()
    expect(sandbox.deliveries.list()).toMatchObject([{ status: 'delivered' }])
  })

  test('a delivery of an earlier state strikes no fault of the next', async () => {
    const { sandbox, create } = await fresh({ fetch: async () => new Response() })
    await create()
    const drained = sandbox.flush()
    sandbox.reset()
    sandbox.faults.set([{ kind: 'tampered', times: 1 }])
    await drained
    expect(sandbox.faults.list()).toMatchObject([{ struck: 0 }])
  })
})

describe('a clock that moves', () => {
  test('a reset ends a moving clock, and moves that wait for their turn do not begin', async () => {
    const peer = holding()
    const { sandbox, create } = await fresh({ fetch: peer.fetch })
    const start = sandbox.clock.now()
    await create({ expiresDays: 1 })
    const moves = [sandbox.clock.advance({ days: 8 }), sandbox.clock.advance({ days: 8 })]
    await peer.arrived
    sandbox.reset()
    expect(sandbox.clock.now()).toEqual(start)
    await sandbox.clock.advance({ seconds: 1 })
    peer.release()
    await Promise.all(moves)
    expect(sandbox.clock.now().getTime() - start.getTime()).toBe(1000)
    expect(sandbox.deliveries.list()).toEqual([])
  })

  test('the clock moves between 1970 and 9000 only', async () => {
    const { sandbox, call, create } = await fresh({ fetch: async () => new Response() })
    const put = (now: string) => call('PUT', '/_sandbox/clock', { body: { now } })
    for (const now of [
      '9000-01-01T00:00:01Z',
      '9999-12-31T23:59:59-05:00',
      '1969-12-31T00:00:00Z',
    ]) {
      const { status, body } = await put(now)
      expect([status, body.errors?.[0].field], now).toEqual([422, 'now'])
    }
    expect((await put('8999-12-01T00:00:00Z')).status).toBe(200)
    const { id, expiresAt } = await create({ expiresDays: 90 })
    expect(expiresAt).toMatch(/^9000-/)
    const beyond = await call('POST', '/_sandbox/clock/advance', { body: { days: 36_500 } })
    expect([beyond.status, beyond.body.errors[0].field]).toEqual([422, 'days'])
    await expect(sandbox.clock.advance({ days: 40 })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('clock.advance: days must be a time from 1970 to 9000'),
    })
    await expect(sandbox.clock.set('9500-01-01')).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    await expect(openSandbox({ now: '9500-01-01' })).rejects.toThrow(/1970 to 9000/)
    expect((await call('GET', `/v2/api/verifications/${id}`)).status).toBe(200)
  })
})

describe('deliveries', () => {
  test('an unresponsive receiver does not hold up deliveries to others', async () => {
    const b = { url: 'http://b.test/' }
    const heard: string[] = []
    const { sandbox, create } = await fresh({
      subscriptions: [{ url }, b],
      fetch: async (input) => {
        const to = (input as Request).url
        if (to === url) await new Promise(() => {})
        heard.push(to)
        return new Response()
      },
    })
    for (let at = 0; at < 24; at++) await create()
    sandbox.flush().catch(() => {})
    while (heard.length < 24) await new Promise((resolve) => setImmediate(resolve))
    expect(heard.every((to) => to === b.url)).toBe(true)
  })

  test('a handler may start work that waits for the sandbox after its answer', async () => {
    const later: Promise<void>[] = []
    const over = Promise.withResolvers<void>()
    const { sandbox, create } = await fresh({
      fetch: async () => {
        later.push(over.promise.then(() => sandbox.flush()))
        return new Response()
      },
    })
    await create()
    await sandbox.flush()
    over.resolve()
    await Promise.all(later)
  })
})
