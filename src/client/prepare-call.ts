// From a call to what is sent: everything that can be wrong with its input is reported here, before
// anything is sent, as the service's own 422 would report it.
import { checkOptionNames } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import { idFault, type PathFamily, pathOf, queryText } from './address.ts'
import type { EndpointName, RequestDetails } from './api-error.ts'
import { type CallOptions, callOptionNames } from './call-options.ts'
import { queryFaults, refuse, schemaFaults, wireQuery } from './check-input.ts'
import { endpoints } from './contract.ts'
import { jsonFaults } from './json-faults.ts'

/** One call. */
export interface Call<Name extends EndpointName = EndpointName> {
  readonly endpoint: Name
  readonly id?: string
  readonly query?: object
  readonly body?: unknown
  readonly options?: CallOptions | undefined
}

/** Where calls go, and what each of them carries. */
export interface Target {
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly pathFamily: PathFamily
}

/**
 * Checks a call and builds its request.
 *
 * @throws ValidationError; WebhookError `OPTION_INVALID`; the signal's reason
 */
export function prepared(target: Target, { endpoint, id, query, body, options = {} }: Call) {
  checkOptionNames(endpoint, options, callOptionNames)
  const contract = endpoints[endpoint]
  const { method } = contract
  const path = pathOf(contract.path, target.pathFamily)
  const info: RequestDetails = { endpoint, method, path, attempts: 0 }
  const fault = contract.path.includes('{id}') ? idFault(id) : undefined
  if (fault !== undefined) refuse([{ field: 'id', message: fault }], info)
  const wire = wireQuery(query ?? {})
  // A schema's faults first: they are in the service's own words.
  if ('query' in contract) refuse(schemaFaults(contract.query, wire), info)
  if ('body' in contract) refuse(schemaFaults(contract.body, body), info)
  const unknown = 'query' in contract ? queryFaults(contract.query, wire) : []
  refuse([...unknown, ...jsonFaults(body), ...timeoutFaults(options.timeout)], info)
  options.signal?.throwIfAborted()
  const own = pathOf(contract.path, target.pathFamily, id)
  const text = body === undefined ? undefined : JSON.stringify(body)
  const json = text !== undefined && { 'content-type': 'application/json' }
  // A redirect would carry the key to another host.
  const redirect = 'manual' as const
  const init = defined({ method, headers: { ...target.headers, ...json }, redirect, body: text })
  return { url: `${target.baseUrl}${own}${queryText(wire)}`, path: own, init, body: text ?? '' }
}

function timeoutFaults(timeout: number | undefined) {
  if (timeout === undefined || (timeout > 0 && timeout < 2 ** 31)) return []
  return [{ field: 'timeout', message: 'must be milliseconds above 0' }]
}
