// Keeps web pages away from a sandbox on this machine: neither a page of another site nor a name
// that resolves to loopback (DNS rebinding) reaches it.
import { isLoopback } from '../../src/host/loopback.ts'
import { HttpError } from './http-error.ts'

const address = /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])$/i

/** The names that the sandbox answers to, beside those of loopback. */
export interface OwnNames {
  /** The host that it listens on; undefined while it does not listen. */
  readonly listenHost: string | undefined
  readonly hosts: readonly string[]
}

/** Throws 403 for a request whose Host is not a name of this machine. */
export function guardHost({ headers }: Request, { listenHost, hosts }: OwnNames): void {
  const name = headers.get('host')?.replace(/:\d+$/, '').toLowerCase()
  if (name === undefined || isLoopback(name)) return
  if (hosts.some((one) => one.toLowerCase() === name)) return
  // Rebinding needs a name: an address in the Host header was not resolved for a page.
  const isOpen = listenHost !== undefined && !isLoopback(listenHost)
  if (isOpen && (name === listenHost.toLowerCase() || address.test(name))) return
  const message =
    'The Host header does not name this machine: use localhost, or allow the name (option hosts, --allow-host)'
  throw new HttpError(403, message, { code: 'HOST_REFUSED' })
}

/** Throws 403 for a request that a page of another site sent. */
export function guardOrigin(request: Request): void {
  const { headers } = request
  const origin = headers.get('origin')
  // An image, a script or a frame of another site sends no Origin.
  const isEmbedded =
    /^(cross|same)-site$/.test(headers.get('sec-fetch-site') ?? '') &&
    headers.get('sec-fetch-dest') !== 'document'
  if (origin === null && !isEmbedded) return
  const own = headers.get('host') ?? new URL(request.url).host
  if (origin !== null && URL.parse(origin)?.host === own) return
  throw new HttpError(403, 'A page of another site sent the request', { code: 'ORIGIN_REFUSED' })
}
