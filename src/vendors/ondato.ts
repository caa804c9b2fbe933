// Ondato: nothing is signed; its documents publish the addresses, so a receiver has to ask for
// `authenticity: 'ip'` by name.
import { checkOptionNames } from '../foundation/check.ts'
import type { EventName } from '../protocol/names.ts'
import { schemes } from '../protocol/scheme.ts'
import { defineVendor, type Vendor } from '../protocol/vendor.ts'

const published = [
  '20.31.10.47',
  '20.31.227.231',
  '20.76.229.117',
  '20.76.229.248',
  '213.226.187.101',
]

/**
 * Ondato. Read from its public documents and tried on deliveries made from them, not on real ones.
 * `proxies` is how many of yours stand before you.
 */
export function ondato(options: {
  readonly proxies: number
  readonly allow?: readonly string[]
}): Vendor {
  checkOptionNames('vendors.ondato', options, ['proxies', 'allow'])
  const { proxies, allow = published } = options
  return defineVendor({
    name: 'ondato',
    title: 'Ondato',
    documents: [
      {
        url: 'https://ondato.atlassian.net/wiki/spaces/PUB/pages/2296184995',
        read: '2026-11-22',
      },
    ],
    triedOn: 'documents',
    scheme: schemes.ip({ allow, proxies }),
    reading: {
      name: ['type'],
      subject: ['payload.id'],
      id: ['id'],
      occurredAt: ['createdUtc'],
      rules: [
        named('Created', 'verification.created'),
        named('Processed', 'verification.submitted'),
        named('Approved', 'verification.approved'),
        named('Rejected', 'verification.rejected'),
      ],
      fields: { createdAt: 'payload.createdUtc' },
    },
    finality: { final: [], reversible: ['verification.approved', 'verification.rejected'] },
    delivery: {
      timeout: 30_000,
      retries: [10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600].map((seconds) => seconds * 1000),
      success: '2xx',
      note: 'events may arrive out of order and more than once',
    },
    addresses: published,
    fixtures: [
      { name: 'verification.created', body: event('Created') },
      { name: 'verification.submitted', body: event('Processed') },
      { name: 'verification.approved', body: event('Approved') },
      { name: 'verification.rejected', body: event('Rejected') },
      { body: event('Updated') },
    ],
  })
}

const named = (what: string, is: EventName) => ({ when: { type: `KycIdentification.${what}` }, is })

function event(what: string) {
  return {
    id: '45a51829-965c-49ac-8fbb-940aa3d8486f',
    applicationId: 'd73da14e-a6b9-4bb1-b9df-f3b40ba1ed34',
    createdUtc: '2026-01-26T07:16:41.873Z',
    payload: {
      id: '3fa85f64-5717-4562-b3fc-2c963f66afa6',
      createdUtc: '2026-01-26T07:16:40.873Z',
    },
    type: `KycIdentification.${what}`,
  }
}
