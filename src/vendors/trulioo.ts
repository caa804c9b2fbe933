// Trulioo: a hex HMAC-SHA256 of the body, and a handshake that wants its challenge back.
import { checkOptionNames } from '../foundation/check.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, bodyHmac, pages } from './preset-parts.ts'

/**
 * Trulioo's Workflow Studio. Read from its public documents and tried on deliveries made from
 * them, not on real ones. They show single services with `match`; `finalService` names the one
 * whose match is your decision.
 */
export function trulioo(options: { readonly finalService?: string } = {}): Vendor {
  checkOptionNames('vendors.trulioo', options, ['finalService'])
  const { finalService = 'TRULIOO_EIDV' } = options
  const decided = {
    'event.type': 'SERVICE_SUBMIT',
    serviceType: finalService,
    'serviceData.serviceStatus': 'COMPLETED',
  }
  return defineVendor({
    name: 'trulioo',
    title: 'Trulioo',
    documents: pages(`
      2026-11-22 https://developer.trulioo.com/reference/webhook
      2026-11-22 https://developer.trulioo.com/reference/api-handshake
      2026-11-22 https://developer.trulioo.com/reference/event-dispatcher`),
    triedOn: 'documents',
    scheme: bodyHmac('trulioo', 'x-trulioo-signature'),
    reading: {
      name: ['event.type', 'type'],
      subject: ['userId'],
      occurredAt: ['event.ts', 'serviceData.timestamp'],
      dedupe: 'body',
      volatile: ['retry'],
      rules: [
        { when: { 'event.type': ['FLOW START', 'FLOW_START'] }, is: 'verification.created' },
        { when: { ...decided, 'serviceData.match': true }, is: 'verification.approved' },
        { when: { ...decided, 'serviceData.match': false }, is: 'verification.rejected' },
      ],
      fields: { clientId: 'clientId' },
    },
    finality: { final: [], reversible: approvedOrRejected },
    delivery: { success: 200 },
    challenge: { when: { type: 'URL_VERIFICATION' }, echo: 'challenge' },
    fixtures: [
      { name: 'verification.created', body: event({ type: 'FLOW START' }) },
      { name: 'verification.approved', body: submitted(finalService, true) },
      { name: 'verification.rejected', body: submitted(finalService, false) },
      { body: { challenge: 'E5KUIHFDEKJS485RFU38H0B7', type: 'URL_VERIFICATION', token: 'token' } },
    ],
  })
}

function event(of: { readonly type: string }, more: object = {}) {
  return {
    id: 'sample-id',
    token: 'sample-token',
    type: 'EVENT_CALLBACK',
    event: { ...of, ts: 1_769_600_000, user: 'sample-user-id' },
    flowId: 'sample-flow-id',
    userId: 'sample-user-id',
    test: true,
    retry: 0,
    ...more,
  }
}

function submitted(serviceType: string, match: boolean) {
  const serviceData = { timestamp: 1_769_600_000, serviceStatus: 'COMPLETED', match }
  return event({ type: 'SERVICE_SUBMIT' }, { serviceType, serviceData })
}
