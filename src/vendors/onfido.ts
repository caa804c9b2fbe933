// Onfido (Entrust): a hex HMAC-SHA256 of the body; results stand in the status of a workflow run.
import { decisionNames } from '../protocol/names.ts'
import { defineVendor, type Vendor } from '../protocol/vendor.ts'
import { bodyHmac } from './body-hmac.ts'

/**
 * Onfido. Read from its public documents and tried on signatures that it has published, not on real
 * deliveries.
 */
export function onfido(): Vendor {
  return defineVendor({
    name: 'onfido',
    title: 'Onfido',
    documents: [
      {
        url: 'https://documentation.identity.entrust.com/api/manual-webhook-signature-verification/',
        read: '2026-11-28',
      },
      { url: 'https://documentation.onfido.com/api/latest/#webhooks', read: '2026-11-22' },
      {
        url: 'https://raw.githubusercontent.com/api-evangelist/onfido/refs/heads/main/openapi/onfido-asyncapi.yml',
        read: '2026-11-22',
      },
    ],
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
        run('approved', 'verification.approved'),
        run('declined', 'verification.rejected'),
        run('review', 'verification.submitted'),
        run('abandoned', 'verification.expired'),
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
    delivery: {
      timeout: 10_000,
      success: '2xx',
      note: 'a check tells its result only through the API: check.completed keeps its own name',
    },
    fixtures: [
      { name: 'verification.created', body: body('workflow_run.started', 'processing') },
      { name: 'verification.submitted', body: body('workflow_run.completed', 'review') },
      { name: 'verification.approved', body: body('workflow_run.completed', 'approved') },
      { name: 'verification.rejected', body: body('workflow_run.completed', 'declined') },
      { name: 'verification.expired', body: body('workflow_run.completed', 'abandoned') },
      { body: { payload: { resource_type: 'check', action: 'check.completed', object } } },
    ],
  })
}

function run(
  status: string,
  is:
    | 'verification.approved'
    | 'verification.rejected'
    | 'verification.submitted'
    | 'verification.expired',
) {
  return {
    when: { 'payload.action': 'workflow_run.completed', 'payload.object.status': status },
    is,
  }
}

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
