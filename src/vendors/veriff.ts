// Veriff: a hex HMAC-SHA256 of the body, decisions and events to two addresses or one. A decision
// that was sent may be replaced by a later one.
import { schemes } from '../protocol/scheme.ts'
import { defineVendor, type Vendor } from '../protocol/vendor.ts'

/**
 * Veriff. Read from its public documents and tried on deliveries made from them, not on real ones.
 * Its older X-SIGNATURE is a plain hash and is not accepted.
 */
export function veriff(): Vendor {
  return defineVendor({
    name: 'veriff',
    title: 'Veriff',
    documents: [
      { url: 'https://devdocs.veriff.com/docs/decision-webhook', read: '2026-11-22' },
      { url: 'https://devdocs.veriff.com/docs/event-webhook', read: '2026-11-22' },
      { url: 'https://devdocs.veriff.com/docs/webhooks-guide', read: '2026-11-22' },
    ],
    triedOn: 'documents',
    scheme: schemes.define({
      name: 'veriff',
      header: 'X-HMAC-SIGNATURE',
      algorithm: 'sha256',
      key: 'utf8',
      encoding: 'hex',
      grammar: 'plain',
      signed: '{body}',
    }),
    reading: {
      name: ['verification.status', 'action'],
      subject: ['verification.id', 'id'],
      // Of its step events, which state no time: a resubmission is another attempt.
      id: ['attemptId', 'action'],
      occurredAt: ['verification.decisionTime'],
      dedupe: 'body',
      rules: [
        { when: { action: 'started' }, is: 'verification.created' },
        { when: { action: 'submitted' }, is: 'verification.submitted' },
        { when: { 'verification.status': 'approved' }, is: 'verification.approved' },
        { when: { 'verification.status': 'declined' }, is: 'verification.rejected' },
        { when: { 'verification.status': ['expired', 'abandoned'] }, is: 'verification.expired' },
      ],
      fields: {
        subjectName: ['verification.person.firstName', 'verification.person.lastName'],
        clientId: 'verification.vendorData',
        submittedAt: 'verification.acceptanceTime',
      },
    },
    finality: {
      final: ['verification.expired'],
      reversible: ['verification.approved', 'verification.rejected'],
    },
    delivery: {
      success: 200,
      note: 'resubmission_requested comes five minutes late and decides nothing: it keeps its own name, as review does',
    },
    fixtures: [
      { name: 'verification.created', body: step(7001, 'started') },
      { name: 'verification.submitted', body: step(7002, 'submitted') },
      { name: 'verification.approved', body: decision(9001, 'approved') },
      { name: 'verification.rejected', body: decision(9102, 'declined') },
      { name: 'verification.expired', body: decision(9104, 'expired') },
      { body: decision(9103, 'resubmission_requested') },
    ],
  })
}

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
