// The processes that are woken when there is something to claim that no delivery announces.
import { type AddressInfo, createServer, type Socket } from 'node:net'
import {
  fromPg,
  type PostgresDriver,
  type PostgresListener,
  postgresStore,
} from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { expect, type Mock, onTestFinished, test, vi } from 'vitest'
import { Announcements } from '../../../src/inbox/stores/postgres/announcements.ts'
import { Statements } from '../../../src/inbox/stores/postgres/statements.ts'
import { claim, claimOne, newEntry, settle } from '../../../tools/conformance/store-cases.ts'
import { startProxy } from './proxy.ts'
import { freshSchema, poolOf, schemaOn, servers } from './servers.ts'

const start = Date.UTC(2026, 0, 1)

async function two() {
  const { open } = schemaOn()
  const wakes = [vi.fn(), vi.fn()] as const
  const [here, there] = [open(), open()]
  await here.open(wakes[0])
  await there.open(wakes[1])
  onTestFinished(async () => {
    await here.close()
    await there.close()
  })
  return { here, wakes }
}

test('a settlement after which its lane goes on wakes this process: a claim beside it has not seen that', async () => {
  const { here, wakes } = await two()
  const [first, second] = [newEntry({ lane: 'one' }), newEntry({ lane: 'one' })]
  for (const entry of [first, second]) await here.insert(entry)
  const one = await claimOne(here)
  expect(await claim(here)).toEqual([])
  expect(wakes[0]).not.toHaveBeenCalled()
  await settle(here, one, { to: 'done' })
  expect(wakes[0]).toHaveBeenCalledOnce()
  const failed = { reason: 'HANDLER_FAILED', failures: [] } as const
  await settle(here, await claimOne(here), { to: 'retry', due: start + 100, ...failed })
  expect(wakes[0]).toHaveBeenCalledTimes(2)
  await settle(here, await claimOne(here, start + 100), { to: 'done' })
  expect(wakes[0]).toHaveBeenCalledTimes(2)
})

test('a process that takes as much as it can, of more, wakes the others', async () => {
  const { here, wakes } = await two()
  for (let lane = 0; lane < 3; lane++) await here.insert(newEntry({ lane: `lane ${lane}` }))
  await expect.poll(() => wakes[1].mock.calls.length).toBeGreaterThan(0)
  await new Promise((resolve) => setTimeout(resolve, 50))
  wakes[1].mockClear()
  expect(await claim(here, 1)).toHaveLength(1)
  await expect.poll(() => wakes[1].mock.calls.length).toBeGreaterThan(0)
})

test('a connection to listen that comes back while the store closes is closed as well', async () => {
  const back = Promise.withResolvers<void>()
  const closed = vi.fn(async () => {})
  const losses: (() => void)[] = []
  const driver: PostgresDriver = {
    ...fromPg(poolOf()),
    listen: async (_channel, _heard, lost) => {
      losses.push(lost)
      if (losses.length === 1) return { close: async () => {} }
      await back.promise
      return { close: closed }
    },
  }
  const store = postgresStore(driver, { schema: freshSchema() })
  await store.open(() => {})
  losses[0]?.()
  await expect.poll(() => losses.length).toBe(2)
  await store.close()
  back.resolve()
  await expect.poll(() => closed.mock.calls.length).toBe(1)
})

function silenced() {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  return () => warned.mock.calls.map(([, options]) => (options as { code: string }).code)
}

test('a store that cannot listen opens all the same, says so, and listens once it can', async () => {
  const warnings = silenced()
  const { schema, open } = schemaOn()
  const driver = fromPg(poolOf())
  let isRefused = true
  const listen: PostgresDriver['listen'] = async (...asked) => {
    if (isRefused || !driver.listen) throw new Error('no connection is left')
    return driver.listen(...asked)
  }
  const woken = vi.fn()
  const store = postgresStore({ ...driver, listen }, { schema })
  const other = open({ listen: false })
  for (const one of [store, other]) {
    await one.open(one === store ? woken : () => {})
    onTestFinished(() => one.close())
  }
  await expect.poll(warnings, { timeout: 5_000 }).toContain('IDV_POSTGRES_LISTEN')
  isRefused = false
  await expect.poll(() => woken.mock.calls.length, { timeout: 10_000 }).toBe(1)
  await other.insert(newEntry())
  await expect.poll(() => woken.mock.calls.length).toBe(2)
}, 20_000)

test('a listener that does not answer while the store opens is given up, and another one listens', async () => {
  silenced()
  const silent = new Set<Socket>()
  const server = createServer((socket) => {
    silent.add(socket)
    socket.resume().on('error', () => {})
    socket.on('close', () => silent.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const urls = [`postgres://postgres@127.0.0.1:${port}/postgres`]
  const listener = () => new pg.Client({ connectionString: urls.shift() ?? servers.pg18 })
  const woken = vi.fn()
  const store = postgresStore(fromPg(poolOf(), { listener }), { schema: freshSchema() })
  await store.open(woken)
  onTestFinished(() => store.close())
  expect((await store.insert(newEntry())).kind).toBe('stored')
  await expect.poll(() => woken.mock.calls.length, { timeout: 5_000 }).toBe(1)
  await expect.poll(() => silent.size).toBe(0)
}, 20_000)

test('an attempt to listen that hangs is followed by another, and closed when it comes late', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const attempts: { lost: () => void; close: Mock<() => Promise<void>>; come: () => void }[] = []
  const driver: PostgresDriver = {
    ...fromPg(poolOf()),
    listen: (_channel, _heard, lost) => {
      const { promise, resolve } = Promise.withResolvers<PostgresListener>()
      // Reports the end of the connection, as a driver does, whichever side has closed it.
      const close = vi.fn(async () => lost())
      attempts.push({ lost, close, come: () => resolve({ close }) })
      return promise
    },
  }
  const statements = new Statements(driver, { limit: 1_000, schema: freshSchema() })
  statements.isOpen = true
  const announcements = new Announcements(statements, { channel: 'c', owner: { id: 1 } })
  const opening = announcements.open(() => {}, true)
  attempts[0]?.come()
  await opening
  attempts[0]?.lost()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(attempts).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(15_000)
  expect(attempts).toHaveLength(3)
  attempts[2]?.come()
  await vi.advanceTimersByTimeAsync(0)
  attempts[1]?.come()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(attempts).toHaveLength(3)
  expect(attempts.map(({ close }) => close.mock.calls.length)).toEqual([0, 1, 0])
  await announcements.close(1_000)
  expect(attempts[2]?.close).toHaveBeenCalledOnce()
})

test('a listener that has gone silent is destroyed as its store closes', async () => {
  const proxy = await startProxy(servers.pg18, onTestFinished)
  const client = new pg.Client({ connectionString: proxy.url })
  const pool = new pg.Pool({ connectionString: servers.pg18, max: 2 })
  const driver = fromPg(pool, { listener: () => client })
  const store = postgresStore(driver, { schema: freshSchema() })
  await store.open(() => {})
  proxy.hold(true)
  await store.close()
  await pool.end()
  const { stream } = (client as unknown as { connection: { stream: { destroyed: boolean } } })
    .connection
  expect(stream.destroyed).toBe(true)
})
