import { AsyncLocalStorage } from 'node:async_hooks'
import { createReceiver, createWorker, type ReceiverOptions } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

const event = fixture('verification.approved')
const create = (options: Partial<ReceiverOptions>) =>
  createReceiver({ secret: testSecret, observe: () => {}, ...options })

test('around surrounds each handler, and is given the event and the context of that handler', async () => {
  const seen: string[] = []
  const receiver = create({
    around: async (run, { name }, { handler, attempt }) => {
      seen.push(`${handler} of ${name}, attempt ${attempt}`)
      await run()
      seen.push('over')
    },
  })
  receiver.on('verification.approved', () => void seen.push('first'), { id: 'one' })
  receiver.on('*', async () => void seen.push('second'), { id: 'two' })
  expect((await receiver.receive(await signedDelivery(event))).kind).toBe('handled')
  const of = 'of verification.approved, attempt 1'
  expect(seen).toEqual([`one ${of}`, 'first', 'over', `two ${of}`, 'second', 'over'])
})

test('the context that around makes current is current in the handler, with an inbox too', async () => {
  const current = new AsyncLocalStorage<string>()
  const inbox = createInbox({ store: memoryStore() })
  const found: unknown[] = []
  const around: ReceiverOptions['around'] = (run, { name }) => current.run(name, run)
  for (const options of [{ around }, { around, inbox }]) {
    const receiver = create(options)
    receiver.on('*', async () => void found.push(current.getStore()))
    await receiver.receive(await signedDelivery(event))
    if ('inbox' in options) await createWorker(receiver).runOnce()
  }
  expect(found).toEqual(['verification.approved', 'verification.approved'])
})

test.each<[string, ReceiverOptions['around'], string]>([
  ['does not call run()', () => {}, 'HANDLER_INVALID'],
  ['does not call run() and is async', async () => 'done', 'HANDLER_INVALID'],
  ['throws before the handler', () => Promise.reject(new TypeError('x')), 'TypeError'],
  [
    'throws after the handler',
    async (run) => {
      await run()
      throw new TypeError('the commit failed')
    },
    'TypeError',
  ],
])('an attempt fails when around %s', async (_, around, thrown) => {
  const outcome = await create({ around })
    .on('*', () => {})
    .receive(await signedDelivery(event))
  if (outcome.kind !== 'failed') throw new Error(`it was ${outcome.kind}`)
  expect(outcome.code).toBe('HANDLER_FAILED')
  const error = outcome.errors?.[0]?.error as { code?: string; name: string }
  expect(error.code ?? error.name).toBe(thrown)
})

test.each<[string, ReceiverOptions['around']]>([
  ['catches it', (run) => run().catch(() => 'fine')],
  ['does not await it', (run) => void run()],
  [
    'hides it',
    (run) =>
      run().then(
        () => {},
        () => {},
      ),
  ],
])('a handler that failed has failed, even where around %s', async (_, around) => {
  const mine = new RangeError('mine')
  for (const handler of [() => Promise.reject(mine), thrower(mine)]) {
    const outcome = await create({ around })
      .on('*', handler)
      .receive(await signedDelivery(event))
    expect(outcome).toMatchObject({ kind: 'failed', errors: [{ error: mine }] })
  }
})

const thrower = (error: Error) => () => {
  throw error
}

test('a handler runs once however often around calls run()', async () => {
  let runs = 0
  const receiver = create({ around: async (run) => [await run(), await run()] })
  receiver.on('*', () => ++runs)
  expect((await receiver.receive(await signedDelivery(event))).kind).toBe('handled')
  expect(runs).toBe(1)
})

test('the time limit of a handler holds for what surrounds it', async () => {
  const around: ReceiverOptions['around'] = () => new Promise(() => {})
  const receiver = create({ around, handlerTimeout: 20 })
  receiver.on('*', () => {})
  const outcome = await receiver.receive(await signedDelivery(event))
  expect(outcome).toMatchObject({ kind: 'failed', code: 'HANDLER_TIMEOUT' })
})

test('an around that is not a function throws when the receiver is created', () => {
  const fails = () => create({ around: 'span' as never })
  expect(fails).toThrow(/around must be a function, .*\(run, event, context\) => run\(\)/)
})
