// Vouched: a base64 HMAC-SHA1 of the body; a reviewer may overrule the machine afterwards.
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, bodyHmac, pages } from './preset-parts.ts'

/**
 * Vouched. Read from its public documents and tried on deliveries made from them, not on real ones.
 * The key is the signature key, or the private key.
 */
export function vouched(): Vendor {
  return defineVendor({
    name: 'vouched',
    title: 'Vouched',
    documents: pages(`
      2026-11-22 https://docs.vouched.id/docs/webhooks`),
    triedOn: 'documents',
    scheme: bodyHmac('vouched', 'X-Signature', { algorithm: 'sha1', encoding: 'base64' }),
    reading: {
      name: ['status'],
      subject: ['id'],
      occurredAt: ['reviewedAt', 'updatedAt'],
      dedupe: 'body',
      rules: [
        { when: { reviewSuccess: true }, is: 'verification.approved' },
        { when: { reviewSuccess: false }, is: 'verification.rejected' },
        { when: { status: 'completed', 'result.success': true }, is: 'verification.approved' },
        { when: { status: 'completed', 'result.success': false }, is: 'verification.rejected' },
        { when: { status: 'active' }, is: 'verification.created' },
      ],
      fields: {
        subjectName: [asked('firstName'), asked('lastName')],
        subjectEmail: asked('email'),
        subjectPhone: asked('phone'),
        createdAt: 'submitted',
        updatedAt: 'updatedAt',
      },
    },
    finality: { final: [], reversible: approvedOrRejected },
    delivery: {},
    fixtures: [
      { name: 'verification.created', body: job('active', null) },
      { name: 'verification.approved', body: job('completed', true) },
      { name: 'verification.rejected', body: job('completed', false) },
    ],
  })
}

/** A path into what the job was asked for. */
const asked = (parameter: string) => ['request', 'parameters', parameter].join('.')

function job(status: string, success: boolean | null) {
  const parameters = {
    email: 'person@example.com',
    phone: '111-222-3333',
    firstName: 'John',
    lastName: 'Smith',
  }
  return {
    id: 'Pzfsv4FmP',
    status,
    completed: status === 'completed',
    submitted: '2026-01-01T22:59:16+00:00',
    updatedAt: '2026-01-01T22:59:48+00:00',
    reviewedAt: null,
    reviewSuccess: null,
    request: { type: 'id-verification', parameters },
    result: success === null ? null : { success, successWithSuggestion: success },
  }
}
