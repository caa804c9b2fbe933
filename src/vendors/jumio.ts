// Jumio: nothing is signed. Its deliveries are known by their address alone, so a receiver has to
// ask for `authenticity: 'ip'` by name.
import { schemes } from '../protocol/scheme.ts'
import { defineVendor, type Vendor } from '../protocol/vendor.ts'

/** Where a vendor that signs nothing sends from, and how many proxies of yours stand before you. */
export interface AddressOptions {
  /** CIDR ranges, as the vendor tells you today. */
  readonly allow: readonly string[]
  readonly proxies: number
}

/**
 * Jumio. Read from its public documents and tried on deliveries made from them, not on real ones.
 * Its callback tells that a result is there, not which.
 */
export function jumio(options: AddressOptions): Vendor {
  return defineVendor({
    name: 'jumio',
    title: 'Jumio',
    documents: [
      {
        url: 'https://github.com/Jumio/implementation-guides/blob/master/api-guide/api_guide.md#callback-parameters',
        read: '2026-11-22',
      },
    ],
    triedOn: 'documents',
    scheme: schemes.ip(options),
    reading: {
      name: ['workflowExecution.status'],
      subject: ['workflowExecution.id'],
      occurredAt: ['callbackSentAt'],
      dedupe: 'body',
      rules: [
        {
          when: { 'workflowExecution.status': ['SESSION_EXPIRED', 'TOKEN_EXPIRED'] },
          is: 'verification.expired',
        },
      ],
      fields: { clientId: 'account.id' },
    },
    finality: { final: ['verification.expired'], reversible: [] },
    delivery: { note: 'PROCESSED keeps its own name: read the result from workflowExecution.href' },
    fixtures: [
      { name: 'verification.expired', body: callback('SESSION_EXPIRED') },
      { body: callback('PROCESSED') },
    ],
  })
}

function callback(status: string) {
  const id = '22222222-2222-2222-2222-222222222222'
  return {
    callbackSentAt: '2026-01-05T12:00:00.000Z',
    userReference: 'user-1',
    workflowExecution: { id, href: `https://retrieval.amer-1.jumio.ai/${id}`, status },
    account: { id: '11111111-1111-1111-1111-111111111111' },
  }
}
