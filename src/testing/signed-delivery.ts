// Deliveries as a sender would make them, and the ways in which one can be spoiled.

import { checkChoice, checkOptionNames } from '../check.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Delivery } from '../delivery.ts'
import { WebhookError } from '../errors.ts'
import { type Scheme, schemes } from '../protocol/scheme.ts'
import type { SecretInput } from '../signature/secrets.ts'
import { sign } from '../signature/signature.ts'
import { type Tampering, tamperings } from './tamperings.ts'
import { testSecret } from './test-secret.ts'

/** The spoiled forms of a delivery; a receiver refuses every one of them. */
export const spoils = tamperings

export type Spoil = Tampering

/** Options of `signedDelivery`. */
export interface SignedDeliveryOptions {
  /** `testSecret` by default. */
  readonly secret?: SecretInput
  readonly scheme?: Scheme
  readonly now?: Clock
  /** The delivery's id, for schemes that sign one. */
  readonly id?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly spoil?: Spoil
}

const names: readonly (keyof SignedDeliveryOptions)[] = [
  'secret',
  'scheme',
  'now',
  'id',
  'url',
  'headers',
  'spoil',
]

/** A delivery whose headers are a plain record, ready for any HTTP client. */
export interface SignedDelivery extends Delivery {
  readonly body: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
  readonly receivedAt: Date
}

/**
 * A delivery of an event (any JSON value, JSON text, or exact bytes), signed as its sender would.
 *
 * @throws WebhookError `OPTION_INVALID` for a form that cannot be made, e.g. a stale delivery of a
 * scheme that signs no time; `SECRET_INVALID`
 * @example
 * await receiver.receive(await signedDelivery(fixture('verification.approved'), { secret }))
 */
export async function signedDelivery(
  event: unknown,
  options: SignedDeliveryOptions = {},
): Promise<SignedDelivery> {
  checkOptionNames('signedDelivery', options, names)
  checkChoice('spoil', options.spoil, spoils)
  const { scheme = schemes.service(), now = systemClock, spoil, url } = options
  const exact = bytesOf(event)
  const rewritten = spoil === 'reserialized' ? respelled(exact) : undefined
  const signed = await sign(rewritten?.signed ?? exact, {
    secret: spoil === 'wrong-secret' ? wrongSecret : (options.secret ?? testSecret),
    scheme,
    now: spoil === 'stale' ? staleClock(scheme, now) : now,
    ...(options.id !== undefined && { id: options.id }),
    ...(url !== undefined && { url }),
  })
  return {
    body: rewritten?.arrives ?? spoiledBody(exact, spoil),
    headers: {
      'content-type': 'application/json',
      ...options.headers,
      ...spoiledHeaders(signed, scheme, spoil),
    },
    receivedAt: now(),
    ...(url !== undefined && { url }),
  }
}

/** Like the test secret it fits every key decoding. */
const wrongSecret = 'bad0bad0'.repeat(8)

function bytesOf(event: unknown): Uint8Array<ArrayBuffer> {
  if (event instanceof Uint8Array) return Uint8Array.from(event)
  return new TextEncoder().encode(typeof event === 'string' ? event : JSON.stringify(event))
}

/** Signed in one spelling, arriving in another: what a parser or proxy on the way makes of it. */
function respelled(exact: Uint8Array<ArrayBuffer>) {
  const json: unknown = JSON.parse(new TextDecoder().decode(exact))
  const compact = bytesOf(JSON.stringify(json))
  const changed = compact.length !== exact.length || compact.some((byte, at) => byte !== exact[at])
  return { signed: changed ? exact : bytesOf(JSON.stringify(json, null, 2)), arrives: compact }
}

function spoiledBody(exact: Uint8Array<ArrayBuffer>, spoil: Spoil | undefined) {
  if (spoil === 'truncated') return exact.slice(0, Math.floor(exact.length / 2))
  if (spoil !== 'tampered') return exact
  if (exact.length === 0) return bytesOf('{}')
  // One changed letter in the middle: the smallest lie.
  const at = Math.floor(exact.length / 2)
  return exact.map((byte, index) => (index === at ? byte ^ 1 : byte))
}

function spoiledHeaders(signed: Record<string, string>, scheme: Scheme, spoil: Spoil | undefined) {
  const header = scheme.header.toLowerCase()
  if (spoil === 'malformed') return { ...signed, [header]: 'not-a-signature' }
  if (spoil !== 'unsigned') return signed
  const { [header]: _, ...rest } = signed
  return rest
}

function staleClock({ name, tolerance }: Scheme, now: Clock): Clock {
  if (tolerance !== 'none') return () => new Date(now().getTime() - (tolerance + 60) * 1000)
  throw new WebhookError(
    'OPTION_INVALID',
    `scheme ${name} checks no time, so nothing is stale under it: use one that signs a time`,
  )
}
