// Keeps web pages away from the control plane: a page that the user happens to have open must not
// drive the sandbox, neither by a cross-origin request nor by a name that resolves to loopback.
import { Refusal } from './refusal.ts'

const loopbackNames = /^(localhost|[\w-]+(\.[\w-]+)*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/
const address = /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])$/i

/**
 * Refuses (403) a request whose Host is no name of this machine or whose Origin is not its own.
 *
 * `listenHost` is where the user chose to listen; undefined when nothing listens.
 */
export function guardControl(request: Request, listenHost: string | undefined): void {
  const host = request.headers.get('host')
  if (host !== null && !isOwnName(host, listenHost)) {
    throw new Refusal(403, 'The Host header names another machine', { code: 'HOST_REFUSED' })
  }
  const origin = request.headers.get('origin')
  if (origin === null) return
  const own = host ?? new URL(request.url).host
  if (URL.parse(origin)?.host !== own) {
    throw new Refusal(403, 'The Origin header names another site', { code: 'ORIGIN_REFUSED' })
  }
}

function isOwnName(host: string, listenHost: string | undefined): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  if (loopbackNames.test(name)) return true
  if (listenHost === undefined || loopbackNames.test(listenHost)) return false
  // Rebinding needs a name: an address in the Host header cannot have been resolved by a page.
  return name === listenHost.toLowerCase() || address.test(name)
}
