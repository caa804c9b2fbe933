// Proves that bytes came from a holder of a secret: header present, well formed, in tolerance,
// some secret matches. It returns the same bytes and understands nothing of them.
import { type Clock, systemClock } from './clock.ts'
import {
  type Delivery,
  type HeaderList,
  headerList,
  headerValues,
  markVerified,
  type VerifiedDelivery,
} from './delivery.ts'
import type { RejectedCode } from './errors.ts'
import { WebhookError } from './errors.ts'
import { type Scheme, schemes } from './protocol/scheme.ts'
import { type Diagnosis, diagnoseMismatch, diagnoseTime } from './signature/diagnose.ts'
import { type Claim, readClaims } from './signature/grammar.ts'
import {
  type SecretKey,
  type SecretOption,
  type SecretSource,
  secretSource,
} from './signature/secrets.ts'
import { matches } from './signature/signature.ts'

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
  | { readonly ok: true; readonly claims: readonly Claim[]; readonly id?: string }
  | { readonly ok: false; readonly code: VerifyCode; readonly late?: readonly Claim[] }

/**
 * Proves a delivery's bytes. Refusals are values; nothing that a sender does makes it throw.
 *
 * @throws WebhookError `SECRET_INVALID` for a wrong set-up, `OPTION_INVALID` when `body` is no bytes
 * @example
 * const result = await verify({ body, headers }, { secret: process.env.WEBHOOK_SECRET })
 * if (!result.ok) console.warn(result.code, await result.diagnose())
 */
export async function verify(delivery: Delivery, options: VerifyOptions): Promise<VerifyResult> {
  if (!(delivery.body instanceof Uint8Array)) {
    throw new WebhookError('OPTION_INVALID', 'delivery.body must be the exact bytes (Uint8Array)')
  }
  return createVerifier(options).verify(delivery)
}

/** A verifier whose scheme and keys are prepared once. */
export interface Verifier {
  /** Reads the headers alone, so that a stranger's body need not be read. */
  inspect(headers: HeaderList): HeaderClaims
  verify(delivery: Delivery): Promise<VerifyResult>
}

export function createVerifier(options: VerifyOptions): Verifier {
  const { scheme = schemes.service(), now = systemClock } = options
  if (!Array.isArray(scheme?.template)) {
    throw new WebhookError('SCHEME_INVALID', 'scheme: make it with schemes.define() or a builder')
  }
  const secrets = secretSource(options.secret, scheme)
  return {
    inspect: (headers) => inspect(scheme, headers, now()),
    verify: (delivery) => prove(delivery, { scheme, secrets, now: now() }),
  }
}

interface Means {
  readonly scheme: Scheme
  readonly secrets: SecretSource
  readonly now: Date
}

async function prove(delivery: Delivery, { scheme, secrets, now }: Means): Promise<VerifyResult> {
  const headers = headerList(delivery.headers)
  const read = inspect(scheme, headers, now)
  const claims = read.ok ? read.claims : (read.late ?? [])
  if (!read.ok && claims.length === 0) return refusal(read.code)
  let keys: readonly SecretKey[]
  try {
    keys = await secrets(delivery)
  } catch (error) {
    return { ...refusal('SECRET_UNAVAILABLE'), error }
  }
  const evidence = { delivery, headers, scheme, claims, keys, now }
  if (!read.ok) return { ...refusal(read.code), diagnose: () => diagnoseTime(evidence) }
  const values = { body: delivery.body, id: read.id, url: delivery.url }
  const at = now.getTime()
  let found: SecretKey | undefined
  for (const key of keys) {
    if (at < key.notBefore || at > key.notAfter) continue
    for (const claim of claims) {
      if (await matches(key, scheme, claim, values)) found ??= key
    }
  }
  if (!found) {
    return { ...refusal('SIGNATURE_MISMATCH'), diagnose: () => diagnoseMismatch(evidence) }
  }
  const whose = {
    ...(found.id !== undefined && { secretId: found.id }),
    ...(found.tenant !== undefined && { tenant: found.tenant }),
  }
  const verified = markVerified({
    body: delivery.body,
    headers,
    receivedAt: delivery.receivedAt ?? now,
    ...(delivery.url !== undefined && { url: delivery.url }),
    ...(read.id !== undefined && { signedId: read.id }),
    ...whose,
  })
  return { ok: true, delivery: verified, ...whose }
}

function refusal(code: VerifyCode): Refusal {
  return { ok: false, code, diagnose: async () => undefined }
}

/** The strict reading of every header that the scheme signs; each may stand once. */
function inspect(scheme: Scheme, headers: HeaderList, now: Date): HeaderClaims {
  const wanted = [scheme.header, scheme.timestamp?.header, scheme.id?.header]
  const found = wanted.map((name) => (name === undefined ? [] : headerValues(headers, name)))
  if (found.some((values) => values.length > 1)) return { ok: false, code: 'HEADER_AMBIGUOUS' }
  const [signature, time, id] = found.map(([value]) => value?.trim())
  if (!signature || (scheme.timestamp && !time) || (scheme.id && !id)) {
    return { ok: false, code: 'SIGNATURE_MISSING' }
  }
  const claims = readClaims(scheme, signature)?.map((claim) =>
    time === undefined ? claim : { ...claim, timestamp: time },
  )
  const malformed = claims?.some(
    ({ timestamp }) => timestamp !== undefined && !isSeconds(timestamp),
  )
  if (!claims || malformed) return { ok: false, code: 'SIGNATURE_MALFORMED' }
  const inTime = claims.filter(({ timestamp }) => isInTolerance(scheme, timestamp, now))
  if (inTime.length === 0) {
    return { ok: false, code: 'TIMESTAMP_OUTSIDE_TOLERANCE', late: claims }
  }
  return { ok: true, claims: inTime, ...(id !== undefined && { id }) }
}

/** Whole seconds since the epoch in digits: `parseInt` would take `123abc` too. */
function isSeconds(timestamp: string): boolean {
  return /^\d{1,12}$/.test(timestamp)
}

function isInTolerance({ tolerance }: Scheme, timestamp: string | undefined, now: Date): boolean {
  if (tolerance === 'none' || timestamp === undefined) return true
  return Math.abs(now.getTime() / 1000 - Number(timestamp)) <= tolerance
}
