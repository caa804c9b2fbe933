// A rolling deployment that changes `onDead`: old and new processes work side by side for a while.
import { expect, onTestFinished, test } from 'vitest'
import { event, setUp, until } from '../admin.ts'
import { schemaOn } from './servers.ts'

test('lanes that an old process stops beside the new one go on while that works', async () => {
  const { open } = schemaOn()
  const start = async (onDead: 'block' | 'continue', ran: string[]) => {
    const process = setUp({ store: open(), retry: { attempts: 1 }, onDead })
    process.receiver.on('verification.*', ({ name, entity }) => {
      if (name === 'verification.created') throw new Error('no')
      ran.push(entity.id)
    })
    await process.worker.start()
    onTestFinished(() => process.worker.drain())
    return process
  }
  const old = await start('block', [])
  // It has looked at every lane before the old one stops any, and is not at work itself.
  const ran: string[] = []
  const fresh = await start('continue', ran)
  await fresh.worker.drain()
  const ids = ['one', 'two', 'three']
  for (const id of ids) await old.deliver(event('verification.created', { id }))
  await until(() => old.settled().length === ids.length)
  for (const id of ids) await old.deliver(event('verification.approved', { id }))
  await old.worker.drain()
  await old.inbox.close()
  await fresh.worker.start()
  await until(() => ran.length === ids.length)
  expect(ran.toSorted()).toEqual(ids.toSorted())
})
