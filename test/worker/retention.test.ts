// A sweep erases for good, so it does not believe a clock that was far ahead for a moment.
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { fakeClock } from 'idv-webhooks/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { event, setUp } from '../inbox/admin.ts'
import { temporaryFile } from '../inbox/temporary.ts'

describe.each([
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore(temporaryFile())],
] as const)('a sweep of the retention on %s', (_, create) => {
  async function begun() {
    const clock = fakeClock()
    const store = Object.assign(create(), { now: clock.now })
    /** Each run has a worker of its own, as each start of a process has. */
    const run = async () => {
      const parts = setUp({ store, retry: { attempts: 1 } })
      parts.receiver.on('client.created', () => Promise.reject(new Error('a bug')))
      parts.receiver.on('client.updated', () => {})
      await parts.worker.runOnce()
      return parts
    }
    const [dead, done] = [event('client.created'), event('client.updated')]
    const { deliver, worker } = await run()
    for (const one of [dead, done]) await deliver(one)
    await worker.runOnce()
    /** The rest of both: payloads, and the id of the entry that is done. */
    const left = async () => {
      const { inbox, deliver: again } = await run()
      const { entries } = await inbox.find()
      const payloads = entries.filter(({ erased }) => !erased).length
      return [payloads, (await again(done)).kind]
    }
    return { store, clock, left, run, done }
  }

  test('erases nothing by a clock that is ahead at a start, and is set back', async () => {
    const { clock, left, run } = await begun()
    clock.advance({ days: 120 })
    await run()
    clock.set(new Date(clock.now().getTime() - 120 * 86_400_000))
    expect(await left()).toEqual([2, 'duplicate'])
    // Nor a second time: the doubt of before is over.
    clock.advance({ days: 140 })
    await run()
    clock.set(new Date(clock.now().getTime() - 140 * 86_400_000))
    expect(await left()).toEqual([2, 'duplicate'])
  })

  test('erases due payloads once a second sweep agrees', async () => {
    const { clock, left, run } = await begun()
    clock.advance({ days: 120 })
    await run()
    await run()
    expect(await left()).toEqual([0, 'accepted'])
  })

  test('erases at once payloads that are due by a day more', async () => {
    const { clock, run } = await begun()
    for (let day = 0; day < 8; day++) {
      clock.advance({ hours: 23 })
      await run()
    }
    const { inbox } = await run()
    const { entries } = await inbox.find()
    expect(entries.map(({ state, erased }) => [state, erased]).toSorted()).toEqual([
      ['dead', false],
      ['done', true],
    ])
  })

  test.each(['', '{', 'NaN', '-Infinity'])(
    'goes on where somebody has left %j in its place',
    async (text) => {
      const { clock, left, store, run } = await begun()
      await store.remember('swept', new TextEncoder().encode(text))
      clock.advance({ days: 120 })
      await run()
      clock.advance({ minutes: 10 })
      expect(await left()).toEqual([0, 'accepted'])
    },
  )

  test('erases nothing by the first clock that it sees', async () => {
    const { clock, left, store } = await begun()
    // As where receivers were there before a worker.
    await store.remember('swept', new Uint8Array())
    clock.advance({ days: 120 })
    expect(await left()).toEqual([2, 'duplicate'])
  })

  test.each([
    [2, 120],
    [7, 120],
    [14, 170],
    [30, 240],
  ])('erases what is due where sweeps are %d days apart', async (days, all) => {
    const { clock, left, run } = await begun()
    for (let at = 0; at < all; at += days) {
      clock.advance({ days })
      await run()
    }
    expect(await left()).toEqual([0, 'accepted'])
  })

  test('of an operator trusts the clock', async () => {
    const { clock, run } = await begun()
    clock.advance({ days: 120 })
    const { inbox } = await run()
    expect((await inbox.find()).entries.every(({ erased }) => erased)).toBe(false)
    await inbox.purge()
    expect((await inbox.find()).entries.every(({ erased }) => erased)).toBe(true)
  })
})

test('a sweep believes no lead of its process that the clock of the machine took back', async () => {
  const machine = fakeClock()
  vi.useFakeTimers({ toFake: ['Date'], now: machine.now() })
  onTestFinished(() => void vi.useRealTimers())
  const store = memoryStore()
  const begin = () => {
    const parts = setUp({ store })
    parts.receiver.on('*', () => {})
    return parts
  }
  const one = event()
  const { deliver, worker } = begin()
  await deliver(one)
  await worker.runOnce()
  // A process that started before the clock of its machine was set right.
  vi.setSystemTime(Date.now() + 120 * 86_400_000)
  const ahead = begin()
  await ahead.inbox.stats()
  vi.setSystemTime(Date.now() - 120 * 86_400_000)
  for (let sweep = 0; sweep < 3; sweep++) {
    await ahead.worker.runOnce()
    await begin().worker.runOnce()
    vi.setSystemTime(Date.now() + 3_660_000)
  }
  const { inbox, deliver: again } = begin()
  expect((await inbox.find()).entries).toMatchObject([{ state: 'done', erased: false }])
  expect((await again(one)).kind).toBe('duplicate')
})
