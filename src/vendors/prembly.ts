// Prembly (Identitypass): a base64 HMAC-SHA256 of the body. Its key is the one that Prembly calls
// your public key: keep it secret, because its holder can sign.
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { bodyHmac, pages } from './preset-parts.ts'

/**
 * Prembly. Read from its public documents and tried on deliveries made from them, not on real ones.
 * They tell events apart by their fields and do not show what a finished workflow holds: nothing but
 * a review has a name of ours, and the handler asks the API.
 */
export function prembly(): Vendor {
  return defineVendor({
    name: 'prembly',
    title: 'Prembly',
    documents: pages(`
      2026-11-28 https://docs.prembly.com/guides/developers/webhooks/verifying
      2026-11-28 https://docs.prembly.com/guides/developers/webhooks/events`),
    triedOn: 'documents',
    scheme: bodyHmac('prembly', 'X-Prembly-Signature', { encoding: 'base64' }),
    reading: {
      name: ['event', 'data.event', 'data.channel_code'],
      subject: ['data.verification_id', 'data.workflow_id', 'verification.reference'],
      occurredAt: ['completed_at', 'data.completed_at'],
      dedupe: 'body',
      rules: [{ when: { event: 'workflow.process.manual_review' }, is: 'verification.submitted' }],
    },
    finality: { final: [], reversible: [] },
    delivery: { note: 'keep your "public key" secret: Prembly signs with it' },
    fixtures: [
      { name: 'verification.submitted', body: workflow('manual_review') },
      { body: workflow('completed') },
      { body: workflow('failed') },
    ],
  })
}

const workflow = (what: string) => ({
  event: `workflow.process.${what}`,
  completed_at: '2026-01-28T15:00:39Z',
  data: { verification_id: '3fa85f64-5717-4562-b3fc-2c963f66afa6' },
})
