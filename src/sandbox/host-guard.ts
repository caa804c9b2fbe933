// Keeps web pages away from the control plane: a page that the user happens to have open must not
// drive the sandbox, neither by a cross-origin request nor by a name that resolves to loopback.
import { HttpError } from './http-error.ts'

const loopbackNames = /^(localhost|[\w-]+(\.[\w-]+)*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/
const address = /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])$/i

/** The names that the sandbox answers to, beside those of loopback. */
export interface OwnNames {
  /** Where the user chose to listen; undefined when nothing listens. */
  readonly listenHost: string | undefined
  readonly hosts: readonly string[]
}

/**
 * Refuses (403) a request whose Host is no name of this machine or whose Origin is not its own.
 */
export function guardControl(request: Request, own: OwnNames): void {
  const host = request.headers.get('host')
  if (host !== null && !isOwnName(host, own)) {
    const message =
      'The Host header is no name of this machine: use localhost, or allow the name (option hosts, --allow-host)'
    throw new HttpError(403, message, { code: 'HOST_REFUSED' })
  }
  const origin = request.headers.get('origin')
  if (origin === null) return
  const expected = host ?? new URL(request.url).host
  if (URL.parse(origin)?.host !== expected) {
    throw new HttpError(403, 'The Origin header names another site', { code: 'ORIGIN_REFUSED' })
  }
}

function isOwnName(host: string, { listenHost, hosts }: OwnNames): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  if (loopbackNames.test(name) || hosts.some((one) => one.toLowerCase() === name)) return true
  if (listenHost === undefined || loopbackNames.test(listenHost)) return false
  // Rebinding needs a name: an address in the Host header cannot have been resolved by a page.
  return name === listenHost.toLowerCase() || address.test(name)
}
