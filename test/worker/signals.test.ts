import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { expect, onTestFinished, test } from 'vitest'

const src = `${import.meta.dirname}/../../src`
const started = `
  const { createReceiver, createWorker } = await import('${src}/index.ts')
  const { createInbox, memoryStore } = await import('${src}/inbox/index.ts')
  const { fixture, signedDelivery } = await import('${src}/testing/index.ts')
  const secret = 'a-secret-for-tests'
  const receiver = createReceiver({ secret, inbox: createInbox({ store: memoryStore() }), observe: () => {} })
  receiver.on('client.created', async () => {
    console.log('begun')
    await new Promise((resolve) => setTimeout(resolve, 500))
    console.log('done')
  })
  const worker = createWorker(receiver, { signals: ['SIGTERM'] })
  await worker.start()`
const busy = `await receiver.receive(await signedDelivery(fixture('client.created'), { secret }))`

/** All that a process prints which is sent SIGTERM as soon as it prints. */
async function terminated(program: string) {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program])
  onTestFinished(() => void child.kill('SIGKILL'))
  const errors = text(child.stderr)
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
    child.kill('SIGTERM')
  })
  const [code] = await once(child, 'close')
  return { said, code, errors: await errors }
}

test.each([
  [
    'before the worker hears of the signal',
    "process.prependListener('SIGTERM', () => process.exit(0))",
  ],
  [
    'while the worker drains',
    "process.once('SIGTERM', () => setTimeout(() => process.exit(1), 100))",
  ],
])('a host that ends the process %s, with handlers at work, is warned of', async (_, host) => {
  const { said, errors } = await terminated(`${started}\n${host}\n${busy}`)
  expect(said).toBe('begun\n')
  expect(errors).toContain(
    'IDV_SIGNALS_IN_VAIN: other code ended the process while 1 entry was being handled',
  )
  expect(errors).toContain('errors/signals-in-vain')
})

test.each([
  [
    'with nothing at work',
    'process.once("SIGTERM", () => process.exit(0))\nconsole.log("begun")',
    'begun\n',
    0,
  ],
  [
    'for an error of its own',
    `console.log = () => {}\n${busy}\nsetTimeout(() => { throw new Error('mine') }, 100)`,
    '',
    1,
  ],
  [
    'between two runs',
    `await worker.drain()\nconsole.log('begun')\nsetInterval(() => {}, 1000)`,
    'begun\n',
    null,
  ],
])('a process that ends %s warns of nothing', async (_, more, said, code) => {
  const ended = await terminated(`${started}\n${more}`)
  expect(ended).toMatchObject({ said, code, errors: expect.not.stringContaining('IDV_') })
})

test('a worker in a thread, which receives no signals, warns of it', async () => {
  const thread = new Worker(`void (async () => {${started}; await worker.drain()})()`, {
    eval: true,
    stderr: true,
  })
  const said = text(thread.stderr)
  expect(await once(thread, 'exit')).toEqual([0])
  expect(await said).toContain('[IDV_SIGNALS_IN_VAIN] Warning: signals (SIGTERM) reach')
})

test('many workers of a process listen once', async () => {
  const before = process.listenerCount('SIGQUIT')
  const workers = Array.from({ length: 12 }, () => {
    const inbox = createInbox({ store: memoryStore() })
    const receiver = createReceiver({ secret: 'a-secret-for-tests', inbox, observe: () => {} })
    return createWorker(receiver, { signals: ['SIGQUIT'] })
  })
  for (const worker of workers) await worker.start()
  expect(process.listenerCount('SIGQUIT') - before).toBe(1)
  for (const worker of workers) await worker.drain()
  expect(process.listenerCount('SIGQUIT')).toBe(before)
})
