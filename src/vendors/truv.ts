// Truv (income and employment): `v1=` and a hex HMAC-SHA256 of the body.
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { bodyHmac, pages } from './preset-parts.ts'

/**
 * Truv. Read from its public documents and tried on deliveries made from them, not on real ones.
 * Its events tell how far a task or an order is and decide nothing: they keep their own names.
 */
export function truv(): Vendor {
  return defineVendor({
    name: 'truv',
    title: 'Truv',
    documents: pages(`
      2026-11-28 https://docs.truv.com/api-reference/webhooks`),
    triedOn: 'documents',
    scheme: bodyHmac('truv', 'X-WEBHOOK-SIGN', { grammar: { prefix: 'v1=' } }),
    reading: {
      name: ['event_type'],
      subject: ['order_id', 'link_id', 'task_id'],
      // Whether webhook_id is that of the event or of the setting is not documented.
      occurredAt: ['event_created_at'],
      dedupe: 'body',
      rules: [],
      fields: { clientId: 'user_id' },
    },
    finality: { final: [], reversible: [] },
    delivery: {},
    fixtures: [
      { body: event('task-status-updated', 'done') },
      { body: event('order-status-updated', 'completed') },
    ],
  })
}

function event(type: string, status: string) {
  return {
    webhook_id: '609a82aab21d4a9bae9c3d35f8e3b8d1',
    event_type: type,
    event_created_at: '2026-01-28T15:00:39Z',
    link_id: '64f8e374949c4d769706028022626bf1',
    task_id: '3ac1e6e7b2dd4d9a9e7b6a2c0f3d6b18',
    user_id: 'fa8e1b3d1a6f4b0c8d6a2e9c7b5d4f30',
    status,
  }
}
