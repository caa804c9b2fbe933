// A complete event of each name, current and legacy, as the sandbox would send it. The people in it
// are made up, and every call returns the same values.
import { blamingCaller } from '../errors.ts'
import { checkOptionNames, invalid, suggestion } from '../foundation/check.ts'
import type { EventData } from '../protocol/events.ts'
import {
  type CanonicalName,
  canonicalName,
  type EventName,
  eventNames,
  type LegacyName,
  legacyNames,
} from '../protocol/names.ts'
import type { Client, Verification, VerificationStatus } from '../protocol/resources.ts'

/** A name with a fixture. */
export type FixtureName = EventName | LegacyName

/** The envelope of a fixture. */
export interface Fixture<Name extends FixtureName = FixtureName> {
  readonly id: string
  readonly event: Name
  readonly createdAt: string
  readonly data: Name extends `client.${string}` ? Client : Verification
}

type Canonical<Name extends FixtureName> = Extract<CanonicalName<Name>, EventName>

/** Changes to a fixture: parts of the envelope, and single fields of its data. */
export interface FixtureOverrides<Name extends FixtureName> {
  readonly id?: string
  readonly createdAt?: string
  readonly data?: Partial<EventData[Canonical<Name>]> & Readonly<Record<string, unknown>>
}

const createdAt = '2026-03-01T10:00:00.000Z'
const later = '2026-03-01T10:20:00.000Z'

const verification: Verification = {
  id: '5d0c2a3e-8b7f-4f43-9a3c-1f6e0b7f2a11',
  orgId: '0b9d6c1a-55e4-4a53-8f0e-7d1c2b3a4e5f',
  type: 'kyc',
  status: 'initiated',
  requirements: ['document', 'biometric_face', 'consent'],
  currentStep: null,
  subjectName: 'Robin Example',
  subjectEmail: 'robin@example.com',
  subjectPhone: '+1-555-0100',
  requestorName: 'Kim Sample',
  requestorEmail: 'kim@example.org',
  requestorCompany: 'Example Notaries',
  clientId: 'c3a1f0de-2b44-4d7e-9c55-6a7b8c9d0e1f',
  matterId: null,
  expiresDays: 7,
  expiresAt: '2026-03-08T10:00:00.000Z',
  submittedAt: null,
  accessToken: 'example-access-token',
  createdAt,
  updatedAt: createdAt,
}

const client: Client = {
  id: 'c3a1f0de-2b44-4d7e-9c55-6a7b8c9d0e1f',
  orgId: '0b9d6c1a-55e4-4a53-8f0e-7d1c2b3a4e5f',
  nameFirst: 'Robin',
  nameLast: 'Example',
  businessName: null,
  email: 'robin@example.com',
  phone: '+1-555-0100',
  externalId: 'crm-1001',
  memberType: 'individual',
  addressLine1: '1 Example Street',
  addressLine2: null,
  city: 'Toronto',
  region: 'ON',
  postalCode: 'M5V 0A1',
  country: 'CA',
  metadata: { source: 'fixture' },
  active: true,
  requestCount: 0,
  createdAt,
  updatedAt: createdAt,
}

/** The changes that each step of a verification makes (section 3). */
const steps: Readonly<Record<string, Partial<Verification>>> = {
  created: {},
  submitted: { status: 'submitted', submittedAt: later, updatedAt: later },
  approved: decided('approved'),
  rejected: decided('rejected'),
  canceled: { status: 'canceled', updatedAt: later },
  expired: { status: 'expired', updatedAt: '2026-03-08T10:00:00.000Z' },
}

function decided(status: VerificationStatus): Partial<Verification> {
  return { status, submittedAt: later, updatedAt: '2026-03-01T11:00:00.000Z' }
}

const clientSteps: Readonly<Record<string, Partial<Client>>> = {
  created: {},
  updated: { city: 'Ottawa', updatedAt: later },
  deleted: { active: false, updatedAt: later },
}

/**
 * A complete event of a name, the same at every call; `overrides` change single fields.
 *
 * @throws WebhookError `EVENT_NAME_UNKNOWN`, `OPTION_INVALID`
 * @example fixture('verification.approved', { data: { id: 'ver_1' } })
 */
export function fixture<const Name extends FixtureName>(
  name: Name,
  overrides: FixtureOverrides<Name> = {},
): Fixture<Name> {
  // The name determines the resource, which the compiler cannot follow.
  return blamingCaller(fixture, () => fixtureOf(name, overrides) as Fixture<Name>)
}

function fixtureOf(name: FixtureName, overrides: FixtureOverrides<FixtureName>): Fixture {
  const known: readonly string[] = [...eventNames, ...legacyNames]
  if (!known.includes(name)) {
    const what = `fixture needs a known event name, got '${name}'`
    throw invalid(`${what}.${suggestion(name, known)}`, 'EVENT_NAME_UNKNOWN')
  }
  const [type, step = ''] = canonicalName(name).split('.')
  const resource =
    type === 'client' ? { ...client, ...clientSteps[step] } : { ...verification, ...steps[step] }
  checkOverrides(overrides, resource)
  const { data, ...envelope } = overrides
  return {
    id: `evt_fixture_${known.indexOf(name) + 1}`,
    event: name,
    createdAt: resource.updatedAt,
    ...envelope,
    data: { ...resource, ...data },
  } as Fixture
}

/** @throws WebhookError `OPTION_INVALID` for a field that the envelope lacks */
function checkOverrides(overrides: object, resource: object): void {
  const field = Object.keys(overrides ?? {}).find((name) => Object.hasOwn(resource, name))
  if (field !== undefined && !envelopeFields.includes(field)) {
    throw invalid(`'${field}' is a field of the data: fixture(name, { data: { ${field}: … } })`)
  }
  checkOptionNames('fixture', overrides, envelopeFields)
}

const envelopeFields: readonly string[] = ['id', 'createdAt', 'data']
