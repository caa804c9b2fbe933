// Where a capture is replayed to: never to another host than the target's.

/** Path and query. */
export function pathOf(url = '/'): string {
  if (!URL.canParse(url)) return rooted(url)
  const { pathname, search } = new URL(url)
  return rooted(pathname + search)
}

/** Two slashes would name a host, and a capture must not go there. */
export const rooted = (path: string) => `/${path.replace(/^[/\\]+/, '')}`

/** The address that a scheme may have signed, as a proxy in front would state it. */
export function originHeaders(url = '') {
  if (!URL.canParse(url)) return {}
  const { host, protocol } = new URL(url)
  return { host, 'x-forwarded-proto': protocol.slice(0, -1) }
}
