// The secrets of a receiver: checked when they are configured, turned into keys once, chosen by
// time while they rotate. A secret's text leaves this file only for a diagnosis.
import { makeHmacKey } from '#hmac'
import type { Delivery } from '../delivery.ts'
import { isBytes } from '../foundation/bytes.ts'
import { checkOptionNames, invalid, shown } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import { decodeUtf8 } from '../foundation/json.ts'
import { variablesHint } from '../host/runtime.ts'
import { parseTime } from '../protocol/json-paths.ts'
import type { Jws, PublicKeyName, Scheme } from '../protocol/scheme-definition.ts'
import { fromHex, toHex } from './encoding.ts'
import { type HmacKey, isPublicKey } from './hmac/hmac.ts'

/** A public or private key, made by `publicKey` or `privateKey` of `idv-webhooks/keys`. */
export interface AsymmetricKey {
  /**
   * Makes the key ready for a scheme.
   *
   * @throws WebhookError `SECRET_INVALID` if the key is of another kind than the scheme's algorithm
   */
  keyFor(scheme: Scheme): HmacKey
}

/** Public keys by their id; made by `jwks` of `idv-webhooks/keys`. */
export interface KeySource {
  /** Gives the keys that may have signed under a key id; rejects if no key at all could be had. */
  keysFor(
    keyId: string | undefined,
    algorithm: PublicKeyName,
  ): Promise<readonly { readonly id: string | undefined; readonly key: HmacKey }[]>
}

/** A secret with its id and the time in which it is valid (both ends included). */
export interface Secret {
  readonly id?: string
  readonly value: SecretValue
  /**
   * The sender that this secret belongs to, if several senders share a receiver. The deliveries of
   * each tenant are deduplicated, ordered, found and forgotten separately, even if ids are equal.
   */
  readonly tenant?: string
  readonly notBefore?: Date | string
  readonly notAfter?: Date | string
}

type SecretValue = string | Uint8Array | AsymmetricKey

/** One secret, or several while rotating. */
export type SecretInput = SecretValue | Secret | readonly (SecretValue | Secret)[]

/**
 * Secrets, or a function that looks them up for each delivery, for example by tenant. If it returns
 * none or fails, the reply is 503 `SECRET_UNAVAILABLE`.
 */
export type SecretOption =
  | SecretInput
  | KeySource
  | ((delivery: Delivery) => SecretInput | undefined | Promise<SecretInput | undefined>)

const refused = (message: string) => invalid(message, 'SECRET_INVALID')

/** A secret as a key, ready to prove bytes. Printing it shows no byte of the secret. */
export class SecretKey {
  readonly id: string | undefined
  readonly tenant: string | undefined
  /** Milliseconds since the epoch, both ends included. */
  readonly notBefore: number | undefined
  readonly notAfter: number | undefined
  /** It is valid for a time only. */
  readonly isBounded: boolean
  readonly #key: HmacKey
  readonly #material: SecretValue

  constructor(secret: Secret, key: HmacKey, name: string) {
    this.id = secret.id
    this.tenant = secret.tenant
    this.notBefore = time(secret.notBefore, `${name}: notBefore`)
    this.notAfter = time(secret.notAfter, `${name}: notAfter`)
    this.#key = key
    this.#material = secret.value
    const { notBefore, notAfter } = this
    this.isBounded = (notBefore ?? notAfter) !== undefined
    if (notBefore !== undefined && notAfter !== undefined && notBefore > notAfter) {
      throw refused(`${name}: notBefore is later than notAfter, so it is never valid`)
    }
  }

  get key(): HmacKey {
    return this.#key
  }

  /** The secret as it was given; only a diagnosis reads it. */
  get material(): SecretValue {
    return this.#material
  }
}

/** The keys of a receiver, or the look-up that gives them for each delivery. */
export type SecretSource =
  | { readonly keys: readonly SecretKey[]; readonly lookUp?: undefined }
  | { readonly keys?: undefined; readonly lookUp: SecretLookUp }

/** Rejects when the look-up failed, or gave nothing. */
export type SecretLookUp = (
  delivery: Delivery,
  jws: Jws | undefined,
) => Promise<readonly SecretKey[]>

/**
 * Prepares the `secret` option.
 *
 * @throws WebhookError `SECRET_INVALID` when there is none, one is empty, malformed, or has stray
 * white space. The message never holds the secret.
 */
export function secretSource(option: SecretOption | undefined, scheme: Scheme): SecretSource {
  if (isKeySource(option)) return { lookUp: keysOf(option, scheme) }
  if (typeof option !== 'function') return { keys: compile(option, scheme) }
  return { lookUp: async (delivery) => compile(returned(await option(delivery)), scheme) }
}

/** The secret of a look-up. An unset variable is the usual cause of none. */
function returned(secret: SecretInput | undefined): SecretInput {
  if (secret !== undefined && secret !== null && secret !== '') return secret
  throw refused(
    `the \`secret\` function returned ${secret === '' ? 'an empty string' : secret}: set the environment variable that it reads (${variablesHint() ?? 'with Next.js in .env.local'})`,
  )
}

function isKeySource(option: SecretOption | undefined): option is KeySource {
  return typeof (option as KeySource | undefined)?.keysFor === 'function'
}

function keysOf(source: KeySource, { algorithm, name }: Scheme): SecretLookUp {
  if (!isPublicKey(algorithm)) {
    throw refused(`jwks() gives public keys, but the scheme ${name} signs with ${algorithm}`)
  }
  return async (_, jws) =>
    (await source.keysFor(jws?.keyId, jws?.algorithm ?? algorithm)).map(
      ({ id, key }) => new SecretKey(defined({ id, value: '' }), key, 'key'),
    )
}

/** Turns secrets into keys. */
export function compile(input: SecretInput | undefined, scheme: Scheme): readonly SecretKey[] {
  const secrets = listed(input)
  const keys = secrets.map((secret, at) => {
    const name = secrets.length > 1 ? `secret ${secret.id ?? at + 1}` : 'secret'
    return new SecretKey(secret, keyOf(secret.value, scheme, name), name)
  })
  checkTenants(secrets, scheme)
  return keys
}

function keyOf(value: SecretValue, scheme: Scheme, name: string): HmacKey {
  const { algorithm, key } = scheme
  if (isAsymmetric(value)) return value.keyFor(scheme)
  if (isPublicKey(algorithm)) {
    throw refused(
      `the scheme ${scheme.name} needs a public key: pass ${name} as publicKey(text), with publicKey from 'idv-webhooks/keys'`,
    )
  }
  return makeHmacKey(keyBytes(value, key, name), algorithm === 'ip' ? 'token' : algorithm)
}

const isAsymmetric = (value: unknown): value is AsymmetricKey =>
  typeof (value as Partial<AsymmetricKey> | null)?.keyFor === 'function'

const secretFields: readonly (keyof Secret)[] = ['id', 'value', 'tenant', 'notBefore', 'notAfter']

/** Every form of the option as a list of secrets. */
function listed(input: SecretInput | undefined): readonly Secret[] {
  const list: readonly unknown[] = Array.isArray(input) ? input : [input]
  if (list.length === 0) throw noSecret()
  return list.map((one) => {
    if (one === undefined || one === null) throw noSecret()
    if (typeof one === 'string' || isBytes(one) || isAsymmetric(one)) {
      return { value: one }
    }
    if (typeof one !== 'object') {
      throw refused(
        `secret must be a string, bytes or { value }, got ${typeof one}: pass process.env.WEBHOOK_SECRET`,
      )
    }
    checkOptionNames('a secret', one, secretFields, 'SECRET_INVALID')
    const secret = one as Secret
    if (secret.value === undefined) throw noSecret()
    for (const name of ['tenant', 'id'] as const) {
      const value: unknown = secret[name]
      if (value === undefined || (typeof value === 'string' && value !== '')) continue
      throw refused(
        `${name} of a secret must be a non-empty string, or be omitted, got ${shown(value)}`,
      )
    }
    return secret
  })
}

/** A secret that two tenants share proves neither of them. HMAC pads keys with zeros. */
function checkTenants(secrets: readonly Secret[], scheme: Scheme): void {
  if (secrets.length < 2 || secrets.every(({ tenant }) => tenant === secrets[0]?.tenant)) return
  const tenants = new Map<unknown, string | undefined>()
  for (const { value, tenant } of secrets) {
    const bytes = isAsymmetric(value)
      ? value
      : toHex(keyBytes(value, scheme.key)).replace(/(?:00)+$/, '')
    if (tenants.has(bytes) && tenants.get(bytes) !== tenant) {
      throw refused('two tenants have the same secret: give each tenant its own')
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

/**
 * Rows and JSON write null for no date; `Date` would read it as 1970, and a number is mostly near
 * it.
 */
function time(value: Date | string | null | undefined, name: string): number | undefined {
  if (value === undefined || value === null) return undefined
  const at = typeof value === 'object' ? new Date(value).getTime() : parseTime(value)
  if (!Number.isNaN(at)) return at
  throw refused(`${name} must be a Date or an ISO 8601 string, got ${shown(value)}`)
}

/**
 * The key bytes that a secret's text encodes.
 *
 * @throws WebhookError `SECRET_INVALID`
 */
export function keyBytes(
  value: string | Uint8Array,
  decoding: Scheme['key'],
  name = 'secret',
): Uint8Array {
  const refuse = (why: string): never => {
    throw refused(`${name} ${why}`)
  }
  if (typeof value !== 'string' && !isBytes(value)) {
    return refuse(`must be a string or bytes, got ${typeof value}`)
  }
  // Callers may wipe the bytes of a key after they have passed it.
  const own = typeof value === 'string' ? value : Uint8Array.from(value)
  const bytes = typeof own === 'string' ? decoded(own, decoding, refuse) : own
  if (bytes.length === 0) return refuse('is empty: anyone could sign with it')
  if (typeof own !== 'string' && isUntrimmedText(own)) {
    return refuse('has stray white space at its ends: trim the file that it came from')
  }
  if (bytes.every((byte) => byte === 0)) {
    return refuse('is zero bytes only: anyone could sign with it')
  }
  return bytes
}

function decoded(
  value: string,
  decoding: Scheme['key'],
  refuse: (why: string) => never,
): Uint8Array {
  if (value.trim() === '') return refuse('is empty: check that the environment variable is set')
  if (value !== trimmed(value) || /[\r\n\t]/.test(value)) {
    return refuse('has stray white space: trim it')
  }
  if (/^(["']).*\1$/.test(value)) {
    return refuse('is in quotes, which are part of it: remove them')
  }
  if (value === 'undefined' || value === 'null') {
    return refuse(`is the text '${value}': check that the environment variable is set`)
  }
  if (decoding === 'utf8') return new TextEncoder().encode(value)
  if (decoding === 'hex') return fromHex(value) ?? refuse('is not hex, as its scheme says')
  const text = decoding === 'whsec' ? value.replace(/^(?:v1,)?whsec_/, '') : value
  return fromLooseBase64(text) ?? refuse('is not base64, as its scheme says')
}

/** Reads a secret as the libraries of Standard Webhooks do: either alphabet, padded or not. */
function fromLooseBase64(text: string): Uint8Array | undefined {
  const standard = text.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/')
  if (!/^[A-Za-z0-9+/]+$/.test(standard) || standard.length % 4 === 1) return undefined
  return Uint8Array.from(atob(standard), (letter) => letter.charCodeAt(0))
}

/** Without white space and without format characters such as U+200B and U+2060. */
const trimmed = (text: string) => text.replace(/^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu, '')

/** Text with white space at its ends is a file that was not trimmed, not a binary key. */
function isUntrimmedText(bytes: Uint8Array): boolean {
  const text = decodeUtf8(bytes)
  if (text === undefined || text === trimmed(text)) return false
  // A short binary key may begin or end with such a byte; control characters tell a key from text.
  return !/[^\P{Cc}\s]/u.test(text)
}

/** Signs captures and, by default, test deliveries. It is a valid key for every scheme. */
export const testSecret = 'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00'
