// Whether an address lies in a list of ranges, and which address a chain of proxies speaks of.
// An entry that anybody could have written is never believed.
import type { AddressRule } from '../protocol/scheme-definition.ts'

/** A range as 16 bytes (IPv4 as its mapped form) and the number of bits that count. */
export interface AddressRange {
  readonly bytes: Uint8Array
  readonly bits: number
}

const mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
/** Behind NAT64 the addresses of IPv4 are those of one prefix (RFC 6052, section 2.1). */
const nat64 = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]

/** Ranges of CIDR texts or single addresses; undefined when one is neither. */
export function parseRanges(texts: readonly string[]): readonly AddressRange[] | undefined {
  const ranges = texts.map(parseRange)
  return ranges.every((range) => range !== undefined) ? ranges : undefined
}

function parseRange(text: string): AddressRange | undefined {
  const [address = '', length, ...rest] = text.split('/')
  const bytes = parseAddress(address)
  if (!bytes || rest.length > 0) return undefined
  if (length === undefined) return { bytes, bits: 128 }
  if (!/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined
  const bits = Number(length) + (address.includes(':') ? 0 : 96)
  return bits <= 128 ? { bytes, bits } : undefined
}

/** The 16 bytes of an IPv4 or IPv6 address; undefined for anything else. */
export function parseAddress(text: string): Uint8Array | undefined {
  const bare = text.split('%', 1)[0] ?? ''
  if (!bare.includes(':')) {
    const four = parseFour(bare)
    return four && Uint8Array.from([...mapped, ...four])
  }
  return parseSixteen(bare)
}

function parseFour(text: string): number[] | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part))) {
    return undefined
  }
  const bytes = parts.map(Number)
  return bytes.every((byte) => byte <= 255) ? bytes : undefined
}

function parseSixteen(text: string): Uint8Array | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map((half) => (half === '' ? [] : groupsOf(half)))
  if (!head || (halves.length === 2 && !tail)) return undefined
  const missing = 16 - head.length - (tail?.length ?? 0)
  if (halves.length === 1 ? missing !== 0 : missing < 2) return undefined
  return Uint8Array.from([...head, ...Array<number>(missing).fill(0), ...(tail ?? [])])
}

function groupsOf(half: string): number[] | undefined {
  const bytes: number[] = []
  const groups = half.split(':')
  for (const [at, group] of groups.entries()) {
    if (group.includes('.') && at === groups.length - 1) {
      const four = parseFour(group)
      if (!four) return undefined
      bytes.push(...four)
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(group)) return undefined
      const value = Number.parseInt(group, 16)
      bytes.push(value >> 8, value & 255)
    }
  }
  return bytes
}

/**
 * The name of an address's share in what is bounded for each. A single machine has all of a /64 of
 * IPv6 as a rule, so its first 64 bits count; IPv4 counts whole, also within IPv6 and behind NAT64.
 */
export function shareNameOf(address: string | undefined): string | undefined {
  if (!address?.includes(':')) return address
  const bytes = parseAddress(address)
  if (!bytes) return address
  const isFour = [mapped, nat64].some((prefix) => prefix.every((byte, at) => bytes[at] === byte))
  return isFour ? bytes.subarray(12).join('.') : `${bytes.subarray(0, 8).join('.')}/64`
}

/** Whether an address lies in one of the ranges. */
export function isWithin(address: Uint8Array, ranges: readonly AddressRange[]): boolean {
  return ranges.some(({ bytes, bits }) => {
    for (let bit = 0; bit < bits; bit += 8) {
      const mask = bits - bit >= 8 ? 255 : (255 << (8 - (bits - bit))) & 255
      const at = bit >> 3
      if (((address[at] ?? 0) & mask) !== ((bytes[at] ?? 0) & mask)) return false
    }
    return true
  })
}

/** The known addresses of a request. */
export interface Hops {
  /** The address at the other end of the socket. */
  readonly peer: string | undefined
  /** The values of X-Forwarded-For, in the order in which they arrived. */
  readonly forwarded: readonly string[]
  /** How many proxies of ours have appended to it. */
  readonly proxies: number
}

/**
 * The address that the outermost of our proxies has seen. Entries further left were written by
 * strangers; a chain that is shorter than it should be did not come through our proxies.
 */
export function clientAddress({ peer, forwarded, proxies }: Hops): string | undefined {
  if (proxies === 0) return peer
  const entries = forwarded.flatMap((value) => value.split(',')).map((entry) => entry.trim())
  const entry = entries.at(-proxies)
  if (entry === undefined || entries.length < proxies) return undefined
  return withoutPort(entry)
}

/** Some proxies write the port too: `203.0.113.7:1234`, `[2001:db8::1]:1234`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry)
  if (bracketed) return bracketed[1] ?? ''
  return /^[\d.]+:\d{1,5}$/.test(entry) ? (entry.split(':', 1)[0] ?? '') : entry
}

/** The addresses of one sender, made ready once. */
export class AddressList {
  readonly #ranges: readonly AddressRange[]
  readonly #proxies: number

  constructor({ allow, proxies }: AddressRule) {
    this.#ranges = parseRanges(allow) ?? []
    this.#proxies = proxies
  }

  allows(peer: string | undefined, forwarded: readonly string[]): boolean {
    const address = clientAddress({ peer, forwarded, proxies: this.#proxies })
    const bytes = address === undefined ? undefined : parseAddress(address)
    return bytes !== undefined && isWithin(bytes, this.#ranges)
  }
}
