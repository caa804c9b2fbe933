// Veriff: a hex HMAC-SHA256 of the body. Decisions, events, Full Auto results and screenings go to
// one address or several. A decision that was sent may be replaced by a later one.
import type { Vendor, VendorRule } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, bodyHmac, pages } from './preset-parts.ts'

/**
 * Veriff. Read from its public documents and tried on signatures that it has published, not on real
 * deliveries. Its older X-SIGNATURE is a plain hash and is not accepted. Full Auto is read as its
 * page names the fields; an address check keeps its own name, because no page shows its body.
 */
export function veriff(): Vendor {
  return defineVendor({
    name: 'veriff',
    title: 'Veriff',
    documents: pages(`
      2026-11-28 https://devdocs.veriff.com/docs/decision-webhook
      2026-11-28 https://devdocs.veriff.com/docs/event-webhook
      2026-11-28 https://devdocs.veriff.com/docs/full-auto-webhook
      2026-11-28 https://devdocs.veriff.com/docs/watchlist-screening-webhook
      2026-11-22 https://devdocs.veriff.com/docs/webhooks-guide`),
    triedOn: 'vectors',
    scheme: bodyHmac('veriff', ['X-HMAC-SIGNATURE', 'VRF-HMAC-SIGNATURE']),
    reading: {
      name: [
        ...['verification.status', 'action', 'data.verification.decision'],
        ...['checkType', 'data.checkType', 'eventType'],
      ],
      subject: ['verification.id', 'sessionId', 'data.sessionId', 'data.verification.id', 'id'],
      // Step events state no time: a resubmission is another attempt.
      id: ['attemptId', 'action'],
      occurredAt: ['verification.decisionTime', 'time', 'acceptanceTime', 'createdAt'],
      dedupe: 'body',
      rules: [
        { when: { action: 'started' }, is: 'verification.created' },
        { when: { action: 'submitted' }, is: 'verification.submitted' },
        ...['verification.status', 'data.verification.decision'].flatMap(decisionsAt),
      ],
      fields: {
        subjectName: ['verification.person.firstName', 'verification.person.lastName'],
        clientId: ['verification.vendorData', 'vendorData', 'data.vendorData'],
        submittedAt: 'verification.acceptanceTime',
      },
    },
    finality: { final: ['verification.expired'], reversible: approvedOrRejected },
    delivery: {
      success: 200,
      note: 'resubmission_requested comes five minutes late and decides nothing',
    },
    fixtures: [
      { name: 'verification.created', body: step(7001, 'started') },
      { name: 'verification.submitted', body: step(7002, 'submitted') },
      { name: 'verification.approved', body: decision(9001, 'approved') },
      { name: 'verification.rejected', body: decision(9102, 'declined') },
      { name: 'verification.expired', body: decision(9104, 'expired') },
      { name: 'verification.approved', body: fullAuto('approved') },
      { body: decision(9103, 'resubmission_requested') },
      { body: screening },
    ],
  })
}

/** The rules of a decision, which Full Auto writes to another place. */
const decisionsAt = (path: string): readonly VendorRule[] => [
  { when: { [path]: 'approved' }, is: 'verification.approved' },
  { when: { [path]: 'declined' }, is: 'verification.rejected' },
  { when: { [path]: ['expired', 'abandoned'] }, is: 'verification.expired' },
]

const session = '12df6045-3846-3e45-946a-14fa6136d78b'
const attemptId = '00bca969-b53a-4fad-b065-874d41a7b2b8'

function step(code: number, action: string) {
  return { id: session, attemptId, feature: 'selfid', code, action, vendorData: '12345678' }
}

function decision(code: number, status: string) {
  return {
    status: 'success',
    verification: {
      id: session,
      attemptId,
      code,
      status,
      reason: null,
      reasonCode: null,
      vendorData: '12345678',
      acceptanceTime: '2026-02-10T10:46:03.000Z',
      decisionTime: '2026-02-10T10:47:11.000Z',
      person: { firstName: 'SARAH', lastName: 'MORGAN', dateOfBirth: null },
    },
    technicalData: { ip: '192.0.2.1' },
  }
}

function fullAuto(decided: string) {
  return {
    status: 'success',
    eventType: 'fullauto',
    sessionId: session,
    attemptId,
    vendorData: '12345678',
    acceptanceTime: '2026-02-10T10:46:03.000Z',
    data: { verification: { decision: decided, decisionScore: 0.98 } },
  }
}

const screening = {
  checkType: 'updated_result',
  sessionId: session,
  attemptId,
  vendorData: '12345678',
  matchStatus: 'possible_match',
  totalHits: 1,
}
