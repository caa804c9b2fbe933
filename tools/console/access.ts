// Decides who may ask the console for what: the site of a request, the token of a page, the key of
// the process.
import { parse, serialize } from 'hono/utils/cookie'
import { show } from '../../src/foundation/warn.ts'
import { isLoopback, isLoopbackAddress } from '../../src/host/loopback.ts'
import { processState } from '../../src/host/process.ts'
import { toBase64url } from '../../src/signature/encoding.ts'

export class ConsoleRefusal extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

function hostOf(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

const withoutPort = (host: string) => host.replace(/:\d+$/, '')

/**
 * Refuses what does not come from this machine under a name of this machine. Many proxies and
 * tunnels put `localhost` into the Host header.
 */
export function refuseRemote(request: Request): void {
  // HTTP/2 names the host in the address, and a client may add another Host header.
  const hosts = [hostOf(request), new URL(request.url).host]
  if (!hosts.every((host) => isLoopback(withoutPort(host)))) {
    const message = 'The Host header does not name this machine: open the console at localhost'
    throw new ConsoleRefusal(403, 'HOST_REFUSED', message)
  }
  if (isPassedOn(request)) {
    const message = 'A proxy or tunnel passed this request on: open the console at localhost'
    throw new ConsoleRefusal(403, 'FORBIDDEN', message)
  }
}

function isPassedOn({ headers }: Request): boolean {
  const host = headers.get('x-forwarded-host')
  if (headers.has('forwarded') || (host !== null && !isLoopback(withoutPort(host)))) return true
  const clients = ['x-forwarded-for', 'x-real-ip', 'cf-connecting-ip'].map((name) =>
    headers.get(name),
  )
  return clients.some((list) => list?.split(',').some((one) => !isLoopbackAddress(one.trim())))
}

export function refuseForeign(request: Request): void {
  const site = request.headers.get('sec-fetch-site')
  // A browser whose user types an address sends no site.
  if (site === 'same-origin' || (site === 'none' && request.method === 'GET')) return
  const origin = request.headers.get('origin')
  // A proxy may have changed the Host, so the browser's own word comes first.
  const isOwn = origin === null || URL.parse(origin)?.host === hostOf(request)
  if (site === null && isOwn) return
  throw new ConsoleRefusal(403, 'ORIGIN_REFUSED', 'The request comes from another site')
}

const randomText = () => toBase64url(crypto.getRandomValues(new Uint8Array(24)))

/** All ports of a host share its cookies, so the name of a cookie has the port. */
function cookieName(request: Request, kind: string): string {
  return `${kind}-${/:(\d+)$/.exec(hostOf(request))?.[1] ?? 'default'}`
}

function cookieHeader(request: Request, kind: string, value: string): string {
  const secure = new URL(request.url).protocol === 'https:'
  const scope = { path: '/', httpOnly: true, sameSite: 'Strict', secure } as const
  return serialize(cookieName(request, kind), value, scope)
}

function cookieOf(request: Request, kind: string): string | undefined {
  const name = cookieName(request, kind)
  const value = parse(request.headers.get('cookie') ?? '', name)[name]
  return value !== undefined && /^[\w-]{32,64}$/.test(value) ? value : undefined
}

/** The token that a browser has, or a new one with the header that sets its cookie. */
export function tokenOf(request: Request): { readonly token: string; readonly cookie?: string } {
  const known = cookieOf(request, 'idv-console')
  if (known !== undefined) return { token: known }
  const token = randomText()
  return { token, cookie: cookieHeader(request, 'idv-console', token) }
}

/** Every process of an app can compare the token to the cookie. */
export function hasToken(request: Request): boolean {
  const known = cookieOf(request, 'idv-console')
  return known !== undefined && request.headers.get('x-console-token') === known
}

/** Milliseconds between two showings of the key, which any client on the network can cause. */
const showPauseMs = 10_000

/**
 * Admits a browser that has the key of the process: over `fetch` the console knows no address, so
 * only the terminal can tell who is on this machine. A page without the key makes the process show
 * it; a page with the key in its address gets a redirect that sets the cookie.
 */
export function admitByKey(
  request: Request,
  { base, isPage, now }: { readonly base: string; readonly isPage: boolean; readonly now: number },
): Response | undefined {
  // A development server loads this module again after an edit, and the key stays.
  const shared = processState()
  shared.consoleKey ??= { key: randomText(), shownAt: -showPauseMs }
  const own = shared.consoleKey
  if (isSame(cookieOf(request, 'idv-console-key'), own.key)) return undefined
  const url = new URL(request.url)
  if (isPage && isSame(url.searchParams.get('key'), own.key)) {
    url.searchParams.delete('key')
    // A framework may have removed the mount from the path.
    const headers = { location: (base || '/') + url.search }
    const response = new Response(null, { status: 303, headers })
    response.headers.append('set-cookie', cookieHeader(request, 'idv-console-key', own.key))
    return response
  }
  if (isPage && now - own.shownAt >= showPauseMs) {
    own.shownAt = now
    // Without a host: the client wrote the host, and the key would go where it leads.
    const path = `${base || '/'}?key=${own.key}`
    show(`inboxConsole: to look into the inbox, open ${path} on your own server`, 'CONSOLE_KEY')
  }
  const message =
    'Open the console by the path with a key that its process has printed in the terminal'
  throw new ConsoleRefusal(403, 'KEY_MISSING', message)
}

/** Compares all characters, because the time of a comparison that stops early tells where it did. */
function isSame(given: string | null | undefined, key: string): boolean {
  if (given?.length !== key.length) return false
  let difference = 0
  for (let at = 0; at < key.length; at++) difference |= given.charCodeAt(at) ^ key.charCodeAt(at)
  return difference === 0
}
