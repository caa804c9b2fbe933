// Processes whose clocks differ agree on the database's time.
import { createInbox } from 'idv-webhooks/inbox'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { DurableInbox } from '../../../src/inbox/inbox.ts'
import { StoreClock } from '../../../src/inbox/stores/postgres/owner.ts'
import { claim, claimOne, newEntry, settle } from '../../../tools/conformance/store-cases.ts'
import { event, setUp } from '../admin.ts'
import { schemaOn } from './servers.ts'

const hour = 3_600_000

test('follows the database from a clock that is an hour ahead, by the quickest answer', async () => {
  let local = hour
  const clock = new StoreClock(() => local)
  const answer = (database: number, there: number, back: number) =>
    clock.measure(async () => {
      local += there + back
      return database
    })
  await answer(1_000, 5, 5)
  expect(clock.now().getTime()).toBe(1_005)
  // A slow answer says less: its error is up to half of its time.
  await answer(1_010, 0, 400)
  expect(clock.now().getTime()).toBe(1_405)
})

test('does not go back for a correction, and follows a step', async () => {
  let local = 0
  const clock = new StoreClock(() => local)
  await clock.measure(async () => 10_000)
  local = 10
  expect(clock.now().getTime()).toBe(10_010)
  await clock.measure(async () => 9_500)
  expect(clock.now().getTime()).toBeGreaterThanOrEqual(10_010)
  local += 1
  await clock.measure(async () => 9_000 - hour)
  expect(clock.now().getTime()).toBe(9_000 - hour)
})

test('pauses that are each shorter than a second do not add up', async () => {
  let [local, database] = [0, 10_000]
  const clock = new StoreClock(() => local)
  for (let trip = 1; trip <= 10; trip += 1) {
    await clock.measure(async () => {
      local += trip
      return database
    })
    expect(Math.abs(clock.now().getTime() - database)).toBeLessThan(200)
    local += 2_000
    database += 2_900
  }
})

test('a process that was frozen claims and renews by the time of the database', async () => {
  const { open, query } = schemaOn(undefined, { listen: false })
  const inbox = createInbox({ store: open() }) as unknown as DurableInbox
  await inbox.open()
  onTestFinished(() => inbox.close())
  const other = open()
  await other.open(() => {})
  onTestFinished(() => other.close())
  const left = async () => {
    const [row] = await query('select (lease_until - idv.clock())::int as left from idv.entries')
    return Number(row?.left)
  }
  const running = performance.now.bind(performance)
  let frozen = 75_000
  vi.spyOn(performance, 'now').mockImplementation(() => running() - frozen)
  onTestFinished(() => void vi.restoreAllMocks())
  await other.insert(newEntry({ storedAt: Date.now() }))
  expect((await inbox.leases.claim(1)).works).toHaveLength(1)
  expect(await left()).toBeGreaterThan(inbox.leases.lease - 10_000)
  frozen = 150_000
  await inbox.leases.renew()
  expect(await left()).toBeGreaterThan(inbox.leases.lease - 10_000)
})

test('what a process receives when it was frozen is stored by the time of the database', async () => {
  const { open, query } = schemaOn(undefined, { listen: false })
  const { inbox, deliver } = setUp({ store: open() })
  await inbox.open()
  const running = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => running() - 2 * hour)
  onTestFinished(() => void vi.restoreAllMocks())
  await deliver(event())
  const [row] = await query('select (idv.clock() - stored_at)::int as age from idv.entries')
  expect(Number(row?.age)).toBeLessThan(10_000)
  const since = new Date(Date.now() - hour)
  expect((await inbox.find({ since })).entries).toHaveLength(1)
})

test('a process with the clock of the store takes nothing of another; with one of its own it does', async () => {
  const { open, query } = schemaOn()
  const [store, same, ahead] = [open(), open(), open()]
  for (const one of [store, same, ahead]) {
    await one.open(() => {})
    onTestFinished(() => one.close())
  }
  await store.insert(newEntry())
  const now = store.now?.().getTime() ?? 0
  const [lease] = (await store.claim({ now, limit: 1, until: now + 60_000 })).entries
  await query('update idv.owners set since = since - 60000')
  expect(await same.lapsed(same.now?.().getTime() ?? 0)).toEqual([])
  const handedIn = await ahead.lapsed(Date.now() + hour)
  expect(handedIn.map(({ id }) => id)).toEqual([lease?.id])
})

test.each([
  ['ahead', 2 * 60_000],
  ['behind', -2 * 60_000],
])('leases go by the clock of the store, also where a `now` of your own is %s', async (_, skew) => {
  const { open, query } = schemaOn()
  const inboxOf = async (now?: () => Date) => {
    const inbox = createInbox({ store: open(), ...(now && { now }) }) as unknown as DurableInbox
    await inbox.open()
    onTestFinished(() => inbox.close())
    return inbox
  }
  const inboxes = [await inboxOf(), await inboxOf(() => new Date(Date.now() + skew))]
  const store = open()
  await store.open(() => {})
  onTestFinished(() => store.close())
  for (let entries = 0; entries < 2; entries++) await store.insert(newEntry({ storedAt: 0 }))
  for (const inbox of inboxes) expect((await inbox.leases.claim(1)).works).toHaveLength(1)
  await query('update idv.owners set since = since - 60000')
  for (const inbox of inboxes) {
    expect(await inbox.leases.sweep()).toEqual([])
    await inbox.leases.renew()
  }
  for (const inbox of inboxes) expect(await inbox.leases.sweep()).toEqual([])
})

test('an inbox works by the clock of its store', async () => {
  const { open, query } = schemaOn()
  const store = open()
  const inbox = createInbox({ store })
  await inbox.open()
  onTestFinished(() => inbox.close())
  const [row] = await query('select idv.clock()::text as now')
  expect(
    Math.abs((store.now?.().getTime() ?? 0) - Number((row as { now: string }).now)),
  ).toBeLessThan(60_000)
  await store.insert(newEntry({ storedAt: 0 }))
  expect((await claimOne(store)).attempt).toBe(1)
})

/** Two processes whose time is a day ahead: the database's clock was set back, which they do not know yet. */
async function aheadOfDatabase() {
  const { open } = schemaOn(undefined, { listen: false })
  const [keeping, working] = [open(), open()]
  for (const store of [keeping, working]) {
    await store.open(() => {})
    onTestFinished(() => store.close())
  }
  const [now, ahead] = [Date.now() + hour, Date.now() + 24 * hour]
  return {
    now,
    keeping,
    working,
    ahead,
    entry: (lane: string) => newEntry({ lane, storedAt: ahead }),
  }
}

test('what a process keeps whose time is ahead of the database is due at once, and what is behind it', async () => {
  const { now, keeping, working, ahead, entry } = await aheadOfDatabase()
  for (const lane of ['first', 'second']) {
    // The second is kept by another function, for an alias of it is known.
    const aliases = [{ key: 'alias', name: 'verification.approved' }]
    await keeping.insert({ ...entry(lane), aliases })
    await settle(working, await claimOne(working, now), { to: 'done', at: ahead })
  }
  const ends = [
    { to: 'done' },
    { to: 'skipped', reason: 'NO_HANDLER' },
    { to: 'dead', hold: false, reason: 'HANDLER_FAILED', failures: [] },
  ] as const
  for (const end of ends) {
    for (let at = 0; at < 2; at++) await keeping.insert(entry(end.to))
    await settle(working, await claimOne(working, now), { ...end, at: ahead })
    await settle(working, await claimOne(working, now), { to: 'done', at: ahead })
  }
})

test('what is given back or redriven by a time that is ahead is due at once', async () => {
  const { now, keeping, working, ahead, entry } = await aheadOfDatabase()
  const one = entry('one')
  await keeping.insert(one)
  await settle(working, await claimOne(working, now), { to: 'released', at: ahead })
  const failed = { reason: 'HANDLER_FAILED', failures: [] } as const
  const again = await claimOne(working, now)
  await settle(working, again, { to: 'dead', hold: true, at: ahead, ...failed })
  expect(await keeping.reopen({ ids: [one.id], from: ['dead'], now: ahead })).toBe(1)
  expect((await claimOne(working, now)).id).toBe(one.id)
})

test('a claim by a time that is ahead finds what another process keeps', async () => {
  const { keeping, working, ahead, entry } = await aheadOfDatabase()
  for (let at = 0; at < 3; at++) {
    expect(await claim(working, 10, ahead)).toEqual([])
    await keeping.insert(entry(`lane ${at}`))
    expect(await claim(working, 10, ahead)).toHaveLength(1)
  }
})

test('brings any number of lanes in line page by page, and leaves those that are', async () => {
  const { open, query } = schemaOn()
  const store = open()
  await store.open(() => {})
  onTestFinished(() => store.close())
  const fill = async (of: string, state: string, { due, many }: Record<'due' | 'many', number>) => {
    await query(`with added as (
      insert into idv.entries (id, state, lane, source, stored_at, bytes, due)
        select '${of}' || g, '${state}', '${of}' || g, 'webhook', 0, 0, ${due} + g % 7
        from generate_series(1, ${many}) g returning seq, lane, due)
      insert into idv.lanes (lane, head, due, floor) select lane, seq, due, seq from added`)
  }
  const [now, latest] = [1_000_000, 2_000_000]
  await fill('near', 'retry', { due: now + 10, many: 2_100 })
  await fill('far', 'retry', { due: latest + 10, many: 1_500 })
  await fill('stored', 'stored', { due: now + 10, many: 1_200 })
  await fill('dead', 'dead', { due: now - 10, many: 1_100 })
  await query(`update idv.lanes set due = null where lane like 'dead%'`)
  await store.align({ now, latest, free: true })
  const found =
    await query(`select regexp_replace(l.lane, '\\d', '', 'g') as of, count(*)::int as many,
    sum((l.due = ${now})::int)::int as now, sum((e.due = l.due)::int)::int as same
    from idv.lanes l join idv.entries e on e.seq = l.head group by 1 order by 1`)
  expect(found).toEqual([
    { of: 'far', many: 1_500, now: 1_500, same: 1_500 },
    { of: 'near', many: 2_100, now: 0, same: 2_100 },
    { of: 'stored', many: 1_200, now: 1_200, same: 0 },
  ])
})
