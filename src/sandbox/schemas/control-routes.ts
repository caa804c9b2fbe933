// The routes of the sandbox's control plane: one table drives its router, its checks and its
// OpenAPI document. None of this is part of the service's own document.
import * as z from 'zod'
import { assembledVerificationSchema, clientSchema } from '../../protocol/resources.ts'
import {
  actionsBody,
  advanceBody,
  clientPatch,
  clockBody,
  clockSchema,
  id,
  json,
  keySchema,
  list,
  organizationPatch,
  reveal,
  rotateBody,
  subscriptionBody,
  subscriptionPatch,
  subscriptionSchema,
} from './control-schemas.ts'
import { deliveryFilter, deliveryPage, deliveryQuery, deliverySchema } from './deliveries.ts'
import { faultsBody } from './faults.ts'

/** A route of the control plane. */
export interface ControlRoute {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly path: string
  readonly summary: string
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** Whether the body may be left out. */
  readonly bodyOptional?: true
  /** Bytes of the body, where it may have more than others. */
  readonly maxBytes?: number
  readonly status: number
  readonly response: z.ZodType
}

/** Every route under `/_sandbox`, by the name of its handler. */
export const controlRoutes = {
  act: {
    method: 'post',
    path: '/verifications/{id}/actions',
    summary: 'Act on a verification as its subject, its operator or the clock',
    params: id,
    body: actionsBody,
    status: 200,
    response: assembledVerificationSchema,
  },
  updateClient: {
    method: 'patch',
    path: '/clients/{id}',
    summary: 'Update a client',
    params: id,
    body: clientPatch,
    status: 200,
    response: clientSchema,
  },
  deleteClient: {
    method: 'delete',
    path: '/clients/{id}',
    summary: 'Soft-delete a client',
    params: id,
    status: 200,
    response: clientSchema,
  },
  listSubscriptions: {
    method: 'get',
    path: '/subscriptions',
    summary: 'List subscriptions; secrets are masked unless reveal=true',
    query: reveal,
    status: 200,
    response: list(subscriptionSchema),
  },
  createSubscription: {
    method: 'post',
    path: '/subscriptions',
    summary: 'Create a subscription; the answer shows its secret',
    body: subscriptionBody,
    status: 201,
    response: subscriptionSchema,
  },
  getSubscription: {
    method: 'get',
    path: '/subscriptions/{id}',
    summary: 'Get a subscription; its secret is masked unless reveal=true',
    params: id,
    query: reveal,
    status: 200,
    response: subscriptionSchema,
  },
  updateSubscription: {
    method: 'patch',
    path: '/subscriptions/{id}',
    summary: 'Change, pause or resume a subscription',
    params: id,
    body: subscriptionPatch,
    status: 200,
    response: subscriptionSchema,
  },
  deleteSubscription: {
    method: 'delete',
    path: '/subscriptions/{id}',
    summary: 'Delete a subscription',
    params: id,
    status: 200,
    response: json,
  },
  rotateSecret: {
    method: 'post',
    path: '/subscriptions/{id}/rotate',
    summary: 'Give a subscription a new secret; the old one signs beside it for a while',
    params: id,
    body: rotateBody,
    bodyOptional: true,
    status: 200,
    response: subscriptionSchema,
  },
  listDeliveries: {
    method: 'get',
    path: '/deliveries',
    summary: 'List deliveries, newest first; all of them, or with page or limit a page',
    query: deliveryQuery,
    status: 200,
    response: deliveryPage,
  },
  getDelivery: {
    method: 'get',
    path: '/deliveries/{id}',
    summary: 'Get a delivery with its attempts and their exact bytes',
    params: id,
    status: 200,
    response: deliverySchema,
  },
  resendDelivery: {
    method: 'post',
    path: '/deliveries/{id}/resend',
    summary: 'Send a delivery again',
    params: id,
    status: 200,
    response: deliverySchema,
  },
  resendDeliveries: {
    method: 'post',
    path: '/resend',
    summary: 'Send again every delivery that fits a filter',
    body: deliveryFilter,
    bodyOptional: true,
    status: 200,
    response: z.object({ resent: z.int() }),
  },
  drain: {
    method: 'post',
    path: '/drain',
    summary: 'Wait until no delivery and no mail is due',
    status: 200,
    response: json,
  },
  getClock: {
    method: 'get',
    path: '/clock',
    summary: 'Tell the time',
    status: 200,
    response: clockSchema,
  },
  setClock: {
    method: 'put',
    path: '/clock',
    summary: 'Set, freeze or let go the clock',
    body: clockBody,
    status: 200,
    response: clockSchema,
  },
  advanceClock: {
    method: 'post',
    path: '/clock/advance',
    summary: 'Move the clock on; what falls due happens in the order of time',
    body: advanceBody,
    status: 200,
    response: clockSchema,
  },
  getFaults: {
    method: 'get',
    path: '/faults',
    summary: 'List the faults that are set',
    status: 200,
    response: faultsBody,
  },
  setFaults: {
    method: 'put',
    path: '/faults',
    summary: 'Replace the faults',
    body: faultsBody,
    status: 200,
    response: faultsBody,
  },
  clearFaults: {
    method: 'delete',
    path: '/faults',
    summary: 'Take all faults away',
    status: 200,
    response: faultsBody,
  },
  reset: {
    method: 'post',
    path: '/reset',
    summary: 'Back to the state right after the start',
    status: 200,
    response: json,
  },
  getSnapshot: {
    method: 'get',
    path: '/snapshot',
    summary: 'The whole state as JSON, secrets included',
    status: 200,
    response: json,
  },
  putSnapshot: {
    method: 'put',
    path: '/snapshot',
    summary: 'Put a snapshot in the place of the whole state',
    body: json,
    maxBytes: 512 * 1_048_576,
    status: 200,
    response: json,
  },
  getScenario: {
    method: 'get',
    path: '/scenario',
    summary: 'What was done since the start or the last reset, as a scenario that does it again',
    status: 200,
    response: json,
  },
  getOutbox: {
    method: 'get',
    path: '/outbox',
    summary: 'The mail that the service would have sent',
    status: 200,
    response: list(json),
  },
  getAssumptions: {
    method: 'get',
    path: '/assumptions',
    summary: 'What the service’s document does not show, and how the sandbox reads it',
    status: 200,
    response: json,
  },
  listOrganizations: {
    method: 'get',
    path: '/organizations',
    summary: 'List the organizations with their plans',
    status: 200,
    response: list(json),
  },
  updateOrganization: {
    method: 'patch',
    path: '/organizations/{id}',
    summary: 'Change an organization’s plan, payment or rate',
    params: id,
    body: organizationPatch,
    status: 200,
    response: json,
  },
  listKeys: {
    method: 'get',
    path: '/api-keys',
    summary: 'List API keys, masked',
    status: 200,
    response: list(keySchema),
  },
  createKey: {
    method: 'post',
    path: '/api-keys',
    summary: 'Generate an API key; it is shown this once',
    body: z.object({ organizationId: z.string() }),
    status: 201,
    response: keySchema,
  },
  rotateKey: {
    method: 'post',
    path: '/api-keys/{id}/rotate',
    summary: 'Replace an API key; the new one is shown this once',
    params: id,
    status: 200,
    response: keySchema,
  },
  revokeKey: {
    method: 'delete',
    path: '/api-keys/{id}',
    summary: 'Revoke an API key',
    params: id,
    status: 200,
    response: keySchema,
  },
} as const satisfies Readonly<Record<string, ControlRoute>>
