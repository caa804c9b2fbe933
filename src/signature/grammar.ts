// The signature header's value: how claims stand in it, and how a sender writes it.

import type { Scheme } from '../protocol/scheme.ts'
import { digestHex } from './encoding.ts'
import { digestLength } from './hmac/hmac.ts'

/** Signatures that claim to prove the same bytes, with the time that they sign, if any. */
export interface Claim {
  readonly timestamp?: string
  /** Digests in lower-case hex. */
  readonly signatures: readonly string[]
}

/** More signatures than any rotation needs would only cost us work. */
const mostSignatures = 16

/** Reads a header's value strictly; undefined when no signature in it is well formed. */
export function readClaims(scheme: Scheme, value: string): readonly Claim[] | undefined {
  const groups = split(scheme, value.trim())
  if (groups.reduce((total, group) => total + group.texts.length, 0) > mostSignatures) {
    return undefined
  }
  const claims = groups.flatMap(({ timestamp, texts }): Claim[] => {
    const signatures = texts.flatMap((text) => {
      const digest = digestHex(text, scheme.encoding, digestLength[scheme.algorithm])
      return digest ? [digest] : []
    })
    if (signatures.length === 0) return []
    return [{ ...(timestamp !== undefined && { timestamp }), signatures }]
  })
  return claims.length > 0 ? claims : undefined
}

interface Group {
  timestamp?: string
  readonly texts: string[]
}

function split({ grammar }: Scheme, value: string): readonly Group[] {
  if (grammar === 'plain') return [{ texts: value.split(/[ ,]+/) }]
  if ('list' in grammar) return [{ texts: prefixed(value.split(/ +/), grammar.list.prefix) }]
  if ('pairs' in grammar) return splitPairs(grammar.pairs, value)
  const single = !value.includes(',') && !value.includes(' ')
  const tokens = single ? [value] : value.split(/[ ,]+/)
  return [{ texts: prefixed(tokens, grammar.prefix, grammar.optional) }]
}

function prefixed(tokens: readonly string[], prefix: string, optional = false): string[] {
  return tokens.flatMap((token) => {
    if (token.startsWith(prefix)) return [token.slice(prefix.length)]
    return optional ? [token] : []
  })
}

/** A second timestamp begins a new group: a sender that rotates may send one group per secret. */
function splitPairs(
  pairs: { readonly signature: string; readonly timestamp?: string },
  value: string,
): readonly Group[] {
  const groups: Group[] = []
  for (const part of value.split(/ +/)) {
    let group: Group = { texts: [] }
    groups.push(group)
    for (const pair of part.split(',')) {
      const at = pair.indexOf('=')
      const name = pair.slice(0, Math.max(at, 0))
      const text = pair.slice(at + 1)
      if (name === pairs.timestamp) {
        if (group.timestamp !== undefined) {
          group = { texts: [] }
          groups.push(group)
        }
        group.timestamp = text
      } else if (name === pairs.signature) {
        group.texts.push(text)
      }
    }
  }
  return pairs.timestamp === undefined ? groups : groups.filter((group) => group.timestamp)
}

/** Writes signatures as a sender of the scheme would. */
export function writeClaims(
  { grammar }: Scheme,
  signatures: readonly string[],
  timestamp: string,
): string {
  if (grammar === 'plain') return signatures.join(',')
  if ('list' in grammar) return signatures.map((one) => grammar.list.prefix + one).join(' ')
  if ('prefix' in grammar) {
    const prefix = grammar.optional ? '' : grammar.prefix
    return signatures.map((one) => prefix + one).join(',')
  }
  const { timestamp: time, signature } = grammar.pairs
  const pairs = signatures.map((one) => `${signature}=${one}`)
  return [...(time === undefined ? [] : [`${time}=${timestamp}`]), ...pairs].join(',')
}
