// Proves that bytes came from a holder of a secret: header present, well formed, in tolerance,
// some secret matches. It returns the same bytes and understands nothing of them.
import { checkChoice, checkOptionNames, invalid, shown } from './check.ts'
import type { Clock } from './clock.ts'
import { type Delivery, HeaderIndex, markVerified, type VerifiedDelivery } from './delivery.ts'
import type { RejectedCode } from './errors.ts'
import { type Authenticity, type Scheme, schemes } from './protocol/scheme.ts'
import { AddressList } from './signature/addresses.ts'
import { type HeaderClaims, HeaderInspector } from './signature/claims.ts'
import type { Diagnosis, Evidence } from './signature/diagnose.ts'
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
  /** May be undefined for the compiler, as environment variables are; at run time that throws. */
  readonly secret: SecretOption | undefined
  readonly scheme?: Scheme
  /** What a delivery must prove; a scheme that proves less is taken only where it is named. */
  readonly authenticity?: Authenticity
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
      | 'ADDRESS_NOT_ALLOWED'
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
      readonly authenticity?: Authenticity
      readonly secretId?: string
      readonly tenant?: string
    }
  | Refusal

/** A delivery whose headers were read. */
export interface Arrived {
  readonly body: Uint8Array
  readonly headers: HeaderIndex
  readonly claims: HeaderClaims
  readonly url: string | undefined
  /** POST, where nothing else is said. */
  readonly method?: string | undefined
  /** The address at the other end of the connection. */
  readonly address?: string | undefined
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
  const { scheme = schemes.service(), authenticity = 'signature' } = options
  if (!Array.isArray(scheme?.template)) {
    throw invalid(
      `scheme must be created with schemes.define() or another builder of schemes, got ${shown(scheme)}`,
      'SCHEME_INVALID',
    )
  }
  checkChoice('authenticity', authenticity, ['signature', 'token', 'ip'])
  if (scheme.authenticity !== authenticity) {
    throw invalid(
      `the scheme ${scheme.name} proves ${proofs[scheme.authenticity]}: pass authenticity: '${scheme.authenticity}' to take that`,
      'SCHEME_INVALID',
    )
  }
  return new SchemeVerifier(scheme, options.secret)
}

const proofs = {
  signature: 'a signature',
  token: 'a shared token and no signature',
  ip: 'an address and no signature',
} as const

const optionNames: readonly (keyof VerifyOptions)[] = ['secret', 'scheme', 'authenticity', 'now']

/** Verifiers of secrets that are text, so that `verify` makes no key for each delivery. */
const prepared = new WeakMap<Scheme, Map<string, Verifier>>()
const serviceScheme = schemes.service()
const mostPrepared = 100

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
  const { body, url, method, address, receivedAt } = delivery
  const headers = new HeaderIndex(delivery.headers)
  const claims = verifier.inspect(headers, now)
  const proof = verifier.prove({ body, headers, claims, url, method, address, now, receivedAt })
  const proved = proof instanceof Promise ? await proof : proof
  if ('ok' in proved) return proved
  return { ok: true, delivery: proved, ...provedBy(proved) }
}

/** What proved it: which secret, and whose that is, where it says so. */
export function provedBy({
  secretId,
  tenant,
  authenticity,
}: Pick<VerifiedDelivery, 'secretId' | 'tenant' | 'authenticity'>) {
  const by: { secretId?: string; tenant?: string; authenticity?: Authenticity } = {}
  if (authenticity !== undefined) by.authenticity = authenticity
  if (secretId !== undefined) by.secretId = secretId
  if (tenant !== undefined) by.tenant = tenant
  return by
}

class SchemeVerifier implements Verifier {
  readonly #scheme: Scheme
  readonly #inspector: HeaderInspector
  /** Undefined where the address alone tells the sender. */
  readonly #secrets: SecretSource | undefined
  readonly #addresses: AddressList | undefined

  constructor(scheme: Scheme, secret: SecretOption | undefined) {
    this.#scheme = scheme
    this.#inspector = new HeaderInspector(scheme)
    this.#addresses = scheme.addresses && new AddressList(scheme.addresses)
    this.#secrets = this.#addresses ? undefined : secretSource(secret, scheme)
  }

  inspect(headers: HeaderIndex, now: number): HeaderClaims {
    return this.#inspector.inspect(headers, now)
  }

  prove(arrived: Arrived): Refusal | VerifiedDelivery | Promise<Refusal | VerifiedDelivery> {
    const { claims } = arrived
    if (!claims.ok && !claims.late) return new Refused(claims.code)
    if (!this.#secrets) return this.#proveAddress(arrived)
    const { keys, lookUp } = this.#secrets
    return keys ? this.#proveBy(keys, arrived) : this.#proveLater(lookUp, arrived)
  }

  #proveAddress(arrived: Arrived): Refusal | VerifiedDelivery {
    const { body, headers, url, address, now, receivedAt } = arrived
    if (!this.#addresses?.allows(address, headers.values('x-forwarded-for'))) {
      return new Refused('ADDRESS_NOT_ALLOWED')
    }
    return markVerified({
      ...{ body, headers, url, receivedAt: receivedAt ?? now },
      authenticity: 'ip',
    })
  }

  async #proveLater(lookUp: SecretLookUp, arrived: Arrived): Promise<Refusal | VerifiedDelivery> {
    const { body, headers, claims, url, method, address, receivedAt } = arrived
    let keys: readonly SecretKey[]
    try {
      const delivery = { body, headers: headers.list, url, method, address, receivedAt }
      const keyId = claims.ok ? claims.claims[0]?.jws?.keyId : undefined
      keys = await inTime(lookUp(delivery, keyId))
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
    { body, headers, url, method, now }: Arrived,
  ): SecretKey | undefined | Promise<SecretKey | undefined> {
    const header = (name: string) => headers.values(name)[0]
    const values: SignedValues = { body, id, url, method, header }
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
    const { authenticity } = this.#scheme
    return markVerified({
      body,
      headers,
      receivedAt,
      url,
      secretId,
      tenant,
      signedId,
      authenticity,
    })
  }

  #evidence(keys: readonly SecretKey[], { body, headers, claims, url, method, now }: Arrived) {
    const late = claims.ok ? claims.claims : (claims.late ?? [])
    const delivery = { body, headers: headers.list, url, method }
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
