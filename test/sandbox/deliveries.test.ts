import { createHmac } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import type { Sandbox } from '../../tools/sandbox/sandbox.ts'
import type { Fault } from '../../tools/sandbox/schemas/faults.ts'
import { minimal } from './conformance-rows.ts'
import { caller, type Json, openSandbox } from './open-sandbox.ts'
import { answering, receiving, secret } from './receiving.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function fresh(url: string, options: SandboxOptions = {}, events?: string[]) {
  const subscription = { url, secret, ...(events && { events }) }
  const sandbox = await openSandbox({ subscriptions: [subscription], ...options })
  closing.push(() => sandbox.close())
  return { sandbox, call: caller(sandbox.url, sandbox.fetch) }
}

async function received(options?: Parameters<typeof receiving>[0]) {
  const one = await receiving(options)
  closing.push(one.close)
  return one
}

async function answered(answers?: Parameters<typeof answering>[0]) {
  const one = await answering(answers)
  closing.push(one.close)
  return one
}

const create = async ({ fetch, url, apiKey }: Sandbox, body: object = {}): Promise<Json> => {
  const response = await fetch(
    new Request(`${url}/v2/api/verifications`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ ...minimal, ...body }),
    }),
  )
  return response.json()
}

const only = (sandbox: Sandbox): Json => {
  const [one, ...more] = sandbox.deliveries.list() as Json[]
  expect(more).toEqual([])
  return one
}

describe('deliveries', () => {
  test('deliveries bring all nine events, signed, to a receiver with its defaults', async () => {
    const receiver = await received()
    const { sandbox, call } = await fresh(receiver.url)
    const lives = [['start', 'submit', 'approve'], ['start', 'submit', 'reject'], ['cancel']]
    for (const actions of [...lives, ['expire']]) {
      const { id } = await create(sandbox)
      await sandbox.act(id, actions as never)
    }
    const { body } = await call('POST', '/v2/api/clients', { body: {} })
    await call('PATCH', `/_sandbox/clients/${body.id}`, { body: { city: 'Guelph' } })
    await call('DELETE', `/_sandbox/clients/${body.id}`)
    await sandbox.flush()
    const names = new Set(receiver.recorder.events.map(({ name }) => name))
    expect(names.size).toBe(9)
    expect(new Set(receiver.outcomes())).toEqual(new Set(['handled']))
    expect(receiver.recorder.events.every(({ known, issues }) => known && !issues)).toBe(true)
  })

  test('a legacy filter gets the legacy name, and both filters get both', async () => {
    const receiver = await received()
    const { sandbox } = await fresh(receiver.url, {}, ['request.approved', 'client.*'])
    await sandbox.act((await create(sandbox)).id, ['start', 'submit', 'approve'])
    await sandbox.flush()
    const [event, ...more] = receiver.recorder.events
    expect([event?.name, event?.receivedName, more.length]).toEqual([
      'verification.approved',
      'request.approved',
      0,
    ])
    const both = await received()
    const mixed = await fresh(both.url, {}, ['request.*', 'verification.approved'])
    await mixed.sandbox.act((await create(mixed.sandbox)).id, ['start', 'submit', 'approve'])
    await mixed.sandbox.flush()
    const names = both.recorder.events.map(({ receivedName }) => receivedName).toSorted()
    expect(names).toEqual([
      'request.approved',
      'request.created',
      'request.submitted',
      'verification.approved',
    ])
    const ids = new Set(both.recorder.events.map(({ id }) => id))
    expect(ids.size).toBe(4)
  })

  test('a delivery is retried after any answer but 2xx, with the same bytes and signature', async () => {
    const peer = await answered([{ status: 500 }, { status: 404 }, { status: 302 }])
    const { sandbox } = await fresh(peer.url)
    await create(sandbox)
    await sandbox.flush()
    expect(only(sandbox)).toMatchObject({ status: 'pending', attempts: [{ status: 500 }] })
    await sandbox.clock.advance({ seconds: 4 })
    expect(peer.bodies).toHaveLength(1)
    await sandbox.clock.advance({ seconds: 1 })
    expect(peer.bodies).toHaveLength(2)
    await sandbox.clock.advance({ seconds: 150 })
    expect(only(sandbox).status).toBe('delivered')
    expect(peer.bodies).toHaveLength(4)
    expect(new Set(peer.bodies).size).toBe(1)
    const [body] = peer.bodies
    const hex = createHmac('sha256', secret).update(String(body)).digest('hex')
    expect(new Set(peer.signatures)).toEqual(new Set([hex]))
  })

  test('a retry obeys Retry-After, in seconds and as a date', async () => {
    // A receiver's own time, which is not the sandbox's.
    const [now, then] = ['2031-05-05T10:00:00Z', '2031-05-05T10:00:40Z'].map((time) =>
      new Date(time).toUTCString(),
    )
    const peer = await answered([
      { status: 503, headers: { 'retry-after': '60' } },
      { status: 503, headers: { 'retry-after': String(then), date: String(now) } },
    ])
    const { sandbox } = await fresh(peer.url)
    await create(sandbox)
    await sandbox.flush()
    await sandbox.clock.advance({ seconds: 59 })
    expect(peer.bodies).toHaveLength(1)
    await sandbox.clock.advance({ seconds: 1 })
    expect(peer.bodies).toHaveLength(2)
    await sandbox.clock.advance({ seconds: 39 })
    expect(peer.bodies).toHaveLength(2)
    await sandbox.clock.advance({ seconds: 1 })
    expect(only(sandbox).status).toBe('delivered')
  })

  test('a delivery whose retries are spent has failed, keeps every attempt and can be sent again', async () => {
    const refusals = Array.from({ length: 8 }, () => ({ status: 410 }))
    const peer = await answered(refusals)
    const { sandbox, call } = await fresh(peer.url)
    await create(sandbox)
    await sandbox.clock.advance({ days: 3 })
    const { id, status, attempts } = only(sandbox)
    expect([status, attempts.length]).toEqual(['failed', 8])
    const times = attempts.map((one: Json) => Date.parse(one.at))
    expect(times).toEqual(times.toSorted())
    const { body } = await call('GET', `/_sandbox/deliveries/${id}`)
    const [first] = body.attempts
    expect(Buffer.from(first.request.body, 'base64').toString()).toBe(peer.bodies[0])
    expect(first.request.headers['x-service-signature']).toBe(peer.signatures[0])
    expect(first.response.status).toBe(410)
    await call('POST', `/_sandbox/deliveries/${id}/resend`)
    await call('POST', '/_sandbox/flush')
    expect(only(sandbox).status).toBe('delivered')
    expect(peer.bodies.at(-1)).toBe(peer.bodies[0])
  })

  test('a delivery to a closed port is retried and says why', async () => {
    const peer = await answering()
    await peer.close()
    const { sandbox } = await fresh(peer.url)
    await create(sandbox)
    await sandbox.flush()
    expect(only(sandbox).status).toBe('pending')
    expect(only(sandbox).attempts[0].error).toMatch(/ECONNREFUSED/)
  })

  test('a delivery that is not answered in time is retried', async () => {
    const { sandbox } = await fresh('http://127.0.0.1:9/', {
      deliveryTimeout: 50,
      fetch: (input) =>
        new Promise((_resolve, reject) => {
          const { signal } = input as Request
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
    })
    await create(sandbox)
    await sandbox.flush()
    expect(only(sandbox)).toMatchObject({ status: 'pending' })
    expect(only(sandbox).attempts[0].error).toMatch(/no answer within 50 ms/)
  })

  test('a delivery through a fetch that ignores its signal still ends in time', async () => {
    const { sandbox } = await fresh('http://127.0.0.1:9/', {
      deliveryTimeout: 50,
      fetch: () => new Promise(() => {}),
    })
    await create(sandbox)
    await sandbox.flush()
    expect(only(sandbox).attempts[0].error).toMatch(/no answer within 50 ms/)
  })

  test('deliveries of one verification arrive in the order of its events, independent of other verifications', async () => {
    const order: string[] = []
    let open = 0
    let most = 0
    const { sandbox } = await fresh('http://127.0.0.1:9/', {
      fetch: async (input) => {
        open++
        most = Math.max(most, open)
        const { event, data } = await (input as Request).json()
        const first = event === 'verification.submitted'
        await new Promise((resolve) => setTimeout(resolve, first ? 20 : 1))
        order.push(`${data.subjectName} ${event}`)
        open--
        return new Response()
      },
    })
    const names = ['Ada', 'Grace', 'Alan']
    for (const subjectName of names) {
      const { id } = await create(sandbox, { subjectName })
      await sandbox.act(id, ['start', 'submit', 'approve'])
    }
    await sandbox.flush()
    for (const name of names) {
      expect(order.filter((one) => one.startsWith(name))).toEqual(
        ['created', 'submitted', 'approved'].map((what) => `${name} verification.${what}`),
      )
    }
    expect(most).toBe(3)
  })

  test('all deliveries that match a filter can be sent again at once', async () => {
    const peer = await answered()
    const { sandbox, call } = await fresh(peer.url)
    for (let at = 0; at < 3; at++) await sandbox.act((await create(sandbox)).id, 'cancel')
    await sandbox.flush()
    const body = { event: 'verification.canceled' }
    expect((await call('POST', '/_sandbox/resend', { body })).body).toEqual({ resent: 3 })
    await sandbox.flush()
    expect(peer.bodies).toHaveLength(9)
    const twice = peer.bodies.filter((one) => one.includes('verification.canceled'))
    expect([twice.length, new Set(twice).size]).toEqual([6, 3])
  })

  test('deliveries wait while their subscription is paused, and are dropped with it', async () => {
    const peer = await answered()
    const { sandbox, call } = await fresh(peer.url)
    const [{ id }] = sandbox.deliveries.subscriptions.list() as [Json]
    await call('PATCH', `/_sandbox/subscriptions/${id}`, { body: { active: false } })
    await create(sandbox)
    await sandbox.flush()
    expect([peer.bodies.length, only(sandbox).status]).toEqual([0, 'held'])
    await call('PATCH', `/_sandbox/subscriptions/${id}`, { body: { active: true } })
    await sandbox.flush()
    expect([peer.bodies.length, only(sandbox).status]).toEqual([1, 'delivered'])
    await call('PATCH', `/_sandbox/subscriptions/${id}`, { body: { active: false } })
    await create(sandbox)
    await call('DELETE', `/_sandbox/subscriptions/${id}`)
    const [last] = sandbox.deliveries.list() as Json[]
    expect(last.status).toBe('dropped')
  })

  test('deliveries are signed with both secrets during a rotation, with the new one afterwards', async () => {
    const next = 'the-secret-after-it'
    const old = await received()
    const both = await received({ secret: [{ id: 'new', value: next }] })
    const { sandbox, call } = await fresh(old.url)
    const [{ id }] = sandbox.deliveries.subscriptions.list() as [Json]
    const body = { secret: next, overlapSeconds: 60 }
    await call('POST', `/_sandbox/subscriptions/${id}/rotate`, { body })
    await create(sandbox)
    await sandbox.flush()
    expect(old.outcomes()).toEqual(['handled'])
    sandbox.deliveries.subscriptions.update(id, { url: both.url })
    await create(sandbox)
    await sandbox.flush()
    expect(both.outcomes()).toEqual(['handled'])
    await sandbox.clock.advance({ seconds: 61 })
    sandbox.deliveries.subscriptions.update(id, { url: old.url })
    await create(sandbox)
    await sandbox.flush()
    expect(old.outcomes()).toEqual(['handled', 'SIGNATURE_MISMATCH'])
  })

  test('a delivery is signed once: a retry sends the same signature', async () => {
    const peer = await answered([{ status: 500 }])
    const { sandbox } = await fresh(peer.url)
    await create(sandbox)
    await sandbox.flush()
    const [{ id }] = sandbox.deliveries.subscriptions.list() as [Json]
    sandbox.deliveries.subscriptions.rotateSecret(id, { overlapSeconds: 0 })
    await sandbox.clock.advance({ seconds: 5 })
    expect(peer.signatures).toHaveLength(2)
    expect(new Set(peer.signatures).size).toBe(1)
    sandbox.deliveries.resend(only(sandbox).id)
    await sandbox.flush()
    expect(new Set(peer.signatures).size).toBe(2)
  })

  test('deliveries never delay the API, and at most eight are in flight at once', async () => {
    let open = 0
    let most = 0
    const waiting: (() => void)[] = []
    const { sandbox } = await fresh('http://127.0.0.1:9/', {
      fetch: async () => {
        open++
        most = Math.max(most, open)
        await new Promise<void>((resolve) => waiting.push(resolve))
        open--
        return new Response()
      },
    })
    for (let at = 0; at < 30; at++) await create(sandbox)
    expect(sandbox.deliveries.list()).toHaveLength(30)
    const drained = sandbox.flush()
    while (sandbox.deliveries.list({ status: 'delivered' }).length < 30) {
      waiting.shift()?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await drained
    expect(most).toBe(8)
  })
})

describe('faults of deliveries, as a real receiver meets them:', () => {
  const outcomesOf = async (fault: Fault, occurrences = 1) => {
    const receiver = await received()
    const { sandbox, call } = await fresh(receiver.url)
    const { status } = await call('PUT', '/_sandbox/faults', { body: { faults: [fault] } })
    expect(status).toBe(200)
    for (let at = 0; at < occurrences; at++) await create(sandbox, { subjectName: `S ${at}` })
    await sandbox.flush()
    return {
      ...receiver,
      sandbox,
      get events() {
        return receiver.recorder.events
      },
    }
  }

  test.each([
    ['wrong-secret', 'SIGNATURE_MISMATCH'],
    ['unsigned', 'SIGNATURE_MISSING'],
    ['malformed', 'SIGNATURE_MALFORMED'],
    ['tampered', 'SIGNATURE_MISMATCH'],
    ['truncated', 'SIGNATURE_MISMATCH'],
    ['reserialized', 'SIGNATURE_MISMATCH'],
    ['oversized', 'BODY_TOO_LARGE'],
  ] as const)('a delivery with the fault %s is rejected with %s', async (kind, code) => {
    const { outcomes, events, sandbox } = await outcomesOf({ kind, times: 1 })
    expect(outcomes()).toEqual([code])
    expect(events).toEqual([])
    if (kind === 'oversized') return
    await sandbox.clock.advance({ seconds: 5 })
    expect(outcomes()).toEqual([code, 'handled'])
  })

  test('a reserialized body is diagnosed as such', async () => {
    const diagnoses: Promise<unknown>[] = []
    const receiver = await received({
      observe: (one) => {
        if (one.type === 'outcome') diagnoses.push(one.diagnose())
      },
    })
    const { sandbox } = await fresh(receiver.url)
    sandbox.faults.set([{ kind: 'reserialized', times: 1 }])
    await create(sandbox)
    await sandbox.flush()
    expect(await Promise.all(diagnoses)).toMatchObject([{ cause: 'body-reserialized' }])
  })

  test('the faults duplicate and storm send the same bytes again', async () => {
    const twice = await outcomesOf({ kind: 'duplicate', times: 1 })
    expect(twice.events.map(({ id }) => id)).toEqual([twice.events[0]?.id, twice.events[0]?.id])
    const storm = await outcomesOf({ kind: 'storm', copies: 50, times: 1 })
    expect(storm.events).toHaveLength(50)
    expect(new Set(storm.events.map(({ id }) => id)).size).toBe(1)
  })

  test('the fault reorder lets the next delivery go first', async () => {
    const { events } = await outcomesOf({ kind: 'reorder', times: 1 }, 2)
    const names = events.map(({ data }) => (data as Json).subjectName)
    expect(names).toEqual(['S 1', 'S 0'])
  })

  test('the faults delay and stale-replay follow the sandbox’s clock', async () => {
    const late = await outcomesOf({ kind: 'delay', seconds: 60, times: 1 })
    expect(late.events).toHaveLength(0)
    await late.sandbox.clock.advance({ seconds: 60 })
    expect(late.events).toHaveLength(1)
    const stale = await outcomesOf({ kind: 'stale-replay', times: 1 })
    expect(stale.events).toHaveLength(1)
    await stale.sandbox.clock.advance({ days: 1 })
    expect(stale.events).toHaveLength(2)
    expect(stale.events[0]?.id).toBe(stale.events[1]?.id)
  })

  test('the fault drop sends nothing and is visible in the list', async () => {
    const { events, sandbox } = await outcomesOf({ kind: 'drop', times: 1 }, 2)
    expect(events).toHaveLength(1)
    expect(sandbox.deliveries.list({ status: 'dropped' })).toHaveLength(1)
  })

  test('the faults legacy-name, unknown-event and overlap change the name', async () => {
    const legacy = await outcomesOf({ kind: 'legacy-name', times: 1 })
    expect(legacy.events[0]).toMatchObject({
      name: 'verification.created',
      receivedName: 'request.created',
    })
    const unknown = await outcomesOf({ kind: 'unknown-event', times: 1 })
    expect(unknown.events[0]?.known).toBe(false)
    const overlap = await outcomesOf({ kind: 'overlap', times: 1 })
    const names = overlap.events.map(({ receivedName }) => receivedName).toSorted()
    expect(names).toEqual(['request.created', 'verification.created'])
    const times = new Set(overlap.events.map(({ occurredAt }) => occurredAt?.getTime()))
    expect(times.size).toBe(1)
  })

  test('a delivery in slow pieces arrives whole', async () => {
    expect((await outcomesOf({ kind: 'slow-drip', times: 1 })).outcomes()).toEqual(['handled'])
  })

  test('a reset connection delivers nothing, and the next attempt does', async () => {
    const cut = await outcomesOf({ kind: 'connection-reset', times: 1 })
    expect(cut.events).toEqual([])
    expect(only(cut.sandbox).attempts[0].error).toBeDefined()
    await cut.sandbox.clock.advance({ seconds: 5 })
    expect(cut.events).toHaveLength(1)
  })

  test('a fault can be limited to an event or a subscription, and is counted', async () => {
    const receiver = await received()
    const { sandbox } = await fresh(receiver.url)
    sandbox.faults.set([{ kind: 'drop', event: 'verification.canceled' }])
    await sandbox.act((await create(sandbox)).id, 'cancel')
    sandbox.faults.set([{ kind: 'drop', subscriptionId: 'another' }])
    await create(sandbox)
    await sandbox.flush()
    const names = receiver.recorder.events.map(({ name }) => name)
    expect(names).toEqual(['verification.created', 'verification.created'])
    sandbox.faults.set([{ kind: 'duplicate', times: 2 }])
    for (let at = 0; at < 3; at++) await create(sandbox)
    await sandbox.flush()
    expect(receiver.recorder.events).toHaveLength(2 + 5)
    expect(sandbox.faults.list()).toEqual([{ kind: 'duplicate', times: 2, struck: 2 }])
  })

  test('a probability is decided by the seed', async () => {
    const struck = async (seed: number) => {
      const { sandbox } = await fresh('http://127.0.0.1:9/', {
        seed,
        fetch: async () => new Response(),
      })
      sandbox.faults.set([{ kind: 'drop', probability: 0.3 }])
      for (let at = 0; at < 200; at++) await create(sandbox)
      const list = (sandbox.deliveries.list() as Json[]).toReversed()
      return list.map(({ status }) => (status === 'dropped' ? 1 : 0))
    }
    const [one, again, other] = [await struck(1), await struck(1), await struck(2)]
    expect(again).toEqual(one)
    expect(other).not.toEqual(one)
    const share = one.reduce((sum: number, at) => sum + at, 0) / one.length
    expect(share).toBeGreaterThan(0.2)
    expect(share).toBeLessThan(0.4)
  })

  test('invalid faults are rejected with every field that is wrong', async () => {
    const { sandbox, call } = await fresh('http://127.0.0.1:9/')
    const faults = [{ kind: 'gremlin' }, { kind: 'drop', times: 0, sometimes: true }]
    expect(() => sandbox.faults.set(faults as never)).toThrow(/faults\.1\.sometimes is unknown/)
    const { status, body } = await call('PUT', '/_sandbox/faults', { body: { faults } })
    expect(status).toBe(422)
    const fields = body.errors.map(({ field }: Json) => field)
    expect(fields).toEqual(['faults.0.kind', 'faults.1.times', 'faults.1.sometimes'])
    expect(sandbox.faults.list()).toEqual([])
  })
})

describe('faults of the API', () => {
  test('faults of the API answer 429, 500 and broken JSON, counted, on the paths that they name', async () => {
    const { sandbox, call } = await fresh('http://127.0.0.1:9/')
    sandbox.faults.set([
      { kind: 'error-429', seconds: 7, times: 1 },
      { kind: 'error-500', times: 1 },
      { kind: 'malformed-json', times: 1, method: 'GET', path: '/clients' },
    ])
    const limited = await call('GET', '/v2/api/clients')
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '7'])
    expect((await call('GET', '/v2/api/clients')).status).toBe(500)
    expect((await call('GET', '/v2/api/verifications')).status).toBe(200)
    await expect(call('GET', '/v2/api/clients')).rejects.toThrow(SyntaxError)
    expect((await call('GET', '/v2/api/clients')).status).toBe(200)
  })

  test('faults of the API answer late, or never', async () => {
    const { sandbox } = await fresh('http://127.0.0.1:9/')
    sandbox.faults.set([{ kind: 'slow', seconds: 0.05, times: 1 }])
    const get = (signal?: AbortSignal) =>
      sandbox.fetch(
        new Request(`${sandbox.baseUrl}/clients`, {
          headers: { 'x-api-key': sandbox.apiKey },
          ...(signal && { signal }),
        }),
      )
    const begun = performance.now()
    expect((await get()).status).toBe(200)
    expect(performance.now() - begun).toBeGreaterThan(40)
    sandbox.faults.set([{ kind: 'timeout', times: 1 }])
    const { url } = await sandbox.listen()
    const silent = fetch(`${url}/v2/api/clients`, {
      headers: { 'x-api-key': sandbox.apiKey },
      signal: AbortSignal.timeout(200),
    })
    await expect(silent).rejects.toThrow(/aborted|timeout/i)
  })
})
