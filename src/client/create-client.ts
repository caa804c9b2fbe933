// The typed client of the service: its six endpoints, and iteration over its two lists.
import { defined } from '../foundation/defined.ts'
import type { AssembledVerification } from '../protocol/api-schemas.ts'
import { type Client, limits, type Verification } from '../protocol/resources.ts'
import type { CallOptions } from './api-error.ts'
import { type ClientOptions, createSender } from './client-options.ts'
import type {
  ClientQuery,
  CreateClientInput,
  CreateVerificationInput,
  VerificationQuery,
} from './contract.ts'
import { createPager, type Page, type Pager } from './pager.ts'
import { request, type Sender } from './request.ts'

/** Sections 4.1 to 4.3. */
export interface Verifications {
  /**
   * Creates a verification.
   *
   * @throws ApiError, `OutcomeUnknownError` if it cannot be known whether it was created
   */
  create(input: CreateVerificationInput, options?: CallOptions): Promise<Verification>
  /** One page; `iterate` yields every record. */
  list(query?: VerificationQuery, options?: CallOptions): Promise<Page<Verification>>
  /** One verification, with its score, step data and audit trail. */
  get(id: string, options?: CallOptions): Promise<AssembledVerification>
  /**
   * Yields every record once. Records that change meanwhile can be skipped when sorting by
   * `updated_at`, and cause others to be skipped when filtering or sorting by `status`; iterate by
   * creation date without that filter if you need completeness.
   */
  iterate(query?: Omit<VerificationQuery, 'page'>, options?: CallOptions): Pager<Verification>
}

/** Sections 4.4 to 4.6. */
export interface Clients {
  /**
   * Creates a client record. Pass an `externalId`, so that you can find it after a lost response.
   *
   * @throws ApiError, `OutcomeUnknownError` if it cannot be known whether it was created
   */
  create(input?: CreateClientInput, options?: CallOptions): Promise<Client>
  /** One page; `iterate` yields every record. */
  list(query?: ClientQuery, options?: CallOptions): Promise<Page<Client>>
  get(id: string, options?: CallOptions): Promise<Client>
  /**
   * Yields every record once. A client that is deleted or leaves the filter meanwhile can cause
   * others to be skipped.
   */
  iterate(query?: Omit<ClientQuery, 'page'>, options?: CallOptions): Pager<Client>
}

/** A client of the service's API. */
export interface ApiClient {
  readonly verifications: Verifications
  readonly clients: Clients
}

/**
 * Creates a client of the service's API. Reads are retried if that may help, create calls only if
 * nothing can have been created.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example
 * const client = createClient({ baseUrl: 'https://…/v2/api', apiKey: process.env.IDV_API_KEY })
 * const { score } = await client.verifications.get(id)
 */
export function createClient(options: ClientOptions): ApiClient {
  const sender = createSender(options)
  return Object.freeze({ verifications: verifications(sender), clients: clients(sender) })
}

function verifications(sender: Sender): Verifications {
  const list: Verifications['list'] = (query = {}, options) =>
    request(sender, { endpoint: 'listVerifications', query, options })
  return Object.freeze<Verifications>({
    list,
    iterate: (query = {}, options) =>
      createPager((page) => list({ limit: limits.limit.max, ...defined(query), page }, options)),
    get: (id, options) => request(sender, { endpoint: 'getVerification', id, options }),
    create: (body, options) => request(sender, { endpoint: 'createVerification', body, options }),
  })
}

function clients(sender: Sender): Clients {
  const list: Clients['list'] = (query = {}, options) =>
    request(sender, { endpoint: 'listClients', query, options })
  return Object.freeze<Clients>({
    list,
    iterate: (query = {}, options) =>
      createPager((page) => list({ limit: limits.limit.max, ...defined(query), page }, options)),
    get: (id, options) => request(sender, { endpoint: 'getClient', id, options }),
    create: (body = {}, options) => request(sender, { endpoint: 'createClient', body, options }),
  })
}
