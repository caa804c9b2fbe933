import { createReceiver, createWorker, isWebhookError, schemes, sign } from 'idv-webhooks'
import { createInbox, type InboxOptions, memoryStore } from 'idv-webhooks/inbox'
import { fakeClock, signedDelivery } from 'idv-webhooks/testing'
import { describe, expect, test, vi } from 'vitest'
import { event, setUp } from './admin.ts'

const day = 24 * 60 * 60 * 1000

describe('keeping', () => {
  test('answers accepted, and every later copy duplicate, in whatever state the first is', async () => {
    const { deliver, inbox, receiver, worker } = setUp()
    receiver.on('*', () => {})
    const one = event()
    const kept = await deliver(one)
    expect(kept).toMatchObject({ kind: 'accepted' })
    const { entryId } = kept as { entryId: string }
    expect(await deliver(one)).toMatchObject({ kind: 'duplicate', entryId })
    await worker.runOnce()
    expect(await deliver(one)).toMatchObject({ kind: 'duplicate', entryId })
    await inbox.forget('verification:ver_1')
    expect(await deliver(one)).toMatchObject({ kind: 'duplicate', entryId })
    expect(await worker.runOnce()).toMatchObject({ done: 0 })
  })

  test('takes other bytes under a known id as evidence, observed and not run', async () => {
    const { deliver, inbox, receiver, worker, seen } = setUp()
    const ran: unknown[] = []
    receiver.on('*', ({ data }) => ran.push(data))
    const one = event('verification.approved', { score: 1 })
    await deliver(one)
    const conflict = await deliver({ ...one, data: { id: 'ver_1', score: 2 } })
    expect(conflict).toMatchObject({ kind: 'duplicate', conflict: true })
    expect(seen.at(-1)).toMatchObject({ type: 'outcome', kind: 'duplicate', conflict: true })
    await worker.runOnce()
    expect(ran).toEqual([{ id: 'ver_1', score: 1 }])
    const { entries } = await inbox.find({ state: 'skipped' })
    expect(entries).toMatchObject([{ reason: 'CONFLICT', eventId: one.id }])
    expect(await inbox.redrive({ state: 'skipped' })).toBe(0)
    expect(await inbox.redrive(entries[0]?.id ?? '')).toBe(1)
  })

  test('has no dedupe without an id, unless bodies are asked for', async () => {
    const { id: _, ...bare } = event()
    const byId = setUp()
    expect((await byId.deliver(bare)).kind).toBe('accepted')
    expect((await byId.deliver(bare)).kind).toBe('accepted')
    const byBody = setUp({ dedupe: 'body' })
    expect((await byBody.deliver(bare)).kind).toBe('accepted')
    expect((await byBody.deliver(bare)).kind).toBe('duplicate')
  })

  test('takes the id that the scheme signs before the one in the body', async () => {
    const scheme = schemes.standardWebhooks()
    const { receiver } = setUp({ receiver: { scheme } })
    const deliver = async (id: string, body: object) =>
      (await receiver.receive(await signedDelivery(body, { scheme, id }))).kind
    const one = event()
    expect(await deliver('msg_1', one)).toBe('accepted')
    expect(await deliver('msg_1', one)).toBe('duplicate')
    expect(await deliver('msg_2', one)).toBe('accepted')
  })

  test('keeps what nobody understands, to become a dead letter with its reason', async () => {
    const { deliver, inbox, worker } = setUp()
    expect((await deliver('no json')).kind).toBe('accepted')
    expect((await deliver('{"no":"envelope"}')).kind).toBe('accepted')
    expect((await deliver(Uint8Array.of(0xff))).kind).toBe('accepted')
    expect(await worker.runOnce()).toMatchObject({ dead: 3 })
    const { entries } = await inbox.find({ state: 'dead' })
    expect(entries.map(({ reason, attempts }) => [reason, attempts])).toEqual([
      ['BODY_NOT_UTF8', 1],
      ['ENVELOPE_INVALID', 1],
      ['BODY_NOT_JSON', 1],
    ])
  })

  test('tells the same occurrence under its legacy name by entity and time', async () => {
    const { deliver, receiver, worker } = setUp()
    const ran: string[] = []
    receiver.on('verification.approved', ({ receivedName }) => ran.push(receivedName))
    const at = (createdAt: string) => ({ createdAt })
    const noon = at('2026-01-01T12:00:00Z')
    const first = await deliver(event('request.approved', {}, noon))
    const second = event('verification.approved', {}, at('2026-01-01T12:00:00.000Z'))
    expect(await deliver(second)).toEqual({ ...first, kind: 'duplicate' })
    expect(await deliver(second)).toEqual({ ...first, kind: 'duplicate' })
    const others = [
      event('verification.approved', { id: 'ver_2' }, noon),
      event('verification.approved', {}, at('2026-01-01T12:00:01Z')),
      event('verification.rejected', {}, noon),
      event('request.approved', {}, noon),
      event('verification.approved'),
    ]
    for (const other of others) expect((await deliver(other)).kind).toBe('accepted')
    await worker.runOnce()
    expect(ran).toHaveLength(5)
  })

  test('is 503 when the store does not answer in time, and when it fails', async () => {
    const store = memoryStore()
    store.insert = () => new Promise(() => {})
    const { deliver } = setUp({ store, timeout: 20 })
    expect(await deliver(event())).toMatchObject({ kind: 'failed', code: 'STORE_UNAVAILABLE' })
    const broken = memoryStore()
    broken.open = () => Promise.reject(new Error('the disk is gone'))
    expect(await setUp({ store: broken }).deliver(event())).toMatchObject({
      kind: 'failed',
      code: 'STORE_UNAVAILABLE',
    })
  })

  test('closes within its time while the store hangs at opening, and lets it go when it opens', async () => {
    const opened = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    const store = Object.assign(memoryStore(), {
      open: () => opened.promise,
      close: async () => closed.resolve(),
    })
    const inbox = createInbox({ store, timeout: 5 })
    const opening = inbox.open()
    await expect(inbox.close()).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
    opened.resolve()
    await opening
    await closed.promise
  })

  test('opens again after a failed opening', async () => {
    const store = memoryStore()
    const open = store.open.bind(store)
    store.open = () => Promise.reject(new Error('not yet'))
    const { deliver } = setUp({ store })
    expect((await deliver(event())).kind).toBe('failed')
    store.open = open
    expect((await deliver(event())).kind).toBe('accepted')
  })
})

describe('looking', () => {
  test('finds by state, name, entity, time and search, and pages', async () => {
    const clock = fakeClock('2026-01-01T00:00:00Z')
    const { deliver, inbox } = setUp({ now: clock.now, receiver: { now: clock.now } })
    await deliver(event('verification.created', { id: 'ver_9', clientId: 'cli_9' }))
    clock.advance({ hours: 1 })
    const second = event('client.created', { id: 'cli_9' })
    await deliver(second)
    await deliver(event('verification.approved', { id: 'ver_8' }))
    const names = async (query: Parameters<typeof inbox.find>[0]) =>
      (await inbox.find(query)).entries.map(({ name }) => name)
    expect(await names({})).toEqual([
      'verification.approved',
      'client.created',
      'verification.created',
    ])
    expect(await names({ name: 'client.created' })).toEqual(['client.created'])
    expect(await names({ entity: { type: 'verification', id: 'ver_8' } })).toHaveLength(1)
    expect(await names({ entity: 'client:cli_9' })).toEqual([
      'client.created',
      'verification.created',
    ])
    expect(await names({ since: '2026-01-01T00:30:00Z' })).toHaveLength(2)
    expect(await names({ state: ['done', 'dead'] })).toEqual([])
    for (const search of [second.id, 'ient.crea']) {
      expect(await names({ search })).toEqual(['client.created'])
    }
    expect(await names({ search: 'ver_8' })).toEqual(['verification.approved'])
    const first = await inbox.find({ limit: 2 })
    const next = await inbox.find({ limit: 2, cursor: first.cursor ?? '' })
    expect([first.entries.length, next.entries.length, next.cursor]).toEqual([2, 1, undefined])
  })

  test('shows an entry without its payload, and with it only on demand', async () => {
    const { deliver, inbox } = setUp()
    const one = event('verification.approved', { subjectName: 'Robin' })
    const { entryId } = (await deliver(one)) as { entryId: string }
    const entry = await inbox.get(entryId)
    expect(entry).toMatchObject({
      id: entryId,
      state: 'stored',
      name: 'verification.approved',
      eventId: one.id,
      entity: { type: 'verification', id: 'ver_1' },
      attempts: 0,
      failures: [],
      erased: false,
    })
    expect(JSON.stringify(entry)).not.toContain('Robin')
    const { delivery } = (await inbox.get(entryId, { withDelivery: true })) ?? {}
    expect(new TextDecoder().decode(delivery?.body)).toBe(JSON.stringify(one))
    expect(await inbox.get('none')).toBeUndefined()
  })

  test('tells counts by state, the oldest age and the lag', async () => {
    const clock = fakeClock()
    const { deliver, inbox, receiver, worker } = setUp({ now: clock.now })
    receiver.on('client.created', () => {})
    const none = { stored: 0, leased: 0, retry: 0, done: 0, dead: 0, skipped: 0 }
    expect(await inbox.stats()).toEqual({ ...none, lag: 0 })
    await deliver(event())
    await deliver(event('client.created', { id: 'c' }))
    clock.advance({ seconds: 5 })
    expect(await inbox.stats()).toEqual({ ...none, stored: 2, oldestAge: 5_000, lag: 5_000 })
    await worker.runOnce()
    expect(await inbox.stats()).toEqual({ ...none, done: 1, skipped: 1, lag: 0 })
  })

  test('tells how long events take from occurrence to done, and the share within a target', async () => {
    const clock = fakeClock()
    const { deliver, inbox, receiver, worker } = setUp({ now: clock.now })
    receiver.on('client.*', () => {}, { id: 'crm' })
    const occurredAt = (seconds: number) =>
      new Date(clock.now().getTime() - seconds * 1_000).toISOString()
    for (const seconds of [1, 30, 90]) {
      const id = `c${seconds}`
      await deliver({ ...event('client.created', { id }), createdAt: occurredAt(seconds) })
    }
    await worker.runOnce()
    const { latency } = await inbox.stats({ target: 60_000 })
    const times = { p50: 30_000, p95: 90_000, p99: 90_000, longest: 90_000 }
    expect(latency).toEqual({
      target: 60_000,
      since: new Date(clock.now().getTime() - 86_400_000),
      handlers: [{ handler: 'crm', entries: 3, share: 2 / 3, ...times }],
    })
    clock.advance({ days: 2 })
    expect((await inbox.stats({ target: 60_000 })).latency?.handlers).toEqual([])
    const since = '2020-01-01T00:00:00Z'
    expect((await inbox.stats({ target: 1, since })).latency?.handlers).toMatchObject([
      { entries: 3, share: 0 },
    ])
    for (const options of [
      {},
      { target: '60s' },
      { target: 1, since: 'x' },
      { goal: 1, target: 1 },
    ]) {
      await expect(inbox.stats(options as never)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    }
  })
})

describe('running again', () => {
  test('redrives the dead and the skipped, in their place, and only handlers that failed', async () => {
    const { deliver, inbox, receiver, worker } = setUp({ retry: { attempts: 1 } })
    let broken = true
    const ran: string[] = []
    receiver
      .on('verification.*', ({ name }) => ran.push(`good ${name}`), { id: 'good' })
      .on('verification.*', ({ name }) => {
        if (broken) throw new Error('no')
        ran.push(`mended ${name}`)
      })
    await deliver(event('verification.created'))
    await deliver(event('verification.approved'))
    await deliver(event('client.created', { id: 'c' }))
    await worker.runOnce()
    expect(await inbox.stats()).toMatchObject({ dead: 2, skipped: 1 })
    broken = false
    ran.length = 0
    expect(await inbox.redrive({ name: 'verification.created' })).toBe(1)
    expect(await inbox.redrive({})).toBe(2)
    await worker.runOnce()
    expect(ran).toEqual(['mended verification.created', 'mended verification.approved'])
    expect(await inbox.stats()).toMatchObject({ done: 2, skipped: 1 })
  })

  test('replays a done entry from its kept bytes, to every handler', async () => {
    const { deliver, inbox, receiver, worker } = setUp()
    const sources: string[] = []
    receiver.on('*', ({ source }) => sources.push(source))
    const { entryId } = (await deliver(event())) as { entryId: string }
    expect(await inbox.replay(entryId)).toBe(false)
    await worker.runOnce()
    expect(await inbox.replay(entryId)).toBe(true)
    await worker.runOnce()
    expect(sources).toEqual(['webhook', 'replay'])
    await inbox.forget('verification:ver_1')
    expect(await inbox.replay(entryId)).toBe(false)
  })
})

describe('privacy', () => {
  test('erases payloads 7 days after done and 90 after dead; keys stay their 30 days', async () => {
    const clock = fakeClock()
    const { deliver, inbox, receiver, worker } = setUp({
      now: clock.now,
      retry: { attempts: 1 },
      receiver: { now: clock.now },
    })
    receiver.on('verification.approved', () => {})
    receiver.on('verification.rejected', () => {
      throw new Error('no')
    })
    const done = event()
    await deliver(done)
    await deliver(event('verification.rejected', { id: 'ver_2' }))
    await worker.runOnce()
    const daysLater = async (days: number) => {
      clock.set(new Date(Date.UTC(2026, 0, 1) + days * day + 1))
      await inbox.purge()
      return (await inbox.find()).entries.map(({ state, erased }) => [state, erased])
    }
    expect(await daysLater(6)).toEqual([
      ['dead', false],
      ['done', false],
    ])
    expect(await daysLater(7)).toEqual([
      ['dead', false],
      ['done', true],
    ])
    expect((await deliver(done)).kind).toBe('duplicate')
    expect(await daysLater(30)).toEqual([['dead', false]])
    expect((await deliver(done)).kind).toBe('accepted')
    expect(await daysLater(90)).toEqual([['stored', false]])
  })

  test('forgets an entity with the events that speak of it, and skips what was open', async () => {
    const { deliver, inbox, receiver, worker } = setUp()
    const ran: string[] = []
    receiver.on('*', ({ name }) => ran.push(name))
    await deliver(event('client.created', { id: 'cli_1' }))
    await deliver(event('verification.created', { id: 'ver_1', clientId: 'cli_1' }))
    await deliver(event('verification.created', { id: 'ver_2', clientId: 'cli_2' }))
    expect(await inbox.forget({ type: 'client', id: 'cli_1' })).toBe(2)
    await worker.runOnce()
    expect(ran).toEqual(['verification.created'])
    const { entries } = await inbox.find({ state: 'skipped' })
    expect(entries.map(({ erased, reason, entity }) => [erased, reason, entity])).toEqual([
      [true, 'FORGOTTEN', undefined],
      [true, 'FORGOTTEN', undefined],
    ])
  })

  test('forgets a client whose id is a number, however long', async () => {
    const { inbox, receiver } = setUp()
    const [mine, other] = ['9007199254740993', '9007199254740992']
    for (const id of ['42', mine, other]) {
      const text = `{"event":"verification.created","data":{"id":"ver_${id}","clientId":${id}}}`
      await receiver.receive(await signedDelivery(new TextEncoder().encode(text)))
    }
    expect(await inbox.forget('client:42')).toBe(1)
    expect(await inbox.forget(`client:${mine}`)).toBe(1)
    const left = (await inbox.find({ state: 'stored' })).entries
    expect(left.map(({ entity }) => entity?.id)).toEqual([`ver_${other}`])
  })

  test('keeps no credentials of whoever stands in front', async () => {
    const { inbox, receiver } = setUp()
    const headers = { Authorization: 'Bearer x', Cookie: 'a=b', 'X-Tenant': 't' }
    const delivered = await signedDelivery(event(), { headers })
    const { entryId } = (await receiver.receive(delivered)) as { entryId: string }
    const { delivery } = (await inbox.get(entryId, { withDelivery: true })) ?? {}
    const names = delivery?.headers.map(([name]) => name)
    expect(names).toEqual(['content-type', 'x-tenant', 'x-service-signature'])
  })

  const key = 'a1'.repeat(32)
  const newer = 'b2'.repeat(32)

  test('opens what an older key has sealed, and refuses to start without it', async () => {
    const store = memoryStore()
    const first = setUp({ store, encryption: { key } })
    const one = event('verification.approved', { subjectName: 'Robin' })
    await first.deliver(one)
    const rotated = setUp({ store, encryption: { key: newer, previous: [key] } })
    const names: unknown[] = []
    rotated.receiver.on('verification.approved', ({ data }) => names.push(data.subjectName))
    expect((await rotated.deliver(one)).kind).toBe('duplicate')
    await rotated.worker.runOnce()
    expect(names).toEqual(['Robin'])
    await setUp({ store, encryption: { key: newer } }).inbox.open()
    for (const [encryption, message] of [
      [{ key }, /with another key: pass that key in encryption\.previous/],
      [undefined, /no key was passed: pass encryption: \{ key \}/],
    ] as const) {
      const stranger = setUp({ store, ...(encryption && { encryption }) })
      await expect(stranger.inbox.open()).rejects.toMatchObject({
        code: 'STORE_SEALED',
        message: expect.stringMatching(message),
      })
    }
  })

  test('does not lose an entry whose key is missing: it is retried, dead, and redriven', async () => {
    const store = memoryStore()
    const first = setUp({ store, encryption: { key } })
    await first.deliver(event())
    await setUp({ store, encryption: { key: newer, previous: [key] } }).inbox.open()
    const without = setUp({ store, encryption: { key: newer } })
    without.receiver.on('*', () => {})
    expect(await without.worker.runOnce()).toMatchObject({ retry: 2, dead: 1 })
    expect((await without.inbox.find()).entries).toMatchObject([{ reason: 'UNREADABLE' }])
    const again = setUp({ store, encryption: { key: newer, previous: [key] } })
    again.receiver.on('*', () => {})
    expect(await again.inbox.redrive({})).toBe(1)
    expect(await again.worker.runOnce()).toMatchObject({ done: 1 })
  })
})

test('a store that opens and then fails is closed before it is opened again', async () => {
  const store = memoryStore()
  const opened = vi.spyOn(store, 'open')
  const closed = vi.spyOn(store, 'close')
  const { recall } = store
  const failing = vi.spyOn(store, 'recall').mockRejectedValue(new Error('the disk is full'))
  const inbox = createInbox({ store })
  for (let time = 0; time < 3; time++) await expect(inbox.open()).rejects.toThrow('disk is full')
  expect(closed).toHaveBeenCalledTimes(3)
  failing.mockImplementation(recall.bind(store))
  await inbox.open()
  expect(opened).toHaveBeenCalledTimes(4)
  await inbox.close()
  expect(closed).toHaveBeenCalledTimes(4)
})

test('an inbox that is closed while it opens lets its store go before it opens it again', async () => {
  const store = memoryStore()
  const [open, close] = [store.open.bind(store), store.close.bind(store)]
  const steps: string[] = []
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let openings = 0
  store.open = async (wake) => {
    const gate = gates[openings++]
    steps.push('opens')
    await gate?.promise
    await open(wake)
    steps.push('open')
  }
  store.close = async () => {
    steps.push('closes')
    await close()
    steps.push('closed')
  }
  const { inbox, deliver } = setUp({ store })
  const opening = inbox.open()
  const closing = [inbox.close(), inbox.close()]
  const delivered = deliver(event())
  gates[1]?.resolve()
  // Time for a second opening to overtake the first.
  await new Promise((resolve) => setTimeout(resolve, 20))
  gates[0]?.resolve()
  await Promise.all([opening, ...closing])
  expect((await delivered).kind).toBe('accepted')
  expect((await deliver(event())).kind).toBe('accepted')
  expect(steps).toEqual(['opens', 'open', 'closes', 'closed', 'opens', 'open'])
  await inbox.close()
  expect(steps.slice(6)).toEqual(['closes', 'closed'])
})

test('a close that fails or hangs does so for all who wait for it, and does not keep the next opening', async () => {
  const store = memoryStore()
  const inbox = createInbox({ store, timeout: 5 })
  const close = vi.spyOn(store, 'close').mockRejectedValueOnce(new Error('the disk is full'))
  await inbox.open()
  const reason = new Error('the disk is full')
  const closing = await Promise.allSettled([inbox.close(), inbox.close()])
  expect(closing).toEqual(Array(2).fill({ status: 'rejected', reason }))
  await inbox.open()
  const end = Promise.withResolvers<void>()
  close.mockReturnValueOnce(end.promise)
  await expect(inbox.close()).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
  const opening = inbox.open()
  end.resolve()
  await opening
  await inbox.close()
  expect(close).toHaveBeenCalledTimes(3)
})

describe('createInbox refuses', () => {
  const create = (options: object) => () => createInbox(options as unknown as InboxOptions)
  const store = memoryStore()

  test.each<[object, string, RegExp]>([
    [{}, 'INBOX_INVALID', /sqliteStore/],
    [{ store, retries: 3 }, 'OPTION_INVALID', /no option 'retries'/],
    [{ store, retry: { attempts: 0 } }, 'OPTION_INVALID', /retry\.attempts must be a whole number/],
    [{ store, retry: { delays: [] } }, 'OPTION_INVALID', /retry\.delays/],
    [{ store, onDead: 'stop' }, 'OPTION_INVALID', /'continue' or 'block'/],
    [{ store, dedupe: 'hash' }, 'OPTION_INVALID', /'id' or 'body'/],
    [{ store, retention: { done: -1 } }, 'OPTION_INVALID', /retention\.done/],
    [{ store, now: fakeClock() }, 'OPTION_INVALID', /now must be a function/],
    [{ store, timeout: 0 }, 'OPTION_INVALID', /timeout/],
    [
      { store, timeout: 0.5 },
      'OPTION_INVALID',
      /timeout must be a whole number of milliseconds, from 1 to 600000, got 0.5/,
    ],
    [{ store, timeout: 2 ** 31 }, 'OPTION_INVALID', /timeout must be .* got 2147483648/],
    [{ store, timeout: '2000' }, 'OPTION_INVALID', /timeout/],
    [{ store, lease: 2 ** 40 }, 'OPTION_INVALID', /lease must be .* got 1099511627776/],
    [{ store, lease: 1_000.5 }, 'OPTION_INVALID', /lease must be a whole number/],
    [{ store, encryption: { key: 'short' } }, 'OPTION_INVALID', /32 random bytes/],
    [{ store, needs: { survives: 'restart' } }, 'STORE_UNSUITABLE', /survives: 'restart'/],
    [
      { store, needs: { tx: true } },
      'STORE_UNSUITABLE',
      /memory store does not guarantee tx: true/,
    ],
    [
      {
        store: Object.assign(memoryStore(), {
          capabilities: { ...store.capabilities, dedupeDays: 7 },
        }),
      },
      'STORE_UNSUITABLE',
      /retention\.keys: 30 \(it remembers 7 days\)/,
    ],
  ])('%o', (options, code, message) => {
    expect(create(options)).toThrow(message)
    try {
      create(options)()
    } catch (error) {
      expect(isWebhookError(error) && error.code).toBe(code)
    }
  })
})

describe('a probe of doctor', () => {
  const probe = '{"event":"idv-webhooks.doctor","id":"p","data":{}}'
  const take = async (body: string, headers?: Record<string, string>) => {
    const { inbox, receiver, calls } = probed()
    const bytes = new TextEncoder().encode(body)
    const outcome = await receiver.receive({
      body: bytes,
      headers: headers ?? (await sign(bytes, { secret: probeSecret })),
    })
    const worker = createWorker(receiver)
    await worker.runOnce()
    const kept = (await inbox.find()).entries.length
    await inbox.close()
    return { kind: outcome.kind, code: 'code' in outcome ? outcome.code : undefined, kept, calls }
  }

  test('is answered, and neither kept nor handled, once it is proved', async () => {
    expect(await take(probe)).toEqual({ kind: 'ignored', code: undefined, kept: 0, calls: [] })
    expect(await take(probe, { 'x-service-signature': 'a0'.repeat(32) })).toMatchObject({
      kind: 'rejected',
      code: 'SIGNATURE_MISMATCH',
    })
  })

  test('that cannot be parsed is refused by its first bytes, and not kept either', async () => {
    const code = 'BODY_NOT_JSON'
    expect(await take(probe.slice(0, -2))).toMatchObject({ kind: 'rejected', code, kept: 0 })
  })

  test('is nothing that a person types into an event of somebody else', async () => {
    const data = `{"note":${JSON.stringify(probe)}}`
    const body = `{"id":"evt_1","event":"client.created","data":${data}}`
    expect(await take(body)).toMatchObject({ kind: 'accepted', kept: 1, calls: ['client.created'] })
    expect(await take(body.slice(0, -2))).toMatchObject({ kind: 'accepted', kept: 1 })
  })
})

const probeSecret = 'the-secret-of-the-probed'

function probed() {
  const inbox = createInbox({ store: memoryStore() })
  const calls: string[] = []
  const receiver = createReceiver({ secret: probeSecret, inbox, observe() {} })
  receiver.on('*', ({ name }) => void calls.push(name))
  receiver.fallback(({ name }) => void calls.push(name))
  return { inbox, receiver, calls }
}
