// Checkr (background checks): a hex HMAC-SHA256 of the body under the API key.
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, bodyHmac, pages } from './preset-parts.ts'

/**
 * Checkr. Read from its public documents and tried on deliveries made from them, not on real ones.
 * Public receivers use the API key as the secret. A report with `consider` decides nothing: your
 * adjudication does, and its events are decisions.
 */
export function checkr(): Vendor {
  return defineVendor({
    name: 'checkr',
    title: 'Checkr',
    documents: pages(`
      2026-11-28 https://docs.checkr.com/apis/webhooks`),
    triedOn: 'documents',
    scheme: bodyHmac('checkr', 'X-Checkr-Signature'),
    reading: {
      name: ['type'],
      // An invitation that was completed names its report.
      subject: ['data.object.report_id', 'data.object.id'],
      id: ['id'],
      occurredAt: ['created_at'],
      rules: [
        { when: { type: ['invitation.created', 'report.created'] }, is: 'verification.created' },
        { when: { type: 'invitation.completed' }, is: 'verification.submitted' },
        { when: { type: 'invitation.expired' }, is: 'verification.expired' },
        { when: { ...completed, 'data.object.result': 'clear' }, is: 'verification.approved' },
        // Older accounts have the result as the status.
        { when: { ...completed, 'data.object.status': 'clear' }, is: 'verification.approved' },
        { when: { type: 'report.engaged' }, is: 'verification.approved' },
        { when: { type: 'report.post_adverse_action' }, is: 'verification.rejected' },
        { when: { type: 'report.canceled' }, is: 'verification.canceled' },
      ],
      fields: { clientId: 'data.object.candidate_id' },
    },
    finality: {
      final: ['verification.expired', 'verification.canceled'],
      reversible: approvedOrRejected,
    },
    delivery: {
      success: '2xx',
      note: 'an address that has failed for 60 days is removed',
    },
    fixtures: [
      { name: 'verification.created', body: event('invitation.created', { status: 'pending' }) },
      {
        name: 'verification.submitted',
        body: event('invitation.completed', { report_id: report }),
      },
      { name: 'verification.expired', body: event('invitation.expired', { status: 'expired' }) },
      { name: 'verification.approved', body: event('report.completed', { result: 'clear' }) },
      { name: 'verification.rejected', body: event('report.post_adverse_action', {}) },
      { name: 'verification.canceled', body: event('report.canceled', { status: 'canceled' }) },
      { body: event('report.completed', { result: 'consider' }) },
    ],
  })
}

const completed = { type: 'report.completed' }
const report = '4722c07dd9a10c3985ae432a'

function event(type: string, more: object) {
  return {
    id: '507f1f77bcf86cd799439011',
    object: 'event',
    type,
    created_at: '2026-01-28T15:00:39Z',
    data: {
      object: {
        id: type.startsWith('report') ? report : '2c8447d8e3e5b2a1c0f1',
        candidate_id: 'e44aa283528e6fde7d542194',
        ...more,
      },
    },
  }
}
