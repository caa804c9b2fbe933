// Where a capture is replayed to: never to another host than the target's.

/** Path and query. */
export function pathOf(url = '/'): string {
  if (!URL.canParse(url)) return rooted(url)
  const { pathname, search } = new URL(url)
  return rooted(pathname + search)
}

/**
 * Two slashes would name a host, and a capture must not go there. Addresses are read without their
 * tabs and line breaks, which may stand between the two.
 */
export const rooted = (path: string) =>
  `/${path.replaceAll(/[\t\n\r]/g, '').replace(/^[/\\]+/, '')}`

/** The address of a path at a host, which stands before it: no path can name another. */
export const addressAt = (host: string, path: string) =>
  new URL(new URL(host).origin + rooted(path)).href

/** The address that a scheme may have signed, as a proxy in front would state it. */
export function originHeaders(url = '') {
  if (!URL.canParse(url)) return {}
  const { host, protocol } = new URL(url)
  return { host, 'x-forwarded-proto': protocol.slice(0, -1) }
}
