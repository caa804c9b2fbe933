// Cashfree Secure ID (India): a base64 HMAC-SHA256 of the time in milliseconds and the body. Its
// older webhooks, whose signature is in the JSON, are not accepted.
import { checkOptionNames } from '../foundation/check.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { bodyHmac, pages } from './preset-parts.ts'

/**
 * Cashfree. Read from its public documents and tried on deliveries made from them, not on real ones.
 * A KYC link succeeds once every verification behind it is complete; its documents do not say that
 * each has passed, so that is a submission and no decision.
 */
export function cashfree(options: { readonly tolerance?: number | 'none' } = {}): Vendor {
  checkOptionNames('vendors.cashfree', options, ['tolerance'])
  return defineVendor({
    name: 'cashfree',
    title: 'Cashfree Secure ID',
    documents: pages(`
      2026-11-28 https://www.cashfree.com/docs/api-reference/vrs/webhook-signature-verification`),
    triedOn: 'documents',
    scheme: bodyHmac('cashfree', 'x-webhook-signature', {
      encoding: 'base64',
      signed: '{timestamp}{body}',
      timestamp: { header: 'x-webhook-timestamp', format: 'milliseconds' },
      tolerance: options.tolerance ?? 300,
    }),
    reading: {
      name: ['event_type'],
      subject: ['data.verification_id', 'data.reference_id'],
      occurredAt: ['event_time'],
      dedupe: 'body',
      rules: [
        { when: { event_type: 'KYC_LINK_SUCCESS' }, is: 'verification.submitted' },
        { when: { event_type: 'KYC_LINK_EXPIRED' }, is: 'verification.expired' },
      ],
    },
    finality: { final: ['verification.expired'], reversible: [] },
    delivery: {},
    fixtures: [
      { name: 'verification.submitted', body: event('KYC_LINK_SUCCESS') },
      { name: 'verification.expired', body: event('KYC_LINK_EXPIRED') },
      { body: event('VKYC_AUDITOR_REVIEW_COMPLETED') },
    ],
  })
}

function event(type: string) {
  return {
    event_type: type,
    event_time: '2026-01-28T15:00:39Z',
    version: 'v1',
    data: { verification_id: 'ABC00123', reference_id: 1492 },
  }
}
