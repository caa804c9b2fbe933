import { expect, test } from 'vitest'
import { event, setUp } from './admin.ts'

test('an event under a refused legacy name is one of its verification: in its lane, and forgotten with it', async () => {
  const { inbox, receiver, worker, deliver } = setUp({ receiver: { legacy: 'reject' } })
  receiver.on('verification.*', () => {
    throw new Error('not yet')
  })
  await deliver(event('request.submitted'))
  await worker.runOnce({ limit: 1 })
  const [refused] = (await inbox.find({ entity: 'verification:ver_1' })).entries
  expect(refused).toMatchObject({ state: 'skipped', reason: 'NO_HANDLER' })
  expect(await inbox.forget('verification:ver_1')).toBe(1)
  expect(await inbox.get(refused?.id ?? '')).toMatchObject({ erased: true })
})
