// Smile ID v3: a base64 HMAC-SHA256 of the time and your partner id, and not of the body, so a
// receiver has to ask for `authenticity: 'timestamp'` by name.
import { checkOptionNames, invalid, shown } from '../foundation/check.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, behind, bodyHmac, pages } from './preset-parts.ts'
import type { VendorApi } from './vendor-api.ts'

/**
 * Smile ID. Read from its public documents and tried on deliveries made from them, not on real ones.
 * Who has seen one delivery can send any body for as long as its time is in the tolerance. With
 * `api: { token }`, your API key, the status of the job decides: clear and block; attention and error decide nothing.
 * The documents give no time of a result. Its sandbox is `baseUrl: 'https://testapi.smileidentity.com'`.
 */
export function smileId(options: {
  readonly partnerId: string
  readonly tolerance?: number | 'none'
  readonly api?: VendorApi<'token'>
}): Vendor {
  checkOptionNames('vendors.smileId', options, ['partnerId', 'tolerance', 'api'])
  const { partnerId, tolerance = 300 } = options
  if (!/^[\w-]+$/.test(partnerId ?? '')) {
    throw invalid(`partnerId must be letters and digits, got ${shown(partnerId)}`)
  }
  const vendor: Vendor = {
    name: 'smileId',
    title: 'Smile ID',
    documents: pages(`
      2026-11-28 https://docs.usesmileid.com/developer-resources/essentials/verification-webhooks
      2026-11-29 https://github.com/smileidentity/api-reference/blob/main/specs/v3/v3-verification-status.yaml`),
    triedOn: 'documents',
    scheme: bodyHmac('smile-id', 'Response-Signature', {
      encoding: 'base64',
      signed: `{timestamp}${partnerId}sid_request`,
      timestamp: { header: 'Response-Timestamp', format: 'iso8601' },
      authenticity: 'timestamp',
      tolerance,
    }),
    reading: {
      name: ['status'],
      subject: ['job_id'],
      rules: [],
      fields: { clientId: 'user_id' },
    },
    finality: { final: [], reversible: approvedOrRejected },
    delivery: { timeout: 35_000, note: 'repeats three times, and by POST /v3/replay/{job_id}' },
    fixtures: [{ body: result('clear') }, { body: result('block') }],
    decisions: [jobs(partnerId)],
  }
  return defineVendor(vendor, options.api)
}

const jobs = (partnerId: string) =>
  behind({
    hints: { status: ['clear', 'block', 'attention', 'error'] },
    request: {
      baseUrl,
      path: '/v3/status/{id}',
      headers: { 'SmileID-Token': '{token}' },
      login: {
        method: 'POST',
        baseUrl,
        path: '/v3/token',
        headers: { 'smileid-partner-id': partnerId, 'smileid-api-key': '{token}' },
        token: 'token',
        // Tokens are valid for 15 minutes.
        lifetime: 600_000,
      },
    },
    reading: { subject: ['job_id'], fields: { clientId: 'user_id' } },
    at: ['status'],
    before: ['processing'],
    states: {
      processing: null,
      clear: 'verification.approved',
      block: 'verification.rejected',
      attention: null,
    },
    record: (status) => ({ ...result(status), created_at: '2026-01-28T15:00:39.000Z' }),
  })

const baseUrl = 'https://api.smileidentity.com'

const result = (status: string) => ({
  status,
  message: 'Verification complete',
  job_id: 'job_01h2xcejqtf2nbrexx3vqjhp41',
  user_id: 'user-1',
})
