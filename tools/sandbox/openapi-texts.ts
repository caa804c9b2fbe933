// The words of the OpenAPI document, in the terms of the service's own document.
import type { endpoints } from '../../src/client/contract.ts'
import type { EventName } from '../../src/protocol/names.ts'

type Texts = Readonly<Record<string, string>>

export const endpointDescriptions: Readonly<
  Record<keyof typeof endpoints, { readonly summary: string; readonly description: string }>
> = {
  createVerification: {
    summary: 'Create a verification',
    description:
      'The subject is invited by e-mail when an address is known. The event verification.created follows.',
  },
  listVerifications: {
    summary: 'List verifications',
    description: 'Filtered, sorted and paginated; newest first by default.',
  },
  getVerification: {
    summary: 'Get a verification',
    description: 'With its score, step data and audit trail.',
  },
  createClient: {
    summary: 'Create a client',
    description: 'No field is required. The event client.created follows.',
  },
  listClients: { summary: 'List clients', description: 'Filtered, sorted and paginated.' },
  getClient: { summary: 'Get a client', description: 'Soft-deleted clients stay readable.' },
}

export const errorDescriptions: Readonly<Record<number, string>> = {
  400: 'the request is malformed',
  401: 'the API key is missing or invalid',
  402: 'the subscription is inactive',
  403: 'the plan does not include API access',
  404: 'the resource does not exist, or another organization owns it',
  405: 'METHOD_NOT_ALLOWED: the path does not take this method',
  413: 'PAYLOAD_TOO_LARGE: the body is too large',
  422: 'one or more fields are invalid; errors names each of them',
  429: 'too many requests',
}

export const eventDescriptions: Readonly<Record<EventName, string>> = {
  'verification.created': 'A verification is created',
  'verification.submitted': 'The subject completes all steps',
  'verification.approved': 'An operator approves the verification',
  'verification.rejected': 'An operator rejects the verification',
  'verification.canceled': 'A verification is canceled',
  'verification.expired': 'A verification reaches its expiry date',
  'client.created': 'A client is created',
  'client.updated': 'A client record is updated',
  'client.deleted': 'A client record is soft-deleted',
}

const resource = {
  id: 'Identifier',
  orgId: 'The owning organization',
  createdAt: 'ISO 8601',
  updatedAt: 'ISO 8601',
}

const verification = {
  ...resource,
  requirements: 'Ordered steps to collect',
  currentStep: 'The step that the subject is asked for next',
  clientId: 'The linked client',
  matterId: 'The linked matter',
  expiresDays: 'Days until the link expires',
  submittedAt: 'When the subject completed all steps',
  accessToken: 'Token of the subject-facing verification address',
}

/** Descriptions of the whole, and by schema: of the schema itself, then of its fields. */
export const apiDescriptions = {
  info: 'Verifications and client records, and the events that the service sends about them. Served by the sandbox of idv-webhooks; what the service’s document leaves open is listed at /_sandbox/assumptions.',
  key: 'The organization’s API key.',
  signature: 'HMAC-SHA256 over the exact bytes of the body, in lower-case hex.',
  schemas: {
    Verification: { description: 'A verification request', ...verification },
    AssembledVerification: {
      description: 'A verification request with its score, step data and audit trail',
      ...verification,
      score: 'Composite verification score, 0 to 100',
      person: 'Identity step data',
      documents: 'Document step data',
      biometric: 'Biometric step data',
      location: 'Location step data',
      contact: 'Contact step data',
      business: 'Business step data',
      financial: 'Financial step data',
      pep: 'PEP screening results',
      steps: 'Step-by-step audit trail',
    },
    Client: {
      description: 'A client record',
      ...resource,
      externalId: 'The caller’s own identifier',
      region: 'Province or state',
      country: 'ISO 3166-1 alpha-2',
      metadata: 'Arbitrary key-value data',
      active: 'False once the client is soft-deleted',
      requestCount: 'Verifications created for the client',
    },
    ThirdParty: { description: 'A party with whom the result is shared on approval' },
    Pagination: { description: 'The position of a page in its list' },
    Error: { description: 'The body of every error response', statusCode: 'The HTTP status' },
    ValidationError: {
      description: 'An error response that names each offending field',
      errors: 'One entry per offending field',
    },
  } as Readonly<Record<string, Texts | undefined>>,
}
