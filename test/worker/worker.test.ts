import { setTimeout as delay } from 'node:timers/promises'
import { createReceiver, createWorker, NonRetryable, type WebhookEvent } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { fakeClock, recordHandlers, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { DurableInbox } from '../../src/inbox/inbox.ts'
import { event, type Parts, setUp, until } from '../inbox/admin.ts'
import { temporaryFile } from '../inbox/temporary.ts'

const stores = [
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(temporaryFile())],
] as const

describe.each(stores)('a worker on %s', (_, store) => {
  const fresh = (parts: Parts = {}) => setUp({ store: store(), ...parts })

  test('hands kept events to the handlers as they come, with their exact delivery', async () => {
    const { deliver, receiver, worker, settled } = fresh()
    const recorder = recordHandlers(receiver)
    await worker.start()
    const one = event('request.approved')
    await deliver(one)
    await recorder.waitFor('verification.approved')
    const { event: got, context } = recorder.calls[0] ?? {}
    expect(got).toMatchObject({ id: one.id, receivedName: 'request.approved', source: 'webhook' })
    expect(context).toMatchObject({ attempt: 1, idempotencyKey: one.id, gap: false, stale: false })
    expect(new TextDecoder().decode(context?.delivery.body)).toBe(JSON.stringify(one))
    await until(() => settled().length === 1)
    expect(settled()).toEqual(['done'])
  })

  test('an entry kept under a legacy name is handled although such names are rejected by now', async () => {
    const kept = store()
    const before = fresh({ store: kept, retry: { attempts: 1 } })
    before.receiver.on('*', () => {
      throw new Error('later')
    })
    await before.deliver(event('request.approved'))
    await before.worker.runOnce()
    await before.inbox.close()
    const after = fresh({ store: kept, receiver: { legacy: 'reject' } })
    const names: string[] = []
    after.receiver.on('verification.approved', ({ name }) => void names.push(name))
    expect(await after.inbox.redrive({ state: 'dead' })).toBe(1)
    await after.deliver(event('request.approved', { id: 'ver_refused' }))
    expect(await after.worker.runOnce()).toMatchObject({ done: 1, skipped: 1 })
    expect(names).toEqual(['verification.approved'])
  })

  test('an event without an id has its own key, equal in every attempt', async () => {
    const { deliver, receiver, worker, settled } = fresh({ retry: { attempts: 2, delays: [1] } })
    const keys: string[] = []
    receiver.on('*', (_, { idempotencyKey, attempt }) => {
      keys.push(idempotencyKey)
      if (attempt === 1) throw new Error('later')
    })
    await worker.start()
    // A vendor's `something changed`: all of them have the same bytes.
    const thin = { event: 'client.updated', data: { id: 'cli_1' } }
    for (const _ of [1, 2]) await deliver(thin)
    await until(() => settled().filter((state) => state === 'done').length === 2)
    expect(keys).toHaveLength(4)
    expect(new Set(keys).size).toBe(2)
    expect(keys[0]).toMatch(/^entry=/)
  })

  test('a clock that throws harms nothing but the times that are observed', async () => {
    let isBroken = false
    const now = () => {
      if (isBroken) throw new Error('no time')
      return new Date()
    }
    const { deliver, receiver, worker, settled } = fresh({ receiver: { now } })
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    receiver.on('*', async () => {
      isBroken = true
      await delay(2)
    })
    await worker.start()
    await deliver(event())
    await until(() => settled().length === 1)
    expect(settled()).toEqual(['done'])
    vi.restoreAllMocks()
  })

  test('keeps arrival order and one at a time for each entity, retries included', async () => {
    const { deliver, receiver, worker, settled } = fresh({ retry: { attempts: 5, delays: [3] } })
    const running = new Set<string>()
    const order = new Map<string, string[]>()
    let calls = 0
    receiver.on('verification.*', async ({ id = '', entity }, { attempt }) => {
      expect(running).not.toContain(entity.id)
      running.add(entity.id)
      await delay(calls++ % 3)
      running.delete(entity.id)
      if (calls % 4 === 0 && attempt < 4) throw new Error('again')
      order.set(entity.id, [...(order.get(entity.id) ?? []), id])
    })
    const sent = Array.from({ length: 60 }, (_, at) =>
      event('verification.created', { id: `ver_${at % 6}` }),
    )
    await worker.start()
    for (const one of sent) await deliver(one)
    await until(() => settled().filter((state) => state === 'done').length === sent.length)
    for (const [entity, ids] of order) {
      const arrived = sent.filter(({ data }) => (data as { id: string }).id === entity)
      expect(ids).toEqual(arrived.map(({ id }) => id))
    }
  })

  test('lets no entity wait for another that fails or takes its time', async () => {
    const { deliver, receiver, worker } = fresh({ retry: { attempts: 12 } })
    const slow = Promise.withResolvers<void>()
    const done: string[] = []
    receiver.on('verification.*', async ({ entity }) => {
      if (entity.id === 'slow') await slow.promise
      if (entity.id === 'broken') throw new Error('no')
      done.push(entity.id)
    })
    await worker.start()
    for (const id of ['slow', 'broken', 'slow', 'broken', 'fine']) {
      await deliver(event('verification.created', { id }))
    }
    await until(() => done.length === 1)
    expect(done).toEqual(['fine'])
    slow.resolve()
    await until(() => done.length === 3)
    expect(done).toEqual(['fine', 'slow', 'slow'])
  })

  test('runs in a retry only the handlers that have not succeeded', async () => {
    const { deliver, receiver, worker } = fresh()
    const ran: string[] = []
    receiver
      .on('*', () => ran.push('first'), { id: 'first' })
      .on('*', (_, { attempt }) => {
        ran.push(`second ${attempt}`)
        if (attempt < 3) throw new Error('no')
      })
      .on('*', () => ran.push('third'), { id: 'third' })
    await deliver(event())
    expect(await worker.runOnce()).toMatchObject({ retry: 2, done: 1 })
    expect(ran).toEqual(['first', 'second 1', 'third', 'second 2', 'second 3'])
  })

  test('ends a failing event as a dead letter after its attempts, without the text of its errors', async () => {
    const { deliver, inbox, receiver, worker, seen } = fresh()
    receiver.on('verification.approved', ({ data }) => {
      throw new TypeError(`no ${data.subjectName}`)
    })
    const { entryId } = (await deliver(
      event('verification.approved', { subjectName: 'Robin' }),
    )) as {
      entryId: string
    }
    await worker.runOnce()
    const entry = await inbox.get(entryId)
    expect(entry).toMatchObject({ state: 'dead', reason: 'HANDLER_FAILED', attempts: 3 })
    expect(entry?.failures).toMatchObject(
      [{ handler: 'verification.approved#1', code: 'HANDLER_FAILED', error: /^TypeError at / }].map(
        (one) => ({ ...one, error: expect.stringMatching(one.error) }),
      ),
    )
    expect(JSON.stringify([entry, seen])).not.toContain('Robin')
    expect(seen.at(-1)).toMatchObject({ type: 'settled', state: 'dead', attempt: 3 })
  })

  test('sends NonRetryable to the dead letters at once', async () => {
    const { deliver, receiver, worker, inbox } = fresh()
    receiver.on('*', () => {
      throw new NonRetryable('unknown tenant')
    })
    await deliver(event())
    expect(await worker.runOnce()).toMatchObject({ dead: 1, retry: 0 })
    expect((await inbox.find()).entries).toMatchObject([{ reason: 'NON_RETRYABLE', attempts: 1 }])
  })

  test('continues after a dead letter and marks the gap for later handlers', async () => {
    const { deliver, inbox, receiver, worker } = fresh({ retry: { attempts: 1 } })
    const gaps: [string, boolean | undefined][] = []
    receiver.on('verification.*', ({ name }, { gap }) => {
      if (name === 'verification.created') throw new Error('no')
      gaps.push([name, gap])
    })
    await deliver(event('verification.created'))
    await deliver(event('verification.submitted'))
    await deliver(event('verification.submitted', { id: 'another' }))
    await worker.runOnce()
    expect(gaps.toSorted()).toEqual([
      ['verification.submitted', false],
      ['verification.submitted', true],
    ])
    expect(await inbox.stats()).toMatchObject({ dead: 1, done: 2 })
  })

  test('stops an entity at its dead letter when told to, until it is redriven or dismissed', async () => {
    const { deliver, inbox, receiver, worker } = fresh({ retry: { attempts: 1 }, onDead: 'block' })
    const ran: string[] = []
    let broken = true
    receiver.on('verification.*', ({ name }) => {
      if (broken && name === 'verification.created') throw new Error('no')
      ran.push(name)
    })
    for (const name of ['created', 'submitted', 'approved']) {
      await deliver(event(`verification.${name}`))
    }
    await worker.runOnce()
    expect(ran).toEqual([])
    broken = false
    await inbox.redrive({})
    await worker.runOnce()
    expect(ran).toEqual(['verification.created', 'verification.submitted', 'verification.approved'])
    broken = true
    const { entryId } = (await deliver(event('verification.created'))) as { entryId: string }
    await deliver(event('verification.expired'))
    await worker.runOnce()
    expect(ran).toHaveLength(3)
    expect(await inbox.dismiss(entryId)).toBe(true)
    await worker.runOnce()
    expect(ran.slice(3)).toEqual(['verification.expired'])
    expect(await inbox.get(entryId)).toMatchObject({ state: 'skipped', reason: 'DISMISSED' })
  })

  test('skips what no handler wants, visibly', async () => {
    const { deliver, inbox, receiver, worker } = fresh()
    receiver.on('client.created', () => {})
    await deliver(event())
    expect(await worker.runOnce()).toMatchObject({ skipped: 1 })
    expect((await inbox.find()).entries).toMatchObject([{ reason: 'NO_HANDLER', state: 'skipped' }])
  })

  test('stops a handler at its time limit and takes nothing from it afterwards', async () => {
    const { deliver, receiver, worker } = fresh({ receiver: { handlerTimeout: 15 } })
    const late = Promise.withResolvers<void>()
    const signals: AbortSignal[] = []
    receiver.on('*', async (_, { attempt, signal }) => {
      signals.push(signal)
      if (attempt === 1) await late.promise
    })
    await deliver(event())
    expect(await worker.runOnce()).toMatchObject({ retry: 1, done: 1 })
    expect(signals[0]?.reason).toMatchObject({ name: 'TimeoutError' })
    late.resolve()
  })

  test('drains: claims nothing more, lets handlers end, and what does not end is released', async () => {
    const { deliver, inbox, receiver, worker, settled } = fresh({ worker: { concurrency: 2 } })
    const quick = Promise.withResolvers<void>()
    const begun: string[] = []
    receiver.on('verification.*', async ({ entity }, { signal }) => {
      begun.push(entity.id)
      if (entity.id === 'quick') return quick.promise
      await new Promise((_, reject) => signal.addEventListener('abort', reject))
    })
    for (const id of ['quick', 'hangs', 'waits']) {
      await deliver(event('verification.created', { id }))
    }
    await worker.start()
    await until(() => begun.length === 2)
    const drained = worker.drain({ grace: 30 })
    quick.resolve()
    await drained
    expect(settled().toSorted()).toEqual(['done', 'released'])
    expect(begun).not.toContain('waits')
    const { entries } = await inbox.find({ state: 'stored' })
    expect(entries.map(({ attempts }) => attempts)).toEqual([0, 0])
    await worker.start()
    await until(() => begun.length === 4)
    expect(begun.slice(2).toSorted()).toEqual(['hangs', 'waits'])
  })

  test('does not start after a drain that overtook its start', async () => {
    const { deliver, receiver, worker, inbox } = fresh()
    receiver.on('*', () => {})
    await worker.start()
    void worker.drain()
    void worker.start()
    await worker.drain()
    await deliver(event())
    await delay(50)
    expect(await inbox.stats()).toMatchObject({ stored: 1 })
    await worker.start()
    await until(async () => (await inbox.stats()).done === 1)
  })

  test('waits at a drain for the deliveries that are being received', async () => {
    const { deliver, receiver, worker } = fresh()
    receiver.on('*', () => {})
    await worker.start()
    const answers: string[] = []
    const all = Array.from({ length: 20 }, async () => answers.push((await deliver(event())).kind))
    await delay(0)
    await worker.drain()
    expect(answers).toHaveLength(20)
    await Promise.all(all)
    expect(new Set(answers)).toEqual(new Set(['accepted']))
  })

  test('drains once for hosts with a schedule, within its bounds', async () => {
    const { deliver, receiver, worker } = fresh({ worker: { concurrency: 2 } })
    receiver.on('*', () => {})
    for (let at = 0; at < 7; at++) await deliver(event('client.created', { id: `c${at}` }))
    expect(await worker.runOnce({ limit: 3 })).toMatchObject({ done: 3 })
    expect(await worker.runOnce({ timeout: 0 })).toMatchObject({ done: 0 })
    expect(await worker.runOnce()).toMatchObject({ done: 4 })
  })

  test('begins nothing after the time of a run, however long it waits for room', async () => {
    const { deliver, receiver, worker } = fresh({ worker: { concurrency: 1 } })
    let begun = 0
    receiver.on('*', async () => {
      begun++
      await delay(600)
    })
    for (let at = 0; at < 3; at++) await deliver(event('client.created', { id: `c${at}` }))
    const first = worker.runOnce({ limit: 1 })
    await until(() => begun === 1)
    expect(await worker.runOnce({ timeout: 100 })).toMatchObject({ done: 0 })
    expect(begun).toBe(1)
    expect(await first).toMatchObject({ done: 1 })
    expect(await worker.runOnce()).toMatchObject({ done: 2 })
  })

  test('calls after every reply wait for room, and miss nothing', async () => {
    const { deliver, inbox, receiver, worker } = fresh({ worker: { concurrency: 1 } })
    const gate = Promise.withResolvers<void>()
    receiver.on('*', () => gate.promise)
    const source = inbox as unknown as DurableInbox
    const claim = source.leases.claim.bind(source.leases)
    let claims = 0
    source.leases.claim = (limit) => {
      claims++
      return claim(limit)
    }
    const runs: ReturnType<typeof worker.runOnce>[] = []
    for (let at = 0; at < 100; at++) {
      await deliver(event('client.created', { id: `c${at}` }))
      runs.push(worker.runOnce())
    }
    gate.resolve()
    const reports = await Promise.all(runs)
    const done = reports.map((report) => report.done)
    // An application may add up into an object that it passed in.
    expect(new Set(reports).size).toBe(100)
    expect(done.reduce((sum, one) => sum + one, 0)).toBe(100)
    // One for each entry, and the last of each run finds nothing.
    expect(claims).toBeLessThan(210)
  })

  test('every waiting call gets its turn, whatever earlier calls leave', async () => {
    const { deliver, receiver, worker } = fresh({ worker: { concurrency: 4 } })
    const gate = Promise.withResolvers<void>()
    receiver.on('*', () => gate.promise)
    for (let at = 0; at < 40; at++) await deliver(event('client.created', { id: `c${at}` }))
    const all = worker.runOnce({ limit: 4 })
    await until(async () => (await worker.runOnce({ limit: 1, timeout: 1 })).done === 0)
    const late = Array.from({ length: 5 }, () => worker.runOnce({ timeout: 50 }))
    const rest = Array.from({ length: 36 }, () => worker.runOnce({ limit: 1 }))
    expect((await Promise.all(late)).map(({ done }) => done)).toEqual([0, 0, 0, 0, 0])
    gate.resolve()
    expect((await all).done).toBe(4)
    expect((await Promise.all(rest)).map(({ done }) => done)).toEqual(Array(36).fill(1))
  })

  test('a call after a drain belongs to no run that the drain has ended', async () => {
    const { deliver, inbox, receiver, worker } = fresh()
    receiver.on('*', () => {})
    await deliver(event())
    const source = inbox as unknown as DurableInbox
    const { openFor } = source
    const opened = Promise.withResolvers<void>()
    source.openFor = (vendor) => opened.promise.then(() => openFor.call(source, vendor))
    const ended = worker.runOnce()
    await worker.drain({ grace: 0 })
    const after = worker.runOnce()
    opened.resolve()
    expect(await ended).toMatchObject({ done: 0 })
    expect(await after).toMatchObject({ done: 1 })
  })

  test('keeps its lease as long as a handler is at work', async () => {
    const { deliver, receiver, worker, settled } = fresh({ lease: 60 })
    let runs = 0
    receiver.on('*', async () => {
      runs++
      await delay(250)
    })
    await worker.start()
    await deliver(event())
    await until(() => settled().length > 0)
    expect([runs, settled()]).toEqual([1, ['done']])
  })

  test('lets events wait for none other that name no resource', async () => {
    const { deliver, receiver, worker } = fresh({ retry: { attempts: 1 } })
    const gaps: unknown[] = []
    receiver.on('verification.*', ({ name }, { gap }) => {
      if (name === 'verification.created') throw new Error('no')
      gaps.push(gap)
    })
    await deliver(event('verification.created', { id: undefined }))
    await deliver(event('verification.approved', { id: undefined }))
    await worker.runOnce()
    expect(gaps).toEqual([false])
  })

  test('counts a crash as an attempt, so that poison ends as a dead letter', async () => {
    const clock = fakeClock()
    const parts = { store: store(), now: clock.now, retry: { attempts: 2 } }
    const first = setUp(parts)
    await first.deliver(event())
    const source = first.inbox as unknown as DurableInbox
    for (const attempt of [1, 2]) {
      // Claimed, and never settled: what a crash leaves behind once the lease is over.
      const { works } = await source.leases.claim(1)
      expect(works).toMatchObject([{ attempt }])
      for (const work of works) source.leases.abandon(work)
      clock.advance({ minutes: 2 })
      await source.leases.sweep()
    }
    expect((await first.inbox.find()).entries).toMatchObject([
      { state: 'dead', reason: 'CRASHED', attempts: 2 },
    ])
  })

  test('takes newer for older by occurrence time, and leaves the choice to each handler', async () => {
    const { deliver, receiver, worker } = fresh()
    const ran: [string, string, boolean | undefined][] = []
    const note =
      (id: string) =>
      (one: WebhookEvent, { stale }: { stale?: boolean }) => {
        ran.push([id, one.name.replace('verification.', ''), stale])
      }
    receiver
      .on('verification.*', note('deliver'), { id: 'deliver' })
      .on('verification.*', note('skip'), { id: 'skip', stale: 'skip' })
    const at = (minute: number) => ({ createdAt: `2026-01-01T12:0${minute}:00Z` })
    await deliver(event('verification.submitted', {}, at(2)))
    await deliver(event('verification.created', {}, at(1)))
    await deliver(event('verification.approved', {}, at(3)))
    await deliver(event('verification.submitted', {}, {}))
    await deliver(event('verification.created', { id: 'another' }, at(1)))
    expect(await worker.runOnce()).toMatchObject({ done: 5 })
    const of = (id: string) => ran.filter(([who]) => who === id).map(([, ...rest]) => rest)
    expect(of('deliver').toSorted()).toEqual([
      ['approved', false],
      ['created', false],
      ['created', true],
      ['submitted', false],
      ['submitted', true],
    ])
    expect(
      of('skip')
        .map(([name]) => name)
        .toSorted(),
    ).toEqual(['approved', 'created', 'submitted'])
  })

  test('passes a stale event with the current resource, if asked to', async () => {
    const resource = { id: 'ver_1', status: 'approved' }
    const client = {
      verifications: { get: async (id: string) => (id === 'ver_1' ? resource : gone()) },
      clients: { get: async () => gone() },
    }
    const gone = () => {
      throw Object.assign(new Error('not found'), { status: 404 })
    }
    const { deliver, receiver, worker } = fresh({ receiver: { client: client as never } })
    const statuses: unknown[] = []
    receiver.on('verification.*', ({ data }) => statuses.push(data.status), { stale: 'refetch' })
    const at = (minute: number) => ({ createdAt: `2026-01-01T12:0${minute}:00Z` })
    for (const id of ['ver_1', 'ver_2']) {
      await deliver(event('verification.submitted', { id, status: 'submitted' }, at(2)))
      await deliver(event('verification.created', { id, status: 'initiated' }, at(1)))
    }
    expect(await worker.runOnce()).toMatchObject({ done: 4 })
    expect(statuses.toSorted()).toEqual(['approved', 'submitted', 'submitted'])
  })

  const seen = new Date('2026-01-01T12:02:00Z')
  const current = new Date('2026-01-02T00:00:00Z')
  test.each([
    ['report', '2026-01-02', { done: 2 }, [[seen], [current]]],
    ['report', 'never', { done: 2 }, [[seen], ['never', 'updatedAt']]],
    ['reject', 'never', { done: 1, dead: 1 }, [[seen]]],
    ['off', '2026-01-02', { done: 2 }, [['2026-01-01T12:02:00Z'], ['2026-01-02']]],
  ] as const)(
    'holds what is fetched for a stale event against its schema: %s, %s',
    async (...row) => {
      const [validate, updatedAt, report, expected] = row
      const resource = { id: 'ver_1', updatedAt }
      const reader = { get: async () => resource }
      const dated = z.object({ id: z.string(), updatedAt: z.coerce.date() })
      const schemas = { 'verification.submitted': dated, 'verification.created': dated }
      const client = { verifications: reader, clients: reader } as never
      const options = { client, schemas, validate }
      const { deliver, receiver, worker } = fresh({ receiver: options, retry: { attempts: 1 } })
      const ran: unknown[] = []
      const hear = ({ data, issues = [] }: WebhookEvent) => {
        const { updatedAt: at } = data as { readonly updatedAt: unknown }
        ran.push([at, ...issues.map(({ path }) => path.join())])
      }
      receiver.on('verification.*', hear as never, { stale: 'refetch' })
      for (const [name, minute] of [
        ['submitted', 2],
        ['created', 1],
      ] as const) {
        const at = `2026-01-01T12:0${minute}:00Z`
        await deliver(event(`verification.${name}`, { updatedAt: at }, { createdAt: at }))
      }
      expect(await worker.runOnce()).toMatchObject(report)
      expect(ran).toEqual(expected)
    },
  )

  test('runs a stale deletion of a missing resource, and a stale event whose resource no client reads', async () => {
    const get = () => Promise.reject(Object.assign(new Error('not found'), { status: 404 }))
    const client = { verifications: { get }, clients: { get } }
    const { deliver, receiver, worker } = fresh({ receiver: { client: client as never } })
    const ran: (readonly [string, unknown])[] = []
    receiver.on('*', ({ name, data }) => ran.push([name, data]), { stale: 'refetch' })
    const data = { id: 'of_both' }
    for (const [index, name] of ['client.updated', 'client.deleted', 'client.created'].entries()) {
      await deliver(event(name, data, { createdAt: `2026-01-01T12:0${5 - index}:00Z` }))
    }
    for (const minute of [5, 4]) {
      await deliver(
        event('invoice.paid', { ...data, minute }, { createdAt: `2026-01-01T12:0${minute}:00Z` }),
      )
    }
    expect(await worker.runOnce()).toMatchObject({ done: 5 })
    expect(ran.filter(([name]) => name.startsWith('client'))).toMatchObject([
      ['client.updated', data],
      ['client.deleted', data],
    ])
    expect(ran.filter(([name]) => name === 'invoice.paid')).toMatchObject([
      ['invoice.paid', { minute: 5 }],
      ['invoice.paid', { minute: 4 }],
    ])
  })
})

test('an entry that was readable when it was kept is retried by processes that cannot read it, and ends elsewhere', async () => {
  const store = memoryStore()
  const newer = setUp({ store })
  const older = setUp({ store, receiver: { envelope: { name: 'kind' } } })
  const begun: string[] = []
  newer.receiver.on('*', ({ name }) => begun.push(name))
  await newer.deliver(event('verification.created'))
  expect(await older.worker.runOnce({ limit: 1 })).toMatchObject({ retry: 1, dead: 0 })
  expect(await newer.worker.runOnce()).toMatchObject({ done: 1 })
  expect(begun).toEqual(['verification.created'])
})

describe('a worker', () => {
  test('spends no attempt when the clock jumps or the machine slept, and sees due entries', async () => {
    const { deliver, inbox, receiver, worker } = setUp({
      retry: { delays: [60_000], random: () => 0.99 },
    })
    const hanging = Promise.withResolvers<void>()
    const begun: string[] = []
    receiver.on('verification.*', async ({ entity }) => {
      begun.push(entity.id)
      if (entity.id === 'hangs') await hanging.promise
      throw new Error('no')
    })
    await worker.start()
    await deliver(event('verification.created', { id: 'hangs' }))
    await deliver(event('verification.created', { id: 'fails' }))
    await until(async () => (await inbox.stats()).retry === 1)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
    try {
      await (inbox as unknown as DurableInbox).leases.sweep()
      const again = createWorker(receiver)
      expect(await again.runOnce()).toMatchObject({ done: 0, retry: 1, dead: 0 })
      expect(begun.toSorted()).toEqual(['fails', 'fails', 'hangs'])
      vi.setSystemTime(Date.now() - 7_200_000)
      await (inbox as unknown as DurableInbox).leases.sweep()
      expect(await again.runOnce()).toMatchObject({ done: 0, retry: 0, dead: 0 })
    } finally {
      vi.useRealTimers()
    }
    hanging.resolve()
  })

  test('settles a handler that succeeded once the store can write again', async () => {
    const store = memoryStore()
    const settle = store.settle.bind(store)
    let full = true
    store.settle = (settlement) =>
      full ? Promise.reject(new Error('disk full')) : settle(settlement)
    const { deliver, receiver, worker, seen, inbox } = setUp({ store })
    let runs = 0
    receiver.on('*', () => {
      runs++
    })
    await worker.start()
    await deliver(event())
    await until(() => seen.some((one) => one.type === 'store' && one.asked === 'settle'))
    full = false
    await until(async () => (await inbox.stats()).done === 1)
    expect(runs).toBe(1)
  })

  test('does not run a handler again because the transaction of the next could not begin', async () => {
    const store = sqliteStore(':memory:')
    const transaction = store.transaction?.bind(store)
    let away = true
    store.transaction = async (lease, handler) => {
      if (away) throw new Error('the store is away')
      return (await transaction?.(lease, handler)) as never
    }
    const { deliver, receiver, worker, settled } = setUp({ store, retry: { delays: [0, 0] } })
    const ran: string[] = []
    receiver.on('*', () => void ran.push('audit'), { id: 'audit' })
    receiver.on('*', () => void ran.push('billing'), { id: 'billing', tx: true })
    receiver.on('*', () => void ran.push('mail'), { id: 'mail' })
    await deliver(event())
    await worker.runOnce({ limit: 1 })
    expect([ran, settled()]).toEqual([['audit', 'mail'], ['retry']])
    away = false
    await worker.runOnce()
    expect([ran, settled()]).toEqual([
      ['audit', 'mail', 'billing'],
      ['retry', 'done'],
    ])
  })

  test('reports to observe when nothing arrives for many times the usual gap', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const clock = fakeClock()
      const { deliver, receiver, worker, seen } = setUp({ now: clock.now })
      receiver.on('*', () => {})
      await worker.start()
      for (let at = 0; at < 25; at++) {
        await deliver(event())
        clock.advance({ seconds: 30 })
      }
      clock.advance({ minutes: 4 })
      // A stranger knocks: that is no word of the sender's.
      const forged = { ...(await signedDelivery(event())), headers: {} }
      expect((await receiver.receive(forged)).kind).toBe('rejected')
      vi.advanceTimersByTime(10_000)
      const silences = () => seen.filter((one) => one.type === 'silence')
      expect(silences()).toEqual([])
      clock.advance({ minutes: 1 })
      vi.advanceTimersByTime(30_000)
      await until(() => silences().length > 0)
      expect(silences()).toMatchObject([{ usual: 30_000 }])
    } finally {
      vi.useRealTimers()
    }
  })

  const hour = 3_600_000
  test.each([
    ['an hour ahead of', hour],
    ['an hour behind', -hour],
  ])('a process %s a shared store tells silence from what came to others', async (_, ahead) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const clock = fakeClock()
      const kept = memoryStore()
      const capabilities = { ...kept.capabilities, shared: true }
      const store = Object.assign(kept, { capabilities, now: clock.now })
      const now = () => new Date(clock.now().getTime() + ahead)
      const { deliver, receiver, worker, seen } = setUp({ store, receiver: { now } })
      receiver.on('*', () => {})
      const elsewhere = setUp({ store })
      await worker.start()
      for (let at = 0; at < 36; at++) {
        await (at < 25 ? deliver : elsewhere.deliver)(event())
        clock.advance({ seconds: 30 })
      }
      const silences = () => seen.filter((one) => one.type === 'silence')
      vi.advanceTimersByTime(10_000)
      await delay(20)
      expect(silences()).toEqual([])
      clock.advance({ minutes: 6 })
      vi.advanceTimersByTime(10_000)
      await until(() => silences().length > 0)
      expect(silences()).toMatchObject([{ usual: 30_000 }])
    } finally {
      vi.useRealTimers()
    }
  })

  test('needs an inbox, a receiver of this package, and a client if handlers refetch', async () => {
    const inbox = createInbox({ store: memoryStore() })
    const bare = createReceiver({ secret: testSecret })
    expect(() => createWorker(bare)).toThrow(/needs a receiver with an inbox/)
    expect(() => createWorker({ receive: bare.receive })).toThrow(/createReceiver/)
    const receiver = createReceiver({ secret: testSecret, inbox })
    expect(() => createWorker(receiver, { concurrency: 0 })).toThrow(
      /concurrency must be a whole number/,
    )
    for (const grace of [-1, 0.5, 2 ** 31]) {
      expect(() => createWorker(receiver, { grace })).toThrow(
        /grace must be a whole number of milliseconds/,
      )
      await expect(createWorker(receiver).drain({ grace })).rejects.toThrow(/grace must be/)
    }
    for (const bounds of [{ limit: -1 }, { timeout: Number.NaN }, { timeout: '5' as never }]) {
      await expect(createWorker(receiver).runOnce(bounds)).rejects.toThrow(
        /must be a number, 0 or more/,
      )
    }
    receiver.on('*', () => {}, { stale: 'refetch' })
    await expect(createWorker(receiver).start()).rejects.toMatchObject({ code: 'CLIENT_MISSING' })
    expect(() => bare.on('*', () => {}, { stale: 'sometimes' as never })).toThrow(/stale must be/)
  })
})
