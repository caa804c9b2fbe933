// Puts together the address that a sender used, from what a host says of the request.

/** The parts of an address as the sender states them. */
export interface StatedAddress {
  /** X-Forwarded-Proto, if a proxy in front sends it. */
  readonly forwarded: string | undefined
  /** The scheme of the connection. */
  readonly scheme: string
  readonly host: string | undefined
  /** The target: path and query. */
  readonly path: string
}

/** The address, or `fallback` if the parts make none. */
export function addressOf(stated: StatedAddress, fallback?: string): string {
  const { forwarded, scheme, host = '' } = stated
  // A target that begins otherwise would move the host.
  const path = /^(?:\/|$)/.test(stated.path) ? stated.path : `/${stated.path}`
  const first = forwarded?.split(',', 1)[0]?.trim() ?? ''
  const origin = `${/^https?$/i.test(first) ? first : scheme}://${host}`
  return plainHost.test(host) || (isName(host) && isOrigin(`${origin}/`))
    ? origin + path
    : (fallback ?? `http://localhost${path}`)
}

/**
 * Matches a name or an IPv4 address, with or without a port: nearly every Host. URL parses the
 * others.
 */
const plainHost =
  /^(?:localhost|(?:[a-z\d-]+\.)+[a-z]{2,}|(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!:|$)|(?=:|$))){4})(?::(?:\d{1,4}|[1-5]\d{4}))?$/

/** A Host that is more than a name would move the path: `name/` as well, and `name/.`. */
const isName = (host: string) => !/[/\\?#@\s]/.test(host)

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { href, origin } = new URL(text)
  return href === `${origin}/`
}
