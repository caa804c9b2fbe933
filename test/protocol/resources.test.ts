import {
  assembledVerificationSchema,
  canonicalName,
  clientSchema,
  errorBodySchema,
  eventNames,
  eventSchemas,
  legacyNames,
  migrateFilters,
  openVerificationSchema,
  pageSchema,
  receivedVerificationSchema,
  thirdPartySchema,
  verificationSchema,
} from 'idv-webhooks/protocol'
import { describe, expect, test } from 'vitest'
import type * as z from 'zod/mini'

const verification = {
  id: 'ver_1',
  orgId: 'org_1',
  type: 'kyc',
  status: 'initiated',
  requirements: ['document', 'biometric_face'],
  currentStep: null,
  subjectName: null,
  subjectEmail: null,
  subjectPhone: null,
  requestorName: null,
  requestorEmail: null,
  requestorCompany: null,
  clientId: null,
  matterId: null,
  expiresDays: 7,
  expiresAt: '2026-03-08T10:00:00Z',
  submittedAt: null,
  accessToken: 'token',
  createdAt: '2026-03-01T10:00:00.000Z',
  updatedAt: '2026-03-01T10:00:00+05:30',
}

const client = {
  id: 'cli_1',
  orgId: 'org_1',
  nameFirst: null,
  nameLast: null,
  businessName: null,
  email: null,
  phone: null,
  externalId: null,
  memberType: 'individual',
  addressLine1: null,
  addressLine2: null,
  city: null,
  region: null,
  postalCode: null,
  country: 'CA',
  metadata: { any: ['thing'] },
  active: true,
  requestCount: 0,
  createdAt: '2026-03-01T10:00:00Z',
  updatedAt: '2026-03-01T10:00:00Z',
}

const assembled = {
  ...verification,
  score: 88.5,
  person: null,
  documents: [],
  biometric: {},
  location: null,
  contact: null,
  business: null,
  financial: null,
  pep: null,
  steps: [{ any: 'entry' }],
}

const fits = (schema: z.ZodMiniType, value: unknown) => schema.safeParse(value).success

describe.each([
  ['2.1 verification', verificationSchema, verification],
  ['2.2 assembled request', assembledVerificationSchema, assembled],
  ['2.4 client', clientSchema, client],
] as const)('section %s', (_, schema, example) => {
  test('takes the documented form and keeps unknown fields', () => {
    expect(schema.parse({ ...example, brandNew: { kept: 1 } })).toEqual({
      ...example,
      brandNew: { kept: 1 },
    })
  })

  test('needs every field', () => {
    for (const field of Object.keys(example)) {
      const { [field as keyof typeof example]: _, ...rest } = example
      expect(fits(schema, rest), field).toBe(false)
    }
  })
})

describe('nullability', () => {
  const notNullable = ['id', 'orgId', 'type', 'status', 'requirements', 'expiresDays', 'expiresAt']
  test.each([
    [
      'verification',
      verificationSchema,
      verification,
      [...notNullable, 'accessToken', 'createdAt', 'updatedAt'],
    ],
    [
      'assembled',
      assembledVerificationSchema,
      assembled,
      [...notNullable, 'accessToken', 'createdAt', 'updatedAt', 'documents', 'steps'],
    ],
    [
      'client',
      clientSchema,
      client,
      ['id', 'orgId', 'memberType', 'active', 'requestCount', 'createdAt', 'updatedAt'],
    ],
  ] as const)('of each field of a %s is the documented one', (_, schema, example, never) => {
    for (const field of Object.keys(example)) {
      const expected = !(never as readonly string[]).includes(field)
      expect(fits(schema, { ...example, [field]: null }), field).toBe(expected)
    }
  })
})

test.each([
  [verificationSchema, verification, { type: 'aml' }],
  [verificationSchema, verification, { status: 'done' }],
  [verificationSchema, verification, { requirements: ['voice'] }],
  [verificationSchema, verification, { expiresDays: 0 }],
  [verificationSchema, verification, { expiresDays: 91 }],
  [verificationSchema, verification, { expiresDays: 1.5 }],
  [verificationSchema, verification, { subjectName: 'x'.repeat(129) }],
  [verificationSchema, verification, { subjectPhone: '1'.repeat(33) }],
  [verificationSchema, verification, { createdAt: '2026-03-01' }],
  [verificationSchema, verification, { createdAt: '2026-03-01T10:00:00' }],
  [assembledVerificationSchema, assembled, { score: 100.1 }],
  [assembledVerificationSchema, assembled, { score: -1 }],
  [assembledVerificationSchema, assembled, { person: 'text' }],
  [clientSchema, client, { memberType: 'robot' }],
  [clientSchema, client, { country: 'CAN' }],
  [clientSchema, client, { requestCount: 0.5 }],
  [clientSchema, client, { postalCode: '1'.repeat(17) }],
  [clientSchema, client, { email: `${'x'.repeat(250)}@a.test` }],
  [thirdPartySchema, { name: 'N', email: 'a@b.test' }, { email: 'no' }],
  [thirdPartySchema, { name: 'N', email: 'a@b.test' }, { name: 'x'.repeat(129) }],
  [thirdPartySchema, { name: 'N', email: 'a@b.test' }, { org: 'x'.repeat(129) }],
  [errorBodySchema, { code: 'X', message: 'm', statusCode: 422 }, { errors: [{ field: 'a' }] }],
] as const)('%# refuses a value outside its bounds', (schema, example, change) => {
  expect(fits(schema, example)).toBe(true)
  expect(fits(schema, { ...example, ...change }), JSON.stringify(change)).toBe(false)
})

test('a reader takes enum values that were added later', () => {
  const later = { ...verification, type: 'aml', status: 'on_hold', requirements: ['voice'] }
  expect(openVerificationSchema.parse(later)).toEqual(later)
  expect(fits(openVerificationSchema, { ...later, status: 7 })).toBe(false)
})

test('the resource of an event needs only its id', () => {
  expect(fits(receivedVerificationSchema, { id: 'v' })).toBe(true)
  expect(fits(receivedVerificationSchema, {})).toBe(false)
  expect(fits(receivedVerificationSchema, { id: 'v', subjectName: null })).toBe(true)
  expect(fits(receivedVerificationSchema, { id: 'v', createdAt: null })).toBe(false)
})

test('a page is the documented envelope (section 2.5)', () => {
  const pagination = { page: 1, limit: 20, total: 1, totalPages: 1, hasNext: false, hasPrev: false }
  expect(fits(pageSchema(verificationSchema), { data: [verification], pagination })).toBe(true)
  expect(fits(pageSchema(verificationSchema), { data: [client], pagination })).toBe(false)
  for (const field of Object.keys(pagination)) {
    const { [field as keyof typeof pagination]: _, ...rest } = pagination
    expect(fits(pageSchema(verificationSchema), { data: [], pagination: rest })).toBe(false)
  }
})

test('names, old and new, equal those of section 6', () => {
  expect(eventNames).toHaveLength(9)
  expect(Object.keys(eventSchemas)).toEqual(eventNames)
  expect(legacyNames).toHaveLength(6)
  for (const name of legacyNames) {
    expect(eventNames).toContain(canonicalName(name))
    expect(canonicalName(name)).toBe(`verification.${name.split('.')[1]}`)
  }
  for (const name of [
    ...eventNames,
    'other.thing',
    '*',
    'request.archived',
    'request',
    'constructor',
  ]) {
    expect(canonicalName(name)).toBe(name)
  }
})

test('filters of a subscription migrate in their order, each once', () => {
  expect(migrateFilters(['request.approved', 'client.created', 'request.*', '*'])).toEqual([
    'verification.approved',
    'client.created',
    'verification.*',
    '*',
  ])
  expect(migrateFilters(['request.approved', 'verification.approved'])).toEqual([
    'verification.approved',
  ])
  expect(migrateFilters([])).toEqual([])
})
