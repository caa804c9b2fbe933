// Smile ID v3: a base64 HMAC-SHA256 of the time and your partner id, and not of the body, so a
// receiver has to ask for `authenticity: 'timestamp'` by name.
import { checkOptionNames, invalid, shown } from '../foundation/check.ts'
import { defineVendor, type Vendor } from '../protocol/vendor.ts'
import { bodyHmac } from './body-hmac.ts'

/**
 * Smile ID. Read from its public documents and tried on deliveries made from them, not on real ones.
 * Who has seen one delivery can send any body for as long as its time is in the tolerance: results
 * keep their own names, and the handler asks the API.
 */
export function smileId(options: {
  readonly partnerId: string
  readonly tolerance?: number | 'none'
}): Vendor {
  checkOptionNames('vendors.smileId', options, ['partnerId', 'tolerance'])
  const { partnerId, tolerance = 300 } = options
  if (!/^[\w-]+$/.test(partnerId ?? '')) {
    throw invalid(`partnerId must be letters and digits, got ${shown(partnerId)}`)
  }
  return defineVendor({
    name: 'smileId',
    title: 'Smile ID',
    documents: [
      {
        url: 'https://docs.usesmileid.com/developer-resources/essentials/verification-webhooks',
        read: '2026-11-28',
      },
    ],
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
    finality: { final: [], reversible: [] },
    delivery: { timeout: 35_000, note: 'three repeats; POST /v3/replay/{job_id} sends one again' },
    fixtures: [{ body: result('clear') }, { body: result('block') }],
  })
}

const result = (status: string) => ({
  status,
  message: 'Verification complete',
  job_id: '01J9ZK3V6T8Q4N2M7R5X0Y1B3C',
  user_id: 'user-1',
})
