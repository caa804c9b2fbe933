import { createReceiver, type SecretOption, type WebhookEvent } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { fakeClock, fixture, signedDelivery } from 'idv-webhooks/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type ApiClient,
  createReconciler,
  type ReconcileReport,
  reconcile,
  type Watermark,
} from '../../src/client/index.ts'
import type { Keeper } from '../../src/options.ts'
import { temporaryFile } from '../inbox/temporary.ts'
import {
  addClient,
  drop,
  input,
  kept,
  live,
  lookedUp,
  losingATenth,
  open,
  secret,
  told,
  work,
} from './reconciling.ts'
import { clientOf, failure, openSandbox, start, strike } from './service.ts'

const stores = [
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore(temporaryFile())],
] as const

describe('reconcile', () => {
  test('reconcile feeds every derivable event that never arrived, once, and then finds nothing', async () => {
    const setup = await open()
    const { sandbox, api, receiver, handled } = setup
    drop(sandbox, { probability: 0.5 })
    const events = await live(setup, 30)
    for (const deleted of [true, false, true]) events.push(...(await addClient(setup, { deleted })))
    await sandbox.flush()
    await work(receiver)
    const came = handled.length
    expect(came).toBeLessThan(events.length)
    const report = await reconcile({ client: api, receiver, since: start })
    await work(receiver)
    expect(told(handled)).toEqual(events.sort())
    expect(report).toMatchObject({
      complete: true,
      events: {
        derived: events.length,
        present: came,
        missing: events.length - came,
        fed: events.length - came,
        failed: 0,
      },
    })
    const again = await reconcile({ client: api, receiver, since: start })
    expect(again.events).toMatchObject({ derived: events.length, missing: 0, fed: 0 })
  })

  test('after a tenth of the deliveries was lost, one run has every state handled once', async () => {
    await losingATenth(250)
  })

  test('a run that was killed and repeated has the same result', async () => {
    const setup = await open()
    const { sandbox, api, receiver, inbox, handled } = setup
    drop(sandbox)
    const events = await live(setup, 30)
    const stop = new AbortController()
    const { find } = inbox
    const spy = vi.spyOn(inbox, 'find').mockImplementation(async (query) => {
      if ((await kept(inbox)) === 20) stop.abort(new Error('killed'))
      return find.call(inbox, query)
    })
    const killed = reconcile({ client: api, receiver, since: start, signal: stop.signal })
    expect(await failure(killed)).toMatchObject({ message: 'killed' })
    spy.mockRestore()
    expect(await kept(inbox)).toBe(20)
    const report = await reconcile({ client: api, receiver, since: start })
    expect(report.events.present).toBe(20)
    await work(receiver)
    expect(told(handled)).toEqual(events.sort())
  })

  test.each(stores)(
    'a late real delivery is a duplicate, under the older name too (%s)',
    async (_, make) => {
      const setup = await open({ store: make() })
      onTestFinished(() => setup.inbox.close())
      const { sandbox, api, receiver, inbox } = setup
      drop(sandbox)
      const [, submitted, approved] = await live(setup, 1)
      await reconcile({ client: api, receiver, since: start })
      const deliver = async (name: 'verification.approved' | 'request.submitted', id: string) => {
        const at = { createdAt: start, data: { id, updatedAt: start } }
        const event = fixture(name, { id: `evt_late_${name}_${id}`, ...at })
        return receiver.receive(await signedDelivery(event, { secret }))
      }
      const [id = ''] = (submitted ?? '').split(' ').slice(1)
      expect(approved).toBe(`verification.approved ${id}`)
      expect(await deliver('verification.approved', id)).toMatchObject({ kind: 'duplicate' })
      expect(await deliver('request.submitted', id)).toMatchObject({ kind: 'duplicate' })
      expect(await deliver('verification.approved', 'another')).toMatchObject({ kind: 'accepted' })
      expect(await kept(inbox)).toBe(4)
    },
  )

  test.each(stores)(
    'events that arrive by webhook during a run count as arrived, not fed (%s)',
    async (_, make) => {
      const setup = await open({ store: make() })
      onTestFinished(() => setup.inbox.close())
      const { sandbox, api, receiver, inbox } = setup
      drop(sandbox)
      await live(setup, 1)
      const { find } = inbox
      vi.spyOn(inbox, 'find').mockImplementation(async (query) => {
        const found = await find.call(inbox, query)
        if (query?.name !== 'verification.approved') return found
        const id = typeof query.entity === 'object' ? query.entity.id : undefined
        const event = fixture('verification.approved', { data: { id } })
        await receiver.receive(await signedDelivery(event, { secret }))
        return found
      })
      const { events } = await reconcile({ client: api, receiver, since: start })
      expect(events).toMatchObject({ missing: 3, fed: 2, arrived: 1 })
    },
  )

  test('handlers get the resource as it is, from the source reconcile, under stable ids', async () => {
    const setup = await open()
    const { sandbox, api, receiver, handled } = setup
    drop(sandbox)
    const [created = ''] = await live(setup, 1)
    await reconcile({ client: api, receiver, since: start })
    await work(receiver)
    const [, id] = created.split(' ')
    expect(handled.map(({ name }) => name)).toEqual([
      'verification.created',
      'verification.submitted',
      'verification.approved',
    ])
    expect(handled[0]).toMatchObject({
      id: `reconcile:verification.created:${id}`,
      source: 'reconcile',
      known: true,
      receivedName: 'verification.created',
      occurredAt: new Date(start),
      data: { id, status: 'approved' },
    })
    expect(handled.every((event) => event.issues === undefined)).toBe(true)
  })

  test('reconciled events are understood whatever envelope the receiver expects of the sender', async () => {
    const { sandbox, api } = await open()
    const inbox = createInbox({ store: memoryStore() })
    const receiver = createReceiver({ secret, inbox, envelope: { name: 'kind', data: 'object' } })
    const handled: WebhookEvent[] = []
    receiver.on('*', (event) => handled.push(event))
    drop(sandbox)
    await api.verifications.create(input)
    await reconcile({ client: api, receiver, since: start })
    await work(receiver)
    expect(handled).toMatchObject([{ name: 'verification.created', source: 'reconcile' }])
  })

  test('a run examines only what changed since, and stops reading there', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    drop(sandbox)
    await live(setup, 250)
    for (let at = 0; at < 150; at++) {
      await addClient(setup)
      await sandbox.clock.advance({ seconds: 1 })
    }
    await sandbox.clock.advance({ days: 1 })
    const since = sandbox.clock.now()
    await sandbox.clock.advance({ seconds: 1 })
    const events = await live(setup, 3)
    const now = () => sandbox.clock.now()
    const report = await reconcile({ client: api, receiver, since, now })
    expect(report.events).toMatchObject({ derived: events.length, fed: events.length })
    // A page by update, and the expired ones that the update does not tell of.
    expect(report.read.verifications).toBeLessThan(150)
    expect(report.read.clients).toBe(100)
  })

  test('a run ignores what changed after until', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    drop(sandbox)
    const [created] = await live(setup, 1)
    await sandbox.clock.advance({ seconds: 100 })
    await live(setup, 1)
    const options = { client: api, receiver, since: start, until: new Date(start) }
    const report = await reconcile(options)
    expect(created).toContain('verification.created')
    expect(report.gap.byName).toEqual({ 'verification.created': 1 })
  })

  test('a dry run feeds nothing, stores no watermark and reports the gap', async () => {
    const setup = await open()
    const { sandbox, api, receiver, inbox } = setup
    drop(sandbox)
    const events = await live(setup, 6)
    const written: Watermark[] = []
    const watermark = { read: () => undefined, write: (one: Watermark) => void written.push(one) }
    const options = { client: api, receiver, since: start, watermark, dryRun: true }
    const report = await reconcile(options)
    expect(report).toMatchObject({
      dryRun: true,
      complete: false,
      events: { missing: events.length, fed: 0 },
      gap: { share: 1, oldest: start, byName: { 'verification.created': 6 } },
    })
    expect(report.watermark).toBeUndefined()
    expect([await kept(inbox), written]).toEqual([0, []])
    expect(report.unseen.join()).toContain('client.updated')
    expect(report.unseen.join()).toContain('an expiry before its date')
    await reconcile({ ...options, dryRun: false, watermark: undefined } as never)
    expect(await reconcile(options)).toMatchObject({ complete: true, events: { missing: 0 } })
    expect(written).toEqual([])
  })

  test('a run reports its progress after every page', async () => {
    const setup = await open()
    drop(setup.sandbox)
    await live(setup, 150)
    const seen: string[] = []
    await reconcile({
      client: setup.api,
      receiver: setup.receiver,
      since: start,
      onProgress: ({ stream, read }) => seen.push(`${stream} ${read}`),
    })
    expect(seen).toEqual(['verifications 100', 'verifications 150', 'clients 150', 'deletions 150'])
  })

  test('a run continues when onProgress fails, at once or later', async () => {
    const { sandbox, api, receiver } = await open()
    drop(sandbox)
    await api.verifications.create(input)
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    for (const onProgress of [
      async () => Promise.reject(new RangeError('mine')),
      () => {
        throw new SyntaxError('mine')
      },
    ]) {
      const report = await reconcile({ client: api, receiver, since: start, onProgress })
      expect(report).toMatchObject({ complete: true, events: { derived: 1 } })
    }
    await new Promise((next) => setImmediate(next))
    expect(unhandled).toEqual([])
  })

  test('a record nested deeper than a sender may nest is fed, once', async () => {
    const { sandbox, api, inbox, receiver, handled } = await open()
    drop(sandbox)
    const { id } = await api.clients.create()
    const metadata = JSON.parse(`${'{"a":'.repeat(300)}1${'}'.repeat(300)}`)
    const client = clientOf(sandbox, {
      limiter: false,
      async fetch(request) {
        const answer = await (await sandbox.fetch(request)).json()
        return Response.json({
          ...answer,
          data: answer.data.map((one: object) => ({ ...one, metadata })),
        })
      },
    })
    for (const fed of [1, 0]) {
      const report = await reconcile({ client, receiver, since: start })
      expect(report).toMatchObject({ complete: true, events: { derived: 1, fed } })
    }
    await work(receiver)
    expect(handled).toMatchObject([{ name: 'client.created', data: { id, metadata } }])
    expect(await kept(inbox)).toBe(1)
  })

  test.each(stores)('two concurrent runs feed every event once (%s)', async (_, make) => {
    const setup = await open({ store: make() })
    onTestFinished(() => setup.inbox.close())
    const { sandbox, api, receiver, handled, inbox } = setup
    drop(sandbox)
    const events = await live(setup, 40)
    for (const deleted of [true, false]) events.push(...(await addClient(setup, { deleted })))
    const marks: (Watermark | undefined)[] = []
    const watermark = { read: () => marks.at(-1), write: (one: Watermark) => void marks.push(one) }
    const options = { client: api, receiver, since: start, watermark, grace: 0 }
    const now = () => sandbox.clock.now()
    const reports = await Promise.all([
      reconcile({ ...options, now }),
      reconcile({ ...options, now }),
      createReconciler({ ...options, now }).run(),
    ])
    expect(reports.map(({ complete }) => complete)).toEqual([true, true, true])
    const sum = (what: 'fed') => reports.reduce((all, one) => all + one.events[what], 0)
    expect([sum('fed'), await kept(inbox)]).toEqual([events.length, events.length])
    await work(receiver)
    expect(told(handled)).toEqual(events.sort())
    expect((await reconcile({ ...options, now })).events.missing).toBe(0)
  })

  test('a run stops when the store is down, and stores no watermark', async () => {
    const { sandbox, api } = await open()
    const keep = () => Promise.reject(new Error('disk full'))
    const inbox = { keep, find: async () => ({ entries: [] }) }
    const receiver = createReceiver({ secret, inbox, observe: () => {} })
    drop(sandbox)
    await api.verifications.create(input)
    await api.verifications.create(input)
    const report = await reconcile({ client: api, receiver, since: start })
    expect(report).toMatchObject({
      complete: false,
      events: { missing: 1, failed: 1 },
      failures: [{ name: 'verification.created', code: 'STORE_UNAVAILABLE' }],
    })
    expect(report.watermark).toBeUndefined()
  })

  test('a run feeds as one tenant, whatever the others have', async () => {
    const { sandbox, api, inbox, receiver, handled } = await open({ secrets: lookedUp })
    drop(sandbox)
    await api.verifications.create(input)
    const feed = async (tenant: string) =>
      (await reconcile({ client: api, receiver, since: start, tenant })).events.fed
    expect([await feed('a'), await feed('b'), await feed('a')]).toEqual([1, 1, 0])
    await work(receiver)
    expect(handled).toHaveLength(2)
    expect((await inbox.find({ tenant: 'b' })).entries).toHaveLength(1)
  })

  test.each([
    ['remembers', 3],
    ['has remembered, though it is set to more by now', 30],
  ])('a run looks back no further than the inbox %s', async (_, raised) => {
    const { now, advance } = fakeClock(start)
    const store = memoryStore()
    const handled: string[] = []
    const deploy = (keys: number) => {
      const inbox = createInbox({ store, now, retention: { done: 1, dead: 2, keys } })
      const receiver = createReceiver({ secret, inbox, now })
      receiver.on('*', ({ name, source }) => handled.push(`${name} by ${source}`))
      return { inbox, receiver }
    }
    let { inbox, receiver } = deploy(3)
    const subscriptions = [{ url: 'http://app.test/webhooks', secret }]
    const fetch = (request: Request) => toFetch(receiver)(request)
    const sandbox = openSandbox({ now, fetch, subscriptions })
    const api = clientOf(sandbox, { now, limiter: false })
    let mark: Watermark | undefined
    const watermark = {
      read: () => mark,
      write: (one: Watermark) => {
        mark = one
      },
    }
    const day = async () => {
      await sandbox.flush()
      await work(receiver)
      await inbox.purge()
      await reconcile({ client: api, receiver, now, watermark, since: start })
      await work(receiver)
      advance({ days: 1 })
    }
    await day()
    const { id } = await api.verifications.create({ ...input, expiresDays: 30 })
    for (let days = 0; days < 5; days++) await day()
    await inbox.close()
    ;({ inbox, receiver } = deploy(raised))
    await sandbox.act(id, ['start', 'submit'])
    await day()
    expect(handled).toEqual([
      'verification.created by webhook',
      'verification.submitted by webhook',
    ])
  })

  test('the hour before is not read again once the inbox has forgotten it, however late it was read', async () => {
    const { now, advance } = fakeClock(start)
    const inbox = createInbox({
      store: memoryStore(),
      now,
      retention: { done: 1, dead: 2, keys: 3 },
    })
    const receiver = createReceiver({ secret, inbox, now })
    const handled: string[] = []
    receiver.on('*', ({ name, source }) => handled.push(`${name} by ${source}`))
    const subscriptions = [{ url: 'http://app.test/webhooks', secret }]
    const fetch = (request: Request) => toFetch(receiver)(request)
    const sandbox = openSandbox({ now, fetch, subscriptions })
    const api = clientOf(sandbox, { now, limiter: false })
    await api.verifications.create(input)
    advance({ minutes: 10 })
    await api.verifications.create(input)
    await sandbox.flush()
    await work(receiver)
    advance({ days: 2, hours: 20 })
    const { watermark } = await reconcile({ client: api, receiver, now, since: start })
    advance({ hours: 6 })
    await inbox.purge()
    const report = await reconcile({ client: api, receiver, now, since: watermark } as never)
    await work(receiver)
    expect(report).toMatchObject({ complete: true, events: { fed: 0 } })
    expect(handled).toEqual(Array(2).fill('verification.created by webhook'))
  })

  test('a purge with another retention is taken into account', async () => {
    const file = temporaryFile()
    const owner = createInbox({ store: sqliteStore(file) })
    await owner.open()
    const store = sqliteStore(file, { mode: 'operator' })
    const operator = createInbox({ store, retention: { done: 1, dead: 1, keys: 3 } })
    await operator.purge()
    await operator.close()
    const keeper: Keeper = owner
    const since = (await keeper.remembersSince?.())?.getTime() ?? 0
    await owner.close()
    expect(Math.round((Date.now() - since) / 86_400_000)).toBe(3)
  })

  test('a purge by a clock that was ahead is not trusted for ever', async () => {
    let ahead = 365 * 86_400_000
    const now = () => new Date(Date.now() + ahead)
    const inbox = createInbox({ store: memoryStore(), now })
    const keeper: Keeper = inbox
    await inbox.purge()
    ahead = 0
    expect(await keeper.remembersSince?.()).toBeUndefined()
    await inbox.purge()
    const since = (await keeper.remembersSince?.())?.getTime() ?? 0
    expect(Math.round((Date.now() - since) / 86_400_000)).toBe(30)
  })

  test('a watermark of one tenant is none of another, nor of runs without one', async () => {
    const { sandbox, api, receiver } = await open({ secrets: lookedUp })
    drop(sandbox)
    await api.verifications.create(input)
    const run = (options: object) => reconcile({ client: api, receiver, ...options })
    const { watermark } = await run({ tenant: 'a', since: start })
    expect(watermark).toMatchObject({ tenant: 'a' })
    for (const tenant of ['b', null]) {
      await expect(run({ tenant, since: watermark })).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        message: expect.stringContaining("the watermark is from a run for the tenant 'a'"),
      })
    }
    expect((await run({ tenant: 'a', since: watermark })).events.fed).toBe(0)
    const { watermark: before } = await run({ tenant: null, since: start })
    await expect(run({ tenant: 'a', since: before })).rejects.toThrow('from a run for no tenant')
  })

  test('a run without a tenant is rejected if every entry has one, unless the run asks for records without a tenant', async () => {
    const { sandbox, api, inbox, receiver } = await open({ secrets: lookedUp })
    drop(sandbox)
    await api.verifications.create(input)
    const run = (options: object) => reconcile({ client: api, receiver, since: start, ...options })
    await run({ tenant: 'acme' })
    const [{ entity } = {}] = (await inbox.find()).entries
    if (entity) await inbox.forget(entity)
    await sandbox.clock.advance({ seconds: 1 })
    await api.verifications.create(input)
    await run({ tenant: 'acme' })
    const refused = {
      code: 'OPTION_INVALID',
      message: expect.stringContaining('have tenants: pass the tenant'),
    }
    await expect(run({})).rejects.toMatchObject(refused)
    await expect(run({ dryRun: true })).rejects.toMatchObject(refused)
    const fed = async (options: object) => (await run(options)).events.fed
    expect([await fed({ tenant: null }), await fed({ tenant: null })]).toEqual([2, 0])
    // From now on there are events of none as well.
    expect(await fed({})).toBe(0)
    const tenants = (await inbox.find()).entries.map(({ tenant }) => tenant)
    expect(tenants).toEqual([undefined, undefined, 'acme', undefined])
  })

  test('the receiver knows the tenants of its secrets: others are refused, and none means none', async () => {
    const [acme, globex] = [
      { value: `${secret}-a`, tenant: 'acme' },
      { value: `${secret}-b`, tenant: 'globex' },
    ]
    const { api, inbox, sandbox } = await open()
    drop(sandbox)
    await api.verifications.create(input)
    const over = (secrets: SecretOption) => {
      const receiver = createReceiver({ secret: secrets, inbox, observe: () => {} })
      return (options: object) => reconcile({ client: api, receiver, since: start, ...options })
    }
    const [ofTenants, ofBoth] = [over([acme, globex]), over([secret, globex])]
    for (const [run, tenant, message] of [
      [ofTenants, undefined, 'deliveries of this receiver have tenants: pass'],
      [ofTenants, 'amce', "'amce'. Did you mean 'acme'?"],
      [over(secret), 'acme', "of the tenant 'acme'."],
    ] as const) {
      await expect(run({ tenant })).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        message: expect.stringContaining(message),
      })
    }
    // Another sender's event of the same number says nothing of ours.
    expect((await ofBoth({ tenant: 'globex' })).events).toMatchObject({ present: 0, fed: 1 })
    expect((await ofBoth({})).events).toMatchObject({ present: 0, fed: 1 })
    expect((await ofBoth({})).events).toMatchObject({ present: 1, fed: 0 })
    const fed = (await inbox.find({ tenant: null })).entries
    expect(fed.map(({ tenant }) => tenant)).toEqual([undefined])
  })

  test('reconcile needs an inbox, a receiver and a start', async () => {
    const { api, receiver } = await open()
    const bare = createReceiver({ secret })
    for (const [code, options] of [
      ['INBOX_INVALID', { receiver: bare, since: start }],
      ['OPTION_INVALID', { receiver: {}, since: start }],
      ['OPTION_INVALID', { receiver }],
      ['OPTION_INVALID', { receiver, since: 'yesterday' }],
      ['OPTION_INVALID', { receiver, since: {} }],
      ['OPTION_INVALID', { receiver, since: null }],
      ['OPTION_INVALID', { receiver, since: 20_260_301 }],
      ['OPTION_INVALID', { receiver, since: '3' }],
      ['OPTION_INVALID', { receiver, since: '2026-03-01T10:00:00' }],
      ['OPTION_INVALID', { receiver, since: start, until: 'soon' }],
      ['OPTION_INVALID', { receiver, since: start, until: null }],
      ['OPTION_INVALID', { receiver, since: start, grace: -1 }],
      ['OPTION_INVALID', { receiver, sinse: start }],
      ['OPTION_INVALID', { receiver, since: start, onProgress: 'log' }],
    ] as const) {
      const work = reconcile({ client: api, ...options } as never)
      expect(await failure(work)).toMatchObject({ code })
    }
  })
})

describe('a start in the future', () => {
  const hours = (count: number) => new Date(Date.parse(start) + count * 3_600_000)
  const marked = (at: Date) => {
    const mark = { at: at.toISOString() }
    return { verifications: mark, clients: mark, deletions: mark }
  }

  test.each([
    ['a since in the future', { since: hours(1) }],
    ['a since after until', { since: hours(-1), until: hours(-2) }],
    ['a watermark from the future', { since: marked(hours(48)) }],
    ['one that is kept', { watermark: { read: () => marked(hours(48)), write: () => {} } }],
  ])('a start in the future is refused before anything is read: %s', async (_, options) => {
    const { api: client, receiver } = await open()
    const now = () => new Date(start)
    const error = await failure(reconcile({ client, receiver, now, ...options }))
    expect(error).toMatchObject({ code: 'OPTION_INVALID' })
  })

  test('a watermark is accepted if the service’s clock leads by minutes, or if it is after until', async () => {
    const { api: client, receiver } = await open()
    const now = () => new Date(start)
    const since = marked(new Date(Date.parse(start) + 10 * 60_000))
    const report = await reconcile({ client, receiver, now, since })
    expect(report).toMatchObject({ complete: true })
    const before = marked(hours(-2))
    const { watermark } = await reconcile({
      client,
      receiver,
      now,
      since: before,
      until: hours(-3),
    })
    expect(watermark?.verifications).toEqual(before.verifications)
  })

  test('a record whose time is in the future does not move the watermark', async () => {
    const { sandbox, api, receiver } = await open()
    drop(sandbox)
    await api.verifications.create(input)
    await sandbox.clock.advance({ days: 2 })
    await api.verifications.create(input)
    const now = () => new Date(Date.parse(start) + 60_000)
    const report = await reconcile({ client: api, receiver, since: start, now })
    expect(report).toMatchObject({ complete: true, events: { fed: 2 } })
    expect(report.watermark?.verifications?.at).toBe(start)
  })
})

describe('a service that sorts in another order', () => {
  /** The lists, oldest first. */
  const reversed = (api: ApiClient): ApiClient => {
    const flip = (list: { toArray(options: { max: number }): Promise<unknown[]> }) => ({
      async *pages() {
        const items = (await list.toArray({ max: 10_000 })).reverse()
        for (let at = 0; at < items.length; at += 100) yield { data: items.slice(at, at + 100) }
      },
    })
    return {
      verifications: { iterate: (query: object) => flip(api.verifications.iterate(query)) },
      clients: { iterate: (query: object) => flip(api.clients.iterate(query)) },
    } as never
  }

  test('a list in another order is read to its end, so that nothing is missed', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    drop(sandbox)
    await live(setup, 150)
    for (let at = 0; at < 110; at++) await addClient(setup, { deleted: at === 0 })
    await sandbox.clock.advance({ seconds: 1 })
    const since = sandbox.clock.now()
    const events = await live(setup, 2)
    events.push(...(await addClient(setup)))
    const now = () => sandbox.clock.now()
    const report = await reconcile({ client: reversed(api), receiver, since, now })
    expect(report.events.fed).toBe(events.length)
  })
})

describe('a service that leaves updatedAt alone at an expiry', () => {
  /** Its lists as such a service gives them, one record a page. */
  const untouching = (api: ApiClient): ApiClient =>
    ({
      clients: api.clients,
      verifications: {
        iterate: (query: { readonly sort?: string }) => ({
          async *pages() {
            const list = await api.verifications.iterate(query as never).toArray({ max: 1000 })
            const items = list.map((one) =>
              one.status === 'expired' ? { ...one, updatedAt: one.createdAt } : one,
            )
            if (query.sort === 'updated_at') {
              items.sort((one, other) => Date.parse(other.updatedAt) - Date.parse(one.updatedAt))
            }
            for (const item of items) yield { data: [item] }
          },
        }),
      },
    }) as never

  test('expiries are found by their date if the service leaves updatedAt alone', async () => {
    const { sandbox, api, receiver, handled } = await open()
    drop(sandbox)
    const expiring = await api.verifications.create({ ...input, expiresDays: 3 })
    for (let at = 0; at < 3; at++) {
      await sandbox.clock.advance({ seconds: 10 })
      const { id } = await api.verifications.create(input)
      await sandbox.act(id, ['start', 'submit', 'approve'])
    }
    await sandbox.clock.advance({ days: 2 })
    const since = sandbox.clock.now()
    const now = () => sandbox.clock.now()
    const client = untouching(api)
    const first = await reconcile({ client, receiver, since, now })
    expect(first.events.derived).toBe(0)
    await sandbox.clock.advance({ days: 2 })
    const report = await reconcile({ client, receiver, since: first.watermark ?? since, now })
    expect(report).toMatchObject({ complete: true, gap: { byName: { 'verification.expired': 1 } } })
    await work(receiver)
    expect(handled).toMatchObject([
      { entity: { id: expiring.id }, occurredAt: new Date(expiring.expiresAt) },
    ])
    const again = await reconcile({ client, receiver, since, now })
    expect(again.events).toMatchObject({ derived: 1, missing: 0 })
  })

  test('expiries cost one page more if the service touches updatedAt', async () => {
    const { sandbox, api, receiver } = await open()
    drop(sandbox)
    for (let at = 0; at < 3; at++) await api.verifications.create({ ...input, expiresDays: 1 })
    await sandbox.clock.advance({ days: 2 })
    await api.verifications.create(input)
    const asked: (string | undefined)[] = []
    const iterate: ApiClient['verifications']['iterate'] = (query, options) => {
      const walk = api.verifications.iterate({ ...query, limit: 2 }, options)
      async function* pages() {
        for await (const page of walk.pages()) {
          asked.push(query?.status === 'expired' ? 'expired' : query?.sort)
          yield page
        }
      }
      return { ...walk, pages }
    }
    const client = { ...api, verifications: { iterate } }
    const since = sandbox.clock.now()
    const report = await reconcile({ client, receiver, since, now: () => sandbox.clock.now() })
    expect(asked).toEqual(['updated_at', 'expired'])
    expect(report.read.verifications).toBe(2)
  })
})

test('records with unreadable times are reported, and the run is incomplete', async () => {
  const { sandbox, api, receiver } = await open()
  drop(sandbox)
  const { id } = await api.verifications.create(input)
  await api.verifications.create(input)
  const iterate: ApiClient['verifications']['iterate'] = (query, options) => {
    const walk = api.verifications.iterate(query, options)
    async function* pages() {
      for await (const page of walk.pages()) {
        const data = page.data.map((one) => (one.id === id ? { ...one, createdAt: 'soon' } : one))
        yield { ...page, data }
      }
    }
    return { ...walk, pages }
  }
  const written: Watermark[] = []
  const report = await reconcile({
    client: { ...api, verifications: { iterate } },
    receiver,
    since: start,
    watermark: { read: () => undefined, write: (one) => void written.push(one) },
  })
  expect(report).toMatchObject({
    complete: false,
    events: { derived: 1, fed: 1 },
    unreadable: { count: 1, records: [{ type: 'verification', id }] },
  })
  expect([report.watermark, written]).toEqual([undefined, []])
})

describe('the watermark', () => {
  const advance = { seconds: 3600 }

  test('the next run begins at the end of the last one', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    drop(sandbox)
    await live(setup, 150)
    await sandbox.clock.advance({ seconds: 7200 })
    await live(setup, 1)
    const now = () => sandbox.clock.now()
    const first = await reconcile({ client: api, receiver, since: start, now })
    await sandbox.clock.advance({ days: 2 })
    const events = await live(setup, 3)
    const since = first.watermark
    const second = await reconcile({ client: api, receiver, since, now } as never)
    expect(second.events).toMatchObject({ missing: events.length, fed: events.length })
    expect(second.read.verifications).toBeLessThan(150)
  })

  test('the hour before the watermark is read by each run until the inbox may have forgotten it', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    const events = await live(setup, 6)
    await addClient(setup, { deleted: true })
    await sandbox.flush()
    const now = () => sandbox.clock.now()
    const derived: number[] = []
    let since: Watermark | string = start
    for (let run = 0; run < 4; run++) {
      const report: ReconcileReport = await reconcile({ client: api, receiver, since, now })
      derived.push(report.events.derived)
      since = report.watermark ?? start
      await sandbox.clock.advance(advance)
    }
    const all = events.length + 2
    expect(derived.slice(0, 2)).toEqual([all, all])
    // Events that the inbox will have forgotten one day must not look missing then.
    await sandbox.clock.advance({ days: 31 })
    const late = await reconcile({ client: api, receiver, since, now })
    expect(late.gap.byName).not.toHaveProperty('verification.created')
  })

  test('no run reads before the since of the first one', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    drop(sandbox)
    await live(setup, 3)
    await addClient(setup, { deleted: true })
    await sandbox.clock.advance({ seconds: 60 })
    const now = () => sandbox.clock.now()
    let since: Watermark | Date = now()
    const [later] = await live(setup, 1)
    const derived: number[] = []
    for (let run = 0; run < 4; run++) {
      const report: ReconcileReport = await reconcile({ client: api, receiver, since, now })
      derived.push(report.events.derived)
      since = report.watermark ?? since
      await sandbox.clock.advance({ seconds: 60 })
      if (run === 2) await api.verifications.create(input)
    }
    expect(later).toContain('created')
    expect(derived).toEqual([3, 3, 3, 4])
  })

  test.each([
    ['the hour before an old watermark is read again', 8, { derived: 17, missing: 3 }],
    ['a watermark is exact where the inbox may have forgotten', 31, { derived: 5, missing: 3 }],
  ])('%s', async (_, days, expected) => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    await live(setup, 6)
    const now = () => sandbox.clock.now()
    const { watermark } = await reconcile({ client: api, receiver, since: start, now })
    await sandbox.clock.advance({ days })
    drop(sandbox)
    const [created = ''] = await live(setup, 1)
    const report = await reconcile({ client: api, receiver, since: watermark, now } as never)
    // A verification that was never begun has expired meanwhile; the date of another, which expired
    // early, has come.
    expect(report.events).toMatchObject(expected)
    expect(created).toContain('created')
  })

  test('the watermark does not pass what changed during the run', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    drop(sandbox)
    const { id } = await api.verifications.create(input)
    await sandbox.clock.advance({ seconds: 1 })
    const now = () => sandbox.clock.now()
    const client = {
      ...api,
      clients: {
        ...api.clients,
        iterate: (query: object) => {
          // After the verifications were read, before the clients are.
          if (!('active' in query)) void sandbox.act(id, 'cancel')
          return api.clients.iterate(query)
        },
      },
    }
    const { watermark } = await reconcile({ client, receiver, since: start, now })
    await addClient(setup)
    await sandbox.clock.advance(advance)
    const report = await reconcile({ client: api, receiver, since: watermark, now } as never)
    expect(report.gap.byName).toEqual({ 'verification.canceled': 1, 'client.created': 1 })
  })
})

describe('the schedule', () => {
  test('the first run looks back a day, for events that came while the application was down', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    drop(sandbox)
    await live(setup, 1)
    await sandbox.clock.advance({ days: 2 })
    const [created] = await live(setup, 1)
    await sandbox.clock.advance({ seconds: 3600 })
    const now = () => sandbox.clock.now()
    const report = await createReconciler({ client: api, receiver, now }).run()
    expect(created).toBeDefined()
    expect(report.gap.byName).toMatchObject({ 'verification.created': 1 })
  })

  test('with a watermark, events of several days of downtime are found', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    drop(sandbox)
    const now = () => sandbox.clock.now()
    let file: string | null = null
    const watermark = {
      read: () => (file === null ? null : (JSON.parse(file) as Watermark)),
      write(next: Watermark) {
        file = JSON.stringify(next)
      },
    }
    await live(setup, 3)
    await sandbox.clock.advance({ seconds: 300 })
    await createReconciler({ client: api, receiver, watermark, now }).run()
    await sandbox.clock.advance({ days: 1 })
    const events = await live(setup, 3)
    await sandbox.clock.advance({ days: 3 })
    const forgetful = createReconciler({ client: api, receiver, grace: 0, now })
    expect((await forgetful.run()).events.missing).toBe(0)
    const report = await createReconciler({ client: api, receiver, watermark, now }).run()
    expect(report.events).toMatchObject({ missing: events.length, fed: events.length })
  })

  test('the schedule begins at `since` if that is its creation', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    drop(sandbox)
    await live(setup, 1)
    await sandbox.clock.advance({ seconds: 30 })
    const now = () => sandbox.clock.now()
    const reconciler = createReconciler({ client: api, receiver, since: now(), now })
    expect((await reconciler.run()).events.derived).toBe(0)
    await sandbox.clock.advance({ seconds: 30 })
    await live(setup, 1)
    await sandbox.clock.advance({ seconds: 200 })
    expect((await reconciler.run()).events).toMatchObject({ derived: 3, fed: 3 })
    expect((await reconciler.run()).events).toMatchObject({ missing: 0 })
  })

  test('the schedule runs from its own watermark, one run at a time, and stops', async () => {
    const setup = await open()
    const { sandbox, api, receiver, inbox } = setup
    drop(sandbox)
    await live(setup, 3)
    const reports: ReconcileReport[] = []
    const { promise: twice, resolve } = Promise.withResolvers<void>()
    const reconciler = createReconciler({
      client: api,
      receiver,
      since: start,
      every: 1,
      grace: 0,
      now: () => sandbox.clock.now(),
      onReport: (report) => {
        reports.push(report)
        if (reports.length === 2) resolve()
      },
    })
    reconciler.start()
    reconciler.start()
    expect(reconciler.run()).toBe(reconciler.run())
    await twice
    await reconciler.stop()
    const count = reports.length
    expect(reports[0]?.events.fed).toBe(await kept(inbox))
    expect(reports[1]?.events.missing).toBe(0)
    await new Promise((next) => setTimeout(next, 10))
    expect(reports).toHaveLength(count)
  })

  test('the schedule waits for deliveries that may still be on their way', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    drop(sandbox)
    await live(setup, 1)
    const now = () => sandbox.clock.now()
    const reconciler = createReconciler({ client: api, receiver, since: start, grace: 60_000, now })
    expect((await reconciler.run()).events.missing).toBe(0)
    await sandbox.clock.advance({ seconds: 61 })
    expect((await reconciler.run()).events.missing).toBe(3)
  })

  test('the schedule continues after a failed run, and reports why', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    strike(sandbox, { kind: 'error-500', times: 5 })
    const errors: unknown[] = []
    const { promise: done, resolve } = Promise.withResolvers<ReconcileReport>()
    const reconciler = createReconciler({
      client: api,
      receiver,
      since: start,
      every: 1,
      onReport: resolve,
      onError: (error) => errors.push(error),
    })
    reconciler.start()
    expect((await done).complete).toBe(true)
    await reconciler.stop()
    expect(errors).toMatchObject([{ name: 'ServerError' }])
  })

  test('the schedule can be started during a run, or while it stops, and stopped when idle', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    const told: ReconcileReport[] = []
    let tell = (_: ReconcileReport) => {}
    const next = () =>
      new Promise<ReconcileReport>((resolve) => {
        tell = resolve
      })
    const reconciler = createReconciler({
      client: api,
      receiver,
      since: start,
      every: 1,
      now: () => sandbox.clock.now(),
      onReport: (report) => {
        told.push(report)
        tell(report)
      },
    })
    await reconciler.stop()
    const manual = reconciler.run()
    reconciler.start()
    await manual
    await next()
    const count = told.length
    expect(count).toBeGreaterThan(1)
    const stopped = reconciler.stop()
    reconciler.start()
    await stopped
    await next()
    await reconciler.stop()
    const ending = reconciler.run()
    const idle = reconciler.stop()
    const after = reconciler.run()
    expect(await failure(ending)).toMatchObject({ name: 'AbortError' })
    await idle
    expect(await after).toMatchObject({ complete: true })
    const last = told.length
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(told).toHaveLength(last)
  })

  test('two runs never overlap, even if the schedule is stopped and started in between', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
    let reading = 0
    let most = 0
    const iterate: ApiClient['clients']['iterate'] = (query) => {
      const walk = api.clients.iterate(query)
      async function* pages() {
        most = Math.max(most, ++reading)
        // It does not listen to its signal.
        await new Promise((resolve) => setTimeout(resolve, 10))
        try {
          yield* walk.pages()
        } finally {
          reading -= 1
        }
      }
      return { ...walk, pages }
    }
    const reconciler = createReconciler({
      client: { ...api, clients: { iterate } },
      receiver,
      since: start,
      now: () => sandbox.clock.now(),
    })
    const first = failure(reconciler.run())
    while (reading === 0) await new Promise((resolve) => setImmediate(resolve))
    const stopped = reconciler.stop()
    const second = reconciler.run()
    expect(await first).toMatchObject({ name: 'AbortError' })
    await stopped
    expect((await second).complete).toBe(true)
    expect(most).toBe(1)
  })

  test('the schedule survives observers that throw, at once or later', async () => {
    const setup = await open()
    const { sandbox, api, receiver } = setup
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
    strike(sandbox, { kind: 'error-500', times: 5 })
    const { promise: reported, resolve } = Promise.withResolvers<void>()
    let reports = 0
    const reconciler = createReconciler({
      client: api,
      receiver,
      since: start,
      every: 1,
      now: () => sandbox.clock.now(),
      onError: () => {
        throw new RangeError('mine')
      },
      onReport: async () => {
        if (++reports === 3) resolve()
        throw new SyntaxError('mine')
      },
    })
    reconciler.start()
    await reported
    await reconciler.stop()
    await new Promise((next) => setImmediate(next))
    expect(unhandled).toEqual([])
    expect(warned.join()).toContain('onError threw RangeError')
    expect(warned.join()).toContain('onReport threw SyntaxError')
  })

  test('createReconciler refuses options that no run could use', async () => {
    const { api: client, receiver } = await open()
    for (const [code, options] of [
      ['INBOX_INVALID', { receiver: createReceiver({ secret }), since: start }],
      ['OPTION_INVALID', { receiver, since: 'yesterday' }],
      ['OPTION_INVALID', { receiver, since: new Date(Date.now() + 60_000) }],
      ['OPTION_INVALID', { receiver, since: { clients: {} } }],
      ['OPTION_INVALID', { receiver, since: start, client: {} }],
      ['OPTION_INVALID', { receiver, since: start, evry: 1000 }],
      ['OPTION_INVALID', { receiver, since: start, onReport: 'log' }],
    ] as const) {
      expect(() => createReconciler({ client, ...options } as never)).toThrow(
        expect.objectContaining({ code }),
      )
    }
  })

  test('createReconciler refuses times that no timer can keep', () => {
    for (const wrong of [{ every: 0 }, { grace: -1 }, { every: 2 ** 31 }]) {
      expect(() => createReconciler({ ...wrong } as never)).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID' }),
      )
    }
  })
})
