// From a call to what is sent: everything that can be wrong with its input is told here, before
// anything leaves, as the service's own 422 would tell it.
import { idFault, type PathFamily, pathOf, queryText } from './address.ts'
import type { EndpointName, RequestFacts } from './api-error.ts'
import type { CallOptions } from './call-options.ts'
import { checkInput, invalidInput, jsonFaults, queryFaults, wireQuery } from './check-input.ts'
import { endpoints } from './contract.ts'

/** One call. */
export interface Call<Name extends EndpointName = EndpointName> {
  readonly endpoint: Name
  readonly id?: string
  readonly query?: object
  readonly body?: unknown
  readonly options?: CallOptions | undefined
}

/** Where calls go, and what goes with each. */
export interface Target {
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly pathFamily: PathFamily
}

const json = { 'content-type': 'application/json' } as const

/**
 * Checks a call and writes it down.
 *
 * @throws ValidationError; the signal's reason
 */
export function prepared(target: Target, { endpoint, id, query, body, options }: Call) {
  const facts = endpoints[endpoint]
  const path = pathOf(facts.path, target.pathFamily)
  const info: RequestFacts = { endpoint, method: facts.method, path, attempts: 0 }
  const fault = facts.path.includes('{id}') ? idFault(id) : undefined
  if (fault !== undefined) throw invalidInput([{ field: 'id', message: fault }], info)
  const wire = wireQuery(query ?? {})
  if ('query' in facts) checkInput(facts.query, wire, info)
  if ('body' in facts) checkInput(facts.body, body, info)
  const faults = [...queryFaults(wire), ...jsonFaults(body), ...timeoutFaults(options?.timeout)]
  if (faults.length > 0) throw invalidInput(faults, info)
  options?.signal?.throwIfAborted()
  const own = pathOf(facts.path, target.pathFamily, id)
  const text = body === undefined ? '' : JSON.stringify(body)
  const init: RequestInit = {
    method: facts.method,
    headers: { ...target.headers, ...(text && json) },
    // A redirect would carry the key to another host.
    redirect: 'manual',
    ...(text && { body: text }),
  }
  return { url: `${target.baseUrl}${own}${queryText(wire)}`, path: own, init, body: text }
}

function timeoutFaults(timeout: number | undefined) {
  if (timeout === undefined || (timeout > 0 && timeout < 2 ** 31)) return []
  return [{ field: 'timeout', message: 'must be milliseconds above 0' }]
}
