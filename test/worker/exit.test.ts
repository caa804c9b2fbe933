import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { expect, onTestFinished, test, vi } from 'vitest'
import { exitAfter } from '../../src/worker/signals.ts'

const slow = `
  async () => {
    console.log('begun')
    await new Promise((resolve) => setTimeout(resolve, 500))
    console.log('done')
  }`
const twoVendors = `
  await started(() => {})
  const busy = await started(${slow})`
const twoWorkers = `
  const busy = await started(${slow}, ({ type, state }) => {
    if (type === 'settled') console.log(state)
  })
  await createWorker(busy, { signals: ['SIGTERM'] }).start()`
const ownHook = `
  const busy = await started(${slow})
  process.once('SIGTERM', () => void busy.drain())`

const noWorker = `
  await started(() => {})
  const busy = createReceiver({ secret, observe: () => {} })
  busy.on('client.created', ${slow})`

const hanging = `
  const idle = createReceiver({ secret, inbox: createInbox({ store: memoryStore() }), observe: () => {} })
  await createWorker(idle, { signals: ['SIGTERM'], grace: 300 }).start()
  const busy = createReceiver({ secret, observe: () => {} })
  busy.on('client.created', async (_, { signal }) => {
    console.log('begun')
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    console.log('done')
  })`
const startsLate = `
  await started(() => {})
  const late = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret, inbox: late, observe: () => {} })
  receiver.on('client.created', () => console.log('begun late'))
  const busy = await started(${slow})
  await receiver.receive(await signedDelivery(fixture('client.created'), { secret }))
  // It is still opening as the signal comes.
  process.once('SIGTERM', () => void createWorker(receiver).start())`
const runsOnce = `
  const busy = createReceiver({ secret, inbox: createInbox({ store: memoryStore() }), observe: () => {} })
  busy.on('client.created', ${slow})
  const worker = createWorker(busy, { signals: ['SIGTERM'] })
  await worker.runOnce()
  setTimeout(() => worker.runOnce(), 200)`

const program = (starting: string) => `
  import { createReceiver, createWorker } from '${import.meta.dirname}/../../src/index.ts'
  import { createInbox, memoryStore } from '${import.meta.dirname}/../../src/inbox/index.ts'
  import { fixture, signedDelivery } from '${import.meta.dirname}/../../src/testing/index.ts'
  const secret = 'a-secret-for-tests'
  const started = async (handler, observe = () => {}) => {
    const receiver = createReceiver({
      secret, inbox: createInbox({ store: memoryStore() }), observe,
    })
    receiver.on('client.created', handler)
    await createWorker(receiver, { signals: ['SIGTERM'] }).start()
    return receiver
  }
  ${starting}
  const delivery = await signedDelivery(fixture('client.created'), { secret })
  // A receiver without an inbox answers once its handler has ended.
  const again = async () => console.log((await busy.receive(delivery)).code)
  process.once('SIGTERM', () => setImmediate(again))
  const { kind } = await busy.receive(delivery)
  if (kind === 'handled') console.log(kind)
  setInterval(() => {}, 1_000)`

test.each([
  ['two vendors, each with the inbox of its own', twoVendors, ''],
  ['two workers of one receiver', twoWorkers, 'done\n'],
  ['a hook of its own that drains the receiver too', ownHook, ''],
  ['a receiver without a worker', noWorker, 'handled\n'],
  ['a receiver whose handler hangs beyond the grace', hanging, ''],
  ['a worker that starts meanwhile and claims nothing', startsLate, ''],
  ['a worker that runs by a schedule', runsOnce, ''],
])('at a signal a process with %s ends once all is done', async (_, starting, settled) => {
  const args = ['--input-type=module-typescript', '-e', program(starting)]
  const child = spawn(process.execPath, args)
  onTestFinished(() => void child.kill('SIGKILL'))
  const said: string[] = []
  child.stderr.on('data', (chunk) => said.push(String(chunk)))
  child.stdout.on('data', (chunk) => {
    said.push(String(chunk))
    if (String(chunk).includes('begun')) child.kill('SIGTERM')
  })
  const [code] = await once(child, 'close')
  expect([said.join(''), code]).toEqual([`begun\nDRAINING\ndone\n${settled}`, 0])
})

test('between the runs of a worker its process ends at a signal at once', async () => {
  const before = process.listenerCount('SIGQUIT')
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret: 'a-secret-for-tests', inbox, observe: () => {} })
  const worker = createWorker(receiver, { signals: ['SIGQUIT'] })
  const listening = () => process.listenerCount('SIGQUIT') - before
  const runs = [worker.runOnce(), worker.runOnce(), worker.start()]
  expect(listening()).toBe(1)
  await Promise.all(runs)
  expect(listening()).toBe(1)
  await worker.drain()
  expect(listening()).toBe(0)
})

test('stores close once all have drained, and one that fails makes the exit code 1', async () => {
  const exit = vi.fn()
  const late = Promise.withResolvers<void>()
  const closed: string[] = []
  const ending = (name: string, end: () => Promise<void>) => ({
    grace: 1_000,
    end,
    close: async () => void closed.push(name),
  })
  const fails = async () => {
    throw new Error('the store did not answer')
  }
  exitAfter(ending('first', fails), exit)
  exitAfter(
    ending('second', () => late.promise),
    exit,
  )
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect([closed, exit.mock.calls]).toEqual([[], []])
  late.resolve()
  await expect.poll(() => exit.mock.calls).toEqual([[1]])
  expect(closed).toEqual(['first', 'second'])
})
