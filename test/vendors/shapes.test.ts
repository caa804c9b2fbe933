// The choices that vendors leave to customers, and shapes that a preset does not know: spellings of
// keys, versions, kinds of events. No authentic delivery is rejected for its shape.
import fc from 'fast-check'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { readVendorEvent, type Vendor, vendors } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { secretFor, vendorsByHand } from './by-hand.ts'
import { everyVendor } from './every-vendor.ts'

const at = Date.UTC(2026, 4, 1, 12)
const now = () => new Date(at)
const address = '203.0.113.9'
const all = everyVendor({ allow: [address], proxies: 0 })
const url = 'https://app.test/webhooks'

function deliveryOf(vendor: Vendor, value: unknown) {
  const body = Buffer.from(JSON.stringify(value))
  const signer = vendor.scheme.authenticity === 'ip' ? undefined : vendorsByHand[vendor.name]
  const headers = signer?.headers({ body, at, id: 'msg_1', url }) ?? {}
  return { body: signer?.sends?.(body) ?? body, headers, url, address }
}

function receiving(vendor: Vendor) {
  const { authenticity } = vendor.scheme
  const secret = vendorsByHand[vendor.name]?.secret ?? ''
  const isKeyed = authenticity !== 'ip'
  const given = { secret: isKeyed ? secretFor(vendor.scheme, secret) : undefined, authenticity }
  const inbox = createInbox({ store: memoryStore() })
  onTestFinished(() => inbox.close())
  const direct = createReceiver({ vendor, ...given, now, observe: () => {} })
  const kept = createReceiver({ vendor, ...given, now, inbox, observe: () => {} })
  kept.on('*', () => {})
  return { direct, kept, inbox, worker: createWorker(kept) }
}

/** Any JSON, or a fixture in which anything stands at some of the places that the preset reads. */
function bodiesOf({ fixtures, reading }: Vendor): fc.Arbitrary<unknown> {
  const { name, subject, id = [], occurredAt = [], fields = {}, rules } = reading
  const said = rules.flatMap(({ when }) => Object.keys(when))
  const read = [name, subject, id, occurredAt, Object.values(fields).flat(), said].flat()
  const places = read.flatMap((path) => {
    const steps = path.split('.')
    return steps.map((_, count) => steps.slice(0, count + 1))
  })
  const text = fc.oneof(fc.string(), fc.string({ minLength: 990, maxLength: 1_010 }))
  const value = fc.oneof(fc.jsonValue(), text, fc.constant(undefined))
  const change = fc.tuple(fc.constantFrom(...places), value)
  const changed = fc
    .tuple(fc.constantFrom(...fixtures.map(({ body }) => body)), fc.array(change, { maxLength: 3 }))
    .map(([body, changes]) =>
      changes.reduce<object>((made, [path, one]) => withAt(made, path, one), body),
    )
  return fc.oneof(fc.jsonValue(), changed)
}

function withAt(body: object, [key = '', ...rest]: readonly string[], value: unknown): object {
  const inner = (body as Record<string, unknown>)[key]
  const isObject = typeof inner === 'object' && inner !== null
  return { ...body, [key]: rest.length === 0 ? value : withAt(isObject ? inner : {}, rest, value) }
}

describe.each(all.map((vendor) => [vendor.name, vendor] as const))('%s', (_, vendor) => {
  test('no authentic delivery is rejected for its shape', async () => {
    const { direct, kept, inbox, worker } = receiving(vendor)
    direct.on('*', () => {})
    await fc.assert(
      fc.asyncProperty(bodiesOf(vendor), async (body) => {
        expect(await direct.receive(deliveryOf(vendor, body))).toMatchObject({ kind: 'handled' })
        const { kind } = await kept.receive(deliveryOf(vendor, body))
        expect(['accepted', 'duplicate']).toContain(kind)
      }),
      { numRuns: 60 },
    )
    await worker.runOnce()
    expect(await inbox.stats()).toMatchObject({ dead: 0 })
  })

  test("an event without a vendor's name is <vendor>.unnamed", async () => {
    const { direct } = receiving(vendor)
    const heard = vi.fn()
    direct.fallback(heard)
    const raw = { meta: { of: 'another kind' } }
    await direct.receive(deliveryOf(vendor, raw))
    const event = { name: `${vendor.name}.unnamed`, known: false, raw }
    expect(heard).toHaveBeenCalledWith(expect.objectContaining(event), expect.anything())
  })
})

/** The keys of a body, respelled. */
function respelled(value: unknown, spell: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => respelled(one, spell))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  return Object.fromEntries(entries.map(([key, one]) => [spell(key), respelled(one, spell)]))
}

const toSnake = (key: string) => key.replaceAll('-', '_')
const toCamel = (key: string) => key.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase())
const toPascal = (key: string) => key.replace(/^\w/, (letter) => letter.toUpperCase())

describe('spellings', () => {
  const inquiry = {
    data: {
      type: 'event',
      id: 'evt_1',
      attributes: {
        name: 'inquiry.approved',
        'created-at': '2026-05-01T10:00:00.000Z',
        payload: {
          data: {
            type: 'inquiry',
            id: 'inq_1',
            attributes: {
              'reference-id': 'user-1',
              'created-at': '2026-05-01T09:00:00.000Z',
              'completed-at': '2026-05-01T09:30:00.000Z',
            },
          },
        },
      },
    },
  }

  test.each([
    ['kebab', (key: string) => key],
    ['camel', toCamel],
    ['snake', toSnake],
  ])('Persona in %s keys is the same event', (_, spell) => {
    expect(readVendorEvent(vendors.persona(), respelled(inquiry, spell))).toMatchObject({
      name: 'verification.approved',
      id: 'evt_1',
      occurredAt: new Date('2026-05-01T10:00:00.000Z'),
      entity: { type: 'verification', id: 'inq_1' },
      data: {
        id: 'inq_1',
        clientId: 'user-1',
        createdAt: '2026-05-01T09:00:00.000Z',
        submittedAt: '2026-05-01T09:30:00.000Z',
      },
    })
  })

  test('a key as the preset spells it counts before any other spelling', () => {
    const { data } = structuredClone(inquiry)
    Object.assign(data.attributes, { createdAt: '2020-01-01T00:00:00Z' })
    const read = readVendorEvent(vendors.persona(), { data })
    expect(read?.occurredAt).toEqual(new Date('2026-05-01T10:00:00.000Z'))
  })

  test.each([toSnake, toCamel])(
    'an approval of Persona that comes late is stale',
    async (spell) => {
      const { kept, worker } = receiving(vendors.persona())
      const heard: unknown[] = []
      kept.on('verification.*', ({ name }, { stale }) => void heard.push([name, stale]))
      const sent = [
        { name: 'inquiry.declined', 'created-at': '2026-05-01T11:00:00.000Z' },
        { name: 'inquiry.approved', 'created-at': '2026-05-01T10:50:00.000Z' },
      ]
      for (const [count, changed] of sent.entries()) {
        const { data } = structuredClone(inquiry)
        Object.assign(data, { id: `evt_${count}` })
        Object.assign(data.attributes, changed)
        await kept.receive(deliveryOf(vendors.persona(), respelled({ data }, spell)))
      }
      await worker.runOnce()
      expect(heard).toEqual([
        ['verification.rejected', false],
        ['verification.approved', true],
      ])
    },
  )

  test('Ondato in PascalCase keys, as some versions of its page show them, is the same event', () => {
    const vendor = vendors.ondato()
    for (const { name, body } of vendor.fixtures) {
      const read = readVendorEvent(vendor, body)
      const again = readVendorEvent(vendor, respelled(body, toPascal))
      expect(again).toEqual({ ...read, raw: expect.anything() })
      if (name) expect(again?.name).toBe(name)
    }
  })
})

const read = (vendor: Vendor, body: object) => readVendorEvent(vendor, body)

describe('Ondato', () => {
  test('is signed unless its addresses are asked for', () => {
    expect(vendors.ondato().scheme).toMatchObject({ authenticity: 'signature', tolerance: 90_000 })
    expect(vendors.ondato({ tolerance: 60 }).scheme.tolerance).toBe(60)
    expect(vendors.ondato({ proxies: 1 }).scheme).toMatchObject({ authenticity: 'ip' })
    expect(() => vendors.ondato({ allow: ['203.0.113.0/24'] })).toThrow('proxies')
    expect(() => vendors.ondato({ proxies: 1, tolerance: 60 })).toThrow('tolerance')
  })

  test.each([vendors.ondato({ proxies: 0 }), vendors.jumio({ allow: [address], proxies: 0 })])(
    'a secret beside addresses is rejected at creation: $name',
    (vendor) => {
      const create = () => createReceiver({ vendor, secret: 's3cret', authenticity: 'ip' })
      expect(create).toThrow(expect.objectContaining({ code: 'SECRET_INVALID' }))
      expect(create).toThrow('leave secret out')
    },
  )

  test('a verification and its steps are one entity', () => {
    const vendor = vendors.ondato()
    const ids = vendor.fixtures.map(({ body }) => read(vendor, body)?.entity?.id)
    expect(new Set(ids).size).toBe(1)
    const payload = { id: 'kyc_1', createdUtc: '2026-05-01T10:00:00Z' }
    const alone = { id: 'evt_1', type: 'KycIdentification.Created', payload }
    expect(read(vendor, alone)?.entity).toEqual({ type: 'verification', id: 'kyc_1' })
  })
})

describe('a step belongs to the entity of its verification', () => {
  test.each([
    [
      'Persona',
      vendors.persona(),
      {
        data: {
          id: 'evt_1',
          attributes: {
            name: 'verification.passed',
            payload: {
              data: { id: 'ver_1', relationships: { inquiry: { data: { id: 'inq_1' } } } },
            },
          },
        },
      },
      'inq_1',
    ],
    [
      'Onfido',
      vendors.onfido(),
      {
        payload: {
          action: 'workflow_task.started',
          object: { id: 'profile_1eb92', workflow_run_id: 'run_1' },
        },
      },
      'run_1',
    ],
  ])('%s', (_, vendor, body, id) => {
    expect(read(vendor, body)?.entity).toEqual({ type: 'verification', id })
  })
})

describe('events that lack the usual name', () => {
  const session = 'ver_1'
  const veriff = (more: object) =>
    read(vendors.veriff(), { sessionId: session, vendorData: 'user-1', ...more })
  const fullAuto = (decision: string) =>
    veriff({
      eventType: 'fullauto',
      acceptanceTime: '2026-05-01T10:00:00Z',
      data: { verification: { decision, decisionScore: 0.98 } },
    })

  test.each([
    ['approved', 'verification.approved'],
    ['declined', 'verification.rejected'],
    ['expired', 'verification.expired'],
    ['resubmission_requested', 'veriff.resubmission_requested'],
  ])('Full Auto of Veriff: %s', (decision, name) => {
    expect(fullAuto(decision)).toMatchObject({
      name,
      entity: { type: 'verification', id: session },
      data: { clientId: 'user-1' },
      occurredAt: new Date('2026-05-01T10:00:00Z'),
    })
  })

  test('a screening and an address check of Veriff', () => {
    const entity = { type: 'verification', id: session }
    const screened = veriff({ checkType: 'initial_result', matchStatus: 'no_match' })
    expect(screened).toMatchObject({ name: 'veriff.initial_result', entity })
    const nested = { data: { sessionId: session, checkType: 'updated_result' } }
    expect(read(vendors.veriff(), nested)).toMatchObject({ name: 'veriff.updated_result', entity })
    expect(veriff({ eventType: 'address' })).toMatchObject({ name: 'veriff.address', entity })
  })

  test('monitoring and an empty status of iDenfy', () => {
    const watched = { monitoringId: 'mon_1', alertStatus: 'ALERT', status: 'ACTIVE' }
    expect(read(vendors.idenfy(), watched)).toMatchObject({
      name: 'idenfy.ALERT',
      entity: { id: 'mon_1' },
    })
    const { alertStatus: _, ...quiet } = watched
    expect(read(vendors.idenfy(), quiet)?.name).toBe('idenfy.ACTIVE')
  })

  test.each([
    [{ final: true, scanRef: 'scan_1', status: { overall: null } }, 'idenfy.unnamed'],
    [{ final: false, scanRef: 'scan_1', status: { overall: null } }, 'verification.submitted'],
    [{ companyName: 'Acme', statusChangedBy: { name: 'Kim' } }, 'idenfy.unnamed'],
  ])('%j of iDenfy', async (body, name) => {
    const { kept, inbox, worker } = receiving(vendors.idenfy())
    await kept.receive(deliveryOf(vendors.idenfy(), body))
    await worker.runOnce()
    const { entries } = await inbox.find({})
    expect(entries).toMatchObject([{ name, state: 'done' }])
  })
})

describe("Stripe's thin events", () => {
  const [plain, reading] = [vendors.stripeIdentity(), stripe()]
  const ofName = (thin: boolean) =>
    plain.fixtures.find(({ body }) => {
      return String(body.type).endsWith('.verified') && 'related_object' in body === thin
    })?.body ?? {}
  const [snapshot, thin] = [ofName(false), ofName(true)]

  function stripe() {
    const record = vendors
      .stripeIdentity()
      .decisions?.[0]?.fixtures.find(({ name }) => name === 'verification.approved')?.body
    const answer = async () => Response.json(record)
    return vendors.stripeIdentity({ api: { token: 'sk_test', fetch: answer } })
  }

  test('are of their snapshots if the API completes them', () => {
    const { id, entity } = read(reading, snapshot) ?? {}
    const name = `stripeIdentity.${thin.type}`
    expect(read(reading, thin)).toMatchObject({ name, id, entity })
    expect(read(reading, thin)?.occurredAt).toEqual(new Date('2026-01-28T11:33:20.000Z'))
    // Else the thin one would stand for a decision that nobody reads.
    expect(read(plain, thin)).toMatchObject({ name, id: thin.id, entity })
    const { snapshot_event: _, ...alone } = thin
    expect(read(reading, alone)?.id).toBe(thin.id)
  })

  test.each([
    ['snapshot first', [snapshot, thin]],
    ['thin first', [thin, snapshot]],
  ])('are one event with their snapshot: %s', async (_, bodies) => {
    const { kept, worker } = receiving(reading)
    const approved = vi.fn()
    kept.on('verification.approved', approved)
    const kinds: string[] = []
    for (const body of bodies) kinds.push((await kept.receive(deliveryOf(reading, body))).kind)
    await worker.runOnce()
    expect(kinds).toEqual(['accepted', 'duplicate'])
    expect(approved).toHaveBeenCalledTimes(1)
  })

  test('leave the decision to their snapshot without the API', async () => {
    const { kept, worker } = receiving(plain)
    const approved = vi.fn()
    kept.on('verification.approved', approved)
    for (const body of [thin, snapshot]) await kept.receive(deliveryOf(plain, body))
    await worker.runOnce()
    expect(approved).toHaveBeenCalledTimes(1)
  })
})
