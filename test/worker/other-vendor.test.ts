// Receivers for several vendors on one inbox: what one kept is not lost because the worker of
// another claims it, and somebody hears of the set-up.
import { readFileSync } from 'node:fs'
import { sign } from 'idv-webhooks'
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { fakeClock, testSecret } from 'idv-webhooks/testing'
import { defineVendor, type Vendor, vendors } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test, vi } from 'vitest'
import { event, type Parts, setUp } from '../inbox/admin.ts'
import { temporaryFile } from '../inbox/temporary.ts'

const named = (vendor: Vendor, name: string) => defineVendor({ ...vendor, name })

/** A receiver for the vendor, its worker, and one delivery of an approval. */
function application(vendor: Vendor | undefined, parts: Parts) {
  const program = setUp({ ...parts, receiver: { ...parts.receiver, ...(vendor && { vendor }) } })
  const ran: string[] = []
  program.receiver.on('verification.approved', ({ vendor = 'own' }) => void ran.push(vendor), {
    id: 'activate',
  })
  const deliver = async (body: object | undefined = approvalOf(vendor)) => {
    const bytes = new TextEncoder().encode(JSON.stringify(body))
    const headers = await sign(bytes, {
      secret: testSecret,
      ...(vendor && { scheme: vendor.scheme }),
    })
    return program.receiver.receive({ body: bytes, headers })
  }
  return { ...program, ran, deliver }
}

const approvalOf = (vendor: Vendor | undefined) =>
  vendor
    ? vendor.fixtures.find(({ name }) => name === 'verification.approved')?.body
    : event('verification.approved')

/** The applications of two vendors on one store, whose clock each run finds a minute later. */
function together(pair: readonly [Vendor | undefined, Vendor | undefined], options: Parts = {}) {
  const clock = fakeClock()
  const parts = { store: memoryStore(), retry: { attempts: 3, delays: [30_000] }, ...options }
  const [one, other] = pair.map((vendor) => application(vendor, { ...parts, now: clock.now }))
  if (!one || !other) throw new Error('two of them')
  const next = async ({ worker }: Pick<typeof one, 'worker'>) => {
    clock.advance({ minutes: 1 })
    await worker.runOnce()
    const [entry] = (await one.inbox.find()).entries
    return entry
  }
  return { one, other, next }
}

function warnings() {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => warn.mockRestore())
  return () => warn.mock.calls.map(([message]) => String(message))
}

const ownInbox = 'Each vendor needs an inbox of its own: a file, or a `schema` on Postgres'
const [onfido, veriff] = [vendors.onfido(), vendors.veriff()]
const key = Buffer.alloc(32, 7).toString('base64')

test.each([
  ['memory', () => ({ store: memoryStore() })],
  ['SQLite, encrypted', () => ({ store: sqliteStore(temporaryFile()), encryption: { key } })],
])('the worker of another vendor leaves an entry to the right one: %s', async (_, parts) => {
  for (const pair of [[onfido, veriff] as const, [veriff, onfido] as const]) {
    const { one, other, next } = together(pair, parts())
    expect((await one.deliver()).kind).toBe('accepted')
    const left = await next(other)
    expect(left).toMatchObject({ state: 'retry', attempts: 1, reason: 'ENVELOPE_INVALID' })
    const { name = '' } = pair[0]
    const error = `kept by a receiver for ${name}, and this worker's is for ${pair[1].name}. ${ownInbox}`
    expect(left?.failures).toEqual([{ handler: 'vendor', code: 'ENVELOPE_INVALID', error }])
    expect(await next(one)).toMatchObject({ state: 'done', handled: ['activate'], failures: [] })
    expect([one.ran, other.ran]).toEqual([[name], []])
  }
})

test.each([
  ['the service itself, then a vendor', [undefined, veriff]],
  ['a vendor, then the service itself', [veriff, undefined]],
] as const)('so does that of a receiver without a vendor: %s', async (_, pair) => {
  const { one, other, next } = together(pair)
  await one.deliver()
  expect(await next(other)).toMatchObject({ state: 'retry', reason: 'ENVELOPE_INVALID' })
  expect(await next(one)).toMatchObject({ state: 'done' })
  expect([one.ran, other.ran]).toEqual([[pair[0]?.name ?? 'own'], []])
})

test('a body that another vendor could read as well is not read by its receiver', async () => {
  const twin = named(onfido, 'twin')
  const { one, other, next } = together([onfido, twin])
  await one.deliver()
  expect(await next(other)).toMatchObject({ state: 'retry' })
  expect(other.ran).toEqual([])
})

test('where the right worker never comes the entry ends dead, and a redrive lets it run', async () => {
  const { one, other, next } = together([onfido, veriff])
  await one.deliver()
  const states = [await next(other), await next(other), await next(other)].map((at) => at?.state)
  expect(states).toEqual(['retry', 'retry', 'dead'])
  expect(await one.inbox.redrive({ state: 'dead' })).toBe(1)
  expect(await next(one)).toMatchObject({ state: 'done' })
})

test('what its own vendor cannot read is dead at once, as before', async () => {
  const { one, next } = together([onfido, veriff])
  await one.deliver({ odd: true })
  expect(await next(one)).toMatchObject({ state: 'dead', attempts: 1, reason: 'ENVELOPE_INVALID' })
})

test('an entry of an older version, which names no vendor, is handled by whoever reads it', async () => {
  const { one, next } = together([onfido, veriff])
  const { keep } = one.inbox
  one.inbox.keep = ({ vendor: _, ...arrival }) => keep.call(one.inbox, arrival)
  await one.deliver()
  expect(await next(one)).toMatchObject({ state: 'done' })
})

test('a handler that failed is not forgotten while other vendors have the entry', async () => {
  const { one, other, next } = together([onfido, veriff], {
    retry: { attempts: 9, delays: [30_000] },
  })
  let isAway = true
  one.receiver.on('*', () => {
    if (isAway) throw new Error('away')
  })
  await one.deliver()
  const failed = async (by: typeof one) => (await next(by))?.failures.map(({ handler }) => handler)
  expect(await failed(one)).toEqual(['*#1'])
  expect([await failed(other), await failed(other)]).toEqual([
    ['vendor', '*#1'],
    ['vendor', '*#1'],
  ])
  isAway = false
  expect(await next(one)).toMatchObject({ state: 'done' })
})

test('a process warning says so once for two vendors, however many entries', async () => {
  const heard = warnings()
  const [first, second] = [named(onfido, 'first'), named(veriff, 'second')]
  const { one, other, next } = together([first, second])
  await one.deliver()
  await next(other)
  await next(other)
  expect(heard()).toEqual([
    `an entry of the inbox was kept by a receiver for first, and this worker's is for second. ${ownInbox} (shown once)`,
  ])
})

test('a worker that takes the inbox over from another vendor warns; an edited program does not', async () => {
  const heard = warnings()
  const store = () => sqliteStore(file)
  const file = temporaryFile()
  const [third, fourth] = [named(onfido, 'third'), named(veriff, 'fourth')]
  for (const vendor of [third, third, fourth])
    await application(vendor, { store: store() }).worker.start()
  expect(heard()).toEqual([
    `the worker of a receiver for fourth has stopped that of a receiver for third on the same inbox. ${ownInbox} (shown once)`,
  ])
})

test('with a key the file does not show the vendor', async () => {
  const file = temporaryFile()
  const secretive = named(onfido, 'canaryvendor')
  const parts = { store: sqliteStore(file), encryption: { key } }
  const { deliver, inbox } = application(secretive, parts)
  await deliver()
  await inbox.close()
  expect(readFileSync(file).includes('verification.approved')).toBe(true)
  expect(readFileSync(file).includes('canaryvendor')).toBe(false)
})
