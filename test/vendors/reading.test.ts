import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVendorEvent, senders, type Vendor, vendors } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { inDialect } from '../../src/vendors/dialect.ts'
import { everyVendor } from './every-vendor.ts'

const allow = ['203.0.113.0/24']
const all = everyVendor({ allow, proxies: 0 })

describe.each(all.map((vendor) => [vendor.name, vendor] as const))('%s', (_, vendor) => {
  test('reads its own fixtures under the names that they are for', () => {
    for (const { name, body } of vendor.fixtures) {
      const event = readVendorEvent(vendor, body)
      const own = `${vendor.name}.${event?.receivedName}`
      const raw = vendor.reading.events ? expect.anything() : body
      expect(event, JSON.stringify(body)).toMatchObject({ name: name ?? own, raw })
      expect(event?.receivedName).toBeTruthy()
    }
  })

  test('says what it was read from and that no delivery of its own has proved it', () => {
    expect(['documents', 'vectors']).toContain(vendor.triedOn)
    expect(vendor.documents.length).toBeGreaterThan(0)
    for (const { url, read } of vendor.documents) {
      expect(new URL(url).protocol).toBe('https:')
      expect(read).toMatch(/^2026-\d\d-\d\d$/)
    }
  })

  test('says so in its docstring too', () => {
    const file = `${vendor.name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.ts`
    const source = readFileSync(join(import.meta.dirname, '../../src/vendors', file), 'utf8')
    const comment = source.slice(0, source.indexOf(`export function ${vendor.name}(`))
    const text = comment.slice(comment.lastIndexOf('/**')).replaceAll(/[\s*]+/g, ' ')
    const tried = {
      documents: 'deliveries made from them, not on real ones.',
      vectors: 'signatures that it has published, not on real deliveries.',
      captures: '',
    }
    expect(text).toContain(`Read from its public documents and tried on ${tried[vendor.triedOn]}`)
  })

  test('survives JSON', () => {
    expect(JSON.parse(JSON.stringify(vendor))).toEqual(vendor)
  })

  test('has the status and the id of the verification in its data', () => {
    for (const { name, body } of vendor.fixtures) {
      if (!name?.startsWith('verification.')) continue
      const { data, entity } = readVendorEvent(vendor, body) ?? {}
      expect(data).toMatchObject({ id: entity?.id, status: expect.any(String) })
      expect(entity?.type).toBe('verification')
    }
  })

  test('writes an event in its dialect that reads back as the same', () => {
    for (const { name } of vendor.fixtures) {
      if (!name) continue
      const occurredAt = new Date('2026-03-04T05:06:07.000Z')
      const data = { id: 'ver_dialect', clientId: 'cli_7' }
      const body = inDialect(vendor, { name, id: 'evt_9', occurredAt, data })
      const read = readVendorEvent(vendor, body)
      expect(read).toMatchObject({ name, data: { id: 'ver_dialect' } })
      if (read?.id) expect(read.id).toMatch(/^evt_9/)
      if (read?.occurredAt) expect(read.occurredAt).toEqual(occurredAt)
    }
  })

  test('is silent about a body that is not its own', () => {
    for (const body of [null, [], 'x', 7, {}, { event: 'verification.approved' }]) {
      const read = readVendorEvent(vendor, body)
      expect(read === undefined || !read.name.startsWith('verification.')).toBe(true)
    }
  })
})

describe("an event that is not a decision keeps the vendor's name", () => {
  test.each([
    [
      'sumsub',
      'a RED that may be tried again',
      {
        type: 'applicantReviewed',
        applicantId: 'a',
        reviewResult: { reviewAnswer: 'RED', reviewRejectType: 'RETRY' },
      },
      'sumsub.applicantReviewed',
    ],
    [
      'veriff',
      'a resubmission',
      { verification: { id: 'v', status: 'resubmission_requested' } },
      'veriff.resubmission_requested',
    ],
    [
      'idenfy',
      'a suspicion',
      { final: true, scanRef: 's', status: { overall: 'SUSPECTED' } },
      'idenfy.SUSPECTED',
    ],
    [
      'stripeIdentity',
      'input that is missing',
      {
        id: 'evt_1',
        type: 'identity.verification_session.requires_input',
        data: { object: { id: 'vs_1' } },
      },
      'stripeIdentity.identity.verification_session.requires_input',
    ],
    [
      'persona',
      "a step's own verification event",
      {
        data: {
          id: 'evt_1',
          attributes: { name: 'verification.created', payload: { data: { id: 'ver_1' } } },
        },
      },
      'persona.verification.created',
    ],
  ] as const)('%s: %s', (name, _, body, expected) => {
    const vendor = all.find((one) => one.name === name) as Vendor
    expect(readVendorEvent(vendor, body)?.name).toBe(expected)
  })
})

test('misspelt options of vendors and senders are refused with a suggestion', () => {
  for (const make of [
    () => vendors.persona({ tolerence: 60 } as never),
    () => vendors.stripeIdentity({ tolerence: 60 } as never),
    () => vendors.sumsub({ algoritm: 'sha512' } as never),
    () => vendors.trulioo({ finalservice: 'X' } as never),
    () => vendors.ondato({ proxie: 1 } as never),
    () => senders.slack({ tolerence: 60 } as never),
  ]) {
    expect(make).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    expect(make).toThrow(/Did you mean/)
  }
  expect(() => vendors.sumsub({ algorithm: 'token' as never })).toThrow(/algorithm/)
})

test.each(['2026-03-04T05:06:07.008', '2026-03-04 05:06:07.008'])(
  'a time without a zone is UTC: %s',
  (created) => {
    vi.stubEnv('TZ', 'America/New_York')
    onTestFinished(() => void vi.unstubAllEnvs())
    const vendor = vendors.ondato()
    const body = { ...vendor.fixtures[0]?.body, createdUtc: created }
    expect(readVendorEvent(vendor, body)?.occurredAt).toEqual(new Date('2026-03-04T05:06:07.008Z'))
  },
)
