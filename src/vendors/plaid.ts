// Plaid Identity Verification: an ES256 JWT that holds the body's SHA-256; the key by its id. A
// webhook tells that something changed; the decision is behind the API.
import { checkOptionNames } from '../foundation/check.ts'
import { schemes } from '../protocol/scheme.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, behind, pages } from './preset-parts.ts'
import type { VendorApi } from './vendor-api.ts'

/**
 * Plaid. Read from its public documents and tried on deliveries made from them, not on real ones.
 * With `api` STATUS_UPDATED has the decision of /identity_verification/get. The documents leave open
 * whether a review in the dashboard changes completed_at. Keys come by `jwks(load, …)` of
 * `idv-webhooks/keys`. Plaid's sandbox is `baseUrl: 'https://sandbox.plaid.com'`.
 */
export function plaid(options: { readonly api?: VendorApi<'clientId' | 'secret'> } = {}): Vendor {
  checkOptionNames('vendors.plaid', options, ['api'])
  const vendor: Vendor = {
    name: 'plaid',
    title: 'Plaid Identity Verification',
    documents: pages(`
      2026-11-22 https://plaid.com/docs/api/webhooks/webhook-verification/
      2026-11-29 https://plaid.com/docs/identity-verification/webhooks/
      2026-11-29 https://plaid.com/docs/api/products/identity-verification/`),
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
    finality: {
      final: ['verification.canceled', 'verification.expired'],
      reversible: approvedOrRejected,
    },
    delivery: { success: 200 },
    fixtures: [
      { body: webhook('STATUS_UPDATED') },
      { body: webhook('STEP_UPDATED') },
      { body: webhook('RETRIED') },
    ],
    decisions: [attempts],
  }
  return defineVendor(vendor, options.api)
}

const id = 'idv_52xR9LKo77r1Np'

function webhook(code: string) {
  return {
    webhook_type: 'IDENTITY_VERIFICATION',
    webhook_code: code,
    identity_verification_id: id,
    environment: 'sandbox',
  }
}

const attempts = behind({
  of: { webhook_type: 'IDENTITY_VERIFICATION' },
  hints: { webhook_code: 'STATUS_UPDATED' },
  request: {
    method: 'POST',
    baseUrl: 'https://production.plaid.com',
    path: '/identity_verification/get',
    body: { client_id: '{clientId}', secret: '{secret}', identity_verification_id: '{id}' },
  },
  reading: {
    subject: ['id'],
    occurredAt: ['completed_at'],
    fields: {
      clientId: 'client_user_id',
      createdAt: 'created_at',
      subjectName: ['user.name.given_name', 'user.name.family_name'],
    },
  },
  at: ['status'],
  states: {
    active: null,
    pending_review: 'verification.submitted',
    success: 'verification.approved',
    failed: 'verification.rejected',
    canceled: 'verification.canceled',
    expired: 'verification.expired',
  },
  record: (status) => ({
    id,
    client_user_id: 'user-1',
    created_at: '2026-01-28T14:55:09Z',
    completed_at: status === 'active' ? null : '2026-01-28T15:00:39Z',
    previous_attempt_id: null,
    status,
    user: { name: { given_name: 'Leslie', family_name: 'Knope' } },
    request_id: 'saKrIBuEB9qJZng',
  }),
})
