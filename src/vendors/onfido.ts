// Onfido (Entrust): a hex HMAC-SHA256 of the body; results stand in the status of a workflow run.
import { checkOptionNames } from '../foundation/check.ts'
import { decisionNames } from '../protocol/names.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { defineVendor } from './define-vendor.ts'
import { behind, bodyHmac, pages } from './preset-parts.ts'
import type { VendorApi } from './vendor-api.ts'

/**
 * Onfido. Read from its public documents and tried on signatures that it has published, not on real
 * deliveries. With `api: { token }` a completed check has its result: clear approves, and consider
 * decides nothing, because its reports are for you to judge. A check states no time of its result.
 * `baseUrl` is that of your region, by default https://api.eu.onfido.com/v3.6.
 */
export function onfido(options: { readonly api?: VendorApi<'token'> } = {}): Vendor {
  checkOptionNames('vendors.onfido', options, ['api'])
  const vendor: Vendor = {
    name: 'onfido',
    title: 'Onfido',
    documents: pages(`
      2026-11-28 https://documentation.identity.entrust.com/api/manual-webhook-signature-verification/
      2026-11-22 https://documentation.onfido.com/api/latest/#webhooks
      2026-11-22 https://raw.githubusercontent.com/api-evangelist/onfido/refs/heads/main/openapi/onfido-asyncapi.yml
      2026-11-29 https://raw.githubusercontent.com/api-evangelist/onfido/main/openapi/onfido-openapi.yml`),
    triedOn: 'vectors',
    scheme: bodyHmac('onfido', 'X-SHA2-Signature'),
    reading: {
      name: ['payload.action'],
      // A task belongs to its run.
      subject: ['payload.object.workflow_run_id', 'payload.object.id'],
      occurredAt: ['payload.object.completed_at_iso8601', 'payload.object.started_at_iso8601'],
      dedupe: 'body',
      rules: [
        { when: { 'payload.action': 'workflow_run.started' }, is: 'verification.created' },
        ...Object.entries(results).map(([status, is]) => ({
          when: { 'payload.action': 'workflow_run.completed', 'payload.object.status': status },
          is,
        })),
        { when: { 'payload.action': 'check.started' }, is: 'verification.created' },
        { when: { 'payload.action': 'check.form_completed' }, is: 'verification.submitted' },
        { when: { 'payload.action': 'check.withdrawn' }, is: 'verification.canceled' },
      ],
      fields: {
        clientId: 'payload.resource.applicant_id',
        createdAt: 'payload.resource.created_at',
        updatedAt: 'payload.resource.updated_at',
      },
    },
    finality: { final: decisionNames, reversible: [] },
    delivery: { timeout: 10_000, success: '2xx' },
    fixtures: [
      { name: 'verification.created', body: body('workflow_run.started', 'processing') },
      ...Object.entries(results).map(([status, name]) => {
        return { name, body: body('workflow_run.completed', status) }
      }),
      { body: { payload: { resource_type: 'check', action: 'check.completed', object } } },
    ],
    decisions: [checks, runs],
  }
  return defineVendor(vendor, options.api)
}

/** The results of a workflow run. */
const results = {
  approved: 'verification.approved',
  declined: 'verification.rejected',
  review: 'verification.submitted',
  abandoned: 'verification.expired',
} as const

const object = {
  id: '2f152409-d6c4-4711-8750-48517f99a8d6',
  status: 'complete',
  completed_at_iso8601: '2026-01-28T15:00:39Z',
  href: 'https://api.eu.onfido.com/v3.6/checks/2f152409-d6c4-4711-8750-48517f99a8d6',
}

function body(action: string, status: string) {
  return {
    payload: {
      resource_type: 'workflow_run',
      action,
      object: {
        id: '2f152409-d6c4-4711-8750-48517f99a8d6',
        status,
        completed_at_iso8601: '2026-01-28T15:00:39Z',
        href: 'https://api.eu.onfido.com/v3.6/workflow_runs/2f152409-d6c4-4711-8750-48517f99a8d6',
      },
      resource: {
        id: '2f152409-d6c4-4711-8750-48517f99a8d6',
        applicant_id: '6f1f2e1a-1f6a-4f2b-9d6f-5d2b7a2c9e10',
        created_at: '2026-01-28T14:55:09Z',
        updated_at: '2026-01-28T15:00:39Z',
      },
    },
  }
}

const request = {
  baseUrl: 'https://api.eu.onfido.com/v3.6',
  headers: { authorization: 'Token token={token}' },
}

const checks = behind({
  of: { 'payload.resource_type': 'check' },
  hints: { 'payload.action': 'check.completed' },
  request: { ...request, path: '/checks/{id}' },
  reading: { subject: ['id'], fields: { clientId: 'applicant_id', createdAt: 'created_at' } },
  at: ['status', 'result'],
  before: ['in_progress'],
  states: {
    in_progress: null,
    'complete:clear': 'verification.approved',
    'complete:consider': null,
  },
  record: (status, result) => ({
    id: object.id,
    applicant_id: '6f1f2e1a-1f6a-4f2b-9d6f-5d2b7a2c9e10',
    created_at: '2026-01-28T14:55:09Z',
    href: object.href,
    status,
    result: result ?? null,
    report_ids: ['0c2b8d6e-2f9a-4a7b-9c1d-3e5f7a9b1c2d'],
    sandbox: false,
    version: '3.6',
  }),
})

const runs = behind({
  of: { 'payload.resource_type': 'workflow_run' },
  request: { ...request, path: '/workflow_runs/{id}' },
  reading: {
    subject: ['id'],
    occurredAt: ['updated_at'],
    fields: { clientId: 'applicant_id', createdAt: 'created_at', updatedAt: 'updated_at' },
  },
  at: ['status'],
  states: { processing: null, ...results },
  record: (status) => ({ ...body('workflow_run.completed', status).payload.resource, status }),
})
