// Stripe Identity: `t=…,v1=…` over `t.body`, as all of Stripe's events.
import { checkOptionNames } from '../foundation/check.ts'
import { schemes } from '../protocol/scheme.ts'
import { defineVendor, type Vendor } from '../protocol/vendor.ts'

/**
 * Stripe Identity. Read from its public documents and tried on deliveries made from them, not on
 * real ones. `tolerance` is in seconds, 300 by default.
 */
export function stripeIdentity(options: { readonly tolerance?: number | 'none' } = {}): Vendor {
  checkOptionNames('vendors.stripeIdentity', options, ['tolerance'])
  return defineVendor({
    name: 'stripeIdentity',
    title: 'Stripe Identity',
    documents: [
      {
        url: 'https://docs.stripe.com/identity/handle-verification-outcomes',
        read: '2026-11-22',
      },
      { url: 'https://docs.stripe.com/webhooks', read: '2026-11-22' },
    ],
    triedOn: 'documents',
    scheme: schemes.timestamped({
      header: 'Stripe-Signature',
      tolerance: options.tolerance ?? 300,
    }),
    reading: {
      name: ['type'],
      subject: ['data.object.id'],
      id: ['id'],
      occurredAt: ['created'],
      rules: [
        { when: { type: session('created') }, is: 'verification.created' },
        { when: { type: session('processing') }, is: 'verification.submitted' },
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
      note: 'repeated for up to three days; requires_input lets the person try again, so it decides nothing and keeps its own name',
    },
    fixtures: [
      { name: 'verification.created', body: event('created', 'requires_input') },
      { name: 'verification.submitted', body: event('processing', 'processing') },
      { name: 'verification.approved', body: event('verified', 'verified') },
      { name: 'verification.canceled', body: event('canceled', 'canceled') },
      { body: event('requires_input', 'requires_input') },
    ],
  })
}

const session = (state: string) => `identity.verification_session.${state}`

function event(name: string, status: string) {
  return {
    id: 'evt_1NG8Du2eZvKYlo2CUI79vXWy',
    object: 'event',
    created: 1_769_600_000,
    livemode: false,
    type: session(name),
    data: {
      object: {
        id: 'vs_1NuN4zLkdIwHu7ixleE6HvkI',
        object: 'identity.verification_session',
        client_reference_id: null,
        created: 1_769_599_000,
        last_error: null,
        metadata: {},
        status,
        type: 'document',
      },
    },
  }
}
