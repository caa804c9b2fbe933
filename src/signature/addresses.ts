// Checks an address against a list of ranges. Only the builder `schemes.ip` reaches this file: its
// list brings its own check.
import ipaddr from 'ipaddr.js'
import type { AddressCheck, AddressRule } from '../protocol/scheme-definition.ts'

/** An address, IPv4 as its mapped form, and the number of bits that count. */
type Range = readonly [address: ipaddr.IPv6, bits: number]

/** Reads an address; undefined for other spellings of IPv4 than four decimal numbers. */
function parseAddress(text: string): ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) {
    return ipaddr.IPv4.parse(text).toIPv4MappedAddress()
  }
  return ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : undefined
}

/** Reads a CIDR range or a single address; undefined if the text is neither. */
export function parseRange(text: string): Range | undefined {
  const [address = '', length, ...rest] = text.split('/')
  const parsed = parseAddress(address)
  if (length === undefined) return parsed && [parsed, 128]
  const bits = Number(length) + (address.includes(':') ? 0 : 96)
  const isLength = /^\d{1,3}$/.test(length) && bits <= 128
  return parsed && isLength && rest.length === 0 ? [parsed, bits] : undefined
}

/** The addresses of one sender, parsed once. */
export class AddressList implements AddressCheck {
  readonly allow: readonly string[]
  readonly proxies: number
  readonly #ranges: readonly Range[]

  constructor({ allow, proxies }: AddressRule) {
    this.allow = Object.freeze([...allow])
    this.proxies = proxies
    this.#ranges = allow.map(parseRange).filter((range) => range !== undefined)
  }

  /** Entries to the left of the entry that the outermost own proxy appended may be forged. */
  allows(peer: string | undefined, forwarded: readonly string[]): boolean {
    const hops = forwarded.flatMap((value) => value.split(',')).map((hop) => hop.trim())
    const hop = this.proxies === 0 ? peer : hops.at(-this.proxies)
    if (hop === undefined || hops.length < this.proxies) return false
    // Some proxies append the port too: `203.0.113.7:1234`, `[2001:db8::1]:1234`.
    const bare =
      this.proxies === 0 ? hop : hop.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
    const address = parseAddress(bare)
    return address !== undefined && this.#ranges.some(([range, bits]) => address.match(range, bits))
  }
}
