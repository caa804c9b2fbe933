// The queries of operators: an invalid query is rejected, and no query reaches a delivery.
import { DatabaseSync } from 'node:sqlite'
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describe, expect, test } from 'vitest'
import type { DurableInbox } from '../../src/inbox/inbox.ts'
import { event, setUp, until } from './admin.ts'
import { temporaryFile } from './temporary.ts'

const stores = [
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(temporaryFile())],
] as const

describe.each(stores)('an operator of %s', (_, store) => {
  test.each<[string, object, RegExp]>([
    ['limit that is no number', { limit: Number.NaN }, /limit must be a whole number, .* got NaN/],
    ['limit of none', { limit: 0 }, /limit must be a whole number, .* got 0/],
    ['limit of a half', { limit: 1.5 }, /limit must be a whole number, .* got 1\.5/],
    ['time that is none', { since: 'garbage' }, /since must be a Date/],
    ['time as a number', { since: 5 }, /since must be a Date/],
    [
      'cursor that is none',
      { cursor: 7 },
      /cursor must be the cursor of the previous page, got number 7/,
    ],
    ['cursor of no entry', { cursor: 'zzz' }, /unknown or expired cursor/],
    [
      'state that is none',
      { state: ['done', 'lost'] },
      /state must be 'stored', 'leased'.* got string 'lost'/,
    ],
    ['id that is none', { id: [{}] }, /id expects the id of an entry, got an object/],
    ['name that is none', { name: {} }, /name must be a string, got an object/],
    ['entity that is none', { entity: 'cli_42' }, /the entity must be 'verification:<id>'/],
    ['entity that is misspelt', { entity: 'clients:1' }, /Did you mean 'client'\?/],
    ['entity by its name of before', { entity: 'request:1' }, /Did you mean 'verification'\?/],
    ['entity without an id', { entity: 'document:' }, /the entity must be/],
    ['filter that is none', { status: 'dead' }, /no option 'status'\./],
  ])('is told of a %s', async (_, query, message) => {
    const { inbox, deliver } = setUp({ store: store() })
    await deliver(event())
    const refusal = { code: 'OPTION_INVALID', message: expect.stringMatching(message) }
    await expect(inbox.find(query)).rejects.toMatchObject(refusal)
  })

  test('is told when a redrive, replay, dismissal or look means nothing', async () => {
    const { inbox } = setUp({ store: store() })
    const refused = (work: Promise<unknown>, message: RegExp) =>
      expect(work).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        message: expect.stringMatching(message),
      })
    await refused(
      inbox.redrive({ state: 'done' }),
      /state must be 'dead', 'skipped' or 'retry', got string 'done'/,
    )
    await refused(inbox.redrive({ status: 'dead' } as object), /no option 'status'/)
    await refused(inbox.redrive(''), /expects the id/)
    await refused(inbox.redrive(null as never), /redrive expects an options object/)
    for (const method of ['get', 'replay', 'dismiss'] as const) {
      await refused(inbox[method](undefined as never), new RegExp(`^${method} expects the id`))
    }
  })

  test('forgets nobody by mistake: who is named wrongly is no success', async () => {
    const { inbox, deliver } = setUp({ store: store() })
    await deliver(event('client.created', { id: 'cli_42' }))
    const wrong = ['cli_42', 'Client:cli_42', 'clients:cli_42', 'client: cli_42', 'client:', ':x']
    const others = [{ type: 'client', id: '' }, { type: '', id: 'x' }, null, 5]
    for (const entity of [...wrong, ...others] as never[]) {
      await expect(inbox.forget(entity), JSON.stringify(entity)).rejects.toMatchObject({
        code: 'OPTION_INVALID',
      })
    }
    expect(await inbox.forget({ type: 'client', id: 'cli_42' })).toBe(1)
  })

  test('finds and forgets the entity of any event, alone and with the client that it names', async () => {
    const { inbox, deliver } = setUp({ store: store() })
    for (const id of ['doc_1', 'doc_2', 'doc_3']) {
      const named = id === 'doc_3' ? {} : { clientId: 'cli_1' }
      await deliver(event('document.uploaded', { id, ...named }))
    }
    expect((await inbox.find({ entity: 'document:doc_1' })).entries).toHaveLength(1)
    expect((await inbox.find({ entity: 'client:cli_1' })).entries).toHaveLength(2)
    expect(await inbox.forget('document:doc_1')).toBe(1)
    expect(await inbox.forget('client:cli_1')).toBe(1)
    expect(await inbox.forget({ type: 'document', id: 'doc_3' } as never)).toBe(1)
  })

  test('may name as many entries as there are', async () => {
    const { inbox, deliver } = setUp({ store: store() })
    const kept = (await deliver(event())) as { entryId: string }
    const id = [...Array.from({ length: 40_000 }, (_, at) => `none-${at}`), kept.entryId]
    expect((await inbox.find({ id })).entries).toHaveLength(1)
  })

  test('redrives the oldest first, so that handlers that run meanwhile see arrival order', async () => {
    const kept = store()
    const { inbox, deliver, receiver, worker } = setUp({ store: kept, retry: { attempts: 1 } })
    let broken = true
    const ran: (string | undefined)[] = []
    receiver.on('*', ({ id }) => {
      if (broken) throw new Error('no')
      ran.push(id)
    })
    const sent = Array.from({ length: 600 }, () => event())
    await Promise.all(sent.map(deliver))
    await worker.runOnce()
    const first = await inbox.find({ limit: 500 })
    const second = await inbox.find({ limit: 500, cursor: first.cursor ?? '' })
    const newest = [...first.entries, ...second.entries].map(({ eventId }) => eventId)
    broken = false
    // Due entries are handled before the next page is redriven.
    const reopen = kept.reopen.bind(kept)
    kept.reopen = async (reopening) => {
      const count = await reopen(reopening)
      await worker.runOnce()
      return count
    }
    expect(await inbox.redrive({})).toBe(600)
    expect(ran).toEqual(newest.toReversed())
  })

  test('redrives all though the last entry of a page is purged before the next is read', async () => {
    const day = 86_400_000
    let time = Date.UTC(2026, 0, 1)
    const kept = store()
    const options = { store: kept, retry: { attempts: 1 }, now: () => new Date(time) }
    const { inbox, deliver, receiver, worker } = setUp(options)
    receiver.on('*', () => {
      throw new Error('no')
    })
    const ids = Array.from({ length: 600 }, (_, at) => `ver_${at}`)
    for (const id of ids) await deliver(event('verification.approved', { id }))
    await worker.runOnce()
    time += 40 * day
    expect(await inbox.forget('verification:ver_499')).toBe(1)
    const reopen = kept.reopen.bind(kept)
    const purged: unknown[] = []
    kept.reopen = async (reopening) => {
      const count = await reopen(reopening)
      purged.push((await inbox.purge()).deleted)
      return count
    }
    expect(await inbox.redrive({})).toBe(599)
    expect(purged[0]).toBeGreaterThan(0)
    expect(await inbox.stats()).toMatchObject({ stored: 599, dead: 0 })
  })

  test('runs what waits for its retry at once: by its id or its state, not by another filter', async () => {
    const retry = { attempts: 12, delays: [3_600_000], random: () => 1 }
    const { inbox, deliver, receiver, worker } = setUp({ store: store(), retry })
    const ran: (string | undefined)[] = []
    let broken = true
    receiver.on('*', ({ id }, { attempt }) => {
      if (broken) throw new Error('no')
      ran.push(`${id} ${attempt}`)
    })
    const [first, second] = [event(), event()]
    const { entryId } = (await deliver(first)) as { entryId: string }
    await deliver(second)
    await worker.runOnce()
    broken = false
    expect(await inbox.redrive({})).toBe(0)
    expect(await inbox.redrive({ entity: 'verification:ver_1' })).toBe(0)
    expect(await worker.runOnce()).toMatchObject({ done: 0 })
    expect(await inbox.redrive(entryId)).toBe(1)
    expect(await worker.runOnce()).toMatchObject({ done: 2 })
    expect(ran).toEqual([`${first.id} 1`, `${second.id} 1`])
    broken = true
    await deliver(event())
    await worker.runOnce()
    broken = false
    expect(await inbox.redrive({ state: 'retry' })).toBe(1)
    expect(await worker.runOnce()).toMatchObject({ done: 1 })
  })

  test('redrives what was set aside by its id alone, also where it is set aside meanwhile', async () => {
    const kept = store()
    const { inbox, deliver, receiver, worker } = setUp({ store: kept, retry: { attempts: 1 } })
    receiver.on('*', () => {
      throw new Error('no')
    })
    const { entryId: id } = (await deliver(event())) as { entryId: string }
    await worker.runOnce()
    const reopen = kept.reopen.bind(kept)
    kept.reopen = async (reopening) => {
      await kept.dismiss(id, Date.now())
      return reopen(reopening)
    }
    expect(await inbox.redrive({})).toBe(0)
    expect(await inbox.redrive({ state: 'skipped' })).toBe(0)
    expect(await inbox.redrive({ id, state: ['dead', 'skipped'] })).toBe(0)
    expect(await inbox.get(id)).toMatchObject({ state: 'skipped', reason: 'DISMISSED' })
    expect(await inbox.redrive({ id: [id] })).toBe(1)
  })

  test('is observed where a worker is', async () => {
    const { inbox, deliver, worker, seen } = setUp({ store: store(), retry: { attempts: 1 } })
    const { entryId } = (await deliver('no json')) as { entryId: string }
    await deliver(event())
    await worker.runOnce()
    await inbox.redrive({ state: 'dead' })
    await worker.runOnce()
    await inbox.dismiss(entryId)
    await inbox.dismiss(entryId)
    await inbox.forget('verification:ver_1')
    expect(seen.filter(({ type }) => type === 'operated')).toMatchObject([
      { asked: 'redrive', entries: 1 },
      { asked: 'dismiss', entries: 1, entryId },
      { asked: 'forget', entries: 1 },
    ])
  })

  test('who redrives wakes the worker at once', async () => {
    const { inbox, deliver, receiver, worker, settled } = setUp({
      store: store(),
      retry: { attempts: 1 },
    })
    let broken = true
    receiver.on('*', () => {
      if (broken) throw new Error('no')
    })
    await worker.start()
    await deliver(event())
    await until(() => settled().length === 1)
    broken = false
    const asked: string[] = []
    const { leases } = inbox as unknown as DurableInbox
    const claim = leases.claim.bind(leases)
    leases.claim = (limit) => {
      asked.push('claim')
      return claim(limit)
    }
    await inbox.redrive({})
    // In the next turn of the loop, long before the worker would look by itself.
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    expect(asked[0]).toBe('claim')
    await until(() => settled().length === 2)
  })
})

test('a read that fails takes no delivery with it that shares its commit', async () => {
  const file = temporaryFile()
  class Failing extends DatabaseSync {
    override prepare(sql: string) {
      const statement = super.prepare(sql)
      if (!sql.includes('from idv_counts')) return statement
      const all = () => {
        throw new Error('no such table: of ours')
      }
      return Object.assign(statement, { all })
    }
  }
  const store = sqliteStore(file, { driver: (path) => new Failing(path) })
  const { inbox, deliver } = setUp({ store })
  await inbox.open()
  const work = [inbox.stats(), deliver(event()), inbox.stats(), deliver(event())]
  const ends = await Promise.allSettled(work)
  expect(ends.map(({ status }) => status)).toEqual([
    'rejected',
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
  expect(ends[0]).toMatchObject({ reason: { code: 'STORE_FAILED' } })
  expect(ends[1]).toMatchObject({ value: { kind: 'accepted' } })
  expect((await inbox.find()).entries).toHaveLength(2)
})

test('a sealed body that stands in the place of another is not taken for it', async () => {
  const file = temporaryFile()
  const encryption = { key: 'a1'.repeat(32) }
  const first = setUp({ store: sqliteStore(file), encryption })
  for (const id of ['c1', 'c2']) await first.deliver(event('client.created', { id }))
  await first.inbox.close()
  const db = new DatabaseSync(file)
  db.exec(`update idv_contents set body = (select body from idv_contents where seq = 2)
    where seq = 1`)
  db.close()
  const { inbox, receiver, worker } = setUp({ store: sqliteStore(file), encryption })
  const ran: string[] = []
  receiver.on('client.*', ({ entity }) => void ran.push(entity.id))
  expect(await worker.runOnce()).toMatchObject({ done: 1, dead: 1 })
  expect(ran).toEqual(['c2'])
  expect((await inbox.find({ state: 'dead' })).entries).toMatchObject([{ reason: 'UNREADABLE' }])
})

test('an entry that is damaged is one dead letter, and is shown as unreadable', async () => {
  const file = temporaryFile()
  const first = setUp({ store: sqliteStore(file) })
  for (let at = 0; at < 10; at++) await first.deliver(event('client.created', { id: `c${at}` }))
  await first.inbox.close()
  const db = new DatabaseSync(file)
  for (const [seq, metadata] of [
    [3, '{{'],
    [5, '{}'],
    [7, 'null'],
  ] as const) {
    const bytes = Buffer.concat([Uint8Array.of(0), Buffer.from(metadata)])
    db.prepare('update idv_contents set metadata = ? where seq = ?').run(bytes, seq)
  }
  db.close()
  const { inbox, receiver, worker, settled } = setUp({ store: sqliteStore(file) })
  receiver.on('*', () => {})
  expect((await inbox.find()).entries.filter(({ unreadable }) => unreadable)).toHaveLength(3)
  await worker.start()
  await until(async () => (await inbox.stats()).dead === 3)
  const { entries } = await inbox.find()
  expect(entries.map(({ state, reason, attempts }) => [state, reason, attempts])).toEqual(
    Array.from({ length: 10 }, (_, at) =>
      [3, 5, 7].includes(10 - at) ? ['dead', 'UNREADABLE', 3] : ['done', undefined, 1],
    ),
  )
  expect(settled().filter((state) => state === 'done')).toHaveLength(7)
})

test('an entry whose content or row is gone keeps no other waiting', async () => {
  const file = temporaryFile()
  const first = setUp({ store: sqliteStore(file) })
  for (let at = 0; at < 5; at++) await first.deliver(event('client.created', { id: `c${at}` }))
  await first.deliver(event('client.updated', { id: 'c4' }))
  await first.inbox.close()
  const db = new DatabaseSync(file)
  db.exec('delete from idv_contents where seq = 3; delete from idv_entries where seq = 5')
  db.close()
  const { inbox, receiver, worker } = setUp({ store: sqliteStore(file) })
  receiver.on('*', () => {})
  expect(await worker.runOnce()).toMatchObject({ done: 4, dead: 1, retry: 0 })
  const [dead] = (await inbox.find({ state: 'dead' })).entries
  expect(dead).toMatchObject({ reason: 'UNREADABLE', attempts: 1 })
})

test('once an entry is forgotten, no handler begins after the one that runs', async () => {
  const { deliver, inbox, receiver, worker, settled } = setUp()
  const begun: string[] = []
  const begin = (id: string, work: () => unknown = () => {}) => {
    const handler = async () => {
      begun.push(id)
      await work()
    }
    receiver.on('*', handler, { id })
  }
  begin('first', () => inbox.forget('verification:ver_1'))
  begin('second')
  begin('third')
  await deliver(event())
  await worker.runOnce()
  expect(begun).toEqual(['first'])
  expect(settled()).toEqual(['lost'])
  expect((await inbox.find()).entries).toMatchObject([{ erased: true }])
})
