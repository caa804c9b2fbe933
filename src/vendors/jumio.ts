// Jumio: nothing is signed. Its deliveries are known by their address alone, so a receiver has to
// ask for `authenticity: 'ip'` by name.
import { checkChoice } from '../foundation/check.ts'
import { schemes } from '../protocol/scheme.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, behind, pages } from './preset-parts.ts'
import type { VendorApi } from './vendor-api.ts'

/** Where a vendor that signs nothing sends from, and how many proxies of yours stand before you. */
export interface AddressOptions {
  /** CIDR ranges, as the vendor tells you today. */
  readonly allow: readonly string[]
  readonly proxies: number
}

/** The options of `vendors.jumio`. */
export interface JumioOptions extends AddressOptions {
  readonly api?: VendorApi<'key' | 'secret'>
  readonly region?: 'amer-1' | 'emea-1' | 'apac-1'
}

/**
 * Jumio. Read from its public documents and tried on deliveries made from them, not on real ones.
 * Its callback tells that a result is there, not which. With `api: { key, secret }`, the credentials
 * of an OAuth2 client, the decision of the workflow counts: PASSED and REJECTED; WARNING decides
 * nothing, and what was NOT_EXECUTED has expired. `region` is that of your account, `'amer-1'` by default.
 */
export function jumio(options: JumioOptions): Vendor {
  const { api, region = 'amer-1', ...addresses } = options ?? {}
  checkChoice('region', region, ['amer-1', 'emea-1', 'apac-1'])
  const vendor: Vendor = {
    name: 'jumio',
    title: 'Jumio',
    documents: pages(`
      2026-11-22 https://github.com/Jumio/implementation-guides/blob/master/api-guide/api_guide.md#callback-parameters
      2026-11-29 https://documentation.jumio.ai/docs/developer-resources/retrieval`),
    triedOn: 'documents',
    scheme: schemes.ip(addresses as AddressOptions),
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
    finality: { final: ['verification.expired'], reversible: approvedOrRejected },
    delivery: {},
    fixtures: [
      { name: 'verification.expired', body: callback('SESSION_EXPIRED') },
      { body: callback('PROCESSED') },
    ],
    decisions: [executions(region)],
  }
  return defineVendor(vendor, api)
}

function callback(status: string) {
  return {
    callbackSentAt: '2026-01-05T12:00:00.000Z',
    userReference: 'user-1',
    workflowExecution: { id, href: `https://retrieval.amer-1.jumio.ai/${id}`, status },
    account,
  }
}

const id = '22222222-2222-2222-2222-222222222222'
const account = { id: '11111111-1111-1111-1111-111111111111' }

const executions = (region: string) =>
  behind({
    hints: { 'workflowExecution.status': 'PROCESSED' },
    request: {
      baseUrl: `https://retrieval.${region}.jumio.ai`,
      path: '/api/v1/accounts/{account.id}/workflow-executions/{id}',
      headers: { authorization: 'Bearer {token}' },
      login: {
        method: 'POST',
        baseUrl: `https://auth.${region}.jumio.ai`,
        path: '/oauth2/token',
        headers: { authorization: 'Basic {basic}' },
        form: { grant_type: 'client_credentials' },
        token: 'access_token',
        // Tokens are valid for 60 minutes.
        lifetime: 3_000_000,
      },
    },
    reading: {
      subject: ['workflow.id'],
      occurredAt: ['completedAt'],
      fields: { clientId: 'account.id', createdAt: 'createdAt' },
    },
    at: ['decision.type'],
    states: {
      WARNING: null,
      PASSED: 'verification.approved',
      REJECTED: 'verification.rejected',
      NOT_EXECUTED: 'verification.expired',
    },
    record: (type) => ({
      workflow: { id, status: 'PROCESSED', definitionKey: '10011' },
      account,
      createdAt: '2026-01-05T11:55:00.000Z',
      completedAt: '2026-01-05T11:59:00.000Z',
      decision: { type, details: { label: type }, risk: { score: 0 } },
    }),
  })
