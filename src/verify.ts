// Proves that bytes came from a holder of a secret: header present, well formed, in tolerance,
// some secret matches. It returns the same bytes and understands nothing of them.

import {
  assertVerified,
  type Delivery,
  HeaderIndex,
  type VerifiedDelivery,
  withProof,
} from './delivery.ts'
import {
  checkChoice,
  checkFunction,
  checkOptionNames,
  invalid,
  kindShown,
} from './foundation/check.ts'
import type { Clock } from './foundation/clock.ts'
import { isPromise } from './host/promises.ts'
import type { Authenticity, Scheme } from './protocol/scheme-definition.ts'
import { checkScheme, serviceScheme } from './protocol/service-scheme.ts'
import type { Refusal } from './signature/refused.ts'
import type { SecretOption } from './signature/secrets.ts'
import { SchemeVerifier, type Verifier } from './signature/verifier.ts'

/** Options of `verify`. */
export interface VerifyOptions {
  /** May be undefined for the compiler, as environment variables are; at run time that throws. */
  readonly secret: SecretOption | undefined
  readonly scheme?: Scheme
  /** The required proof. A scheme that proves less must be named here to be accepted. */
  readonly authenticity?: Authenticity
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
  return new SchemeVerifier(scheme, options.secret)
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
 * for an unknown option, when `body` is not bytes, or without headers
 * @example
 * const result = await verify({ body, headers }, { secret: process.env.WEBHOOK_SECRET })
 * if (!result.ok) console.warn(result.code, await result.diagnose())
 */
export function verify(delivery: Delivery, options: VerifyOptions): Promise<VerifyResult> {
  try {
    checkArguments(delivery, options)
    return Promise.resolve(verifyNow(delivery, options))
  } catch (error) {
    return Promise.reject(error)
  }
}

function checkArguments(delivery: Delivery, options: VerifyOptions): void {
  const { body, headers } = delivery ?? {}
  if (!(body instanceof Uint8Array)) {
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

/** Not async itself: where nothing waits, one promise is enough. */
function verifyNow(
  { body, headers: given, url, method, address, receivedAt }: Delivery,
  options: VerifyOptions,
): VerifyResult | Promise<VerifyResult> {
  const verifier = preparedVerifier(options)
  const now = options.now ? options.now().getTime() : Date.now()
  const headers = new HeaderIndex(given)
  const claims = verifier.inspect(headers, now)
  const proof = verifier.prove({ body, headers, claims, url, method, address, now, receivedAt })
  return isPromise(proof) ? proof.then(toResult) : toResult(proof)
}

function toResult(proof: Refusal | VerifiedDelivery): VerifyResult {
  return isRefusal(proof) ? proof : withProof({ ok: true, delivery: proof }, proof)
}

/**
 * Tells a refusal from a delivery that was proved.
 *
 * @throws WebhookError `DELIVERY_NOT_VERIFIED` for anything that is neither
 */
export function isRefusal(proof: Refusal | VerifiedDelivery): proof is Refusal {
  if ('ok' in proof && proof.ok === false) return true
  assertVerified(proof)
  return false
}
