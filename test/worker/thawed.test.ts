// A process that stood still for longer than its lease, and goes on.
import { expect, test } from 'vitest'
import { event, setUp } from '../inbox/admin.ts'

test.each([
  ['failed', true],
  ['succeeded, while the store does not answer', false],
])('begins no further handler after one that %s', async (_, fails) => {
  let clock = Date.now()
  const { deliver, inbox, receiver, worker } = setUp({ now: () => new Date(clock) })
  const ran: string[] = []
  const source = inbox as unknown as { checkpoint: () => Promise<boolean> }
  const checkpoint = source.checkpoint.bind(inbox)
  const frozen = (name: string) => {
    ran.push(name)
    if (ran.length > 1) return
    clock += 120_000
    if (fails) throw new Error('the connection is gone')
    source.checkpoint = () => Promise.reject(new Error('the connection is gone'))
  }
  receiver.on('*', () => frozen('first'), { id: 'first' })
  receiver.on(
    '*',
    () => {
      source.checkpoint = checkpoint
      ran.push('second')
    },
    { id: 'second' },
  )
  await deliver(event())
  const ended = fails ? { retry: 1, released: 0 } : { retry: 0, released: 1 }
  expect(await worker.runOnce()).toMatchObject({ ...ended, done: 1 })
  expect(ran).toEqual(fails ? ['first', 'first', 'second'] : ['first', 'second'])
})

test('goes on with the others where one has failed in time', async () => {
  const { deliver, receiver, worker } = setUp()
  const ran: string[] = []
  receiver.on('*', () => {
    ran.push('first')
    if (ran.length === 1) throw new Error('not yet')
  })
  receiver.on('*', () => ran.push('second'))
  await deliver(event())
  expect(await worker.runOnce()).toMatchObject({ retry: 1, done: 1 })
  expect(ran).toEqual(['first', 'second', 'first'])
})
