// Alloy: credentials that you choose come as Basic authentication, so a receiver has to ask for
// `authenticity: 'token'` by name. The header of its HMAC is not in its public documents.
import { checkOptionNames } from '../foundation/check.ts'
import { schemes } from '../protocol/scheme.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, behind, pages } from './preset-parts.ts'
import type { VendorApi } from './vendor-api.ts'

/**
 * Alloy. Read from its public documents and tried on deliveries made from them, not on real ones.
 * The secret is `btoa('user:password')`. A review of an entity may be one step of many and keeps its
 * own name. With `api`, whose key and secret are a workflow's token and secret, completed_application
 * has the outcome of its application: Approved or Denied. Other outcomes are of your own making and
 * decide nothing. The documents show no time of an outcome, and no whole application.
 */
export function alloy(options: { readonly api?: VendorApi<'key' | 'secret'> } = {}): Vendor {
  checkOptionNames('vendors.alloy', options, ['api'])
  const vendor: Vendor = {
    name: 'alloy',
    title: 'Alloy',
    documents: pages(`
      2026-11-28 https://developer.alloy.com/public/docs/authentication-types
      2026-11-28 https://developer.alloy.com/public/docs/journey-events
      2026-11-28 https://developer.alloy.com/public/docs/webhook-events
      2026-11-29 https://developer.alloy.com/public/docs/statuses-and-outcomes`),
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
    finality: { final: [], reversible: approvedOrRejected },
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
    decisions: [applications],
  }
  return defineVendor(vendor, options.api)
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

const applications = behind({
  of: { type: ['update:journeyapplications:live', 'update:journeyapplications:sandbox'] },
  hints: { 'data.type': 'completed_application' },
  request: {
    baseUrl: 'https://api.alloy.co',
    path: '/v1/journeys/{data.journey_token}/applications/{id}',
    headers: { authorization: 'Basic {basic}' },
  },
  reading: { subject: ['journey_application_token'] },
  at: ['status', 'complete_outcome'],
  states: {
    waiting_review: null,
    'completed:Approved': 'verification.approved',
    'completed:Denied': 'verification.rejected',
    'completed:Manual Review': null,
  },
  record: (status, outcome) => ({
    journey_application_token: 'JA-1',
    journey_token: 'J-1',
    status,
    complete_outcome: outcome ?? null,
  }),
})
