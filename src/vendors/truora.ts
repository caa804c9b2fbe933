// Truora: the body is a JWT under the secret that a rule's action shows. It tells that a process ended,
// and an operator may override the result.
import { schemes } from '../protocol/scheme.ts'
import { defineVendor, type Vendor } from '../protocol/vendor.ts'

/**
 * Truora. Read from its public documents and tried on deliveries made from them, not on real ones.
 * They say that the body is a signed JWT, and name neither its algorithm nor its claims: HS256 and
 * `events` are those of public integrations. A process tells its result only through the API.
 */
export function truora(): Vendor {
  return defineVendor({
    name: 'truora',
    title: 'Truora',
    documents: [
      { url: 'https://dev.truora.com/guides/web_webhooks/index.md', read: '2026-11-29' },
      {
        url: 'https://dev.truora.com/guides/webhook_events_and_variables/index.md',
        read: '2026-11-29',
      },
      { url: 'https://dev.truora.com/guides/override_process/index.md', read: '2026-11-29' },
    ],
    triedOn: 'documents',
    scheme: schemes.bodyJws({ algorithms: ['hs256'] }),
    reading: {
      events: 'events',
      name: ['event_action'],
      subject: ['object.identity_process_id', 'object.process_id'],
      rules: [{ when: { event_action: 'created' }, is: 'verification.created' }],
      fields: { clientId: 'object.account_id' },
    },
    finality: { final: [], reversible: [] },
    delivery: {
      note: 'success and failure tell that a result is there: read it with GET /v1/processes/{id}/result',
    },
    fixtures: [
      { name: 'verification.created', body: event('created') },
      { body: event('success') },
      { body: event('failure') },
    ],
  })
}

function event(action: string) {
  const object = {
    identity_process_id: 'IDP0123456789abcdef0123456789abcdef',
    account_id: 'user-1',
    flow_id: 'IPF0123456789abcdef0123456789abcdef',
  }
  return { events: [{ event_type: 'identity_process', event_action: action, object }] }
}
