// Didit: a hex HMAC-SHA256 of the raw body in X-Signature, which each delivery has. Its -V2 and
// -Simple headers sign a rewritten body, for receivers behind a parser, and are not read.
import type { EventName } from '../protocol/names.ts'
import type { Vendor, VendorRule } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, bodyHmac, pages } from './preset-parts.ts'

/** Didit. Read from its public documents and tried on deliveries made from them, not on real ones. */
export function didit(): Vendor {
  return defineVendor({
    name: 'didit',
    title: 'Didit',
    documents: pages(`
      2026-11-22 https://docs.didit.me/integration/webhooks
      2026-11-28 https://docs.didit.me/entities/webhooks
      2026-11-28 https://docs.didit.me/business-verification/webhooks
      2026-11-22 https://docs.didit.me/identity-verification/webhooks`),
    triedOn: 'documents',
    scheme: bodyHmac('didit', 'X-Signature'),
    reading: {
      name: ['webhook_type', 'event', 'status'],
      subject: ['session_id', 'data.session_id'],
      id: ['event_id'],
      // Its times are those of sending: each repeat has new ones.
      volatile: ['timestamp', 'X-Timestamp'],
      rules: [
        ...changed('verification.created', 'Not Started'),
        ...changed('verification.submitted', 'In Review'),
        ...changed('verification.approved', 'Approved'),
        ...changed('verification.rejected', 'Declined'),
        ...changed('verification.expired', 'Abandoned', 'Expired'),
      ],
      fields: { clientId: ['vendor_data', 'data.vendor_data'] },
    },
    finality: { final: ['verification.expired'], reversible: approvedOrRejected },
    delivery: {
      retries: [60_000, 240_000],
      success: '2xx',
      note: 'only 5xx, 404, timeouts and failed connections are repeated; X-Signature-V2 is not needed',
    },
    addresses: ['18.203.201.92'],
    fixtures: [
      { name: 'verification.created', body: session('Not Started', 1) },
      { name: 'verification.submitted', body: session('In Review', 2) },
      { name: 'verification.approved', body: session('Approved', 3) },
      { name: 'verification.rejected', body: session('Declined', 4) },
      { name: 'verification.expired', body: session('Expired', 5) },
      { name: 'verification.approved', body: enveloped('Approved') },
      { body: session('In Progress', 6) },
      { body: { webhook_type: 'user.status.updated', event_id: 'evt_7', vendor_data: 'user-1' } },
    ],
  })
}

/**
 * Paths in a flat body, and in a body with an envelope, as the page of business verification shows
 * it.
 */
const changed = (is: EventName, ...statuses: string[]): readonly VendorRule[] => [
  { when: { webhook_type: ['status.updated', null], event: null, status: statuses }, is },
  { when: { event: 'status.updated', 'data.status': statuses }, is },
]

function session(status: string, at: number) {
  return {
    event_id: `99999999-aaaa-bbbb-cccc-00000000000${at}`,
    session_id: '11111111-2222-3333-4444-555555555555',
    status,
    webhook_type: 'status.updated',
    created_at: 1_769_600_000,
    timestamp: 1_769_600_000,
    workflow_id: '66666666-7777-8888-9999-000000000000',
    vendor_data: 'user-1',
    metadata: {},
  }
}

const enveloped = (status: string) => ({
  event: 'status.updated',
  event_id: 'evt_01H8X',
  application_id: 'app_abc123',
  timestamp: '2026-04-18T12:30:00Z',
  data: {
    session_id: '11111111-2222-3333-4444-555555555555',
    session_kind: 'business',
    vendor_data: 'user-1',
    status,
  },
})
