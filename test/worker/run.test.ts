// From the first claim to a drain: what is at work is alive, is settled once, and comes to an end.
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from 'idv-webhooks'
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { DurableInbox } from '../../src/inbox/inbox.ts'
import type { Claimed } from '../../src/inbox/work-store.ts'
import { WorkerRun } from '../../src/worker/run.ts'
import { event, type Parts, setUp, until } from '../inbox/admin.ts'
import { temporaryFile } from '../inbox/temporary.ts'

const stores = [
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(temporaryFile())],
] as const

/** A run over an inbox that has nothing, with the times at which it was asked. */
function idleRun(concurrency = 1) {
  const claims: number[] = []
  const claim = async (limit: number) => {
    claims.push(limit)
    return { works: [] }
  }
  const inbox = { leases: { claim }, now: () => new Date(), timeout: 0 }
  const ignore = () => {}
  const deps = { pipeline: {}, inbox, concurrency, onSettled: ignore, onStoreError: ignore }
  const run = new WorkerRun(deps as never)
  onTestFinished(() => run.end(0))
  return { run, claims, inbox }
}

test('a worker looks again once a claim of runOnce has given its places back', async () => {
  const { run, claims, inbox } = idleRun()
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { leases } = inbox
  const { claim } = leases
  leases.claim = async (limit) => {
    asked.resolve()
    await answered.promise
    return claim(limit)
  }
  const { running, end } = run.beginScope(Number.POSITIVE_INFINITY)
  onTestFinished(end)
  const once = run.claim({ max: 1, running })
  await asked.promise
  void run.poll()
  run.wake()
  await delay(20)
  answered.resolve()
  await once
  await until(() => claims.length === 2)
})

test('a worker claims nothing more after the end of its run, whatever wakes it', async () => {
  const { run, claims } = idleRun()
  void run.poll()
  await run.end(0)
  run.wake()
  await delay(20)
  expect(claims).toEqual([])
})

describe.each(stores)('at work on %s', (_, store) => {
  const fresh = (parts: Parts = {}) => setUp({ store: store(), ...parts })

  test('asks once for an entry behind which nothing waits, and again for any other', async () => {
    const kept = store()
    const { claim } = kept
    let claims = 0
    kept.claim = (request) => {
      claims++
      return claim.call(kept, request)
    }
    const { deliver, receiver, worker, settled } = setUp({ store: kept })
    receiver.on('*', () => {})
    await worker.start()
    await until(() => claims > 0)
    await delay(20)
    claims = 0
    await deliver(event())
    await until(() => settled().length === 1)
    await delay(20)
    expect(claims).toBe(1)
    await Promise.all([deliver(event()), deliver(event()), deliver(event())])
    await until(() => settled().length === 4)
    expect(claims).toBeGreaterThanOrEqual(4)
  })

  test('an entry that the store gives out again waits for its attempt to end', async () => {
    const kept = store()
    const { claim } = kept
    const leases: Claimed[] = []
    kept.claim = async (request) => {
      const claimed = await claim.call(kept, request)
      leases.push(...claimed.entries)
      return claimed
    }
    const { deliver, inbox, receiver, worker, settled } = setUp({ store: kept })
    let [runs, atWork, most] = [0, 0, 0]
    receiver.on('verification.approved', async () => {
      runs++
      most = Math.max(most, ++atWork)
      const [lost] = leases
      // As a server that took over and knows nothing of the lease.
      if (runs === 1 && lost) {
        const { id, fence, owner } = lost
        const lease = { id, fence, ...(owner !== undefined && { owner }) }
        await kept.settle({ to: 'released', lease, at: Date.now(), handled: [] })
        await deliver(event('client.created', { id: 'cli_1' }))
        await until(() => leases.filter((one) => one.id === id).length === 2)
        await delay(30)
      }
      atWork--
    })
    // It goes on under the later lease.
    receiver.on('verification.approved', () => {}, { id: 'next' })
    const tx = kept.transaction !== undefined
    receiver.on('verification.approved', (_, context) => void context.tx, { id: 'last', tx })
    await deliver(event())
    await worker.start()
    await until(() => settled().includes('done'))
    await delay(30)
    const ended = settled().filter((state) => state !== 'done' && state !== 'skipped')
    expect([runs, most, ended]).toEqual([1, 1, []])
    expect(await inbox.stats()).toMatchObject({ done: 1, leased: 0, stored: 0 })
  })

  test('an attempt that ends while the claim that took its entry again is answered settles that one', async () => {
    const kept = store()
    const { claim, settle } = kept
    const leases: Claimed[] = []
    const [taken, refused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    kept.claim = async (request) => {
      const claimed = await claim.call(kept, request)
      const isAgain = claimed.entries.some(({ id }) => id === leases[0]?.id)
      leases.push(...claimed.entries)
      if (!isAgain) return claimed
      taken.resolve()
      await refused.promise
      await delay(30)
      return claimed
    }
    kept.settle = async (settlement) => {
      const isTaken = await settle.call(kept, settlement)
      if (!isTaken) refused.resolve()
      return isTaken
    }
    const { deliver, inbox, receiver, worker, settled } = setUp({ store: kept })
    let runs = 0
    receiver.on('verification.approved', async () => {
      const [lost] = leases
      if (++runs > 1 || !lost) return
      const { id, fence, owner } = lost
      const lease = { id, fence, ...(owner !== undefined && { owner }) }
      await kept.settle({ to: 'released', lease, at: Date.now(), handled: [] })
      await deliver(event('client.created', { id: 'cli_1' }))
      await taken.promise
    })
    await deliver(event())
    await worker.start()
    await until(() => settled().includes('done') || settled().includes('lost'))
    await delay(60)
    expect([runs, settled().includes('lost')]).toEqual([1, false])
    expect(await inbox.stats()).toMatchObject({ done: 1, leased: 0, stored: 0 })
  })

  test('a replay runs its handlers although an earlier attempt is still at work', async () => {
    const kept = store()
    const { claim } = kept
    const leases: Claimed[] = []
    kept.claim = async (request) => {
      const claimed = await claim.call(kept, request)
      leases.push(...claimed.entries)
      return claimed
    }
    const { deliver, inbox, receiver, worker } = setUp({ store: kept })
    const sources: string[] = []
    receiver.on('verification.approved', async ({ source }) => {
      sources.push(source)
      const [lost] = leases
      if (sources.length > 1 || !lost) return
      // Another process took the entry over and is done with it.
      const { id, fence, owner } = lost
      const lease = { id, fence, ...(owner !== undefined && { owner }) }
      await kept.settle({ to: 'done', lease, at: Date.now(), handled: [] })
      await inbox.replay(id)
      await until(() => leases.filter((one) => one.id === id).length === 2)
      await delay(30)
    })
    await deliver(event())
    await worker.start()
    await until(() => sources.length === 2)
    expect(sources).toEqual(['webhook', 'replay'])
    await until(async () => (await inbox.stats()).done === 1)
  })

  test('an entry outlives its lease while runOnce handles it, whatever else is started', async () => {
    const { deliver, receiver, worker, settled } = fresh({ lease: 30 })
    let [runs, atWork, most] = [0, 0, 0]
    for (const id of ['one', 'two', 'three']) {
      receiver.on(
        '*',
        async () => {
          runs++
          most = Math.max(most, ++atWork)
          await delay(50)
          atWork--
        },
        { id },
      )
    }
    await deliver(event())
    const all = [worker.runOnce()]
    while (runs < 3) {
      await delay(20)
      all.push(worker.runOnce())
    }
    await Promise.all(all)
    expect([runs, most, settled()]).toEqual([3, 1, ['done']])
  })

  test('a drain waits for runOnce, and its entries are settled', async () => {
    const { deliver, receiver, worker, inbox, settled } = fresh()
    const begun = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    receiver.on('*', async () => {
      begun.resolve()
      await end.promise
    })
    await deliver(event())
    await deliver(event())
    const once = worker.runOnce()
    await begun.promise
    const drained = worker.drain()
    expect(await worker.runOnce(), 'while it drains').toMatchObject({ done: 0 })
    end.resolve()
    await drained
    expect(settled()).toEqual(['done'])
    expect(await once).toMatchObject({ done: 1 })
    expect(await inbox.stats()).toMatchObject({ done: 1, stored: 1 })
  })

  test('a drain whose grace ran out begins no further handler, in turn or not', async () => {
    const { deliver, receiver, worker, inbox } = fresh()
    const began: string[] = []
    const hangs =
      (id: string) =>
      async (_: unknown, { attempt }: Context) => {
        began.push(`${id} ${attempt}`)
        if (attempt === 1 && began.length === 1) await new Promise(() => {})
      }
    receiver.on('verification.approved', hangs('first'), { id: 'first' })
    receiver.on('verification.approved', hangs('second'), { id: 'second' })
    await deliver(event())
    await worker.start()
    await until(() => began.length === 1)
    await worker.drain({ grace: 5 })
    await delay(20)
    expect(began).toEqual(['first 1'])
    expect((await inbox.find()).entries).toMatchObject([{ state: 'stored', handled: [] }])
    await worker.runOnce()
    expect(began).toEqual(['first 1', 'first 1', 'second 1'])
  })

  test('a drain whose grace ran out leaves runOnce and start as they were', async () => {
    const { deliver, inbox, receiver, worker } = fresh()
    let hangs = true
    receiver.on('*', () => (hangs ? new Promise(() => {}) : undefined))
    await deliver(event())
    await worker.start()
    await until(async () => (await inbox.stats()).leased === 1)
    await worker.drain({ grace: 5 })
    hangs = false
    expect(await worker.runOnce()).toMatchObject({ done: 1, released: 0 })
    await deliver(event())
    await worker.start()
    await until(async () => (await inbox.stats()).done === 2)
  })

  test('runOnce ends when the inbox is closed under it', async () => {
    const { deliver, inbox, receiver, worker } = fresh()
    const begun = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    receiver.on('*', async () => {
      begun.resolve()
      await end.promise
    })
    await deliver(event())
    const once = worker.runOnce().catch((error) => error)
    await begun.promise
    await inbox.close()
    end.resolve()
    await once
  })

  test('start and runOnce together have no more at work than the worker may', async () => {
    const { deliver, inbox, receiver, worker } = fresh({ worker: { concurrency: 3 } })
    let [atWork, most] = [0, 0]
    receiver.on('*', async () => {
      most = Math.max(most, ++atWork)
      await delay(2)
      atWork--
    })
    for (let at = 0; at < 30; at++) await deliver(event('client.created', { id: `c${at}` }))
    await worker.start()
    await Promise.all([worker.runOnce(), worker.runOnce()])
    await until(async () => (await inbox.stats()).done === 30)
    expect(most).toBe(3)
  })

  test('handlers may throw any value, and their entries end as dead letters', async () => {
    const { deliver, inbox, receiver, worker, seen } = fresh({ retry: { attempts: 1 } })
    const revoked = () => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    }
    const getter = () => {
      throw new Error('no')
    }
    const thrown: Record<string, () => unknown> = {
      null: () => null,
      revoked,
      stack: () => Object.defineProperty(new Error('x'), 'stack', { get: getter }),
      name: () => Object.assign(new Error('x'), { name: { toString: getter } }),
      symbol: () => Symbol('x'),
    }
    receiver.on('client.*', ({ entity }) => {
      throw thrown[entity.id]?.()
    })
    for (const id of Object.keys(thrown)) await deliver(event('client.created', { id }))
    await worker.start()
    await until(async () => (await inbox.stats()).dead === 5)
    const { entries } = await inbox.find()
    expect(new Set(entries.map(({ reason }) => reason))).toEqual(new Set(['HANDLER_FAILED']))
    expect(seen.filter(({ type }) => type === 'attempt')).toHaveLength(5)
  })

  test('a claim that a drain overtook is given back, and no attempt is counted', async () => {
    const slow = store()
    const { deliver, inbox, receiver, worker, settled } = fresh({ store: slow })
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const claim = slow.claim.bind(slow)
    slow.claim = async (request) => {
      const claimed = await claim(request)
      asked.resolve()
      await go.promise
      return claimed
    }
    let runs = 0
    receiver.on('*', () => void runs++)
    await deliver(event())
    await worker.start()
    await asked.promise
    const drained = worker.drain()
    go.resolve()
    await drained
    expect([runs, settled()]).toEqual([0, ['released']])
    expect((await inbox.find()).entries).toMatchObject([{ state: 'stored', attempts: 0 }])
  })

  test('a start during a drain starts after it', async () => {
    const { deliver, receiver, worker, settled } = fresh()
    receiver.on('*', () => {})
    await worker.start()
    const drained = worker.drain()
    await worker.start()
    await drained
    await deliver(event())
    await until(() => settled().length === 1)
  })
})

test('a handler that succeeded runs once, however long the store takes nothing', async () => {
  const store = memoryStore()
  let isDown = false
  for (const name of ['settle', 'renew', 'lapsed', 'claim'] as const) {
    const real = store[name].bind(store) as (argument: unknown) => Promise<unknown>
    const down = (argument: unknown) =>
      isDown ? Promise.reject(new Error('down')) : real(argument)
    Object.assign(store, { [name]: down })
  }
  const { deliver, receiver, worker, inbox, settled } = setUp({ store, lease: 30 })
  let runs = 0
  receiver.on('*', () => {
    runs++
    isDown = true
  })
  await worker.start()
  await deliver(event())
  await until(() => runs === 1)
  await delay(90)
  isDown = false
  // Whichever process renews first, the entry is alive.
  await (inbox as unknown as DurableInbox).leases.sweep()
  await until(() => settled().length > 0)
  expect([runs, settled()]).toEqual([1, ['done']])
})

test('leases are renewed every 20 s, however long they are', async () => {
  const store = memoryStore()
  const renew = vi.spyOn(store, 'renew')
  const { deliver, receiver, worker } = setUp({ store, lease: 3_600_000 })
  const end = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  receiver.on('*', () => {
    begun.resolve()
    return end.promise
  })
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  await worker.start()
  await deliver(event())
  await begun.promise
  await vi.advanceTimersByTimeAsync(20_000)
  expect(renew).toHaveBeenCalledTimes(1)
  end.resolve()
})

test('other processes see the entries at work here as alive', async () => {
  const store = memoryStore()
  const [here, other] = [setUp({ store, lease: 30 }), setUp({ store, lease: 30 })]
  const end = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  here.receiver.on('*', () => {
    begun.resolve()
    return end.promise
  })
  await here.deliver(event())
  const once = here.worker.runOnce()
  await begun.promise
  await delay(70)
  await other.inbox.open()
  expect(await (other.inbox as unknown as DurableInbox).leases.sweep()).toEqual([])
  end.resolve()
  expect(await once).toMatchObject({ done: 1 })
})

describe('what a crash left', () => {
  /** One process claims and is gone; the store goes on to the next. */
  const crashed = async (parts: Parts = {}) => {
    const file = temporaryFile()
    const first = setUp({ store: sqliteStore(file) })
    const deliver = async (count: number) => {
      for (let at = 0; at < count; at++)
        await first.deliver(event('client.created', { id: `c${at}` }))
      await (first.inbox as unknown as DurableInbox).leases.claim(count)
      await first.inbox.close()
    }
    return { deliver, next: () => setUp({ store: sqliteStore(file), ...parts }) }
  }

  test('is observed, and warned of when it is dead', async () => {
    const { deliver, next } = await crashed({ retry: { attempts: 1 } })
    await deliver(1)
    const { worker, seen } = next()
    await worker.start()
    expect(seen).toMatchObject([
      {
        type: 'settled',
        state: 'dead',
        reason: 'CRASHED',
        attempt: 1,
        name: 'client.created',
      },
    ])
  })

  test('comes back one by one, so that poison takes no neighbours along', async () => {
    const { deliver, next } = await crashed()
    await deliver(4)
    const { inbox, receiver, worker } = next()
    await inbox.open()
    await (inbox as unknown as DurableInbox).leases.sweep()
    const dues = (await inbox.find()).entries.map(({ dueAt }) => Number(dueAt)).toSorted()
    const gaps = dues.slice(1).map((due, at) => due - (dues[at] ?? 0))
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(50)
    receiver.on('*', () => {})
    await worker.start()
    await until(async () => (await inbox.stats()).done === 4)
  })

  test('is back within seconds, however much it was', async () => {
    const { deliver, next } = await crashed()
    await deliver(200)
    const { inbox } = next()
    await inbox.open()
    await (inbox as unknown as DurableInbox).leases.sweep()
    const dues = (await inbox.find({ limit: 200 })).entries.map(({ dueAt }) => Number(dueAt))
    expect(Math.max(...dues) - Date.now()).toBeLessThan(5_000)
  })

  test('is noticed by a worker that runs, once its lease is over', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const store = memoryStore()
      const [gone, here] = [setUp({ store, lease: 20 }), setUp({ store, lease: 20 })]
      await here.worker.start()
      await gone.deliver(event())
      expect((await (gone.inbox as unknown as DurableInbox).leases.claim(1)).works).toHaveLength(1)
      await delay(25)
      expect(here.settled()).toEqual([])
      vi.advanceTimersByTime(10)
      await until(() => here.settled().length > 0)
      expect(here.seen[0]).toMatchObject({ state: 'retry', reason: 'CRASHED' })
    } finally {
      vi.useRealTimers()
    }
  })
})
