// Proves one delivery by a scheme and its keys: headers first, then every valid key with every claim.
// Refusals are values, and hold what a diagnosis needs.

import {
  type HeaderIndex,
  type HeaderList,
  markVerified,
  type VerifiedDelivery,
} from '../delivery.ts'
import { WebhookError } from '../errors.ts'
import { inTime } from '../foundation/abortable.ts'
import { isPromise } from '../host/promises.ts'
import type { Scheme } from '../protocol/scheme.ts'
import type { Claim } from './grammar.ts'
import { type HeaderClaims, HeaderInspector } from './header-claims.ts'
import { type Refusal, Refused } from './refused.ts'
import {
  type SecretKey,
  type SecretLookUp,
  type SecretOption,
  type SecretSource,
  secretSource,
} from './secrets.ts'
import { matches, type SignedValues } from './signature.ts'

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
  /** The tenants of its secrets, undefined for one without; undefined where they are looked up. */
  readonly tenants: readonly (string | undefined)[] | undefined
  /** Reads the headers alone, so that a stranger's body need not be read. */
  inspect(headers: HeaderIndex, now: number): HeaderClaims
  /** A promise only where keys are looked up, or the runtime's HMAC gives one. */
  prove(arrived: Arrived): Refusal | VerifiedDelivery | Promise<Refusal | VerifiedDelivery>
}

/** Bytes that are hashed before others get their turn: a few milliseconds. */
const bytesPerTurn = 8 * 1_048_576

/** Milliseconds for a look-up of secrets. */
const lookUpTimeout = 5_000

export class SchemeVerifier implements Verifier {
  readonly #scheme: Scheme
  readonly #inspector: HeaderInspector
  /** Undefined where the address alone tells the sender. */
  readonly #secrets: SecretSource | undefined

  constructor(scheme: Scheme, secret: SecretOption | undefined) {
    this.#scheme = scheme
    this.#inspector = new HeaderInspector(scheme)
    this.#secrets = scheme.addresses ? undefined : secretSource(secret, scheme)
  }

  get tenants(): readonly (string | undefined)[] | undefined {
    return this.#secrets?.keys?.map(({ tenant }) => tenant)
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
    if (!this.#scheme.addresses?.allows(address, headers.values('x-forwarded-for'))) {
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
      // One that never answers must not hold its delivery.
      const found = lookUp(delivery, keyId)
      keys = await inTime(found, lookUpTimeout, 'the look-up of secrets')
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
      const evidence = () => this.#evidence(keys, arrived)
      return new Refused(claims.code, { evidence, bytes: arrived.body.length })
    }
    const found = this.#match(keys, claims, arrived)
    if (isPromise(found)) {
      return found.then(
        (key) => this.#judge(key, keys, arrived),
        // WebCrypto imports a key when it is first used, so only then is a broken one known.
        (error) => new Refused('SECRET_UNAVAILABLE', { error: unusableKey(error) }),
      )
    }
    return this.#judge(found, keys, arrived)
  }

  /** The first valid key that matches; all are tried, so that time does not tell which did. */
  #match(
    keys: readonly SecretKey[],
    { claims, id }: Extract<HeaderClaims, { readonly ok: true }>,
    { body, headers, url, method, now }: Arrived,
  ): SecretKey | undefined | Promise<SecretKey | undefined> {
    const [key] = keys
    const [claim] = claims
    // A template of one piece is the body alone: nothing else needs to be gathered.
    const values: SignedValues =
      this.#scheme.template.length === 1
        ? { body }
        : { body, id, url, method, header: (name) => headers.values(name)[0] }
    if (key && claim && keys.length === 1 && claims.length === 1) {
      if (!isValid(key, now)) return undefined
      const matched = matches(key, this.#scheme, claim, values)
      if (typeof matched === 'boolean') return matched ? key : undefined
      return matched.then((one) => (one === true ? key : undefined))
    }
    const valid = keys.filter((one) => isValid(one, now))
    return this.#matchAll(valid, claims, values)
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
          await new Promise((resolve) => setTimeout(resolve, 0))
        }
        try {
          if ((await matches(key, this.#scheme, claim, values)) === true) found ??= key
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
    arrived: Arrived,
  ): Refusal | VerifiedDelivery {
    // Nothing but a key that was tried grants trust.
    if (!key || !keys.includes(key)) {
      const evidence = () => this.#evidence(keys, arrived)
      return new Refused('SIGNATURE_MISMATCH', { evidence, bytes: arrived.body.length })
    }
    const { body, headers, claims, url, now, receivedAt = now } = arrived
    const { id: secretId, tenant } = key
    const signedId = claims.ok ? claims.id : undefined
    const { authenticity } = this.#scheme
    return markVerified({
      body,
      headers: authenticity === 'token' ? this.#withoutToken(headers) : headers,
      receivedAt,
      url,
      secretId,
      tenant,
      signedId,
      authenticity,
    })
  }

  /** The token is the secret itself: whatever keeps or shows the delivery must not hold it. */
  #withoutToken({ list }: HeaderIndex): HeaderList {
    const { header, headers = [header] } = this.#scheme
    const names = headers.map((name) => name.toLowerCase())
    return list.filter(([name]) => !names.includes(name))
  }

  #evidence(keys: readonly SecretKey[], { body, headers, claims, url, method, now }: Arrived) {
    const late = claims.ok ? claims.claims : (claims.late ?? [])
    const delivery = { body, headers: headers.list, url, method }
    const evidence = { delivery, headers: headers.list, scheme: this.#scheme, claims: late, keys }
    return { ...evidence, now: new Date(now) }
  }
}

function unusableKey(cause: unknown): WebhookError {
  const message = 'the runtime could not import the key: check that it is whole and of this scheme'
  return new WebhookError('SECRET_INVALID', message, { cause })
}

/** A clock that tells no time proves nothing with a secret that is bounded in time. */
function isValid({ notBefore, notAfter }: SecretKey, now: number): boolean {
  if (notBefore === undefined && notAfter === undefined) return true
  return now >= (notBefore ?? -Infinity) && now <= (notAfter ?? Infinity)
}
