// The deliveries that everything is measured with: events of this service, of five sizes, made from
// a seed, and signed in the way of each contender.
import { createHmac } from 'node:crypto'

export const sizes = { '0.5K': 512, '2K': 2_048, '16K': 16_384, '256K': 262_144, '1M': 1_048_576 }
export type Size = keyof typeof sizes

export const secret = '3f9c1b7de2a64c0f8d5a9b1e7c2f4a60'
/** The key in the spelling of Standard Webhooks. */
export const encodedSecret = `whsec_${Buffer.from(secret).toString('base64')}`
export const eventName = 'verification.approved'

export function makeBody(size: Size): Buffer<ArrayBuffer> {
  const bytes = sizes[size]
  const random = generator(7)
  const event = {
    id: `evt_${hex(random, 24)}`,
    event: eventName,
    createdAt: '2026-03-14T09:26:53.000Z',
    data: size === '0.5K' ? { ...thin(random) } : assembled(random),
  }
  const documents: unknown[] = 'documents' in event.data ? event.data.documents : []
  let length = Buffer.byteLength(JSON.stringify(event))
  for (let next = document(random); ; next = document(random)) {
    const more = Buffer.byteLength(JSON.stringify(next)) + 1
    if (size === '0.5K' || length + more > bytes) break
    documents.push(next)
    length += more
  }
  // The last bytes: as long a note as is missing.
  const missing = bytes - Buffer.byteLength(JSON.stringify(event)) - ',"note":""'.length
  if (missing > 0) Object.assign(event.data, { note: 'n'.repeat(missing) })
  return Buffer.from(JSON.stringify(event))
}

export function digest(body: Uint8Array, key = secret): string {
  return createHmac('sha256', key).update(body).digest('hex')
}

/** The request as a server hands it over. */
export function headersOf(body: Uint8Array, signature?: string): Record<string, string> {
  return {
    host: 'hooks.example.com',
    'user-agent': 'identity-service/2.14',
    accept: '*/*',
    'content-type': 'application/json',
    'content-length': String(body.length),
    ...(signature !== undefined && { 'x-service-signature': signature }),
  }
}

/** The headers that every route needs, its own and its peers'. */
export function requestHeaders(body: Uint8Array, signature: string): Record<string, string> {
  return {
    ...headersOf(body, signature),
    'x-hub-signature-256': `sha256=${signature}`,
    'x-github-event': 'check_run',
    'x-github-delivery': '1',
  }
}

/** The headers of Standard Webhooks, under the prefix that each of its libraries reads. */
function standardHeaders(body: Uint8Array, prefix: 'webhook' | 'svix') {
  const id = 'msg_2a'
  const time = String(Math.floor(Date.now() / 1000))
  const key = Buffer.from(encodedSecret.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64')
  return {
    [`${prefix}-id`]: id,
    [`${prefix}-timestamp`]: time,
    [`${prefix}-signature`]: `v1,${signature}`,
  }
}

/** The deliveries, signed again before their five minutes of tolerance are over. */
export function freshHeaders(body: Uint8Array, prefix: 'webhook' | 'svix') {
  let headers = standardHeaders(body, prefix)
  let made = performance.now()
  return () => {
    if (performance.now() - made > 120_000) {
      headers = standardHeaders(body, prefix)
      made = performance.now()
    }
    return headers
  }
}

type Random = () => number

function generator(seed: number): Random {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

function hex(random: Random, length: number): string {
  return Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('')
}

function uuid(random: Random): string {
  const part = (length: number) => hex(random, length)
  return `${part(8)}-${part(4)}-4${part(3)}-a${part(3)}-${part(12)}`
}

function thin(random: Random) {
  return {
    id: uuid(random),
    orgId: uuid(random),
    type: 'kyc',
    status: 'approved',
    clientId: uuid(random),
    expiresDays: 7,
    createdAt: '2026-03-14T09:21:07.000Z',
    updatedAt: '2026-03-14T09:26:53.000Z',
  }
}

function assembled(random: Random) {
  return {
    ...thin(random),
    requirements: ['document', 'person', 'biometric_face'],
    currentStep: null,
    subjectName: 'Zoë Łukaszewicz',
    subjectEmail: 'zoe@example.com',
    subjectPhone: '+44 20 7946 0000',
    requestorName: 'Amelia Hart',
    requestorEmail: 'amelia@example.com',
    requestorCompany: 'Hart & Sons',
    matterId: uuid(random),
    expiresAt: '2026-03-21T09:21:07.000Z',
    submittedAt: '2026-03-14T09:25:11.000Z',
    accessToken: hex(random, 32),
    score: 97.31,
    person: { firstName: 'Zoë', lastName: 'Łukaszewicz', dateOfBirth: '1990-01-31' },
    documents: [] as unknown[],
    biometric: { match: 0.98, liveness: 'passed' },
    location: null,
    contact: null,
    business: null,
    financial: null,
    pep: { matches: [] },
    steps: [{ step: 'document', at: '2026-03-14T09:23:00.000Z', result: 'passed' }],
  }
}

function document(random: Random) {
  return {
    id: uuid(random),
    type: random() < 0.5 ? 'passport' : 'driving_licence',
    number: hex(random, 9).toUpperCase(),
    country: 'GBR',
    expiresOn: '2031-07-01',
    match: Math.round(random() * 1e4) / 1e4,
    checks: { tampering: 'clear', mrz: 'clear', expiry: random() < 0.2 ? 'consider' : 'clear' },
    note: 'Reviewed by an analyst; no further action is required at this stage.',
  }
}
