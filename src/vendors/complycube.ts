// ComplyCube: a hex HMAC-SHA256 of the body. An event has the outcome of its check in its type, and
// a webhook that takes check.completed as well gets each outcome twice.
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, bodyHmac, pages } from './preset-parts.ts'

/**
 * ComplyCube. Read from its public documents and tried on signatures that it has published, not on
 * real deliveries. A decision is that of one check; sessions of a workflow keep their own names,
 * because no page shows what they hold.
 */
export function complycube(): Vendor {
  return defineVendor({
    name: 'complycube',
    title: 'ComplyCube',
    documents: pages(`
      2026-11-28 https://docs.complycube.com/documentation/integration-resources/webhooks
      2026-11-28 https://docs.complycube.com/api-reference/other-resources/webhooks`),
    triedOn: 'vectors',
    scheme: bodyHmac('complycube', 'ComplyCube-Signature'),
    reading: {
      name: ['type'],
      subject: ['payload.id'],
      id: ['id'],
      occurredAt: ['createdAt'],
      rules: [
        { when: { type: 'check.pending' }, is: 'verification.created' },
        { when: { type: 'check.completed.clear' }, is: 'verification.approved' },
        { when: { type: 'check.completed.rejected' }, is: 'verification.rejected' },
        { when: { ...completed, 'payload.outcome': 'clear' }, is: 'verification.approved' },
        { when: { ...completed, 'payload.outcome': 'rejected' }, is: 'verification.rejected' },
        { when: { type: 'client.created' }, is: 'client.created' },
        { when: { type: 'client.updated' }, is: 'client.updated' },
        { when: { type: 'client.deleted' }, is: 'client.deleted' },
      ],
      fields: { clientId: 'payload.clientId' },
    },
    finality: { final: [], reversible: approvedOrRejected },
    delivery: {
      timeout: 15_000,
      retries: [60_000, 120_000, 480_000],
      success: '2xx',
      note: 'ten failures disable the webhook; subscribe to check.completed or to its outcomes, not to both',
    },
    fixtures: [
      { name: 'verification.created', body: event('check.pending', check()) },
      { name: 'verification.approved', body: event('check.completed.clear', check('clear')) },
      { name: 'verification.rejected', body: event('check.completed.rejected', check('rejected')) },
      { name: 'verification.approved', body: event('check.completed', check('clear')) },
      { name: 'client.created', body: event('client.created', { id: client }) },
      { body: event('check.completed.attention', check('attention')) },
    ],
  })
}

const completed = { type: ['check.completed', 'check.complete'] }

const client = '5eb04fcd0f3e360008035eb1'

const check = (outcome?: string) => ({
  id: '5ebd40714f23960008c81527',
  clientId: client,
  type: 'document_check',
  ...(outcome && { outcome }),
})

function event(type: string, payload: object) {
  const resourceType = type.slice(0, type.indexOf('.'))
  const createdAt = '2026-01-28T15:00:39.123Z'
  return { id: '5ebd40714f23960008c81530', type, resourceType, payload, createdAt }
}
