// Sumsub: a hex HMAC of the body; the dashboard chooses the algorithm. A GREEN may be followed by
// a RED, so any decision may be replaced.
import { checkChoice, checkOptionNames } from '../foundation/check.ts'
import type { Vendor, VendorFixture } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, bodyHmac, pages } from './preset-parts.ts'

/**
 * Sumsub. Read from its public documents and tried on deliveries made from them, not on real ones.
 * `algorithm` is the one that its dashboard shows.
 */
export function sumsub(options: { readonly algorithm?: 'sha256' | 'sha512' } = {}): Vendor {
  checkOptionNames('vendors.sumsub', options, ['algorithm'])
  checkChoice('algorithm', options.algorithm, ['sha256', 'sha512'])
  return defineVendor({
    name: 'sumsub',
    title: 'Sumsub',
    documents: pages(`
      2026-11-22 https://docs.sumsub.com/docs/webhook-manager
      2026-11-22 https://docs.sumsub.com/docs/user-verification-webhooks
      2026-11-22 https://docs.sumsub.com/docs/receive-and-interpret-results-via-api`),
    triedOn: 'documents',
    // Pinned: the header X-Payload-Digest-Alg is not signed, so it is not read.
    scheme: bodyHmac('sumsub', 'X-Payload-Digest', { algorithm: options.algorithm ?? 'sha256' }),
    reading: {
      name: ['type'],
      subject: ['applicantId'],
      id: ['correlationId', 'applicantId', 'type'],
      occurredAt: ['createdAtMs', 'createdAt'],
      rules: [
        { when: { type: 'applicantCreated' }, is: 'verification.created' },
        { when: { type: 'applicantPending' }, is: 'verification.submitted' },
        { when: reviewed('GREEN'), is: 'verification.approved' },
        // A RED that may be tried again decides nothing and keeps its own name.
        {
          when: { ...reviewed('RED'), 'reviewResult.reviewRejectType': ['FINAL', null] },
          is: 'verification.rejected',
        },
        { when: { type: 'applicantDeleted' }, is: 'client.deleted' },
      ],
      fields: { clientId: 'externalUserId' },
    },
    finality: { final: [], reversible: approvedOrRejected },
    delivery: {
      timeout: 5000,
      retries: [300_000, 3_600_000, 18_000_000, 64_800_000],
      success: '2xx',
      note: 'an address that keeps failing is disabled',
    },
    fixtures: fixtures(),
  })
}

function fixtures(): readonly VendorFixture[] {
  return [
    { name: 'verification.created', body: applicant('applicantCreated', 'init') },
    { name: 'verification.submitted', body: applicant('applicantPending', 'pending') },
    {
      name: 'verification.approved',
      body: applicant('applicantReviewed', 'completed', { reviewAnswer: 'GREEN' }),
    },
    {
      name: 'verification.rejected',
      body: applicant('applicantReviewed', 'completed', {
        reviewAnswer: 'RED',
        rejectLabels: ['FORGERY'],
        reviewRejectType: 'FINAL',
      }),
    },
    { name: 'client.deleted', body: applicant('applicantDeleted', 'completed') },
    {
      body: applicant('applicantReviewed', 'completed', {
        reviewAnswer: 'RED',
        rejectLabels: ['BAD_PROOF_OF_IDENTITY'],
        reviewRejectType: 'RETRY',
      }),
    },
  ]
}

const reviewed = (answer: string) => ({
  type: 'applicantReviewed',
  'reviewResult.reviewAnswer': answer,
})

function applicant(type: string, reviewStatus: string, reviewResult?: object) {
  return {
    applicantId: '5cb56e8e0a975a35f333cb83',
    inspectionId: '5cb56e8e0a975a35f333cb84',
    correlationId: 'req-a260b669-4f14-4bb5-a4c5-ac0218acb9a4',
    externalUserId: 'user-1',
    levelName: 'basic-kyc-level',
    applicantType: 'individual',
    type,
    ...(reviewResult && { reviewResult }),
    reviewStatus,
    createdAtMs: '2026-02-21 13:23:19.321',
    sandboxMode: true,
  }
}
