// The routes of the sandbox's control plane: one table drives its router, its checks and its
// OpenAPI document. None of this is part of the service's own document.
import * as z from 'zod'
import { assembledVerificationSchema, clientSchema } from '../../../src/protocol/resources.ts'
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
  /** 200 by default. */
  readonly status?: number
  readonly response: z.ZodType
}

type Details = Omit<ControlRoute, 'method' | 'path' | 'summary'>

const using =
  (method: ControlRoute['method']) =>
  <const More extends Details>(path: string, summary: string, more: More) => ({
    method,
    path,
    summary,
    ...more,
  })

const get = using('get')
const post = using('post')
const put = using('put')
const patch = using('patch')
const remove = using('delete')

/** Every route under `/_sandbox`, by the name of its handler. */
export const controlRoutes = {
  act: post(
    '/verifications/{id}/actions',
    'Act on a verification as its subject, its operator or the clock',
    { params: id, body: actionsBody, response: assembledVerificationSchema },
  ),
  updateClient: patch('/clients/{id}', 'Update a client', {
    params: id,
    body: clientPatch,
    response: clientSchema,
  }),
  deleteClient: remove('/clients/{id}', 'Soft-delete a client', {
    params: id,
    response: clientSchema,
  }),
  listSubscriptions: get(
    '/subscriptions',
    'List subscriptions; secrets are masked unless reveal=true',
    { query: reveal, response: list(subscriptionSchema) },
  ),
  createSubscription: post('/subscriptions', 'Create a subscription; the answer shows its secret', {
    body: subscriptionBody,
    status: 201,
    response: subscriptionSchema,
  }),
  getSubscription: get(
    '/subscriptions/{id}',
    'Get a subscription; its secret is masked unless reveal=true',
    { params: id, query: reveal, response: subscriptionSchema },
  ),
  updateSubscription: patch('/subscriptions/{id}', 'Change, pause or resume a subscription', {
    params: id,
    body: subscriptionPatch,
    response: subscriptionSchema,
  }),
  deleteSubscription: remove('/subscriptions/{id}', 'Delete a subscription', {
    params: id,
    response: json,
  }),
  rotateSecret: post(
    '/subscriptions/{id}/rotate',
    'Set a new secret of a subscription; the old one signs beside it for a while',
    { params: id, body: rotateBody, bodyOptional: true, response: subscriptionSchema },
  ),
  listDeliveries: get(
    '/deliveries',
    'List deliveries, newest first; all of them, or with page or limit a page',
    { query: deliveryQuery, response: deliveryPage },
  ),
  getDelivery: get('/deliveries/{id}', 'Get a delivery with its attempts and their exact bytes', {
    params: id,
    response: deliverySchema,
  }),
  resendDelivery: post('/deliveries/{id}/resend', 'Send a delivery again', {
    params: id,
    response: deliverySchema,
  }),
  resendDeliveries: post('/resend', 'Send again every delivery that fits a filter', {
    body: deliveryFilter,
    bodyOptional: true,
    response: z.object({ resent: z.int() }),
  }),
  flush: post('/flush', 'Wait until no delivery and no mail is due', { response: json }),
  getClock: get('/clock', 'Get the time of the sandbox', { response: clockSchema }),
  setClock: put('/clock', 'Set, freeze or release the clock', {
    body: clockBody,
    response: clockSchema,
  }),
  advanceClock: post(
    '/clock/advance',
    'Advance the clock; what falls due happens in the order of time',
    { body: advanceBody, response: clockSchema },
  ),
  getFaults: get('/faults', 'List the faults that are set', { response: faultsBody }),
  setFaults: put('/faults', 'Replace the faults', { body: faultsBody, response: faultsBody }),
  clearFaults: remove('/faults', 'Remove all faults', { response: faultsBody }),
  reset: post('/reset', 'Back to the state right after the start', { response: json }),
  getSnapshot: get('/snapshot', 'The whole state as JSON, secrets included', { response: json }),
  putSnapshot: put('/snapshot', 'Replace the whole state by a snapshot', {
    body: json,
    maxBytes: 512 * 1_048_576,
    response: json,
  }),
  getOutbox: get('/outbox', 'The mail that the service would send', { response: list(json) }),
  getAssumptions: get(
    '/assumptions',
    'What the service’s document does not show, and how the sandbox reads it',
    { response: json },
  ),
  listOrganizations: get('/organizations', 'List the organizations with their plans', {
    response: list(json),
  }),
  updateOrganization: patch(
    '/organizations/{id}',
    'Change an organization’s plan, payment or rate',
    { params: id, body: organizationPatch, response: json },
  ),
  listKeys: get('/api-keys', 'List API keys, masked', { response: list(keySchema) }),
  createKey: post('/api-keys', 'Generate an API key; it is shown only once', {
    body: z.object({ organizationId: z.string() }),
    status: 201,
    response: keySchema,
  }),
  rotateKey: post('/api-keys/{id}/rotate', 'Replace an API key; the new one is shown only once', {
    params: id,
    response: keySchema,
  }),
  revokeKey: remove('/api-keys/{id}', 'Revoke an API key', { params: id, response: keySchema }),
} as const

type Routes = typeof controlRoutes

/** The name of a route of the control plane. */
export type ControlName = keyof Routes

type Part<Route, Name extends string> = Route extends { readonly [Key in Name]: z.ZodType }
  ? z.infer<Route[Name]>
  : undefined

/** The checked input of a route's handler. */
export interface ControlInput<Name extends ControlName> {
  readonly params: Part<Routes[Name], 'params'>
  readonly query: Part<Routes[Name], 'query'>
  readonly body: Part<Routes[Name], 'body'>
}
