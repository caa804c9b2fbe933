// The single-request read of section 2.2: a verification with its score, its step objects and its
// audit trail. What the subject did not fill in is invented from the verification's id, so that it
// stays the same.
import type { AssembledVerification } from '../../src/protocol/resources.ts'
import type { TrailEntry, VerificationRow } from './schemas/snapshot.ts'

type StepData = Readonly<Record<string, unknown>>

type Place = 'person' | 'biometric' | 'location' | 'contact' | 'business' | 'financial' | 'pep'

/** The field of each step's data; consent, attestation and estate appear only in the trail. */
const places: Readonly<Record<string, Place>> = {
  person: 'person',
  biometric_face: 'biometric',
  location: 'location',
  contact: 'contact',
  business: 'business',
  financial: 'financial',
  pep_hio: 'pep',
}

export function assemble(row: VerificationRow): AssembledVerification {
  const { resource, score, trail } = row
  const steps: Record<Place, StepData | null> = {
    person: null,
    biometric: null,
    location: null,
    contact: null,
    business: null,
    financial: null,
    pep: null,
  }
  for (const [step, place] of Object.entries(places)) steps[place] = stepData(row, step)
  const document = stepData(row, 'document')
  return {
    ...resource,
    score,
    ...steps,
    documents: document ? [document] : [],
    steps: [creation(row), ...trail.map((entry) => withGiven(entry, row))],
  }
}

/** The data of a step; null until it is submitted. */
export function stepData(row: VerificationRow, step: string): StepData | null {
  const completedAt = row.completed[step]
  if (completedAt === undefined) return null
  const place = places[step]
  const invented = step === 'document' ? inventDocument(row) : place ? invent(place, row) : {}
  return { status: 'completed', completedAt, ...invented, ...row.given?.[step] }
}

/** Steps without an object of their own: what was given stands in their entry of the trail. */
const unplaced = /^(?:consent|attestation|estate)$/

function withGiven(entry: TrailEntry, { given }: VerificationRow): TrailEntry | object {
  const own = entry.step !== null && unplaced.test(entry.step) ? given?.[entry.step] : undefined
  return own ? { ...entry, given: own } : entry
}

/** The trail's first entry follows from the row, which therefore does not hold it. */
function creation({ resource }: VerificationRow): TrailEntry {
  const { createdAt: at } = resource
  return { at, action: 'create', actor: 'requestor', step: null, status: 'initiated' }
}

function invent(place: Place, row: VerificationRow): StepData {
  const { subjectName, subjectEmail, subjectPhone, id } = row.resource
  const confidence = 70 + (digit(id, 0) * 16 + digit(id, 1)) / 9
  const matched = row.resource.status !== 'rejected'
  const data: Readonly<Record<Place, StepData>> = {
    person: {
      fullName: subjectName,
      dateOfBirth: `19${60 + digit(id, 2)}-0${1 + (digit(id, 3) % 9)}-15`,
    },
    biometric: { liveness: true, faceMatch: matched, confidence: Math.round(confidence) },
    location: { country: 'CA', ipAddress: `203.0.113.${digit(id, 4) * 16 + digit(id, 5)}` },
    contact: { email: subjectEmail, phone: subjectPhone, emailVerified: subjectEmail !== null },
    business: { registered: matched, jurisdiction: 'CA-ON' },
    financial: { accountVerified: matched, lastFour: id.slice(-4).toUpperCase() },
    pep: { matches: [], screenedLists: 4, clear: true },
  }
  return data[place]
}

function inventDocument({ resource: { id, status } }: VerificationRow): StepData {
  return {
    type: digit(id, 6) % 2 === 0 ? 'passport' : 'drivers_license',
    country: 'CA',
    number: `X${id.slice(0, 7).toUpperCase()}`,
    authentic: status !== 'rejected',
  }
}

/** The value of a hexadecimal digit of an id; 0 for any other character. */
function digit(id: string, at: number): number {
  return Number.parseInt(id.charAt(at), 16) || 0
}
