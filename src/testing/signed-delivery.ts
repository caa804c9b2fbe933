// Makes deliveries as a sender would, and tampered ones that a receiver must reject.

import type { Delivery } from '../delivery.ts'
import { isBytes } from '../foundation/bytes.ts'
import { checkChoice, checkOptionNames, invalid } from '../foundation/check.ts'
import { type Clock, systemClock } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import { type Scheme, schemes } from '../protocol/scheme.ts'
import { toBase64url } from '../signature/encoding.ts'
import { compile, type SecretInput, type SecretKey, testSecret } from '../signature/secrets.ts'
import { type SignOptions, sign } from '../signature/signature.ts'
import { type Tampering, tamperings } from './tamperings.ts'

/** Options of `signedDelivery`. */
export interface SignedDeliveryOptions {
  /** `testSecret` by default. */
  readonly secret?: SecretInput
  readonly scheme?: Scheme
  readonly now?: Clock
  /** The delivery's id, for schemes that sign one. */
  readonly id?: string
  readonly url?: string
  /** Further headers; a header that the scheme signs by name is signed. */
  readonly headers?: Readonly<Record<string, string>>
  /** Makes a delivery that a receiver rejects. */
  readonly tamper?: Tampering | undefined
}

const names: readonly (keyof SignedDeliveryOptions)[] = [
  ...(['secret', 'scheme', 'now', 'id', 'url', 'headers', 'tamper'] as const),
]

/**
 * Bytes that `fetch` takes. Before TypeScript 5.7 Uint8Array is not generic; and without its library
 * `dom`, as @tsconfig/node22 has it, TypeScript knows no type `TextEncoder`.
 */
type Bytes = ReturnType<Uint8ArrayConstructor['of']>

/** A delivery whose headers are a plain record, ready for any HTTP client. */
export interface SignedDelivery extends Delivery {
  readonly body: Bytes
  readonly headers: Readonly<Record<string, string>>
  readonly receivedAt: Date
  /** Without undefined, so that it can be spread into a `RequestInit`. */
  readonly method?: string
}

/**
 * A delivery of an event (any JSON value, JSON text, or exact bytes), signed as its sender would.
 *
 * @throws WebhookError `OPTION_INVALID` if `tamper` is impossible, e.g. a stale delivery under a
 * scheme that signs no time; `SECRET_INVALID`
 * @example
 * await receiver.receive(await signedDelivery(fixture('verification.approved'), { secret }))
 */
export async function signedDelivery(
  event: unknown,
  options: SignedDeliveryOptions = {},
): Promise<SignedDelivery> {
  checkOptionNames('signedDelivery', options, names)
  checkChoice('tamper', options.tamper, tamperings)
  const { scheme = schemes.service(), now = systemClock, tamper, url, id } = options
  const { headers: given = {} } = options
  const exact = bytesOf(event)
  const rewritten = tamper === 'reserialized' ? reserialized(exact) : undefined
  const secret = tamper === 'wrong-secret' ? wrongSecret : (options.secret ?? testSecret)
  const signingClock = tamper === 'stale' ? staleClock(scheme, now) : now
  const signed = await signBody(
    rewritten?.signed ?? exact,
    defined({ secret, scheme, now: signingClock, id, url, headers: given }),
  )
  const own: Record<string, string> = tamperedHeaders(signed.headers, scheme, tamper)
  // A signed header is sent once, in lower case.
  const others = Object.entries(given).filter(([name]) => !Object.hasOwn(own, name.toLowerCase()))
  return defined({
    body:
      rewritten?.arrives ??
      (scheme.bodyJws && (tamper === 'unsigned' || tamper === 'malformed')
        ? exact
        : tamperedBody(Uint8Array.from(signed.body), tamper)),
    headers: {
      'content-type': 'application/json',
      ...Object.fromEntries(others),
      ...own,
    },
    receivedAt: now(),
    url,
  })
}

/**
 * The body and the headers as a sender of the scheme sends them: a JWS takes the body's place. One that
 * was signed before is signed again.
 */
export async function signBody(
  body: Uint8Array,
  options: SignOptions,
): Promise<{ readonly body: Uint8Array; readonly headers: Readonly<Record<string, string>> }> {
  const { scheme } = options
  if (!scheme?.bodyJws) return { body, headers: await sign(body, options) }
  const [{ key, id }] = compile(options.secret, scheme) as [SecretKey]
  const input = scheme.bodyJws.input(scheme.bodyJws.unwrap({ body, now: 0 }).body, id)
  const token = `${input}.${toBase64url(await key.sign([bytesOf(input)]))}`
  const type = `application/${scheme.bodyJws.type ?? 'jwt'}`
  return { body: bytesOf(token), headers: { 'content-type': type } }
}

/** Fits every key decoding, as the test secret does. */
const wrongSecret = 'bad0bad0'.repeat(8)

function bytesOf(event: unknown): Bytes {
  if (isBytes(event)) return Uint8Array.from(event)
  return new TextEncoder().encode(typeof event === 'string' ? event : JSON.stringify(event))
}

/** Signs one spelling of the JSON and sends another, as a parser or proxy on the way would. */
function reserialized(exact: Bytes) {
  const json: unknown = JSON.parse(new TextDecoder().decode(exact))
  const compact = bytesOf(JSON.stringify(json))
  const changed = compact.length !== exact.length || compact.some((byte, at) => byte !== exact[at])
  return { signed: changed ? exact : bytesOf(JSON.stringify(json, null, 2)), arrives: compact }
}

function tamperedBody(exact: Bytes, tamper: Tampering | undefined) {
  if (tamper === 'truncated') return exact.slice(0, Math.floor(exact.length / 2))
  if (tamper !== 'tampered') return exact
  if (exact.length === 0) return bytesOf('{}')
  // One changed bit in the middle is the smallest change.
  const at = Math.floor(exact.length / 2)
  return exact.map((byte, index) => (index === at ? byte ^ 1 : byte))
}

function tamperedHeaders(
  signed: Record<string, string>,
  scheme: Scheme,
  tamper: Tampering | undefined,
) {
  const header = scheme.header.toLowerCase()
  if (tamper === 'malformed') return { ...signed, [header]: 'not-a-signature' }
  if (tamper !== 'unsigned') return signed
  const { [header]: _, ...rest } = signed
  return rest
}

function staleClock({ name, tolerance }: Scheme, now: Clock): Clock {
  if (tolerance !== 'none') return () => new Date(now().getTime() - (tolerance + 60) * 1000)
  throw invalid(
    `scheme ${name} signs no timestamp, so a delivery cannot be stale: use a scheme that signs one`,
  )
}
