// Truora: the body is a JWT under the secret that a rule's action shows. It tells that a process ended,
// and an operator may override the result.
import { checkOptionNames } from '../foundation/check.ts'
import { schemes } from '../protocol/scheme.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, behind, pages } from './preset-parts.ts'
import type { VendorApi } from './vendor-api.ts'

/**
 * Truora. Read from its public documents and tried on deliveries made from them, not on real ones.
 * They say that the body is a signed JWT, and name neither its algorithm nor its claims: HS256 and
 * `events` are those of public integrations, and so are the fields of a result. A process tells its
 * result only through the API: `api: { token }` is your API key.
 */
export function truora(options: { readonly api?: VendorApi<'token'> } = {}): Vendor {
  checkOptionNames('vendors.truora', options, ['api'])
  const vendor: Vendor = {
    name: 'truora',
    title: 'Truora',
    documents: pages(`
      2026-11-29 https://dev.truora.com/guides/web_webhooks/index.md
      2026-11-29 https://dev.truora.com/guides/webhook_events_and_variables/index.md
      2026-11-29 https://dev.truora.com/guides/override_process/index.md
      2026-11-29 https://dev.truora.com/guides/download_di_data`),
    triedOn: 'documents',
    scheme: schemes.bodyJws({ algorithms: ['hs256'] }),
    reading: {
      events: 'events',
      name: ['event_action'],
      subject: ['object.identity_process_id', 'object.process_id'],
      rules: [{ when: { event_action: 'created' }, is: 'verification.created' }],
      fields: { clientId: 'object.account_id' },
    },
    finality: {
      final: ['verification.canceled', 'verification.expired'],
      reversible: approvedOrRejected,
    },
    delivery: {},
    fixtures: [
      { name: 'verification.created', body: event('created') },
      { body: event('success') },
      { body: event('failure') },
    ],
    decisions: [processes],
  }
  return defineVendor(vendor, options.api)
}

const process = {
  account_id: 'user-1',
  flow_id: 'IPF0123456789abcdef0123456789abcdef',
}
const id = 'IDP0123456789abcdef0123456789abcdef'

function event(action: string) {
  const object = { identity_process_id: id, ...process }
  return { events: [{ event_type: 'identity_process', event_action: action, object }] }
}

const processes = behind({
  hints: { event_action: ['success', 'failure'] },
  request: {
    baseUrl: 'https://api.identity.truora.com',
    path: '/v1/processes/{id}/result',
    headers: { 'Truora-API-Key': '{token}' },
  },
  reading: {
    subject: ['process_id'],
    occurredAt: ['update_date'],
    fields: {
      clientId: 'account_id',
      subjectName: ['first_name', 'last_name'],
      createdAt: 'creation_date',
    },
  },
  at: ['status', 'failure_status'],
  before: ['pending'],
  states: {
    pending: null,
    success: 'verification.approved',
    'failure:declined': 'verification.rejected',
    'failure:canceled': 'verification.canceled',
    'failure:expired': 'verification.expired',
    'failure:system_error': null,
  },
  record: (status, reason = '') => ({
    process_id: id,
    ...process,
    status,
    failure_status: reason,
    creation_date: '2026-01-28T14:55:09Z',
    update_date: '2026-01-28T15:00:39Z',
  }),
})
