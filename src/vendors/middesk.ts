// Middesk (businesses): a hex HMAC-SHA256 of the body; the status of the business is the result.
import { checkOptionNames } from '../foundation/check.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, behind, bodyHmac, pages } from './preset-parts.ts'
import type { VendorApi } from './vendor-api.ts'

/**
 * Middesk. Read from its public documents and tried on deliveries made from them, not on real ones.
 * Its signature is as public receivers have it that cite its documents; it signs no time. An order
 * or a registration is of the entity of its business. With `api: { token }` an update without a
 * status has that of its business, read as a collection of API examples shows it. Neither shows a
 * time of a decision.
 */
export function middesk(options: { readonly api?: VendorApi<'token'> } = {}): Vendor {
  checkOptionNames('vendors.middesk', options, ['api'])
  const vendor: Vendor = {
    name: 'middesk',
    title: 'Middesk',
    documents: pages(`
      2026-11-28 https://docs.middesk.com/docs/using-webhooks-1
      2026-11-29 https://raw.githubusercontent.com/api-evangelist/middesk/main/examples/middesk-get-business-example.json`),
    triedOn: 'documents',
    scheme: bodyHmac('middesk', 'X-Middesk-Signature-256'),
    reading: {
      name: ['type'],
      subject: ['data.object.business_id', 'data.object.id'],
      id: ['id'],
      occurredAt: ['created_at'],
      rules: [
        { when: { type: 'business.created' }, is: 'verification.created' },
        { when: updated('in_review'), is: 'verification.submitted' },
        { when: updated('approved'), is: 'verification.approved' },
        { when: updated('rejected'), is: 'verification.rejected' },
      ],
      fields: { subjectName: 'data.object.name', clientId: 'data.object.external_id' },
    },
    finality: { final: [], reversible: approvedOrRejected },
    delivery: { note: 'business.updated is not sent for a change to in_audit' },
    fixtures: [
      { name: 'verification.created', body: business('business.created', 'open') },
      { name: 'verification.submitted', body: business('business.updated', 'in_review') },
      { name: 'verification.approved', body: business('business.updated', 'approved') },
      { name: 'verification.rejected', body: business('business.updated', 'rejected') },
      { body: business('business.updated', 'pending') },
      { body: business('business.updated') },
    ],
    decisions: [businesses],
  }
  return defineVendor(vendor, options.api)
}

const updated = (status: string) => ({ type: 'business.updated', 'data.object.status': status })

function business(type: string, status?: string) {
  return {
    object: 'event',
    id: '0e6f7a34-35d1-4b0a-8a46-9e0f6f1f2e1a',
    type,
    data: { object: { ...acme, ...(status !== undefined && { status }) } },
    created_at: '2026-01-28T15:00:39.123Z',
  }
}

const acme = {
  object: 'business',
  id: '8b7ba3f5-0dd6-4d3a-9a4b-2c2b2a1a4c11',
  external_id: 'user-1',
  name: 'Acme',
}

const businesses = behind({
  hints: { type: 'business.updated', 'data.object.status': null },
  request: {
    baseUrl: 'https://api.middesk.com',
    path: '/v1/businesses/{id}',
    headers: { authorization: 'Bearer {token}' },
  },
  reading: {
    subject: ['id'],
    fields: { subjectName: 'name', clientId: 'external_id', createdAt: 'created_at' },
  },
  at: ['status'],
  states: {
    pending: null,
    in_review: 'verification.submitted',
    approved: 'verification.approved',
    rejected: 'verification.rejected',
  },
  record: (status) => ({ ...acme, status }),
})
