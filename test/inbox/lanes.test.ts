// The reasons for which a lane is held, and the ones for which it never is: time, clocks and
// policies that changed.
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { fakeClock } from 'idv-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { event, type Parts, setUp } from './admin.ts'
import { sharedMemory } from './shared-memory.ts'
import { temporaryFile } from './temporary.ts'

/** A store that several processes use, one after the other. */
function onMemory() {
  const store = memoryStore()
  return () => store
}

function onFile() {
  const file = temporaryFile()
  return () => sqliteStore(file)
}

const day = { days: 1 }

describe.each([
  ['memory', onMemory],
  ['SQLite', onFile],
])('a lane on %s', (_, shared) => {
  const processes = () => {
    const store = shared()
    return (parts: Parts = {}) => setUp({ store: store(), retry: { attempts: 1 }, ...parts })
  }

  test('that a dead letter holds can still be freed when its retention is long over', async () => {
    const clock = fakeClock()
    const start = processes()
    for (const how of ['redrive', 'dismiss'] as const) {
      const { deliver, inbox, receiver, worker } = start({ onDead: 'block', now: clock.now })
      let broken = true
      const ran: string[] = []
      receiver.on('verification.*', ({ name }) => {
        if (broken && name === 'verification.created') throw new Error('no')
        ran.push(name)
      })
      const data = { id: `ver_${how}` }
      const kept = await deliver(event('verification.created', data))
      const { entryId } = kept as { entryId: string }
      await deliver(event('verification.approved', data))
      await worker.runOnce()
      clock.advance({ days: 100 })
      await inbox.purge()
      expect(await inbox.get(entryId)).toMatchObject({ state: 'dead', erased: false })
      expect((await inbox.stats()).oldestAge).toBeGreaterThan(0)
      broken = false
      if (how === 'redrive') expect(await inbox.redrive(entryId)).toBe(1)
      else expect(await inbox.dismiss(entryId)).toBe(true)
      await worker.runOnce()
      const all = ['verification.created', 'verification.approved']
      expect(ran).toEqual(how === 'redrive' ? all : all.slice(1))
      await inbox.close()
    }
  })

  test('that was held under onDead block is freed by a start under continue', async () => {
    const start = processes()
    const once = async (onDead: 'block' | 'continue') => {
      const { deliver, inbox, receiver, worker } = start({ onDead })
      const ran: (readonly [string, boolean | undefined])[] = []
      receiver.on('verification.*', ({ name }, { gap }) => {
        if (name === 'verification.created') throw new Error('no')
        ran.push([name, gap])
      })
      if (onDead === 'block') {
        for (const name of ['created', 'submitted']) await deliver(event(`verification.${name}`))
      }
      await worker.runOnce()
      await inbox.close()
      return ran
    }
    expect(await once('block')).toEqual([])
    expect(await once('continue')).toEqual([['verification.submitted', true]])
  })

  test.each([
    ['ahead', { days: -1 }],
    ['behind', day],
  ])('waits for no clock that was %s before a restart', async (_, set) => {
    const clock = fakeClock()
    const start = processes()
    const retry = { attempts: 3, delays: [60_000], random: () => 0.5 }
    const first = start({ now: clock.now, retry })
    first.receiver.on('verification.*', () => {
      throw new Error('no')
    })
    await first.deliver(event('verification.created', { id: 'fails' }))
    await first.worker.runOnce()
    for (const name of ['created', 'approved']) {
      await first.deliver(event(`verification.${name}`, { id: 'waits' }))
    }
    await first.inbox.close()
    clock.advance(set)
    const second = start({ now: clock.now, retry })
    const ran: string[] = []
    second.receiver.on(
      'verification.*',
      ({ name, entity }) => void ran.push(`${entity.id} ${name}`),
    )
    await second.deliver(event('verification.rejected', { id: 'waits' }))
    await second.worker.runOnce()
    const waited = ['created', 'approved', 'rejected'].map((name) => `waits verification.${name}`)
    expect(ran.filter((one) => one.startsWith('waits'))).toEqual(waited)
    expect((await second.inbox.stats()).lag).toBe(0)
    clock.advance({ minutes: 1 })
    await second.worker.runOnce()
    expect(ran).toContain('fails verification.created')
    expect(await second.inbox.stats()).toMatchObject({ done: 4, stored: 0, retry: 0 })
    await second.inbox.close()
  })
})

test('a lane that another process stops after the start of this one goes on', async () => {
  const open = sharedMemory()
  const start = async (onDead: 'block' | 'continue') => {
    const process = setUp({ store: open(), retry: { attempts: 1 }, onDead })
    const ran: string[] = []
    process.receiver.on('verification.*', ({ name }) => {
      if (name === 'verification.created') throw new Error('no')
      ran.push(name)
    })
    await process.worker.runOnce()
    return { ...process, ran }
  }
  const old = await start('block')
  const fresh = await start('continue')
  for (const name of ['created', 'approved']) await old.deliver(event(`verification.${name}`))
  await old.worker.runOnce()
  const other = await start('block')
  await other.worker.runOnce()
  expect([old.ran, other.ran]).toEqual([[], []])
  await fresh.worker.runOnce()
  expect(fresh.ran).toEqual(['verification.approved'])
})
