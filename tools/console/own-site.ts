// Whether a request comes from a page of this very site, and under a name of this machine: a page
// that somebody happens to have open elsewhere must drive nothing.

const loopback = /^(localhost|[\w-]+(\.[\w-]+)*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i

/** The name under which a request asks, without its port. */
export function hostOf(request: Request): string {
  const host = request.headers.get('host') ?? new URL(request.url).host
  return host.replace(/:\d+$/, '')
}

/** Whether a name always leads to this machine, so that nobody can have rebound it. */
export function isLoopback(name: string): boolean {
  return loopback.test(name)
}

/** Whether a browser says that a request comes from another site than it goes to. */
export function isForeign(request: Request): boolean {
  // A browser says it itself where it can; a proxy may have changed the name that follows.
  const site = request.headers.get('sec-fetch-site')
  if (site !== null) return site !== 'same-origin'
  const origin = request.headers.get('origin')
  if (origin === null) return false
  const own = request.headers.get('host') ?? new URL(request.url).host
  return URL.parse(origin)?.host !== own
}

const loopbackAddress = /^(?:127(?:\.\d{1,3}){3}|\[?::1\]?|::ffff:127(?:\.\d{1,3}){3})(?::\d+)?$/i

/**
 * Whether a proxy or a tunnel says that it passes on a request from outside this machine. Many of
 * them put `localhost` into the Host header.
 */
export function isPassedOn({ headers }: Request): boolean {
  if (headers.has('forwarded')) return true
  const named = headers.get('x-forwarded-host')
  if (named !== null && !isLoopback(named.replace(/:\d+$/, ''))) return true
  return ['x-forwarded-for', 'x-real-ip', 'cf-connecting-ip'].some((name) =>
    headers
      .get(name)
      ?.split(',')
      .some((one) => !loopbackAddress.test(one.trim())),
  )
}
