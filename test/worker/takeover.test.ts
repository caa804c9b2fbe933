// A development server loads the program again after an edit, beside what it loaded before.
import { createReceiver, createWorker } from 'idv-webhooks'
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { testSecret } from 'idv-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { event, setUp, until } from '../inbox/admin.ts'
import { temporaryFile } from '../inbox/temporary.ts'

test('a program that is loaded again takes the inbox over: its handlers run, and nothing is 503', async () => {
  const file = temporaryFile()
  const ran: string[] = []
  const load = async (version: string) => {
    const program = setUp({ store: sqliteStore(file) })
    program.receiver.on('*', ({ id }) => void ran.push(`${version} ${id}`))
    await program.worker.start()
    return program
  }
  const first = await load('first')
  const before = event('verification.approved', { id: 'a' })
  await first.deliver(before)
  await until(() => ran.length === 1)
  const second = await load('second')
  // The old module may still be asked: what it keeps is handled by the new one.
  const beside = [event('client.created', { id: 'b' }), event('client.created', { id: 'c' })]
  expect((await first.deliver(beside[0])).kind).toBe('accepted')
  expect((await second.deliver(beside[1])).kind).toBe('accepted')
  await until(() => ran.length === 3)
  expect(ran.toSorted()).toEqual(
    [`first ${before.id}`, ...beside.map(({ id }) => `second ${id}`)].toSorted(),
  )
  const third = await load('third')
  const last = event('client.updated', { id: 'd' })
  await third.deliver(last)
  await until(() => ran.length === 4)
  expect(ran.at(-1)).toBe(`third ${last.id}`)
})

test('an entry at work in a worker that is replaced ends there, once', async () => {
  const file = temporaryFile()
  const old = setUp({ store: sqliteStore(file) })
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  old.receiver.on('*', async () => {
    begun.resolve()
    await end.promise
  })
  await old.worker.start()
  await old.deliver(event())
  await begun.promise
  const fresh = setUp({ store: sqliteStore(file) })
  let runs = 0
  fresh.receiver.on('*', () => {
    runs++
  })
  await fresh.worker.start()
  end.resolve()
  await until(() => old.settled().length === 1)
  expect(old.settled()).toEqual(['done'])
  expect(runs).toBe(0)
  expect(await fresh.inbox.stats()).toMatchObject({ done: 1, leased: 0 })
})

test.each([
  ['a file', () => sqliteStore(temporaryFile())],
  ['memory', memoryStore],
])(
  'the newest receiver has the worker, also of an inbox that was not loaded again: %s',
  async (_, store) => {
    const { inbox, receiver, worker, deliver } = setUp({ store: store() })
    const ran: string[] = []
    receiver.on('*', () => void ran.push('first'))
    await worker.start()
    await deliver(event('client.created', { id: 'a' }))
    await until(() => ran.length === 1)
    const edited = createReceiver({ secret: testSecret, inbox })
    edited.on('*', () => void ran.push('edited'))
    const newer = createWorker(edited)
    await newer.start()
    for (let at = 0; at < 5; at++) {
      await deliver(event('client.created', { id: `b${at}` }))
      await until(() => ran.length === 2 + at)
    }
    expect(ran).toEqual(['first', ...Array(5).fill('edited')])
    await newer.drain()
  },
)

test('two workers of one receiver work side by side', async () => {
  const { deliver, inbox, receiver, worker } = setUp({ store: sqliteStore(temporaryFile()) })
  let running = 0
  let most = 0
  receiver.on('*', async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 20))
    running--
  })
  const other = createWorker(receiver, { concurrency: 1 })
  await worker.start()
  await other.start()
  for (let at = 0; at < 20; at++) await deliver(event('client.created', { id: `c${at}` }))
  await until(async () => (await inbox.stats()).done === 20)
  expect(most).toBeGreaterThan(1)
  await other.drain()
})

test('a worker that stops one with handlers that it lacks is warned of, and one loaded again is not', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => warn.mockRestore())
  const file = temporaryFile()
  const load = async (name: 'verification.approved' | 'client.created') => {
    const program = setUp({ store: sqliteStore(file) })
    program.receiver.on(name, () => {})
    await program.worker.start()
  }
  await load('verification.approved')
  await load('verification.approved')
  expect(warn).not.toHaveBeenCalled()
  await load('client.created')
  expect(warn.mock.calls.map(([message]) => message)).toEqual([
    expect.stringContaining('lacks its handlers (verification.approved#1)'),
  ])
})
