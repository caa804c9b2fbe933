// One HTTP request from the sender, as it arrived, and the proof that it was verified.
// Its bytes are never changed, and its headers are not trusted before verify.ts has spoken.

import { WebhookError } from './errors.ts'
import { verifiedDeliveryClass } from './host/brands.ts'
import type { Authenticity } from './protocol/scheme-definition.ts'

/**
 * The accepted forms of headers: a `Headers`, pairs, a record (a list is a repeated header), or
 * Node's `rawHeaders`.
 */
export type HeadersInput =
  | Iterable<readonly [string, string]>
  | readonly string[]
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** One request from the sender: `body` is its exact bytes. */
export interface Delivery {
  readonly body: Uint8Array
  readonly headers: HeadersInput
  /** The address it was sent to, for schemes that sign it. */
  readonly url?: string | undefined
  /** The method, for schemes that sign it; POST by default. */
  readonly method?: string | undefined
  /** The address at the other end of the connection, for senders that are known by that alone. */
  readonly address?: string | undefined
  readonly receivedAt?: Date | undefined
}

/** Header names in lower case, each occurrence by itself, in their order. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

const none: readonly string[] = []

/** The headers of one request: walked once when it arrives, copied only for those who ask. */
export class HeaderIndex {
  /** Name, value, name, value: names as they arrived. */
  declare private readonly flat: readonly string[]
  declare private copied: HeaderList | undefined

  constructor(headers: HeadersInput) {
    if (Array.isArray(headers) && typeof headers[0] === 'string') this.flat = headers
    else if (Symbol.iterator in headers) this.flat = flatPairs(headers as HeaderPairs)
    else this.flat = flatRecord(headers)
  }

  /** All values of one header; `name` is in lower case. */
  values(name: string): readonly string[] {
    const flat = this.flat
    let found: string[] | undefined
    for (let at = 0; at < flat.length; at += 2) {
      const key = flat[at] as string
      if (key.length !== name.length || (key !== name && key.toLowerCase() !== name)) continue
      if (found) found.push(flat[at + 1] as string)
      else found = [flat[at + 1] as string]
    }
    return found ?? none
  }

  get list(): HeaderList {
    if (this.copied) return this.copied
    const list: [string, string][] = []
    for (let at = 0; at < this.flat.length; at += 2) {
      list.push([(this.flat[at] as string).toLowerCase(), this.flat[at + 1] as string])
    }
    this.copied = list
    return list
  }
}

type HeaderPairs = Iterable<readonly [string, string]>

function flatPairs(pairs: HeaderPairs): string[] {
  const flat: string[] = []
  for (const [name, value] of pairs) flat.push(String(name), String(value))
  return flat
}

function flatRecord(record: Extract<HeadersInput, Readonly<Record<string, unknown>>>): string[] {
  const flat: string[] = []
  for (const name of Object.keys(record)) {
    const value: unknown = record[name]
    if (typeof value === 'string') flat.push(name, value)
    else if (Array.isArray(value)) for (const one of value) flat.push(name, String(one))
    else if (value !== undefined) flat.push(name, String(value))
  }
  return flat
}

/** Brings every form of headers into one list. */
export function headerList(headers: HeadersInput): HeaderList {
  return new HeaderIndex(headers).list
}

/** All values of one header, in whatever case it is named. */
export function headerValues(headers: HeaderList, name: string): string[] {
  const wanted = name.toLowerCase()
  return headers.flatMap(([key, value]) => (key === wanted ? [value] : []))
}

declare const verified: unique symbol

/** A delivery whose bytes a holder of a secret has signed. Only `verify` makes one. */
export interface VerifiedDelivery extends Omit<Delivery, 'method' | 'address'> {
  readonly headers: HeaderList
  readonly receivedAt: Date
  /** The id of the configured secret that matched, if it has one. */
  readonly secretId?: string
  /** The tenant of the secret, if it has one. */
  readonly tenant?: string
  /** The id that the scheme signs, where it signs one. */
  readonly signedId?: string
  /**
   * Proof of origin: a signature, or no more than a shared token or an address; undefined for what
   * the service's API showed.
   */
  readonly authenticity?: Authenticity
  readonly [verified]: true
}

/** The fields of a verified delivery. */
export interface DeliveryFields {
  readonly body: Uint8Array
  /** A list, or the index that creates a list on demand. */
  readonly headers: HeaderList | HeaderIndex
  /** A date, or milliseconds since the epoch. */
  readonly receivedAt: Date | number
  /** Its `url` is read only when the address is asked for. */
  readonly source?: Pick<Delivery, 'url'> | undefined
  readonly secretId?: string | undefined
  readonly tenant?: string | undefined
  readonly signedId?: string | undefined
  readonly authenticity?: Authenticity | undefined
}

/** The private field is the proof: no copy, and nothing made elsewhere, has it. */
class ProvedDelivery implements Omit<VerifiedDelivery, typeof verified> {
  readonly body: Uint8Array
  declare readonly secretId?: string
  declare readonly tenant?: string
  declare readonly signedId?: string
  declare readonly authenticity?: Authenticity
  readonly #headers: HeaderList | HeaderIndex
  #receivedAt: Date | number
  readonly #source: Pick<Delivery, 'url'> | undefined

  constructor(of: DeliveryFields) {
    this.body = of.body
    this.#headers = of.headers
    this.#receivedAt = of.receivedAt
    this.#source = of.source
    if (of.secretId !== undefined) this.secretId = of.secretId
    if (of.tenant !== undefined) this.tenant = of.tenant
    if (of.signedId !== undefined) this.signedId = of.signedId
    if (of.authenticity !== undefined) this.authenticity = of.authenticity
    Object.freeze(this)
  }

  get headers(): HeaderList {
    // Not by `instanceof`: another copy of this package may have made the index.
    return 'list' in this.#headers ? this.#headers.list : this.#headers
  }

  get url(): string | undefined {
    return this.#source?.url
  }

  get receivedAt(): Date {
    if (typeof this.#receivedAt === 'number') this.#receivedAt = new Date(this.#receivedAt)
    return this.#receivedAt
  }

  static isSigned(delivery: unknown): boolean {
    return #receivedAt in Object(delivery)
  }
}

/** Adds what proved a delivery: which secret, and whose that is, where it says so. */
export function withProof<Found extends object>(
  found: Found,
  { secretId, tenant, authenticity }: Partial<ProvedFields>,
): Found & Partial<ProvedFields> {
  const proved: Found & { -readonly [Key in keyof ProvedFields]?: ProvedFields[Key] } = found
  if (authenticity !== undefined) proved.authenticity = authenticity
  if (secretId !== undefined) proved.secretId = secretId
  if (tenant !== undefined) proved.tenant = tenant
  return proved
}

type ProvedFields = Required<Pick<VerifiedDelivery, 'secretId' | 'tenant' | 'authenticity'>>

/** The ESM and the CommonJS build of one process share the class, and so what is proved. */
const registry = globalThis as { [verifiedDeliveryClass]?: typeof ProvedDelivery }

/** Looked up once: a property of the global object is slow to find. */
let known: typeof ProvedDelivery | undefined

function signedClass(): typeof ProvedDelivery {
  if (!registry[verifiedDeliveryClass])
    Object.defineProperty(registry, verifiedDeliveryClass, { value: ProvedDelivery })
  known = registry[verifiedDeliveryClass] as typeof ProvedDelivery
  return known
}

/** Grants trust: called by verify.ts, and for bytes that were verified before they were kept. */
export function markVerified(delivery: DeliveryFields): VerifiedDelivery {
  // Trust is granted here: what `of` tells was proved by the caller.
  return new (known ?? signedClass())(delivery) as unknown as VerifiedDelivery
}

/**
 * Rejects bytes without a proof.
 *
 * @throws WebhookError `DELIVERY_NOT_VERIFIED`
 */
export function assertVerified(delivery: unknown): void {
  if ((known ?? signedClass()).isSigned(delivery)) return
  throw new WebhookError(
    'DELIVERY_NOT_VERIFIED',
    'this delivery was not verified: pass what verify() returned, not the delivery that arrived',
  )
}
