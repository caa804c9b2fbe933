// Proves that bytes came from a holder of a secret: headers first, then every valid key with every
// claim. It understands nothing of the bytes. A refusal is a value, and holds what a diagnosis needs.

import {
  type Delivery,
  HeaderIndex,
  type HeaderList,
  markVerified,
  type VerifiedDelivery,
  withProof,
} from './delivery.ts'
import { WebhookError } from './errors.ts'
import { inTime } from './foundation/abortable.ts'
import { isBytes } from './foundation/bytes.ts'
import {
  checkChoice,
  checkFunction,
  checkOptionNames,
  invalid,
  kindShown,
} from './foundation/check.ts'
import type { Clock } from './foundation/clock.ts'
import { nextTurn } from './host/runtime.ts'
import type { Authenticity, Scheme } from './protocol/scheme-definition.ts'
import { checkScheme, serviceScheme } from './protocol/service-scheme.ts'
import type { Claim } from './signature/grammar.ts'
import { type ClaimReader, type HeaderClaims, ServiceClaims } from './signature/header-claims.ts'
import { type Refusal, Refused } from './signature/refused.ts'
import {
  type SecretKey,
  type SecretLookUp,
  type SecretOption,
  type SecretSource,
  secretSource,
} from './signature/secrets.ts'
import { matches, type SignedValues } from './signature/signature.ts'

/** Options of `verify`. */
export interface VerifyOptions {
  /**
   * A secret, a list while rotating, or a look-up function.
   *
   * May be undefined for the compiler, as environment variables are; at run time that throws.
   */
  readonly secret: SecretOption | undefined
  /**
   * How the sender signs.
   *
   * @default schemes.service()
   */
  readonly scheme?: Scheme
  /**
   * The required proof: name the proof of a scheme that proves less than a signature.
   *
   * @default 'signature'
   */
  readonly authenticity?: Authenticity
  /**
   * A clock for tests.
   *
   * @default () => new Date()
   */
  readonly now?: Clock
}

/** The result of `verify`. */
export type VerifyResult =
  | {
      readonly ok: true
      readonly delivery: VerifiedDelivery
      readonly authenticity?: Authenticity
      readonly secretId?: string
      readonly tenant?: string
    }
  | Refusal

/** A delivery whose headers were read. */
export interface ReadDelivery {
  readonly source: Omit<Delivery, 'body' | 'headers'>
  readonly body: Uint8Array
  readonly headers: HeaderIndex
  readonly claims: HeaderClaims
  /** The time of the check, in milliseconds since the epoch. */
  readonly now: number
}

/** The delivery that was proved, or why it was not. */
export type DeliveryProof = VerifiedProof | Refusal

interface VerifiedProof {
  readonly ok: true
  readonly delivery: VerifiedDelivery
}

/** Bytes that are hashed before other work gets its turn: a few milliseconds. */
const bytesPerTurn = 8 * 1_048_576

/** Milliseconds for a look-up of secrets. */
const lookUpTimeout = 5_000

/** A scheme and its keys, prepared once. */
export class Verifier {
  /** Reads the headers alone, so that the body of an unauthenticated client need not be read. */
  readonly claims: ClaimReader
  readonly scheme: Scheme
  /** Undefined if the address alone identifies the sender. */
  readonly #secrets: SecretSource | undefined

  constructor(scheme: Scheme, secret: SecretOption | undefined) {
    this.scheme = scheme
    const reader = scheme.format?.readerOf(scheme) as ClaimReader | undefined
    this.claims = reader ?? new ServiceClaims(scheme)
    this.#secrets = scheme.addresses ? undefined : secretSource(secret, scheme)
  }

  /** The tenants of its secrets, undefined for a secret without; undefined if they are looked up. */
  get tenants(): readonly (string | undefined)[] | undefined {
    return this.#secrets?.keys?.map(({ tenant }) => tenant)
  }

  /** Returns a promise only if keys are looked up, or the runtime's HMAC returns one. */
  prove(arrived: ReadDelivery): DeliveryProof | Promise<DeliveryProof> {
    const { bodyJws } = this.scheme
    const delivery: ReadDelivery = bodyJws ? { ...arrived, ...bodyJws.unwrap(arrived) } : arrived
    const { claims } = delivery
    if (!claims.ok && !claims.late) return new Refused(claims.code)
    if (!this.#secrets) return this.#proveAddress(delivery)
    const { keys, lookUp } = this.#secrets
    return keys ? this.#proveBy(keys, delivery) : this.#proveLater(lookUp, delivery)
  }

  #proveAddress(arrived: ReadDelivery): DeliveryProof {
    const { body, headers, source, now } = arrived
    const { address, receivedAt } = source
    if (!this.scheme.addresses?.allows(address, headers.values('x-forwarded-for'))) {
      return new Refused('ADDRESS_NOT_ALLOWED')
    }
    const authenticity = 'ip'
    const proved = { body, headers, source, receivedAt: receivedAt ?? now, authenticity } as const
    return { ok: true, delivery: markVerified(proved) }
  }

  async #proveLater(lookUp: SecretLookUp, arrived: ReadDelivery): Promise<DeliveryProof> {
    const { body, headers, claims } = arrived
    let keys: readonly SecretKey[]
    try {
      const { url, method, address, receivedAt } = arrived.source
      const delivery = { body, headers: headers.list, url, method, address, receivedAt }
      const jws = claims.ok ? claims.claims[0]?.jws : undefined
      // A look-up that never answers must not hold its delivery.
      const found = lookUp(delivery, jws)
      keys = await inTime(found, lookUpTimeout, 'the look-up of secrets')
    } catch (error) {
      return new Refused('SECRET_UNAVAILABLE', { error })
    }
    return this.#proveBy(keys, arrived)
  }

  #proveBy(
    keys: readonly SecretKey[],
    delivery: ReadDelivery,
  ): DeliveryProof | Promise<DeliveryProof> {
    const { claims } = delivery
    if (!claims.ok) return this.#refused(claims.code, keys, delivery)
    const found = this.#match(keys, claims, delivery)
    if (!(found instanceof Promise)) return this.#judge(found, keys, delivery)
    return found.then(
      (key) => this.#judge(key, keys, delivery),
      // WebCrypto imports a key when it is first used, so only then is a broken one known.
      (error) => new Refused('SECRET_UNAVAILABLE', { error: unusableKey(error) }),
    )
  }

  /** The first valid key that matches; all are tried, so that time does not tell which did. */
  #match(
    keys: readonly SecretKey[],
    { claims, id }: Extract<HeaderClaims, { readonly ok: true }>,
    { body, headers, source, now }: ReadDelivery,
  ): SecretKey | undefined | Promise<SecretKey | undefined> {
    const [key] = keys
    const [claim] = claims
    // A template of one piece is the body alone: nothing else needs to be gathered.
    const values: SignedValues =
      this.scheme.template.length === 1
        ? { body }
        : {
            body,
            id,
            url: source.url,
            method: source.method,
            header: (name) => headers.values(name)[0],
          }
    if (keys.length !== 1 || claims.length !== 1 || !key || !claim) {
      const valid = keys.filter((one) => isValid(one, now))
      return this.#matchAll(valid, claims, values)
    }
    if (key.isBounded && !isValid(key, now)) return undefined
    const isPlain = this.scheme.template.length === 1 && !claim.jws
    const matched = isPlain
      ? key.key.matches([body], claim.signatures)
      : matches(key, this.scheme, claim, values)
    if (typeof matched === 'boolean') return matched ? key : undefined
    return matched.then((isSame) => (isSame === true ? key : undefined))
  }

  /** Tries every key with every claim. Other work gets its turn between many HMACs. */
  async #matchAll(
    keys: readonly SecretKey[],
    claims: readonly Claim[],
    values: SignedValues,
  ): Promise<SecretKey | undefined> {
    let found: SecretKey | undefined
    let broken: { readonly reason: unknown } | undefined
    let bytes = 0
    for (const key of keys) {
      for (const claim of claims) {
        bytes += values.body.length
        if (bytes > bytesPerTurn) {
          bytes = 0
          await nextTurn()
        }
        try {
          if ((await matches(key, this.scheme, claim, values)) === true) found ??= key
        } catch (reason) {
          broken ??= { reason }
        }
      }
    }
    // A broken key matters only if no other key proves the delivery.
    if (!found && broken) throw broken.reason
    return found
  }

  #judge(
    key: SecretKey | undefined,
    keys: readonly SecretKey[],
    delivery: ReadDelivery,
  ): DeliveryProof {
    // Nothing but a key that was tried grants trust.
    if (!key || !keys.includes(key)) return this.#refused('SIGNATURE_MISMATCH', keys, delivery)
    const { body, claims, source, now } = delivery
    const { receivedAt = now } = source
    const { id: secretId, tenant } = key
    const signedId = claims.ok ? claims.id : undefined
    const { authenticity } = this.scheme
    const isToken = authenticity === 'token'
    const headers = isToken ? this.#withoutToken(delivery.headers) : delivery.headers
    const of = { body, headers, receivedAt, source, secretId, tenant, signedId, authenticity }
    return { ok: true, delivery: markVerified(of) }
  }

  /** The token is the secret itself: what keeps or shows the delivery must not hold it. */
  #withoutToken({ list }: HeaderIndex): HeaderList {
    const { header, headers = [header] } = this.scheme
    const names = headers.map((name) => name.toLowerCase())
    return list.filter(([name]) => !names.includes(name))
  }

  #refused(
    code: 'SIGNATURE_MISMATCH' | (HeaderClaims & { ok: false })['code'],
    keys: readonly SecretKey[],
    { body, headers, claims, source: { url, method }, now }: ReadDelivery,
  ): Refusal {
    const evidence = () => ({
      delivery: { body, headers: headers.list, url, method },
      headers: headers.list,
      scheme: this.scheme,
      claims: claims.ok ? claims.claims : (claims.late ?? []),
      keys,
      now: new Date(now),
    })
    return new Refused(code, { evidence, bytes: body.length })
  }
}

/** The result of `verify`; its optional parts are there only if the delivery has them. */
function toResult(proof: VerifiedProof | Refusal): VerifyResult {
  if (!proof.ok) return proof
  const { delivery } = proof
  return withProof({ ok: true, delivery }, delivery)
}

function unusableKey(cause: unknown): WebhookError {
  const message = 'the runtime could not import the key: check that it is whole and of this scheme'
  return new WebhookError('SECRET_INVALID', message, { cause })
}

/** A clock that tells no time proves nothing with a secret that is bounded in time. */
function isValid({ isBounded, notBefore, notAfter }: SecretKey, now: number): boolean {
  if (!isBounded) return true
  return now >= (notBefore ?? -Infinity) && now <= (notAfter ?? Infinity)
}

/** Prepares the scheme and the keys. */
export function createVerifier(options: Omit<VerifyOptions, 'now'>): Verifier {
  const { scheme = serviceScheme, authenticity = 'signature' } = options
  checkScheme(scheme)
  checkChoice('authenticity', authenticity, ['signature', 'timestamp', 'token', 'ip'])
  if (scheme.authenticity !== authenticity) {
    throw invalid(
      `the scheme ${scheme.name} proves ${proofs[scheme.authenticity]}: pass authenticity: '${scheme.authenticity}' to take that`,
      'SCHEME_INVALID',
    )
  }
  if (scheme.addresses && options.secret !== undefined) {
    throw invalid(
      'secret is given, but this sender signs nothing and is known by its address: leave secret out',
      'SECRET_INVALID',
    )
  }
  return new Verifier(scheme, options.secret)
}

const proofs = {
  signature: 'a signature',
  timestamp: 'a signed time and no signature of the body',
  token: 'a shared token and no signature',
  ip: 'an address and no signature',
} as const

const optionNames: ReadonlySet<string> = new Set<keyof VerifyOptions>([
  'secret',
  'scheme',
  'authenticity',
  'now',
])

/** Verifiers of secrets that are text, so that `verify` makes no key for each delivery. */
const prepared = new WeakMap<Scheme, Map<string, Verifier>>()
const maxPrepared = 100

function preparedVerifier(options: VerifyOptions): Verifier {
  const { secret, scheme = serviceScheme } = options
  const usual = scheme?.authenticity === 'signature' && options.authenticity === undefined
  if (typeof secret !== 'string' || !usual) return createVerifier(options)
  let bySecret = prepared.get(scheme)
  if (!bySecret) {
    bySecret = new Map()
    prepared.set(scheme, bySecret)
  }
  let verifier = bySecret.get(secret)
  if (!verifier) {
    verifier = createVerifier({ secret, scheme })
    if (bySecret.size >= maxPrepared) bySecret.clear()
    bySecret.set(secret, verifier)
  }
  return verifier
}

/**
 * Proves a delivery's bytes. Refusals are values; nothing that a sender does makes it throw.
 *
 * @throws WebhookError `SECRET_INVALID` or `SCHEME_INVALID` for a wrong set-up, `OPTION_INVALID`
 * for an unknown option, when `body` is not bytes, or without headers
 * @example
 * const result = await verify({ body, headers }, { secret: process.env.WEBHOOK_SECRET })
 * if (!result.ok) console.warn(result.code, await result.diagnose())
 */
export function verify(delivery: Delivery, options: VerifyOptions): Promise<VerifyResult> {
  try {
    checkArguments(delivery, options)
    const { body, headers: given } = delivery
    const verifier = preparedVerifier(options)
    const now = options.now ? options.now().getTime() : Date.now()
    const headers = new HeaderIndex(given)
    const claims = verifier.claims.read(headers, now)
    const read = { source: delivery, body, headers, claims, now }
    // Not async: if nothing waits, one promise is enough.
    const proof = verifier.prove(read)
    return proof instanceof Promise ? proof.then(toResult) : Promise.resolve(toResult(proof))
  } catch (error) {
    return Promise.reject(error)
  }
}

function checkArguments(delivery: Delivery, options: VerifyOptions): void {
  const { body, headers } = delivery ?? {}
  if (!isBytes(body)) {
    throw invalid(`delivery.body must be the exact bytes (Uint8Array), got ${kindShown(body)}`)
  }
  if (typeof headers !== 'object' || headers === null) {
    throw invalid(
      `delivery.headers must be a Headers, pairs, a record or rawHeaders, got ${kindShown(headers)}`,
    )
  }
  const known = typeof options === 'object' && options !== null
  if (!known) checkOptionNames('verify', options, [...optionNames])
  for (const name in options) {
    if (!optionNames.has(name)) checkOptionNames('verify', options, [...optionNames])
  }
  checkFunction('now', options.now, '() => new Date()')
}
