// Stripe Identity: `t=…,v1=…` over `t.body`, as all of Stripe's events. A thin event and the
// snapshot of the same occurrence are one event; the API has what the thin one lacks.
import { checkOptionNames } from '../foundation/check.ts'
import type { EventName } from '../protocol/names.ts'
import { schemes } from '../protocol/scheme.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { behind, pages } from './preset-parts.ts'
import type { VendorApi } from './vendor-api.ts'

/**
 * Stripe Identity. Read from its public documents and tried on signatures that it has published, not
 * on real deliveries. `tolerance` is in seconds, 300 by default. `api.token` is a restricted or secret
 * key: with it a thin event has the decision of its session. A session states no time of its decision.
 */
export function stripeIdentity(
  options: { readonly tolerance?: number | 'none'; readonly api?: VendorApi<'token'> } = {},
): Vendor {
  checkOptionNames('vendors.stripeIdentity', options, ['tolerance', 'api'])
  const vendor: Vendor = {
    name: 'stripeIdentity',
    title: 'Stripe Identity',
    documents,
    triedOn: 'vectors',
    scheme: schemes.timestamped({
      header: 'Stripe-Signature',
      tolerance: options.tolerance ?? 300,
    }),
    reading: {
      name: ['type'],
      subject: ['data.object.id', 'related_object.id'],
      id: ['id'],
      sameAs: ['snapshot_event'],
      occurredAt: ['created'],
      rules: [
        named('created', 'verification.created'),
        named('processing', 'verification.submitted'),
        { when: { type: session('verified') }, is: 'verification.approved' },
        { when: { type: session('canceled') }, is: 'verification.canceled' },
      ],
      fields: {
        clientId: 'data.object.client_reference_id',
        createdAt: 'data.object.created',
      },
    },
    finality: { final: ['verification.approved', 'verification.canceled'], reversible: [] },
    delivery: {
      success: '2xx',
      note: 'events are repeated for up to three days; requires_input decides nothing, because the person tries again',
    },
    fixtures: [
      { name: 'verification.created', body: event('created', 'requires_input') },
      { name: 'verification.submitted', body: event('processing', 'processing') },
      { name: 'verification.approved', body: event('verified', 'verified') },
      { name: 'verification.canceled', body: event('canceled', 'canceled') },
      { body: thin('verified') },
      { body: event('requires_input', 'requires_input') },
    ],
    decisions: [sessions],
  }
  return defineVendor(vendor, options.api)
}

const documents = pages(`
  2026-11-22 https://docs.stripe.com/identity/handle-verification-outcomes
  2026-11-22 https://docs.stripe.com/webhooks
  2026-11-28 https://docs.stripe.com/webhooks/migrate-snapshot-to-thin-events
  2026-11-29 https://docs.stripe.com/api/identity/verification_sessions`)

const session = (state: string) => `identity.verification_session.${state}`

const named = (state: string, is: EventName) => ({
  when: { type: [session(state), `v1.${session(state)}`] },
  is,
})

function thin(state: string) {
  const id = 'vs_1NuN4zLkdIwHu7ixleE6HvkI'
  const url = `/v1/identity/verification_sessions/${id}`
  return {
    id: 'evt_test_65R9Ijk8dKEYZcXeRWn16R9A7j1FSQ3w3TGDPLLGSM4CW0',
    object: 'v2.core.event',
    type: `v1.${session(state)}`,
    created: '2026-01-28T11:33:20.000Z',
    livemode: false,
    related_object: { id, type: 'identity.verification_session', url },
    snapshot_event: 'evt_1NG8Du2eZvKYlo2CUI79vXWy',
  }
}

function event(name: string, status: string) {
  return {
    id: 'evt_1NG8Du2eZvKYlo2CUI79vXWy',
    object: 'event',
    created: 1_769_600_000,
    livemode: false,
    type: session(name),
    data: { object: state(status) },
  }
}

function state(status: string) {
  return {
    id: 'vs_1NuN4zLkdIwHu7ixleE6HvkI',
    object: 'identity.verification_session',
    client_reference_id: null,
    created: 1_769_599_000,
    last_error: null,
    livemode: false,
    metadata: {},
    status,
    type: 'document',
  }
}

const sessions = behind({
  hints: { type: [`v1.${session('verified')}`, `v1.${session('canceled')}`] },
  request: {
    baseUrl: 'https://api.stripe.com',
    path: '/v1/identity/verification_sessions/{id}',
    headers: { authorization: 'Bearer {token}' },
  },
  reading: {
    subject: ['id'],
    fields: { clientId: 'client_reference_id', createdAt: 'created' },
  },
  at: ['status'],
  before: ['requires_input', 'processing'],
  states: {
    requires_input: null,
    processing: null,
    verified: 'verification.approved',
    canceled: 'verification.canceled',
  },
  record: state,
})
