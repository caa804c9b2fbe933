// Plaid Identity Verification: an ES256 JWT that holds the body's SHA-256; the key by its id.
import { schemes } from '../protocol/scheme.ts'
import { defineVendor, type Vendor } from '../protocol/vendor.ts'

/**
 * Plaid. Read from its public documents and tried on deliveries made from them, not on real ones.
 * Its webhooks tell that something changed, not what: they keep their own names, and the handler
 * asks the API. Keys come by `jwks(load, …)` of `idv-webhooks/keys`.
 */
export function plaid(): Vendor {
  return defineVendor({
    name: 'plaid',
    title: 'Plaid Identity Verification',
    documents: [
      { url: 'https://plaid.com/docs/api/webhooks/webhook-verification/', read: '2026-11-22' },
      { url: 'https://plaid.com/docs/identity-verification/webhooks/', read: '2026-11-22' },
    ],
    triedOn: 'documents',
    scheme: schemes.define({
      name: 'plaid',
      header: 'Plaid-Verification',
      algorithm: 'es256',
      key: 'pem',
      encoding: 'base64url',
      grammar: { jwt: { bodyHash: 'request_body_sha256' } },
      signed: '{body}',
      tolerance: 300,
    }),
    reading: {
      name: ['webhook_code'],
      subject: ['identity_verification_id', 'screening_id', 'entity_screening_id'],
      rules: [],
    },
    finality: { final: [], reversible: [] },
    delivery: {
      success: 200,
      note: 'STATUS_UPDATED tells that a result is there: read it with /identity_verification/get',
    },
    fixtures: [
      { body: webhook('STATUS_UPDATED') },
      { body: webhook('STEP_UPDATED') },
      { body: webhook('RETRIED') },
    ],
  })
}

function webhook(code: string) {
  return {
    webhook_type: 'IDENTITY_VERIFICATION',
    webhook_code: code,
    identity_verification_id: 'idv_52xR9LKo77r1Np',
    environment: 'sandbox',
  }
}
