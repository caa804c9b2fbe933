// Content past its retention or forgotten leaves no copy, neither in the file nor in its log.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { fakeClock } from 'idv-webhooks/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { DurableInbox } from '../../src/inbox/inbox.ts'
import { WalCheckpoint } from '../../src/inbox/stores/sqlite/wal-checkpoint.ts'
import { event, type Parts, setUp, until } from './admin.ts'
import { temporaryFile } from './temporary.ts'

const canary = 'CANARY-7d1f-Robin-Example'

/** The files in which the canary can be seen. */
function traces(file: string): string[] {
  return readdirSync(dirname(file)).filter((name) =>
    readFileSync(join(dirname(file), name), 'latin1').includes(canary),
  )
}

const inThread = (file: string) => sqliteStore(file)
const onThisThread = (file: string) =>
  sqliteStore(file, { driver: (path) => new DatabaseSync(path) })

const person = { subjectName: canary, clientId: 'cli_1' }

describe.each([
  ['with a thread', inThread],
  ['on one thread', onThisThread],
])('a file %s', (_, make) => {
  const fresh = (parts: Parts = {}) => {
    const file = temporaryFile()
    return { file, ...setUp({ store: make(file), retry: { attempts: 1 }, ...parts }) }
  }
  const reading = (file: string) => {
    const reader = new DatabaseSync(file, { readOnly: true })
    onTestFinished(() => reader.close())
    reader.exec('begin')
    reader.prepare('select * from idv_contents').all()
    return reader
  }

  test('has no copy of a payload whose retention is over', async () => {
    const clock = fakeClock()
    const { file, deliver, inbox, receiver, worker } = fresh({ now: clock.now })
    receiver.on('*', () => {})
    for (let at = 0; at < 40; at++) await deliver(event('verification.created', person))
    await worker.runOnce()
    expect(traces(file)).not.toEqual([])
    clock.advance({ days: 8 })
    expect(await inbox.purge()).toMatchObject({ erased: 40 })
    expect(traces(file)).toEqual([])
  })

  test('deletes what is known of entities that are long gone page by page', async () => {
    const file = temporaryFile()
    const store = make(file)
    const inbox = createInbox({ store })
    onTestFinished(() => inbox.close())
    await inbox.open()
    const beside = new DatabaseSync(file)
    onTestFinished(() => beside.close())
    const many = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 25)'
    beside.exec(`insert into idv_high_water_marks (lane, at, final, touched)
      ${many} select 'v' || i, 0, 0, 0 from n`)
    beside.exec(`insert into idv_relations (lane, related, at)
      ${many} select 'v' || i, 'c', 0 from n`)
    const left = (table: string) =>
      Object.values(beside.prepare(`select count(*) from idv_${table}`).get() ?? {})[0]
    const past = { doneBefore: 1, deadBefore: 1, keysBefore: 1, limit: 10 }
    const seen: unknown[] = []
    for (let more = true; more; seen.push([left('high_water_marks'), left('relations')])) {
      more = (await store.purge(past)).hasMore ?? false
    }
    expect(seen).toEqual([
      [15, 15],
      [5, 5],
      [0, 0],
    ])
    beside.exec(`insert into idv_relations (lane, related, at)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200)
      select 'v' || i, 'c', 0 from n`)
    expect(await inbox.purge()).toEqual({ erased: 0, deleted: 0 })
    expect(left('relations')).toBe(0)
  })

  test('is rid of what was forgotten as soon as nobody reads it any more', async () => {
    const { file, deliver, inbox } = fresh()
    await deliver(event('verification.created', person))
    const reader = reading(file)
    expect(await inbox.forget('verification:ver_1')).toBe(1)
    expect(traces(file)).not.toEqual([])
    reader.exec('commit')
    // Under load too: deliveries do not put it off.
    await until(async () => {
      await deliver(event('client.created', { id: 'c' }))
      return traces(file).length === 0
    })
  })

  test('is rid of what was forgotten when the inbox closes', async () => {
    const { file, deliver, inbox } = fresh()
    await deliver(event('verification.created', person))
    const reader = reading(file)
    await inbox.forget('verification:ver_1')
    reader.exec('commit')
    await inbox.close()
    expect(traces(file)).toEqual([])
  })

  test('empties its log when there is nothing to do, and keeps it short when there is', async () => {
    const file = temporaryFile()
    const opened: DatabaseSync[] = []
    const driver = (path: string) => {
      const db = new DatabaseSync(path)
      if (basename(path) === basename(file)) opened.push(db)
      return db
    }
    const store = make === inThread ? make(file) : sqliteStore(file, { driver })
    const { deliver, inbox } = setUp({ store })
    await inbox.open()
    await deliver(event())
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0)
    await until(() => statSync(`${file}-wal`).size === 0)
    const limits = opened.at(-1)?.prepare('pragma journal_size_limit').get()
    if (make === onThisThread) expect(limits).toEqual({ journal_size_limit: 64 * 2 ** 20 })
  })
})

/** A connection whose checkpoint gives what `get` gives. */
function connection(get: () => unknown, waits: (ms: number) => void = () => {}) {
  const exec = (sql: string) => waits(Number(sql.split(' = ')[1]))
  return { exec, prepare: () => ({ get, run: () => ({ changes: 0 }), all: () => [] }) }
}

describe('the keeper of the log', () => {
  const keeper = (answers: boolean[], isOwner = true) => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const asked: number[] = []
    let wait = -1
    const get = () => {
      asked.push(wait)
      return { busy: (answers.shift() ?? true) ? 0 : 1 }
    }
    const log = new WalCheckpoint(
      connection(get, (ms) => (wait = ms)),
      { isOwner },
    )
    return { log, asked }
  }

  test('empties it once when work has ceased, however often it came before', () => {
    const { log, asked } = keeper([])
    for (let at = 0; at < 5; at++) {
      vi.advanceTimersByTime(100)
      log.worked(false)
    }
    expect(asked).toHaveLength(0)
    vi.advanceTimersByTime(60_000)
    expect(asked).toHaveLength(1)
  })

  test('remembers a sync that failed: the disk tells it once, and the next one succeeds', () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const failing = (errcode: number) => {
      const get = () => {
        throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode })
      }
      const log = new WalCheckpoint(connection(get), { isOwner: true })
      vi.advanceTimersByTime(1_000)
      return log
    }
    // SQLITE_IOERR_FSYNC, and SQLITE_BUSY, which loses nothing.
    expect(() => failing(1034).assertSound()).toThrow('disk I/O error')
    expect(() => failing(5).assertSound()).not.toThrow()
  })

  test('leaves the log of an earlier process to the owner', () => {
    const attemptsOf = (isOwner: boolean) => {
      const { asked } = keeper([], isOwner)
      vi.advanceTimersByTime(60_000)
      return asked.length
    }
    expect([true, false].map(attemptsOf)).toEqual([1, 0])
  })

  test('empties it at once when something was erased, and again until that is done', () => {
    const { log, asked } = keeper([false, false, false, true])
    log.worked(true)
    expect(asked).toHaveLength(1)
    for (let at = 0; at < 100; at++) {
      vi.advanceTimersByTime(100)
      log.worked(false)
    }
    expect(asked).toHaveLength(4)
    log.close()
    expect(asked, 'nothing is owed any more').toHaveLength(4)
  })

  test('waits for readers when it closes with something owed', () => {
    const { log, asked } = keeper([false, true])
    log.worked(true)
    log.close()
    expect(asked).toEqual([0, 1_000])
    vi.advanceTimersByTime(60_000)
    expect(asked).toHaveLength(2)
  })
})

test('an operator who forgets beside the owner leaves no copy behind', async () => {
  const file = temporaryFile()
  const { deliver } = setUp({ store: sqliteStore(file) })
  await deliver(event('verification.created', person))
  const beside = createInbox({ store: sqliteStore(file, { mode: 'operator' }) })
  expect(await beside.forget('verification:ver_1')).toBe(1)
  await beside.close()
  await until(() => traces(file).length === 0)
})

describe('a worker erases what is past its retention', () => {
  /** The handler takes so many seconds of the clock. */
  const afterRetention = async (seconds = 0) => {
    const clock = fakeClock()
    const set = setUp({ store: memoryStore(), now: clock.now })
    set.receiver.on('*', () => clock.advance({ seconds }))
    await set.deliver(event())
    await set.worker.runOnce()
    const erased = async () => (await set.inbox.find()).entries.map((entry) => entry.erased)
    clock.advance({ days: 8 })
    return { ...set, clock, erased }
  }

  test('when it drains once', async () => {
    const { worker, erased } = await afterRetention()
    await worker.runOnce()
    expect(await erased()).toEqual([true])
  })

  test('though the work fills each of its runs, and none has time left', async () => {
    const { worker, erased, deliver } = await afterRetention(2)
    await deliver(event('client.created'))
    expect(await worker.runOnce({ timeout: 500 })).toMatchObject({ done: 1 })
    expect((await erased()).toSorted()).toEqual([false, true])
  })

  test('when it starts, however short its process lives', async () => {
    const { worker, erased, inbox } = await afterRetention()
    await worker.start()
    await worker.drain()
    expect(await erased()).toEqual([true])
    await inbox.close()
  })

  const manyPages = async (step = 1_000) => {
    const store = memoryStore()
    const set = setUp({ store, now: () => new Date(time) })
    let time = Date.UTC(2026, 0, 1)
    let pages = 0
    let isBroken = false
    const asked = Promise.withResolvers<void>()
    // As if there were always another page, each of which takes a second by the clock.
    store.purge = async () => {
      pages++
      time += step
      asked.resolve()
      await new Promise((resolve) => setImmediate(resolve))
      if (isBroken) throw new Error('the disk is full')
      return { erased: 500, deleted: 0 }
    }
    const fail = (fails: boolean) => {
      isBroken = fails
    }
    return { ...set, pages: () => pages, asked: asked.promise, fail }
  }

  test('no longer than runOnce may take, and goes on the next time', async () => {
    const { worker, pages, fail, seen } = await manyPages()
    await worker.runOnce({ timeout: 3_000 })
    expect(pages()).toBe(1)
    await worker.runOnce({ timeout: 500 })
    expect(pages()).toBe(2)
    fail(true)
    await worker.runOnce()
    await worker.runOnce()
    // A failed purge does not count: the next drain tries again.
    expect(seen.filter(({ type }) => type === 'store')).toHaveLength(2)
  })

  test('for a second where the time of a run is short: somebody may wait for its answer', async () => {
    const { worker, pages } = await manyPages(100)
    for (const all of [10, 20]) {
      await worker.runOnce({ timeout: 20_000 })
      expect(pages()).toBe(all)
    }
  })

  test('no longer than runOnce may take, by whatever its clock is set back', async () => {
    const { worker, fail, seen } = await manyPages(-3_600_000)
    const late = setTimeout(() => fail(true), 2_000)
    await worker.runOnce({ timeout: 20 })
    clearTimeout(late)
    expect(seen.filter(({ type }) => type === 'store')).toEqual([])
  })

  test('no longer than until a drain, which waits for one page at most', async () => {
    const { worker, pages, asked } = await manyPages()
    await worker.start()
    await asked
    await worker.drain()
    const before = pages()
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    expect(pages()).toBe(before)
  })

  test('every hour while it runs, and not after every delivery', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const { clock, deliver, inbox, worker, settled } = await afterRetention()
      let purges = 0
      const source = inbox as unknown as DurableInbox
      const purge = source.purgeWhile.bind(source)
      source.purgeWhile = (goesOn) => {
        purges++
        return purge(goesOn)
      }
      await worker.start()
      await worker.runOnce()
      await deliver(event())
      await worker.runOnce()
      await until(() => settled().length === 2)
      expect(purges).toBe(1)
      clock.advance({ hours: 1 })
      vi.advanceTimersByTime(60 * 60 * 1000)
      await until(() => purges === 2)
    } finally {
      vi.useRealTimers()
    }
  })
})

test('what was done last in a lane is remembered as long as keys are', async () => {
  const clock = fakeClock()
  for (const store of [memoryStore(), sqliteStore(temporaryFile())]) {
    const { deliver, inbox, receiver, worker } = setUp({ store, now: clock.now })
    const stale: (boolean | undefined)[] = []
    receiver.on('*', (_, context) => void stale.push(context.stale))
    const at = (createdAt: string) => ({ createdAt })
    const older = () => event('verification.created', {}, at('2026-01-01T10:00:00Z'))
    await deliver(event('verification.submitted', {}, at('2026-01-01T12:00:00Z')))
    await deliver(older())
    await worker.runOnce()
    clock.advance({ days: 29 })
    await inbox.purge()
    await deliver(older())
    await worker.runOnce()
    clock.advance({ days: 31 })
    await inbox.purge()
    await deliver(older())
    await worker.runOnce()
    expect(stale, store.name).toEqual([false, true, true, false])
  }
})

test('a time in the far future makes no later event of its entity stale', async () => {
  const clock = fakeClock()
  const { deliver, receiver, worker } = setUp({ now: clock.now })
  const ran: (readonly [string, boolean | undefined])[] = []
  receiver.on('*', ({ name }, { stale }) => void ran.push([name, stale]))
  const at = (days: number) => {
    return { createdAt: new Date(clock.now().getTime() + days * 86_400_000).toISOString() }
  }
  await deliver(event('verification.created', {}, at(400)))
  await deliver(event('verification.submitted', {}, at(0.5)))
  await deliver(event('verification.approved', {}, at(0.25)))
  await worker.runOnce()
  expect(ran).toEqual([
    ['verification.created', false],
    ['verification.submitted', false],
    // Half a day ahead is a clock that differs, and counts.
    ['verification.approved', true],
  ])
})

test.each([
  ['was not read', { envelope: { name: 'kind' } }],
  ['has no entity', {}],
] as const)(
  'a dead letter that %s is erased by retention, though others stop their lanes',
  async (_, receiver) => {
    let clock = Date.now()
    const parts = { receiver, onDead: 'block' as const, retry: { attempts: 1 } }
    const setup = setUp({ ...parts, now: () => new Date(clock) })
    const { deliver, inbox, worker } = setup
    setup.receiver.on('*', () => {
      throw new Error('down')
    })
    await deliver({ id: 'evt_1', event: 'order.paid', data: {} })
    expect(await worker.runOnce()).toMatchObject({ dead: 1 })
    clock += 91 * 86_400_000
    expect(await inbox.purge()).toMatchObject({ erased: 1 })
  },
)
