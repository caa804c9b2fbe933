// Keeps web pages away from a sandbox on this machine: a page that the user happens to have open
// must not drive it, neither cross-origin nor by a name that resolves to loopback (DNS rebinding).
import { HttpError } from './http-error.ts'

const loopbackNames = /^(localhost|[\w-]+(\.[\w-]+)*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/
const address = /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])$/i

/** The names that the sandbox answers to, beside those of loopback. */
export interface OwnNames {
  /** Where the user chose to listen; undefined when nothing listens. */
  readonly listenHost: string | undefined
  readonly hosts: readonly string[]
}

/** Throws 403 for a request whose Host is not a name of this machine. */
export function guardHost(request: Request, own: OwnNames): void {
  const host = request.headers.get('host')
  if (host === null || isOwnName(host, own)) return
  const message =
    'The Host header does not name this machine: use localhost, or allow the name (option hosts, --allow-host)'
  throw new HttpError(403, message, { code: 'HOST_REFUSED' })
}

/** Throws 403 for a request that a page of another site sent. */
export function guardOrigin(request: Request): void {
  const { headers } = request
  const origin = headers.get('origin')
  if (origin === null && !isEmbedding(headers)) return
  const expected = request.headers.get('host') ?? new URL(request.url).host
  if (origin !== null && URL.parse(origin)?.host === expected) return
  throw new HttpError(403, 'A page of another site sent the request', { code: 'ORIGIN_REFUSED' })
}

/** Whether a page of another site embeds the answer: images, scripts and frames send no Origin. */
function isEmbedding(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  return (
    (site === 'cross-site' || site === 'same-site') && headers.get('sec-fetch-dest') !== 'document'
  )
}

/** Whether it listens on loopback, or not at all. */
export function isLoopback(listenHost: string | undefined): boolean {
  return listenHost === undefined || listenHost === '::1' || loopbackNames.test(listenHost)
}

function isOwnName(host: string, { listenHost, hosts }: OwnNames): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  if (loopbackNames.test(name) || hosts.some((one) => one.toLowerCase() === name)) return true
  if (listenHost === undefined || isLoopback(listenHost)) return false
  // Rebinding needs a name: an address in the Host header cannot have been resolved by a page.
  return name === listenHost.toLowerCase() || address.test(name)
}

/** The path as the router reads it: `/%5Fsandbox` is `/_sandbox` there, and must be guarded as that. */
export function guardedPath(request: Request): string {
  return new URL(request.url).pathname.replaceAll(/%([0-7][\da-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
}
