import { describe, expect, test } from 'vitest'
import {
  type EventSubscription,
  migrateSubscriptions,
  type SubscriptionPair,
} from '../../src/client/index.ts'

const url = 'https://app.example.com/webhooks'
const old = (id: string, events: readonly string[], more: object = {}): EventSubscription => ({
  id,
  url,
  events,
  secret: `secret-of-${id}`,
  ...more,
})

/** A subscription API in memory, a journal, and what has delivered. */
function service(rows: EventSubscription[]) {
  let made = 0
  let journal: readonly SubscriptionPair[] = []
  const calls: string[] = []
  const delivered = new Set<string>()
  const retried = new Set<string>()
  const api = {
    list: () => [...rows],
    create: async (input: Omit<EventSubscription, 'id'>) => {
      made += 1
      const row = { ...input, id: `new_${made}` }
      rows.push(row)
      calls.push(`create ${row.id} ${row.events}`)
      return row
    },
    remove: async (id: string) => {
      calls.push(`remove ${id}`)
      rows.splice(
        rows.findIndex((one) => one.id === id),
        1,
      )
    },
  }
  const options = {
    journal: {
      read: () => journal,
      write: (pairs: readonly SubscriptionPair[]) => {
        journal = structuredClone(pairs)
      },
    },
    hasDelivered: (id: string) => delivered.has(id),
    isSettled: (id: string) => !retried.has(id),
  }
  const run = async (action: 'apply' | 'rollback') =>
    (await migrateSubscriptions(api, { action, ...options })).steps
  const state = () => rows.map(({ id, events, secret }) => `${id} ${events} ${secret}`).sort()
  const noted = () => journal
  return { api, rows, calls, delivered, retried, options, run, state, noted }
}

describe('the plan', () => {
  test('names what replaces each subscription and changes nothing', async () => {
    const { api, calls } = service([
      old('a', ['request.approved', 'client.created']),
      old('b', ['request.*']),
      old('c', ['*']),
      old('d', ['request.approved', 'verification.*']),
      old('e', ['request.expired'], { active: false }),
      old('f', ['request.unheard']),
    ])
    const { plan, steps } = await migrateSubscriptions(api)
    expect(plan).toMatchObject([
      { action: 'replace', renamed: ['verification.approved'], kept: ['client.created'] },
      { action: 'replace', renamed: ['verification.*'], kept: [] },
      { action: 'current' },
      { action: 'covered', kept: ['verification.*'] },
      { action: 'inactive' },
      { action: 'current' },
    ])
    expect(steps).toEqual([])
    expect(calls).toEqual([])
  })
})

describe('apply', () => {
  test('creates replacements and removes an old subscription once its own has delivered', async () => {
    const { run, state, delivered } = service([
      old('a', ['request.approved']),
      old('b', ['request.*'], { owner: 'org_1' }),
    ])
    expect(await run('apply')).toEqual([
      { id: 'a', did: 'created', replacement: 'new_1' },
      { id: 'b', did: 'created', replacement: 'new_2' },
    ])
    expect(await run('apply')).toMatchObject([
      { id: 'a', did: 'waiting', waitsFor: 'delivery' },
      { id: 'b', did: 'waiting', waitsFor: 'delivery' },
    ])
    delivered.add('new_2')
    expect(await run('apply')).toMatchObject([
      { id: 'a', did: 'waiting' },
      { id: 'b', did: 'removed', replacement: 'new_2' },
    ])
    expect(state()).toEqual([
      'a request.approved secret-of-a',
      'new_1 verification.approved secret-of-a',
      'new_2 verification.* secret-of-b',
    ])
  })

  test('hands on further fields', async () => {
    const { run, rows } = service([old('a', ['request.approved'], { owner: 'org_1' })])
    await run('apply')
    expect(rows[1]).toMatchObject({ id: 'new_1', owner: 'org_1' })
  })

  test('subscribes to filters that were not renamed before it removes the old one', async () => {
    const { run, calls, state, delivered } = service([
      old('a', ['request.approved', 'client.created']),
    ])
    await run('apply')
    delivered.add('new_1')
    await run('apply')
    expect(calls).toEqual([
      'create new_1 verification.approved',
      'create new_2 client.created',
      'remove a',
    ])
    expect(state()).toEqual([
      'new_1 verification.approved secret-of-a',
      'new_2 client.created secret-of-a',
    ])
  })

  test('waits while deliveries of the old one are being retried', async () => {
    const { run, delivered, retried } = service([old('a', ['request.approved', 'client.created'])])
    await run('apply')
    delivered.add('new_1')
    retried.add('a')
    expect(await run('apply')).toMatchObject([{ id: 'a', did: 'waiting', waitsFor: 'retries' }])
    retried.clear()
    expect(await run('apply')).toMatchObject([{ id: 'a', did: 'removed' }])
  })

  test('keeps an old subscription whose replacement was paused', async () => {
    const { run, rows, delivered } = service([old('a', ['request.approved'])])
    await run('apply')
    delivered.add('new_1')
    rows[1] = { ...old('new_1', ['verification.approved']), active: false }
    expect(await run('apply')).toMatchObject([{ did: 'waiting', waitsFor: 'delivery' }])
  })

  test('keeps no secret in the journal', async () => {
    const { run, noted } = service([old('a', ['request.approved'])])
    await run('apply')
    expect(JSON.stringify(noted())).not.toContain('secret')
  })
})

describe('rollback', () => {
  test.each([
    ['while both run', false],
    ['after the old one was removed', true],
  ])('restores every subscription, with its secret: %s', async (_, isRemoved) => {
    const { run, state, rows, delivered, noted } = service([
      old('a', ['request.approved', 'client.created']),
      old('b', ['request.*']),
    ])
    const before = rows.map(({ events, secret }) => `${events} ${secret}`).sort()
    await run('apply')
    if (isRemoved) {
      for (const id of ['new_1', 'new_2']) delivered.add(id)
      await run('apply')
      expect(state()).not.toContain('a request.approved,client.created secret-of-a')
    }
    await run('rollback')
    expect(rows.map(({ events, secret }) => `${events} ${secret}`).sort()).toEqual(before)
    expect(noted()).toEqual([])
  })

  test('restores before it removes, and waits for retries of the replacement', async () => {
    const { run, calls, delivered, retried } = service([old('a', ['request.approved'])])
    await run('apply')
    delivered.add('new_1')
    await run('apply')
    retried.add('new_1')
    expect(await run('rollback')).toEqual([
      { id: 'a', did: 'restored', replacement: 'new_2' },
      { id: 'new_1', did: 'waiting', waitsFor: 'retries' },
    ])
    retried.clear()
    expect(await run('rollback')).toEqual([{ id: 'new_1', did: 'removed' }])
    expect(calls.slice(-2)).toEqual(['create new_2 request.approved', 'remove new_1'])
  })
})

describe('options', () => {
  const { api, options } = service([])
  test.each([
    ['an unknown option', { acton: 'plan' }, "Did you mean 'action'?"],
    ['an unknown action', { action: 'undo' }, "'plan', 'apply' or 'rollback'"],
    ['apply without a journal', { action: 'apply' }, 'needs a journal'],
    ['rollback without a journal', { action: 'rollback' }, 'needs a journal'],
    [
      'apply without proof of deliveries',
      { action: 'apply', journal: options.journal },
      'needs hasDelivered',
    ],
  ])('rejects %s', async (_, given, message) => {
    await expect(migrateSubscriptions(api, given as never)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining(message),
    })
  })

  test('rejects an API without its functions', async () => {
    await expect(migrateSubscriptions({ list: () => [] } as never)).rejects.toThrow('create')
  })

  test('stops between two subscriptions', async () => {
    const {
      run: _,
      api: own,
      options: all,
    } = service([old('a', ['request.approved']), old('b', ['request.*'])])
    const stop = new AbortController()
    const onStep = () => stop.abort(new Error('stopped'))
    const ran = migrateSubscriptions(own, { action: 'apply', ...all, onStep, signal: stop.signal })
    await expect(ran).rejects.toThrow('stopped')
    expect([...own.list()]).toHaveLength(3)
  })
})
