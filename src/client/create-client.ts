// The typed client of the service: its six endpoints, and walks over its two lists.
import type { AssembledVerification, Client, Verification } from '../protocol/resources.ts'
import { isApiError, MalformedResponseError, OutcomeUnknownError } from './api-error.ts'
import type { CallOptions } from './call-options.ts'
import { type ClientOptions, createSender } from './client-options.ts'
import type {
  ClientQuery,
  CreateClientInput,
  CreateVerificationInput,
  VerificationQuery,
} from './inputs.ts'
import { findClients, findVerifications } from './look-up.ts'
import { createPager, type Page, type Pager } from './pager.ts'
import { pinning } from './pin-date.ts'
import type { Call } from './prepare-call.ts'
import { type Called, request, type Sender } from './request.ts'

/** Sections 4.1 to 4.3. */
export interface Verifications {
  /**
   * Creates a verification.
   *
   * @throws ApiError, `OutcomeUnknownError` when nobody can know whether it was created
   */
  create(input: CreateVerificationInput, options?: CallOptions): Promise<Verification>
  /** One page; `iterate` gives all. */
  list(query?: VerificationQuery, options?: CallOptions): Promise<Page<Verification>>
  /** With its score, step data and audit trail. */
  get(id: string, options?: CallOptions): Promise<AssembledVerification>
  /**
   * All that existed when the walk began, each once. With a filter on `status`, or sorted by it, a
   * record that changes while you read can move others past you: what must be complete is walked
   * by creation and without that filter.
   */
  iterate(query?: Omit<VerificationQuery, 'page'>, options?: CallOptions): Pager<Verification>
}

/** Sections 4.4 to 4.6. */
export interface Clients {
  /**
   * Creates a client record; give it an `externalId`, and a lost answer can be looked up.
   *
   * @throws ApiError, `OutcomeUnknownError` when nobody can know whether it was created
   */
  create(input?: CreateClientInput, options?: CallOptions): Promise<Client>
  /** One page; `iterate` gives all. */
  list(query?: ClientQuery, options?: CallOptions): Promise<Page<Client>>
  get(id: string, options?: CallOptions): Promise<Client>
  /**
   * All of them, each once. No date pins this list: a client that is deleted or leaves the filter
   * while you read can move others past you.
   */
  iterate(query?: Omit<ClientQuery, 'page'>, options?: CallOptions): Pager<Client>
}

/** A client of the service's API. */
export interface ApiClient {
  readonly verifications: Verifications
  readonly clients: Clients
}

/**
 * Creates a client of the service's API. Reads are repeated when that may help, creations only
 * when nothing can have been created.
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
    read(sender, { endpoint: 'listVerifications', query, options })
  const iterate: Verifications['iterate'] = (query = {}, options) =>
    createPager<Verification, VerificationQuery>({
      query: { limit: 100, ...query },
      read: (one) => list(one, options),
      endless: () => endless('listVerifications', '/verifications'),
      ...pinning<VerificationQuery, Verification>(query, (own) =>
        list({ ...own, sort: 'created_at', page: 1, limit: 1 }, options),
      ),
    })
  return Object.freeze<Verifications>({
    list,
    iterate,
    get: (id, options) => read(sender, { endpoint: 'getVerification', id, options }),
    async create(input, options) {
      const began = sender.now()
      const called = await request(sender, { endpoint: 'createVerification', body: input, options })
      if (called.ok) return called.value
      const { body } = called
      throw failed(called, (own) =>
        findVerifications({ body, began }, (query) => iterate(query, own).pages()),
      )
    },
  })
}

function clients(sender: Sender): Clients {
  const list: Clients['list'] = (query = {}, options) =>
    read(sender, { endpoint: 'listClients', query, options })
  const iterate: Clients['iterate'] = (query = {}, options) =>
    createPager<Client, ClientQuery>({
      query: { limit: 100, ...query },
      read: (one) => list(one, options),
      endless: () => endless('listClients', '/clients'),
    })
  return Object.freeze<Clients>({
    list,
    iterate,
    get: (id, options) => read(sender, { endpoint: 'getClient', id, options }),
    async create(input = {}, options) {
      const began = sender.now()
      const called = await request(sender, { endpoint: 'createClient', body: input, options })
      if (called.ok) return called.value
      const { body } = called
      throw failed(called, (own) =>
        findClients({ body, began }, (query) => iterate(query, own).pages()),
      )
    },
  })
}

async function read<
  Name extends 'listVerifications' | 'getVerification' | 'listClients' | 'getClient',
>(sender: Sender, call: Call<Name>) {
  const called = await request(sender, call)
  if (called.ok) return called.value
  throw called.error
}

/** What a creation that did not end well is told by. */
function failed(
  { error, unclear, requestInfo }: Extract<Called<never>, { readonly ok: false }>,
  lookUp: OutcomeUnknownError['lookUp'],
): unknown {
  if (!unclear) return error
  const status = isApiError(error) ? error.status : undefined
  return new OutcomeUnknownError({ status, requestInfo, cause: error }, lookUp)
}

function endless(endpoint: 'listVerifications' | 'listClients', path: string) {
  return new MalformedResponseError({
    code: 'RESPONSE_MALFORMED',
    message:
      'the list does not end: page after page says that there is a next one, with nothing new',
    requestInfo: { endpoint, method: 'GET', path, attempts: 1 },
  })
}
