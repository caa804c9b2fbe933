import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { createInbox, type InboxStore, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { defineVendor, type Vendor, vendors } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Finality } from '../../src/dispatch/finality.ts'
import { inDialect } from '../../src/vendors/dialect.ts'

const secret = 'a-secret-of-thirty-two-characters'
const id = 'ver_1'

interface Setup {
  readonly vendor?: Vendor
  readonly store?: InboxStore
  readonly stale?: 'skip'
}

/** A receiver with an inbox, and all that its handlers hear. */
function listening({ vendor = vendors.sumsub(), store = memoryStore(), stale }: Setup = {}) {
  const inbox = createInbox({ store, retry: { delays: [0] } })
  onTestFinished(() => inbox.close())
  const receiver = createReceiver({ vendor, secret, inbox, observe: () => {} })
  const worker = createWorker(receiver)
  const heard: string[] = []
  const faults: Error[] = []
  const options = stale && { stale }
  receiver.on(
    ['verification.approved', 'verification.rejected'],
    (event, { supersedes, stale: late }) => {
      const fault = faults.pop()
      const before = supersedes ? ` instead of ${supersedes.name}` : ''
      heard.push(`${event.name}${before}${late ? ', late' : ''}`)
      if (fault) throw fault
    },
    { id: 'decisions', ...options },
  )
  receiver.on('verification.reversed', (event, context) => {
    expect(context.supersedes).toEqual(event.supersedes)
    expect(event.data).toMatchObject({ id, status: event.decision.split('.')[1] })
    heard.push(`reversed: ${event.supersedes.name} to ${event.decision}`)
  })
  const send = async (name: string, second: number) => {
    const occurredAt = new Date(Date.UTC(2026, 2, 4, 5, 6, second))
    const event = { name, id: `${name}${second}`, occurredAt, data: { id } }
    const body = new TextEncoder().encode(JSON.stringify(inDialect(vendor, event)))
    const outcome = await receiver.receive({
      body,
      headers: await sign(body, { secret, scheme: vendor.scheme }),
    })
    expect(outcome.kind).toBe('accepted')
    await worker.runOnce()
    return (outcome as { readonly entryId: string }).entryId
  }
  return { receiver, inbox, worker, heard, faults, send }
}

const approved = 'verification.approved'
const rejected = 'verification.rejected'
const reversed = [
  approved,
  `${rejected} instead of ${approved}`,
  `reversed: ${approved} to ${rejected}`,
]

const stores = [
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore(':memory:')],
] as const

test.each(stores)('a RED after a GREEN is a reversal, in the store %s', async (_, store) => {
  const { heard, send } = listening({ store: store() })
  await send(approved, 1)
  await send(rejected, 2)
  expect(heard).toEqual(reversed)
  await send(approved, 3)
  expect(heard.slice(3)).toEqual([
    `${approved} instead of ${rejected}`,
    `reversed: ${rejected} to ${approved}`,
  ])
})

test('the context names the entry and the time of the decision that is replaced', async () => {
  const { receiver, send } = listening()
  const replaced: unknown[] = []
  receiver.on(rejected, (_, { supersedes }) => void replaced.push(supersedes), { id: 'looks' })
  const entryId = await send(approved, 1)
  await send(rejected, 2)
  const occurredAt = new Date(Date.UTC(2026, 2, 4, 5, 6, 1))
  expect(replaced).toEqual([{ name: approved, entryId, occurredAt }])
})

describe('no reversal', () => {
  test('is the same decision again', async () => {
    const { heard, send } = listening()
    await send(approved, 1)
    await send(approved, 2)
    expect(heard).toEqual([approved, approved])
  })

  test('is an older decision that comes late', async () => {
    const { heard, send } = listening()
    await send(rejected, 2)
    await send(approved, 1)
    expect(heard).toEqual([rejected, `${approved}, late`])
    await send(approved, 3)
    expect(heard.at(-1)).toBe(`reversed: ${rejected} to ${approved}`)
  })

  test('is a second decision of a vendor whose decisions are final', async () => {
    const { heard, send } = listening({ vendor: vendors.idenfy() })
    await send(approved, 1)
    await send(rejected, 2)
    expect(heard).toEqual([approved, rejected])
  })
})

test.each([
  ['didit', (body: object, repeat: number) => ({ ...body, timestamp: 1_769_600_000 + repeat })],
  ['trulioo', (body: object, repeat: number) => ({ ...body, retry: repeat })],
] as const)('a repeat of %s is the same event, though its body counts it', async (name, again) => {
  const vendor = vendors[name]()
  const { receiver, inbox } = listening({ vendor })
  const kinds: object[] = []
  const [first, other] = vendor.fixtures.map(({ body }) => body)
  const bodies = [0, 1, 2].map((repeat) => again(first ?? {}, repeat))
  for (const one of [...bodies, again(other ?? {}, 0)]) {
    const body = new TextEncoder().encode(JSON.stringify(one))
    const { kind, ...outcome } = await receiver.receive({
      body,
      headers: await sign(body, { secret, scheme: vendor.scheme }),
    })
    kinds.push([kind, 'conflict' in outcome && outcome.conflict])
  }
  const fresh = ['accepted', expect.anything()]
  expect(kinds).toEqual([fresh, ['duplicate', false], ['duplicate', false], fresh])
  expect((await inbox.find()).entries).toHaveLength(2)
})

test('only later decisions make a late decision stale, not other later events', async () => {
  const { receiver, heard, send } = listening({ stale: 'skip' })
  receiver.on('*', () => {}, { id: 'audit' })
  await send('verification.submitted', 9)
  await send(approved, 1)
  expect(heard).toEqual([approved])
  await send(rejected, 3)
  await send(approved, 2)
  expect(heard).toEqual(reversed)
})

test('without times the order of arrival decides, not that of running: a replay reverses nothing', async () => {
  const { heard, inbox, worker, send } = listening({ vendor: vendors.didit() })
  const first = await send(approved, 1)
  await send(rejected, 2)
  expect(heard).toEqual(reversed)
  await inbox.replay(first)
  await worker.runOnce()
  expect(heard.slice(3)).toEqual([`${approved}, late`])
})

test('without times nothing is stale for a decision that may still be replaced', async () => {
  const { receiver, send } = listening({ vendor: vendors.didit() })
  const seen: unknown[] = []
  receiver.on('verification.submitted', (_, { stale }) => seen.push(stale), { id: 'freeze' })
  await send(approved, 1)
  await send('verification.submitted', 2)
  expect(seen).toEqual([false])
})

test('a decision of a far future does not hide the reversals after it', async () => {
  const { heard, send } = listening()
  await send(approved, 10 * 365 * 86_400)
  await send(rejected, 1)
  expect(heard).toEqual(reversed)
})

test('a reversal is handled although a newer event was handled before', async () => {
  const { receiver, heard, send } = listening({ stale: 'skip' })
  receiver.on('verification.submitted', () => {})
  await send(approved, 1)
  await send('verification.submitted', 9)
  await send(rejected, 5)
  expect(heard).toEqual(reversed)
})

test('every attempt and a replay name the same earlier decision, each handler once', async () => {
  const { heard, faults, inbox, worker, send } = listening()
  await send(approved, 1)
  faults.push(new Error('down'))
  const entryId = await send(rejected, 2)
  const [first, ...others] = reversed
  expect(heard).toEqual([first, ...others, others[0]])
  await inbox.replay(entryId)
  await worker.runOnce()
  expect(heard.slice(4)).toEqual(others)
})

test('a decision without a handler is remembered for the handlers of reversals', async () => {
  const vendor = vendors.veriff()
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ vendor, secret, inbox })
  const heard: string[] = []
  receiver.on('verification.reversed', ({ decision, receivedName }) => {
    heard.push(`${decision} ${receivedName}`)
  })
  const worker = createWorker(receiver)
  for (const [at, name] of [approved, rejected].entries()) {
    const event = { name, id: name, occurredAt: new Date(at * 1000), data: { id } }
    const body = new TextEncoder().encode(JSON.stringify(inDialect(vendor, event)))
    await receiver.receive({ body, headers: await sign(body, { secret, scheme: vendor.scheme }) })
  }
  expect(await worker.runOnce()).toMatchObject({ done: 2, skipped: 0 })
  expect(heard).toEqual([`${rejected} declined`])
})

test('a handler of a decision and of reversals gets a reversal once, as the decision', async () => {
  const { receiver, send } = listening()
  const names: string[] = []
  receiver.on([rejected, 'verification.reversed'], ({ name }) => void names.push(name), { id: 'x' })
  await send(approved, 1)
  await send(rejected, 2)
  expect(names).toEqual([rejected])
})

test("nothing is remembered of decisions if all are final, as the service's are", () => {
  const event = { name: approved, occurredAt: new Date() }
  const place = { entryId: 'entry', seq: 1 }
  expect(new Finality().decided(event, place, undefined)).toBeUndefined()
  const { finality } = vendors.sumsub()
  expect(new Finality(finality).decided(event, place, undefined)).toMatchObject({
    name: approved,
  })
})

test('without an inbox nothing remembers decisions, and asking for reversals is refused', () => {
  const receiver = createReceiver({ vendor: vendors.sumsub(), secret })
  expect(() => receiver.on('verification.reversed', () => {})).toThrow(
    expect.objectContaining({ code: 'INBOX_INVALID', message: expect.stringContaining('inbox') }),
  )
  for (const given of [{ vendor: vendors.idenfy() }, {}]) {
    createReceiver({ ...given, secret }).on('verification.reversed', () => {})
  }
})

test('each decision that a vendor sends is declared as final or as reversible, not as both', () => {
  const vendor = vendors.sumsub()
  const wrong = [
    { final: [], reversible: [approved] },
    { final: [approved], reversible: [approved, rejected] },
    { final: [], reversible: [approved, rejected, 'verification.created'] },
    { final: [], reversible: [approved, rejected], other: [] },
    undefined,
  ]
  for (const finality of wrong) {
    expect(() => defineVendor({ ...vendor, finality: finality as never })).toThrow(/finality/)
  }
})

test("two names of a vendor's own for one of ours are two events, not one under an older name", async () => {
  const vendor = vendors.persona()
  const inbox = createInbox({ store: memoryStore() })
  onTestFinished(() => inbox.close())
  const receiver = createReceiver({ vendor, secret, inbox, observe: () => {} })
  const heard: string[] = []
  receiver.on(rejected, ({ receivedName }) => void heard.push(receivedName))
  // The inquiry at the same moment, under another name and id.
  const send = async (name: string, eventId: string) => {
    const inquiry = { data: { type: 'inquiry', id: 'inq_1', attributes: {} } }
    const attributes = { name, payload: inquiry, 'created-at': '2026-01-09T22:46:28.351Z' }
    const body = JSON.stringify({ data: { type: 'event', id: eventId, attributes } })
    const headers = await sign(body, { secret, scheme: vendor.scheme })
    return (await receiver.receive({ body: new TextEncoder().encode(body), headers })).kind
  }
  expect(await send('inquiry.failed', 'evt_1')).toBe('accepted')
  expect(await send('inquiry.declined', 'evt_2')).toBe('accepted')
  expect(await send('inquiry.declined', 'evt_2')).toBe('duplicate')
  await createWorker(receiver).runOnce()
  expect(heard).toEqual(['inquiry.failed', 'inquiry.declined'])
})

test('a decision keeps its time while the inbox does not yet believe that the machine slept for days', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const { heard, send } = listening({ stale: 'skip' })
  vi.setSystemTime(Date.now() + 3 * 86_400_000)
  const second = Math.floor((Date.now() - Date.UTC(2026, 2, 4, 5, 6)) / 1000)
  await send(rejected, second - 60)
  await send(approved, second - 1800)
  expect(heard).toEqual([rejected])
})
