// The secrets of a receiver: checked when they are configured, turned into keys once, chosen by
// time while they rotate. A secret's text leaves this file for a diagnosis alone.
import { makeHmacKey } from '#hmac'
import type { Delivery } from '../delivery.ts'
import { checkOptionNames, invalid, shown } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import type { WaitUntil } from '../host/promises.ts'
import { variablesHint } from '../host/runtime.ts'
import { parseTime } from '../protocol/json-paths.ts'
import type { Scheme } from '../protocol/scheme.ts'
import { toHex } from './encoding.ts'
import { type HmacKey, isPublicKey } from './hmac/hmac.ts'
import type { KeySource } from './jwks.ts'
import { keyBytes, materialOf } from './key-bytes.ts'
import type { PublicKey } from './key-set.ts'

/** A secret with its id and the time in which it is valid (both ends included). */
export interface Secret {
  readonly id?: string
  readonly value: string | Uint8Array
  /**
   * The sender that this secret belongs to, when several share a receiver. The deliveries of one
   * tenant are deduplicated, ordered, found and forgotten separately, whatever ids they use.
   */
  readonly tenant?: string
  readonly notBefore?: Date | string
  readonly notAfter?: Date | string
}

/** One secret, or several while rotating. */
export type SecretInput = string | Uint8Array | Secret | readonly (string | Uint8Array | Secret)[]

/**
 * Secrets, or a look-up that gives them for each delivery, e.g. one for each tenant; one that
 * gives nothing or fails is 503 `SECRET_UNAVAILABLE`.
 */
export type SecretOption =
  | SecretInput
  | KeySource
  | ((delivery: Delivery) => SecretInput | undefined | Promise<SecretInput | undefined>)

/** A secret as a key, ready to prove bytes. Printing it shows no byte of the secret. */
export class SecretKey {
  readonly id: string | undefined
  readonly tenant: string | undefined
  /** Milliseconds since the epoch, both ends included. */
  readonly notBefore: number | undefined
  readonly notAfter: number | undefined
  readonly #key: HmacKey
  readonly #material: string | Uint8Array

  constructor(secret: Secret, key: HmacKey, name: string) {
    this.id = secret.id
    this.tenant = secret.tenant
    this.notBefore = time(secret.notBefore, `${name}: notBefore`)
    this.notAfter = time(secret.notAfter, `${name}: notAfter`)
    this.#key = key
    this.#material = secret.value
    const { notBefore, notAfter } = this
    if (notBefore !== undefined && notAfter !== undefined && notBefore > notAfter) {
      throw invalid(
        `${name}: notBefore is later than notAfter, so it is never valid`,
        'SECRET_INVALID',
      )
    }
  }

  get key(): HmacKey {
    return this.#key
  }

  /** The same secret with its text read in another way; undefined where it cannot be. */
  readAs(decoding: Scheme['key'], algorithm: Scheme['algorithm']): SecretKey | undefined {
    if (typeof this.#material !== 'string') return undefined
    try {
      const key = makeHmacKey(keyBytes(this.#material, decoding), algorithm)
      return new SecretKey({ value: this.#material }, key, 'secret')
    } catch {
      return undefined
    }
  }
}

/** The keys of a receiver, or the look-up that gives them for each delivery. */
export type SecretSource =
  | { readonly keys: readonly SecretKey[]; readonly lookUp?: undefined }
  | { readonly keys?: undefined; readonly lookUp: SecretLookUp }

/** Rejects when the look-up failed, or gave nothing. */
export type SecretLookUp = (
  delivery: Delivery,
  keyId: string | undefined,
  waitUntil?: WaitUntil,
) => Promise<readonly SecretKey[]>

/** How many looked-up secrets are kept as keys; beyond it the oldest is made again. */
const keptKeys = 1000

/**
 * Prepares the `secret` option.
 *
 * @throws WebhookError `SECRET_INVALID` when there is none, one is empty, malformed, or has stray
 * white space. The message never holds the secret.
 */
export function secretSource(option: SecretOption | undefined, scheme: Scheme): SecretSource {
  if (isKeySource(option)) return { lookUp: publicKeysOf(option, scheme) }
  if (typeof option !== 'function') return { keys: compile(option, scheme) }
  const kept = new Map<string, SecretKey>()
  return { lookUp: async (delivery) => compile(returned(await option(delivery)), scheme, kept) }
}

/** The secret of a look-up. An unset variable is the usual cause of none. */
function returned(secret: SecretInput | undefined): SecretInput {
  if (secret !== undefined && secret !== null && secret !== '') return secret
  throw invalid(
    `the \`secret\` function returned ${secret === '' ? 'an empty string' : secret}: set the environment variable that it reads (${variablesHint() ?? 'with Next.js in .env.local'}), or return a secret for this delivery`,
    'SECRET_INVALID',
  )
}

function isKeySource(option: SecretOption | undefined): option is KeySource {
  return typeof (option as KeySource | undefined)?.keysFor === 'function'
}

/** Public keys that a source gives, each made ready once. None for a key id proves nothing. */
function publicKeysOf(source: KeySource, { algorithm, name }: Scheme): SecretLookUp {
  if (!isPublicKey(algorithm)) {
    throw invalid(
      `jwks() gives public keys, but the scheme ${name} signs with ${algorithm}`,
      'SECRET_INVALID',
    )
  }
  const made = new WeakMap<PublicKey, SecretKey>()
  const keyOf = (key: PublicKey): SecretKey => {
    const known = made.get(key)
    if (known) return known
    const secret = defined({ id: key.id, value: key.der })
    const ready = new SecretKey(secret, makeHmacKey(key.der, algorithm), 'key')
    made.set(key, ready)
    return ready
  }
  return async ({ address }, keyId, waitUntil) => {
    const found = await source.keysFor(keyId, address, waitUntil)
    return usable(
      found.filter((key) => key.algorithm === algorithm),
      keyOf,
    )
  }
}

/** A broken key of a set harms no other (RFC 7517); where none is whole the first fault is thrown. */
function usable(found: readonly PublicKey[], keyOf: (key: PublicKey) => SecretKey) {
  const faults: unknown[] = []
  const keys = found.flatMap((key) => {
    try {
      return [keyOf(key)]
    } catch (fault) {
      faults.push(fault)
      return []
    }
  })
  if (keys.length === 0 && faults.length > 0) throw faults[0]
  return keys
}

/** Turns secrets into keys. */
export function compile(
  input: SecretInput | undefined,
  scheme: Scheme,
  kept?: Map<string, SecretKey>,
): readonly SecretKey[] {
  const secrets = listed(input)
  const name = (secret: Secret, at: number) =>
    secrets.length > 1 ? `secret ${secret.id ?? at + 1}` : 'secret'
  const found = secrets.map((secret, at) => {
    const cacheKey = typeof secret.value === 'string' ? cacheKeyOf(secret) : undefined
    const known = cacheKey === undefined ? undefined : kept?.get(cacheKey)
    const bytes = known ? undefined : materialOf(secret.value, scheme, name(secret, at))
    return { secret, cacheKey, known, bytes }
  })
  checkTenants(secrets, scheme)
  return found.map(({ secret, cacheKey, known, bytes }, at) => {
    if (known) return known
    const key = madeKey(bytes as Uint8Array, scheme, name(secret, at))
    const made = new SecretKey(secret, key, name(secret, at))
    if (kept && cacheKey !== undefined) {
      if (kept.size >= keptKeys) kept.delete(kept.keys().next().value as string)
      kept.set(cacheKey, made)
    }
    return made
  })
}

/** A public key may have the right form and still not be a point or a modulus. */
function madeKey(bytes: Uint8Array, { algorithm }: Scheme, name: string): HmacKey {
  if (!isPublicKey(algorithm)) return makeHmacKey(bytes, algorithm)
  try {
    return makeHmacKey(bytes, algorithm)
  } catch (cause) {
    throw invalid(`${name} cannot be read as a key of ${algorithm}`, 'SECRET_INVALID', { cause })
  }
}

const secretFields: readonly (keyof Secret)[] = ['id', 'value', 'tenant', 'notBefore', 'notAfter']

/** Every form of the option as a list of secrets. */
function listed(input: SecretInput | undefined): readonly Secret[] {
  const list: readonly unknown[] = Array.isArray(input) ? input : [input]
  if (list.length === 0) throw noSecret()
  return list.map((one) => {
    if (one === undefined || one === null) throw noSecret()
    if (typeof one === 'string' || one instanceof Uint8Array) return { value: one }
    if (typeof one !== 'object') {
      throw invalid(
        `secret must be a string, bytes or { value }, got ${typeof one}: pass process.env.WEBHOOK_SECRET`,
        'SECRET_INVALID',
      )
    }
    checkOptionNames('a secret', one, secretFields, 'SECRET_INVALID')
    const secret = one as Secret
    if (secret.value === undefined) throw noSecret()
    if (secret.tenant !== undefined && !isText(secret.tenant)) {
      throw invalid(
        `tenant must be a non-empty string, or be omitted, got ${shown(secret.tenant)}`,
        'SECRET_INVALID',
      )
    }
    if (secret.id !== undefined && !isText(secret.id)) {
      throw invalid(
        `the id of a secret must be a non-empty string, got ${shown(secret.id)}`,
        'SECRET_INVALID',
      )
    }
    return secret
  })
}

const isText = (value: unknown) => typeof value === 'string' && value !== ''

const cacheKeyOf = ({ id, value, tenant, notBefore, notAfter }: Secret) =>
  JSON.stringify([id, value, tenant, notBefore, notAfter])

/** A secret that two tenants share proves neither of them. HMAC pads keys with zeros. */
function checkTenants(secrets: readonly Secret[], scheme: Scheme): void {
  if (secrets.length < 2 || secrets.every(({ tenant }) => tenant === secrets[0]?.tenant)) return
  const tenants = new Map<string, string | undefined>()
  for (const { value, tenant } of secrets) {
    const bytes = toHex(materialOf(value, scheme)).replace(/(?:00)+$/, '')
    if (tenants.has(bytes) && tenants.get(bytes) !== tenant) {
      throw invalid(
        'two tenants have the same secret, so a delivery could not be attributed: give each tenant its own',
        'SECRET_INVALID',
      )
    }
    tenants.set(bytes, tenant)
  }
}

function noSecret() {
  const hint = variablesHint()
  return invalid(
    `no secret: pass \`secret\`, e.g. secret: process.env.WEBHOOK_SECRET, and check that it is set${hint ? ` (${hint})` : ''}`,
    'SECRET_INVALID',
  )
}

/** Rows and JSON have null where there is none; to `Date` that is 1970, and a number is mostly near it. */
function time(value: Date | string | null | undefined, name: string): number | undefined {
  if (value === undefined || value === null) return undefined
  const at = typeof value === 'object' ? new Date(value).getTime() : parseTime(value)
  if (!Number.isNaN(at)) return at
  throw invalid(
    `${name} must be a Date or an ISO 8601 string, got ${shown(value)}`,
    'SECRET_INVALID',
  )
}
