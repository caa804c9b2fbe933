// Names and addresses that lead to this machine or to a private network, as far as they show it.

/** Reserved names of this machine and of private networks (RFC 6761, RFC 6762, ICANN's .internal). */
const localName = /(?:^|\.)(?:localhost|internal|local|test|home\.arpa)$/

/** This machine, private and link-local networks, and addresses behind a carrier's NAT (RFC 6890). */
const localV4 =
  /^(?:0|10|127|169\.254|172\.(?:1[6-9]|2\d|3[01])|192\.168|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./

/** This machine, unique local and link-local addresses. */
const localV6 = /^\[(?:::1?|f[cd]..:.*|fe[89ab].:.*)\]$/

/** An IPv4 address in IPv6, as `URL` writes it. */
const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/

/** Whether the host of an address is this machine or in a private network; `hostname` of a `URL`. */
export function isLocalHost(hostname: string): boolean {
  const [, high, low] = mapped.exec(hostname) ?? []
  if (high && low) return localV4.test(`${bytesOf(high)}.${bytesOf(low)}.`)
  if (hostname.startsWith('[')) return localV6.test(hostname)
  const name = hostname.replace(/\.$/, '')
  if (/^[\d.]+$/.test(name)) return localV4.test(name)
  // A name without a dot is a machine of the own network, such as a service of Docker Compose.
  return !name.includes('.') || localName.test(name)
}

function bytesOf(group: string): string {
  const number = Number.parseInt(group, 16)
  return `${number >> 8}.${number & 255}`
}
