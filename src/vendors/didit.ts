// Didit: a hex HMAC-SHA256 of the raw body in X-Signature. Its -V2 and -Simple headers sign a
// rewritten body and are not read.
import { schemes } from '../protocol/scheme.ts'
import { defineVendor, type Vendor } from '../protocol/vendor.ts'

/** Didit. Read from its public documents and tried on deliveries made from them, not on real ones. */
export function didit(): Vendor {
  return defineVendor({
    name: 'didit',
    title: 'Didit',
    documents: [
      { url: 'https://docs.didit.me/integration/webhooks', read: '2026-11-22' },
      { url: 'https://docs.didit.me/identity-verification/webhooks', read: '2026-11-22' },
    ],
    triedOn: 'documents',
    scheme: schemes.define({
      name: 'didit',
      header: 'X-Signature',
      algorithm: 'sha256',
      key: 'utf8',
      encoding: 'hex',
      grammar: 'plain',
      signed: '{body}',
    }),
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
    delivery: { success: '2xx' },
    addresses: ['18.203.201.92'],
    fixtures: [
      { name: 'verification.created', body: session('Not Started', 1) },
      { name: 'verification.submitted', body: session('In Review', 2) },
      { name: 'verification.approved', body: session('Approved', 3) },
      { name: 'verification.rejected', body: session('Declined', 4) },
      { name: 'verification.expired', body: session('Expired', 5) },
      { body: session('In Progress', 6) },
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
