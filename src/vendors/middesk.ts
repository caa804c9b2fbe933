// Middesk (businesses): a hex HMAC-SHA256 of the body; the status of the business is the result.
import { defineVendor, type Vendor } from '../protocol/vendor.ts'
import { bodyHmac } from './body-hmac.ts'

/**
 * Middesk. Read from its public documents and tried on deliveries made from them, not on real ones.
 * Its signature is as public receivers have it that cite its documents; it signs no time. An order
 * or a registration is of the entity of its business.
 */
export function middesk(): Vendor {
  return defineVendor({
    name: 'middesk',
    title: 'Middesk',
    documents: [{ url: 'https://docs.middesk.com/docs/using-webhooks-1', read: '2026-11-28' }],
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
    finality: { final: [], reversible: ['verification.approved', 'verification.rejected'] },
    delivery: { note: 'business.updated is not sent for a change to in_audit' },
    fixtures: [
      { name: 'verification.created', body: business('business.created', 'open') },
      { name: 'verification.submitted', body: business('business.updated', 'in_review') },
      { name: 'verification.approved', body: business('business.updated', 'approved') },
      { name: 'verification.rejected', body: business('business.updated', 'rejected') },
      { body: business('business.updated', 'pending') },
    ],
  })
}

const updated = (status: string) => ({ type: 'business.updated', 'data.object.status': status })

function business(type: string, status: string) {
  const id = '8b7ba3f5-0dd6-4d3a-9a4b-2c2b2a1a4c11'
  return {
    object: 'event',
    id: '0e6f7a34-35d1-4b0a-8a46-9e0f6f1f2e1a',
    type,
    data: { object: { object: 'business', id, external_id: 'user-1', name: 'Acme', status } },
    created_at: '2026-01-28T15:00:39.123Z',
  }
}
