// Ondato: `t=…,s=…` over `t.body`, if its support has set up HMAC for the address; otherwise its
// deliveries are known by their addresses alone, as `proxies` says.
import { checkOptionNames, invalid } from '../foundation/check.ts'
import type { EventName } from '../protocol/names.ts'
import { schemes } from '../protocol/scheme.ts'
import type { Vendor, VendorFixture } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { bodyHmac, pages } from './preset-parts.ts'

const published = '20.31.10.47 20.31.227.231 20.76.229.117 20.76.229.248 213.226.187.101'.split(' ')

/** Options of `vendors.ondato`: of its signature, or of the addresses if it signs nothing. */
export interface OndatoOptions {
  /** Seconds to either side of the signed time, or 'none'; default 90,000: it repeats for a day. */
  readonly tolerance?: number | 'none'
  /** How many proxies of yours are in front of the receiver: deliveries are known by address. */
  readonly proxies?: number
  /** CIDR ranges instead of the published addresses; needs `proxies`. */
  readonly allow?: readonly string[]
}

/**
 * Ondato. Read from its public documents and tried on deliveries made from them, not on real ones.
 * The form of its signature is that of a public integration that cites Ondato's page; whether a
 * repeat has a new time is not documented. With `proxies` a receiver needs `authenticity: 'ip'`.
 */
export function ondato(options: OndatoOptions = {}): Vendor {
  checkOptionNames('vendors.ondato', options, ['tolerance', 'proxies', 'allow'])
  const { tolerance, proxies, allow } = options
  if (tolerance !== undefined && proxies !== undefined) {
    throw invalid('vendors.ondato takes tolerance, of its signature, or proxies, of its addresses')
  }
  return defineVendor({
    name: 'ondato',
    title: 'Ondato',
    documents: pages(`
      2026-11-28 https://ondato.atlassian.net/wiki/spaces/PUB/pages/2296184995`),
    triedOn: 'documents',
    scheme:
      proxies === undefined && allow === undefined
        ? bodyHmac('ondato', 'Ondato-Signature', {
            grammar: { pairs: { signature: 's', timestamp: 't' } },
            signed: '{timestamp}.{body}',
            tolerance: tolerance ?? 90_000,
          })
        : // Without proxies it throws: the count is a choice.
          schemes.ip({ allow: allow ?? published, proxies: proxies as number }),
    reading: {
      name: ['type'],
      // The verification; an event's own resource is a step of it.
      subject: ['payload.identityVerificationId', 'payload.id'],
      id: ['id'],
      // Versions of its page show keys in PascalCase.
      spelling: 'any',
      occurredAt: ['createdUtc'],
      rules: [
        named('Created', 'verification.created'),
        named('Processed', 'verification.submitted'),
        named('Approved', 'verification.approved'),
        named('Rejected', 'verification.rejected'),
        {
          when: { type: 'IdentityVerification.StatusChanged', 'payload.status': 'Expired' },
          is: 'verification.expired',
        },
      ],
      fields: { clientId: 'payload.externalReferenceId', createdAt: 'payload.createdUtc' },
    },
    finality: {
      final: [],
      reversible: ['verification.approved', 'verification.rejected', 'verification.expired'],
    },
    delivery: {
      timeout: 30_000,
      retries: [10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600].map((seconds) => seconds * 1000),
      success: '2xx',
      note: 'events may arrive out of order',
    },
    addresses: published,
    fixtures: fixtures(),
  })
}

const fixtures = (): readonly VendorFixture[] => [
  { name: 'verification.created', body: event('Created') },
  { name: 'verification.submitted', body: event('Processed') },
  { name: 'verification.approved', body: event('Approved') },
  { name: 'verification.rejected', body: event('Rejected') },
  { name: 'verification.expired', body: session('Expired') },
  { body: event('Updated') },
]

const named = (what: string, is: EventName) => ({ when: { type: `KycIdentification.${what}` }, is })

const verification = '9eae922a-00af-4e54-830b-ca6f7fe5af16'

function event(what: string) {
  const id = '3fa85f64-5717-4562-b3fc-2c963f66afa6'
  return webhook(`KycIdentification.${what}`, { id, identityVerificationId: verification })
}

const session = (status: string) =>
  webhook('IdentityVerification.StatusChanged', { id: verification, status })

function webhook(type: string, resource: object) {
  return {
    id: '45a51829-965c-49ac-8fbb-940aa3d8486f',
    applicationId: 'd73da14e-a6b9-4bb1-b9df-f3b40ba1ed34',
    createdUtc: '2026-01-26T07:16:41.873Z',
    payload: {
      ...resource,
      externalReferenceId: 'user-1',
      createdUtc: '2026-01-26T07:16:40.873Z',
    },
    type,
  }
}
