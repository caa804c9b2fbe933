// iDenfy: a hex HMAC-SHA256 of the body; only a result with `final: true` is a decision.
import type { EventName } from '../protocol/names.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { bodyHmac, pages } from './preset-parts.ts'

/**
 * iDenfy. Read from its public documents and tried on deliveries made from them, not on real ones.
 * Its support names its addresses on request.
 */
export function idenfy(): Vendor {
  return defineVendor({
    name: 'idenfy',
    title: 'iDenfy',
    documents: pages(`
      2026-11-22 https://documentation.idenfy.com/kyc/webhooks
      2026-11-22 https://documentation.idenfy.com/security/callback-signing
      2026-11-28 https://documentation.idenfy.com/guides/webhooks-overview
      2026-11-28 https://documentation.idenfy.com/api-reference/webhooks/aml-monitoring
      2026-11-28 https://documentation.idenfy.com/api-reference/webhooks/company-review`),
    triedOn: 'documents',
    scheme: bodyHmac('idenfy', 'Idenfy-Signature'),
    reading: {
      // Monitoring has a text as its status.
      name: ['status.overall', 'alertStatus', 'status'],
      subject: ['scanRef', 'monitoringId'],
      occurredAt: ['finishTime'],
      dedupe: 'body',
      rules: [
        { when: { final: false }, is: 'verification.submitted' },
        final('verification.approved', 'APPROVED'),
        final('verification.rejected', 'DENIED'),
        final('verification.expired', 'EXPIRED', 'EXPIRED-DELETED'),
      ],
      fields: { subjectName: 'data.fullName', clientId: 'clientId', submittedAt: 'finishTime' },
    },
    finality: {
      final: ['verification.approved', 'verification.rejected', 'verification.expired'],
      reversible: [],
    },
    delivery: {
      timeout: 10_000,
      success: '2xx',
      note: 'you decide what SUSPECTED means',
    },
    fixtures: [
      { name: 'verification.submitted', body: scan('APPROVED', false) },
      { name: 'verification.approved', body: scan('APPROVED', true) },
      { name: 'verification.rejected', body: scan('DENIED', true) },
      { name: 'verification.expired', body: scan('EXPIRED', true) },
      { body: scan('SUSPECTED', true) },
      { body: { monitoringId: 'mon-1', isActive: true, alertStatus: 'ALERT', status: 'ACTIVE' } },
    ],
  })
}

const final = (is: EventName, ...overall: string[]) => ({
  when: { final: true, 'status.overall': overall },
  is,
})

function scan(overall: string, final: boolean) {
  return {
    final,
    platform: 'PC',
    status: { overall, autoDocument: 'DOC_VALIDATED', autoFace: 'FACE_MATCH', fraudTags: [] },
    data: { docFirstName: 'FIRST-NAME', docLastName: 'LAST-NAME', fullName: 'FULL NAME' },
    scanRef: '328c6766-934e-11ed-bb9b-025ad99a18e7',
    clientId: 'W2GL2K333Y',
    startTime: 1_769_600_000,
    finishTime: 1_769_600_120,
  }
}
