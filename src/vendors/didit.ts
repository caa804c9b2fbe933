// Didit: a hex HMAC-SHA256 of the raw body in X-Signature, which each delivery has. Its -V2 and
// -Simple headers sign a rewritten body, for receivers behind a parser, and are not read.
import { defineVendor, type Vendor } from '../protocol/vendor.ts'
import { bodyHmac } from './body-hmac.ts'

/** Didit. Read from its public documents and tried on deliveries made from them, not on real ones. */
export function didit(): Vendor {
  return defineVendor({
    name: 'didit',
    title: 'Didit',
    documents: [
      { url: 'https://docs.didit.me/integration/webhooks', read: '2026-11-22' },
      { url: 'https://docs.didit.me/entities/webhooks', read: '2026-11-28' },
      { url: 'https://docs.didit.me/identity-verification/webhooks', read: '2026-11-22' },
    ],
    triedOn: 'documents',
    scheme: bodyHmac('didit', 'X-Signature'),
    reading: {
      name: ['webhook_type', 'status'],
      subject: ['session_id'],
      id: ['event_id'],
      // Its times are those of sending: each repeat has new ones.
      volatile: ['timestamp', 'X-Timestamp'],
      rules: [
        { when: changed('Not Started'), is: 'verification.created' },
        { when: changed('In Review'), is: 'verification.submitted' },
        { when: changed('Approved'), is: 'verification.approved' },
        { when: changed('Declined'), is: 'verification.rejected' },
        { when: changed('Abandoned', 'Expired'), is: 'verification.expired' },
      ],
      fields: { clientId: 'vendor_data' },
    },
    finality: {
      final: ['verification.expired'],
      reversible: ['verification.approved', 'verification.rejected'],
    },
    delivery: {
      retries: [60_000, 240_000],
      success: '2xx',
      note: 'only 5xx, 404, timeouts and failed connections are repeated',
    },
    addresses: ['18.203.201.92'],
    fixtures: [
      { name: 'verification.created', body: session('Not Started', 1) },
      { name: 'verification.submitted', body: session('In Review', 2) },
      { name: 'verification.approved', body: session('Approved', 3) },
      { name: 'verification.rejected', body: session('Declined', 4) },
      { name: 'verification.expired', body: session('Expired', 5) },
      { body: session('In Progress', 6) },
      { body: { webhook_type: 'user.status.updated', event_id: 'evt_7', vendor_data: 'user-1' } },
    ],
  })
}

const changed = (...statuses: string[]) => ({
  webhook_type: ['status.updated', null],
  status: statuses,
})

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
