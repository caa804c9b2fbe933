// Who is woken when there is something to claim that no delivery announces.
import { fromPg, type PostgresDriver, postgresStore } from 'idv-webhooks/inbox/postgres'
import { expect, onTestFinished, test, vi } from 'vitest'
import { claim, claimOne, newEntry, settle } from '../../../src/testing/store-cases.ts'
import { freshSchema, poolOf, schemaOn } from './servers.ts'

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

test('a store that cannot listen gives no sign of life afterwards, however often it is opened', async () => {
  const { schema, query } = schemaOn()
  const listen = () => Promise.reject(new Error('no connection is left'))
  const store = postgresStore({ ...fromPg(poolOf()), listen }, { schema })
  for (let time = 0; time < 3; time++) await expect(store.open(() => {})).rejects.toThrow()
  expect(await query('select owner from idv.owners where owner <> 0')).toEqual([])
})
