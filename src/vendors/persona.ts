// Persona: `t=…,v1=…` over `t.body`; while a secret rotates, one group for each, separated by a
// space. Its own verification.* events are steps of an inquiry and keep their names.
import { checkOptionNames } from '../foundation/check.ts'
import type { EventName } from '../protocol/names.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, bodyHmac, pages } from './preset-parts.ts'

/**
 * Persona. Read from its public documents and tried on deliveries made from them, not on real ones.
 * `tolerance` is in seconds, 300 by default.
 */
export function persona(options: { readonly tolerance?: number | 'none' } = {}): Vendor {
  checkOptionNames('vendors.persona', options, ['tolerance'])
  return defineVendor({
    name: 'persona',
    title: 'Persona',
    documents: pages(`
      2026-11-22 https://docs.withpersona.com/webhooks
      2026-11-22 https://docs.withpersona.com/v2022-09-01/docs/webhooks`),
    triedOn: 'documents',
    scheme: bodyHmac('persona', 'Persona-Signature', {
      grammar: { pairs: { signature: 'v1', timestamp: 't' } },
      signed: '{timestamp}.{body}',
      tolerance: options.tolerance ?? 300,
    }),
    reading: {
      name: ['data.attributes.name'],
      // A step of an inquiry belongs to it.
      subject: [
        'data.attributes.payload.data.relationships.inquiry.data.id',
        'data.attributes.payload.data.id',
      ],
      id: ['data.id'],
      // Each webhook has a setting for it: https://docs.withpersona.com/api-key-inflection.
      spelling: 'any',
      occurredAt: ['data.attributes.created-at'],
      rules: [
        named('inquiry.created', 'verification.created'),
        named('inquiry.completed', 'verification.submitted'),
        named('inquiry.approved', 'verification.approved'),
        named('inquiry.declined', 'verification.rejected'),
        named('inquiry.failed', 'verification.rejected'),
        named('inquiry.expired', 'verification.expired'),
        named('account.created', 'client.created'),
      ],
      fields: {
        clientId: 'data.attributes.payload.data.attributes.reference-id',
        createdAt: 'data.attributes.payload.data.attributes.created-at',
        submittedAt: 'data.attributes.payload.data.attributes.completed-at',
      },
    },
    finality: { final: ['verification.expired'], reversible: approvedOrRejected },
    delivery: {
      success: '2xx',
      note: 'Persona-Webhook-Attempts-Left counts the tries that are left',
    },
    fixtures: [
      { name: 'verification.created', body: inquiry('created') },
      { name: 'verification.submitted', body: inquiry('completed') },
      { name: 'verification.approved', body: inquiry('approved') },
      { name: 'verification.rejected', body: inquiry('declined') },
      { name: 'verification.expired', body: inquiry('expired') },
      { name: 'client.created', body: event('account.created', { type: 'account', id: 'act_1' }) },
      { body: event('verification.passed', { type: 'verification/selfie', id: 'ver_1' }) },
    ],
  })
}

const named = (name: string, is: EventName) => ({ when: { 'data.attributes.name': name }, is })

function inquiry(status: string) {
  return event(`inquiry.${status}`, {
    type: 'inquiry',
    id: 'inq_2CVZ4HyVg7qaboXz2PUHknAn',
    attributes: {
      status,
      'reference-id': null,
      'created-at': '2026-01-09T22:40:56.000Z',
      'completed-at': status === 'created' ? null : '2026-01-09T22:44:51.000Z',
    },
  })
}

function event(name: string, data: object) {
  return {
    data: {
      type: 'event',
      id: 'evt_XGuYWp7WuDzNxie5z16s7sGJ',
      attributes: { name, payload: { data }, 'created-at': '2026-01-09T22:46:28.351Z' },
    },
  }
}
