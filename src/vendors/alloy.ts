// Alloy: credentials that you choose come as Basic authentication, so a receiver has to ask for
// `authenticity: 'token'` by name. The header of its HMAC is not in its public documents.
import { schemes } from '../protocol/scheme.ts'
import { defineVendor, type Vendor } from '../protocol/vendor.ts'

/**
 * Alloy. Read from its public documents and tried on deliveries made from them, not on real ones.
 * The secret is `btoa('user:password')`. completed_application tells that a decision is there, and a
 * review of an entity may be one step of many: both keep their own names.
 */
export function alloy(): Vendor {
  return defineVendor({
    name: 'alloy',
    title: 'Alloy',
    documents: [
      { url: 'https://developer.alloy.com/public/docs/authentication-types', read: '2026-11-28' },
      { url: 'https://developer.alloy.com/public/docs/journey-events', read: '2026-11-28' },
      { url: 'https://developer.alloy.com/public/docs/webhook-events', read: '2026-11-28' },
    ],
    triedOn: 'documents',
    scheme: schemes.token({ header: 'Authorization', prefix: 'Basic ' }),
    reading: {
      name: ['data.type', 'type'],
      subject: ['data.journey_application_token', 'data.entity_token'],
      occurredAt: ['data.timestamp', 'timestamp'],
      dedupe: 'body',
      rules: [
        { when: { 'data.type': 'started_application' }, is: 'verification.created' },
        { when: { 'data.type': 'pending_review' }, is: 'verification.submitted' },
      ],
      fields: { clientId: ['data.external_entity_id', 'data.entity_token'] },
    },
    finality: { final: [], reversible: [] },
    delivery: {},
    fixtures: [
      { name: 'verification.created', body: journey('started_application') },
      { name: 'verification.submitted', body: journey('pending_review') },
      { body: journey('completed_application') },
      {
        body: {
          request_token: 'req_9',
          timestamp: 1_769_600_001_000,
          type: 'create:reviews:is_entity',
          data: { entity_token: 'P-1', outcome: 'Approved', timestamp: 1_769_600_000_000 },
        },
      },
    ],
  })
}

function journey(type: string) {
  return {
    request_token: 'req_8',
    timestamp: 1_769_600_001_000,
    type: 'update:journeyapplications:live',
    description: 'Notify on live journey application status change',
    data: {
      journey_application_token: 'JA-1',
      type,
      timestamp: 1_769_600_000_000,
      entity_token: 'P-1',
      external_entity_id: 'user-1',
      journey_token: 'J-1',
    },
  }
}
