// Proves that bytes came from a holder of a secret: header present, well formed, in tolerance,
// some secret matches. It returns the same bytes and understands nothing of them.
import { checkOptionNames, invalid, shown } from './check.ts'
import type { Clock } from './clock.ts'
import { type Delivery, HeaderIndex, markVerified, type VerifiedDelivery } from './delivery.ts'
import type { RejectedCode } from './errors.ts'
import { type Scheme, schemes } from './protocol/scheme.ts'
import type { Diagnosis, Evidence } from './signature/diagnose.ts'
import { type Claim, readClaims } from './signature/grammar.ts'
import {
  type SecretKey,
  type SecretLookUp,
  type SecretOption,
  secretSource,
} from './signature/secrets.ts'
import { matches, type SignedValues } from './signature/signature.ts'

/** Options of `verify`. */
export interface VerifyOptions {
  /** May be undefined for the compiler, as environment variables are; at run time that throws. */
  readonly secret: SecretOption | undefined
  readonly scheme?: Scheme
  readonly now?: Clock
}

/** The codes with which `verify` refuses. */
export type VerifyCode =
  | Extract<
      RejectedCode,
      | 'SIGNATURE_MISSING'
      | 'SIGNATURE_MALFORMED'
      | 'SIGNATURE_MISMATCH'
      | 'TIMESTAMP_OUTSIDE_TOLERANCE'
      | 'HEADER_AMBIGUOUS'
    >
  | 'SECRET_UNAVAILABLE'

/** A refusal: its code, and on demand what can be proved about its cause. */
export interface Refusal {
  readonly ok: false
  readonly code: VerifyCode
  /** Why the look-up of secrets failed, with `SECRET_UNAVAILABLE`. */
  readonly error?: unknown
  /** For the operator, never the sender: what was proved about the cause, if anything. */
  diagnose(): Promise<Diagnosis | undefined>
}

/** What `verify` found. */
export type VerifyResult =
  | {
      readonly ok: true
      readonly delivery: VerifiedDelivery
      readonly secretId?: string
      readonly tenant?: string
    }
  | Refusal

/** What the headers claim, before any byte of the body is looked at. */
export type HeaderClaims =
  | { readonly ok: true; readonly claims: readonly Claim[]; readonly id: string | undefined }
  /** `late` holds well-formed claims whose time is outside the tolerance. */
  | { readonly ok: false; readonly code: VerifyCode; readonly late?: readonly Claim[] }

/** A delivery whose headers were read. */
export interface Arrived {
  readonly body: Uint8Array
  readonly headers: HeaderIndex
  readonly claims: HeaderClaims
  readonly url: string | undefined
  /** The time of the check, in milliseconds since the epoch. */
  readonly now: number
  /** When it arrived, if that was another time. */
  readonly receivedAt: Date | undefined
}

/** A verifier whose scheme and keys are prepared once. */
export interface Verifier {
  /** Reads the headers alone, so that a stranger's body need not be read. */
  inspect(headers: HeaderIndex, now: number): HeaderClaims
  /** A promise only where keys are looked up, or the runtime's HMAC gives one. */
  prove(arrived: Arrived): Refusal | VerifiedDelivery | Promise<Refusal | VerifiedDelivery>
}

/** Milliseconds for a look-up of secrets. */
const lookUpTimeout = 5_000

/** Prepares the scheme and the keys. */
export function createVerifier(options: Omit<VerifyOptions, 'now'>): Verifier {
  const { scheme = schemes.service() } = options
  if (!Array.isArray(scheme?.template)) {
    throw invalid(
      `scheme must be created with schemes.define() or another builder of schemes, got ${shown(scheme)}`,
      'SCHEME_INVALID',
    )
  }
  return new SchemeVerifier(scheme, options.secret)
}

const optionNames: readonly (keyof VerifyOptions)[] = ['secret', 'scheme', 'now']

const missing: HeaderClaims = { ok: false, code: 'SIGNATURE_MISSING' }
const malformed: HeaderClaims = { ok: false, code: 'SIGNATURE_MALFORMED' }
const ambiguous: HeaderClaims = { ok: false, code: 'HEADER_AMBIGUOUS' }

/** Verifiers of secrets that are text, so that `verify` makes no key for each delivery. */
const prepared = new WeakMap<Scheme, Map<string, Verifier>>()
const serviceScheme = schemes.service()
const mostPrepared = 100

function preparedVerifier({ secret, scheme = serviceScheme }: VerifyOptions): Verifier {
  if (typeof secret !== 'string' || !Array.isArray(scheme?.template)) {
    return createVerifier({ secret, scheme })
  }
  let bySecret = prepared.get(scheme)
  if (!bySecret) {
    bySecret = new Map()
    prepared.set(scheme, bySecret)
  }
  let verifier = bySecret.get(secret)
  if (!verifier) {
    verifier = createVerifier({ secret, scheme })
    if (bySecret.size >= mostPrepared) bySecret.clear()
    bySecret.set(secret, verifier)
  }
  return verifier
}

/**
 * Proves a delivery's bytes. Refusals are values; nothing that a sender does makes it throw.
 *
 * @throws WebhookError `SECRET_INVALID` or `SCHEME_INVALID` for a wrong set-up, `OPTION_INVALID`
 * for an unknown option or when `body` is not bytes
 * @example
 * const result = await verify({ body, headers }, { secret: process.env.WEBHOOK_SECRET })
 * if (!result.ok) console.warn(result.code, await result.diagnose())
 */
export async function verify(delivery: Delivery, options: VerifyOptions): Promise<VerifyResult> {
  if (!(delivery.body instanceof Uint8Array)) {
    throw invalid(`delivery.body must be the exact bytes (Uint8Array), got ${shown(delivery.body)}`)
  }
  checkOptionNames('verify', options, optionNames)
  const verifier = preparedVerifier(options)
  const now = options.now ? options.now().getTime() : Date.now()
  const { body, url, receivedAt } = delivery
  const headers = new HeaderIndex(delivery.headers)
  const claims = verifier.inspect(headers, now)
  const proof = verifier.prove({ body, headers, claims, url, now, receivedAt })
  const proved = proof instanceof Promise ? await proof : proof
  if ('ok' in proved) return proved
  return { ok: true, delivery: proved, ...provedBy(proved) }
}

/** Which secret proved it, and whose that is, where it says so. */
export function provedBy({ secretId, tenant }: Pick<VerifiedDelivery, 'secretId' | 'tenant'>) {
  const by: { secretId?: string; tenant?: string } = {}
  if (secretId !== undefined) by.secretId = secretId
  if (tenant !== undefined) by.tenant = tenant
  return by
}

class SchemeVerifier implements Verifier {
  readonly #scheme: Scheme
  readonly #secrets: ReturnType<typeof secretSource>
  /** In lower case, as the index looks them up. */
  readonly #signature: string
  readonly #time: string | undefined
  readonly #id: string | undefined

  constructor(scheme: Scheme, secret: SecretOption | undefined) {
    this.#scheme = scheme
    this.#secrets = secretSource(secret, scheme)
    this.#signature = scheme.header.toLowerCase()
    this.#time = scheme.timestamp?.header.toLowerCase()
    this.#id = scheme.id?.header.toLowerCase()
  }

  /** The strict reading of every header that the scheme signs; each may occur once. */
  inspect(headers: HeaderIndex, now: number): HeaderClaims {
    const signatures = headers.values(this.#signature)
    const times = this.#time === undefined ? undefined : headers.values(this.#time)
    const ids = this.#id === undefined ? undefined : headers.values(this.#id)
    if (signatures.length > 1 || (times?.length ?? 0) > 1 || (ids?.length ?? 0) > 1) {
      return ambiguous
    }
    const signature = signatures[0]?.trim()
    const time = times?.[0]?.trim()
    const id = ids?.[0]?.trim()
    if (!signature || (times && !time) || (ids && !id)) return missing
    let claims = readClaims(this.#scheme, signature)
    if (claims && time !== undefined) claims = claims.map((one) => ({ ...one, timestamp: time }))
    if (!claims?.every(({ timestamp }) => timestamp === undefined || isSeconds(timestamp))) {
      return malformed
    }
    if (this.#scheme.tolerance === 'none') return { ok: true, claims, id }
    const inTime = claims.filter(({ timestamp }) => isInTolerance(this.#scheme, timestamp, now))
    if (inTime.length > 0) return { ok: true, claims: inTime, id }
    return { ok: false, code: 'TIMESTAMP_OUTSIDE_TOLERANCE', late: claims }
  }

  prove(arrived: Arrived): Refusal | VerifiedDelivery | Promise<Refusal | VerifiedDelivery> {
    const { claims } = arrived
    if (!claims.ok && !claims.late) return new Refused(claims.code)
    const { keys, lookUp } = this.#secrets
    return keys ? this.#proveBy(keys, arrived) : this.#proveLater(lookUp, arrived)
  }

  async #proveLater(lookUp: SecretLookUp, arrived: Arrived): Promise<Refusal | VerifiedDelivery> {
    const { body, headers, url, receivedAt } = arrived
    let keys: readonly SecretKey[]
    try {
      const delivery = { body, headers: headers.list, url, receivedAt }
      keys = await inTime(lookUp(delivery))
    } catch (error) {
      return new Refused('SECRET_UNAVAILABLE', { error })
    }
    return this.#proveBy(keys, arrived)
  }

  #proveBy(
    keys: readonly SecretKey[],
    arrived: Arrived,
  ): Refusal | VerifiedDelivery | Promise<Refusal | VerifiedDelivery> {
    const { claims } = arrived
    if (!claims.ok) {
      return new Refused(claims.code, { evidence: () => this.#evidence(keys, arrived) })
    }
    const found = this.#match(keys, claims, arrived)
    if (found instanceof Promise) return found.then((key) => this.#judge(key, keys, arrived))
    return this.#judge(found, keys, arrived)
  }

  /** The first valid key that matches; all are tried, so that time does not tell which did. */
  #match(
    keys: readonly SecretKey[],
    { claims, id }: Extract<HeaderClaims, { readonly ok: true }>,
    { body, url, now }: Arrived,
  ): SecretKey | undefined | Promise<SecretKey | undefined> {
    const values: SignedValues = { body, id, url }
    const tried: SecretKey[] = []
    const results: (boolean | Promise<boolean>)[] = []
    for (const key of keys) {
      if (!isValid(key, now)) continue
      for (const claim of claims) {
        tried.push(key)
        results.push(matches(key, this.#scheme, claim, values))
      }
    }
    if (results.some((one) => typeof one !== 'boolean')) {
      return Promise.all(results).then((settled) => tried[settled.indexOf(true)])
    }
    return tried[results.indexOf(true)]
  }

  #judge(
    key: SecretKey | undefined,
    keys: readonly SecretKey[],
    arrived: Arrived,
  ): Refusal | VerifiedDelivery {
    if (!key) {
      const evidence = () => this.#evidence(keys, arrived)
      return new Refused('SIGNATURE_MISMATCH', { evidence })
    }
    const { body, headers, claims, url, now, receivedAt = now } = arrived
    const { id: secretId, tenant } = key
    const signedId = claims.ok ? claims.id : undefined
    return markVerified({ body, headers, receivedAt, url, secretId, tenant, signedId })
  }

  #evidence(keys: readonly SecretKey[], { body, headers, claims, url, now }: Arrived) {
    const late = claims.ok ? claims.claims : (claims.late ?? [])
    const delivery = { body, headers: headers.list, url }
    const evidence = { delivery, headers: headers.list, scheme: this.#scheme, claims: late, keys }
    return { ...evidence, now: new Date(now) }
  }
}

/** A refusal holds what a diagnosis needs, and makes it when somebody asks. */
class Refused implements Refusal {
  readonly ok = false
  readonly code: VerifyCode
  declare readonly error?: unknown
  readonly #evidence: (() => Evidence) | undefined

  constructor(
    code: VerifyCode,
    { error, evidence }: { readonly error?: unknown; readonly evidence?: () => Evidence } = {},
  ) {
    this.code = code
    if (error !== undefined) this.error = error
    this.#evidence = evidence
  }

  async diagnose(): Promise<Diagnosis | undefined> {
    if (!this.#evidence) return undefined
    // Loaded when somebody asks: no receiver that refuses nothing pays for it.
    const { diagnose } = await import('./signature/diagnose.ts')
    return diagnose(this.code, this.#evidence())
  }
}

/** Bounds a look-up of secrets: one that never answers must not hold its delivery. */
async function inTime<Value>(work: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const message = `the look-up of secrets took longer than ${lookUpTimeout} ms`
    timer = setTimeout(() => reject(new DOMException(message, 'TimeoutError')), lookUpTimeout)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** A clock that tells no time proves nothing with a secret that is bounded in time. */
function isValid({ notBefore, notAfter }: SecretKey, now: number): boolean {
  if (notBefore === undefined && notAfter === undefined) return true
  return now >= (notBefore ?? -Infinity) && now <= (notAfter ?? Infinity)
}

/** Whole seconds since the epoch in digits: `parseInt` would take `123abc` too. */
function isSeconds(timestamp: string): boolean {
  return /^(?:0|[1-9]\d{0,11})$/.test(timestamp)
}

/** By whole seconds, as the senders' own libraries count. */
function isInTolerance({ tolerance }: Scheme, timestamp: string | undefined, now: number): boolean {
  if (tolerance === 'none' || timestamp === undefined) return true
  return Math.abs(Math.floor(now / 1000) - Number(timestamp)) <= tolerance
}
