// Claims of a delivery's headers, before any byte of its body is read: which signatures,
// over which time and id. Every header that a scheme signs may occur once.
import type { HeaderIndex } from '../delivery.ts'
import type { RejectedCode } from '../errors.ts'
import type { Scheme, TemplatePart } from '../protocol/scheme-definition.ts'
import { digestHex } from './encoding.ts'
import { type Claim, mostSignatures, readAllClaims } from './grammar.ts'
import { isInTolerance, readTime } from './time.ts'

type ClaimFault = Extract<
  RejectedCode,
  | `SIGNATURE_${'MISSING' | 'MALFORMED' | 'MISMATCH'}`
  | 'HEADER_AMBIGUOUS'
  | 'TIMESTAMP_OUTSIDE_TOLERANCE'
>

/** The claims of the headers, or the reason why there are none. */
export type HeaderClaims =
  | { readonly ok: true; readonly claims: readonly Claim[]; readonly id: string | undefined }
  /** `late` holds well-formed claims whose time is outside the tolerance. */
  | { readonly ok: false; readonly code: ClaimFault; readonly late?: readonly Claim[] }

const missing: HeaderClaims = { ok: false, code: 'SIGNATURE_MISSING' }
const malformed: HeaderClaims = { ok: false, code: 'SIGNATURE_MALFORMED' }
const ambiguous: HeaderClaims = { ok: false, code: 'HEADER_AMBIGUOUS' }

const nothing: HeaderClaims = { ok: true, claims: [], id: undefined }

const lowerCase = (name: string | undefined) => name?.toLowerCase()

/** Reads the claims of a delivery's headers. */
export interface ClaimReader {
  /** `now` is in milliseconds since the epoch. */
  read(headers: HeaderIndex, now: number): HeaderClaims
}

/**
 * Reads the header of the service's scheme: digests of each encoding, with or without the prefix. A
 * bundle without other schemes carries no other grammar.
 */
export class ServiceClaims implements ClaimReader {
  readonly #header: string

  constructor({ header }: Scheme) {
    this.#header = header.toLowerCase()
  }

  read(headers: HeaderIndex): HeaderClaims {
    const [value, another] = headers.values(this.#header)
    if (another !== undefined) return ambiguous
    const text = value?.trim()
    if (!text) return missing
    // Nearly always one signature, which holds no separator.
    const one = digestHex(text, 'any', 32)
    const signatures = one === undefined ? digestsIn(text) : [one]
    return signatures.length > 0 ? { ok: true, claims: [{ signatures }], id: undefined } : malformed
  }
}

function digestsIn(text: string): readonly string[] {
  const words = text.split(/[ ,]+/)
  if (words.length > mostSignatures) return []
  return words.flatMap((word) => digestHex(word.replace(/^sha256=/, ''), 'any', 32) ?? [])
}

/** Reads the headers of any scheme, whose names are brought into lower case once. */
class HeaderClaimReader implements ClaimReader {
  readonly #scheme: Scheme
  readonly #signatures: readonly string[]
  readonly #time: string | undefined
  readonly #id: string | undefined
  /** Further headers that are signed. */
  readonly #signed: readonly string[]
  readonly #splits: ((id: string) => boolean) | undefined

  constructor(scheme: Scheme) {
    this.#scheme = scheme
    this.#signatures = (scheme.headers ?? [scheme.header]).map((name) => name.toLowerCase())
    this.#time = lowerCase(scheme.timestamp?.header)
    this.#id = lowerCase(scheme.id?.header)
    this.#signed = scheme.template.flatMap((part) =>
      'header' in part ? [part.header.toLowerCase()] : [],
    )
    this.#splits = splitsOf(scheme)
  }

  read(headers: HeaderIndex, now: number): HeaderClaims {
    // The address tells such a sender, or the body itself: no header claims anything.
    if (this.#scheme.authenticity === 'ip' || this.#scheme.bodyJws) return nothing
    const signatures = this.#signaturesOf(headers)
    const times = this.#time === undefined ? undefined : headers.values(this.#time)
    const ids = this.#id === undefined ? undefined : headers.values(this.#id)
    if (!signatures || (times?.length ?? 0) > 1 || (ids?.length ?? 0) > 1) return ambiguous
    const time = times?.[0]?.trim()
    const id = ids?.[0]?.trim()
    if (signatures.length === 0 || (times && !time) || (ids && !id)) return missing
    for (const name of this.#signed) {
      const { length } = headers.values(name)
      if (length !== 1) return length === 0 ? missing : ambiguous
    }
    if (id !== undefined && this.#splits?.(id)) return malformed
    return this.#judge(signatures, { time, id, now })
  }

  /** The values of the signature headers that are present; undefined if one occurs twice. */
  #signaturesOf(headers: HeaderIndex): readonly string[] | undefined {
    const all = this.#signatures.map((name) => headers.values(name))
    if (all.some(({ length }) => length > 1)) return undefined
    return all.flat().filter((value) => value.trim() !== '')
  }

  #judge(
    present: readonly string[],
    { time, id, now }: { time: string | undefined; id: string | undefined; now: number },
  ): HeaderClaims {
    const scheme = this.#scheme
    let claims = readAllClaims(scheme, present)
    if (!claims) return malformed
    if (time !== undefined) claims = claims.map((one) => ({ ...one, timestamp: time }))
    for (const { timestamp } of claims) {
      if (timestamp !== undefined && readTime(scheme, timestamp) === undefined) return malformed
    }
    if (scheme.tolerance === 'none') return { ok: true, claims, id }
    const inTime = claims.filter(({ timestamp }) => isInTolerance(scheme, timestamp, now))
    if (inTime.length > 0) return { ok: true, claims: inTime, id }
    return { ok: false, code: 'TIMESTAMP_OUTSIDE_TOLERANCE', late: claims }
  }
}

/**
 * Tells an id that holds the text that ends it in the template: one signature could then stand for
 * two ids. If a time follows, only text that reads as a time is ambiguous.
 */
function splitsOf(scheme: Scheme): ((id: string) => boolean) | undefined {
  const at = scheme.template.findIndex((part) => 'value' in part && part.value === 'id')
  const [text, value] = [scheme.template[at + 1], scheme.template[at + 2]]
  if (at < 0 || text === undefined || !('text' in text) || value === undefined) return undefined
  if (!isTime(value)) return (id) => id.includes(text.text)
  return (id) =>
    id
      .split(text.text)
      .slice(1)
      .some((piece) => readTime(scheme, piece) !== undefined)
}

const isTime = (part: TemplatePart) => 'value' in part && part.value === 'timestamp'

/** Makes the reader of a scheme; the builders of schemes add it. */
export const definedClaims = {
  readerOf: (scheme: Scheme): ClaimReader => new HeaderClaimReader(scheme),
}
