// The secrets of a receiver: checked when they are configured, turned into keys once, chosen by
// time while they rotate. A secret's value never leaves this file.
import { makeHmacKey } from '#hmac'
import type { Delivery } from '../delivery.ts'
import { WebhookError } from '../errors.ts'
import type { Scheme } from '../protocol/scheme.ts'
import { fromBase64, fromHex } from './encoding.ts'
import type { HmacKey } from './hmac/hmac.ts'

/** A secret with its id and the time in which it is valid (both ends included). */
export interface Secret {
  readonly id?: string
  readonly value: string | Uint8Array
  /**
   * Whose secret it is, where several senders share a receiver. What one of them sends is told
   * apart, ordered, found and forgotten apart from what the others send, whatever ids they use.
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
  | ((delivery: Delivery) => SecretInput | undefined | Promise<SecretInput | undefined>)

/** A secret as a key, ready to prove bytes. */
export interface SecretKey {
  readonly id?: string
  readonly tenant?: string
  readonly key: HmacKey
  readonly notBefore: number
  readonly notAfter: number
  /** The raw material, for diagnosis alone; not enumerable. */
  readonly material: () => string | Uint8Array
}

/** Gives the keys for a delivery; rejects when the look-up failed. */
export type SecretSource = (
  delivery: Delivery,
) => readonly SecretKey[] | Promise<readonly SecretKey[]>

/** How many looked-up secrets are kept as keys; beyond it the oldest is made again. */
const keptKeys = 1000

/**
 * Prepares the `secret` option.
 *
 * @throws WebhookError `SECRET_INVALID` when there is none, one is empty, malformed, or has stray
 * white space. The message never holds the secret.
 */
export function secretSource(option: SecretOption | undefined, scheme: Scheme): SecretSource {
  if (typeof option === 'function') {
    const kept = new Map<string, SecretKey>()
    return async (delivery) => compile(await option(delivery), scheme, kept)
  }
  const keys = compile(option, scheme)
  return () => keys
}

/** Turns secrets into keys. */
export function compile(
  input: SecretInput | undefined,
  scheme: Scheme,
  kept?: Map<string, SecretKey>,
): readonly SecretKey[] {
  const list = Array.isArray(input) ? (input as readonly unknown[]) : [input]
  const secrets = list.map((one) => {
    const plain = typeof one === 'string' || one instanceof Uint8Array
    return (plain ? { value: one } : one) as Secret | undefined
  })
  if (secrets.length === 0 || secrets.some((one) => one?.value === undefined)) throw noSecret()
  checkTenants(secrets as readonly Secret[])
  return secrets.map((one, at) => {
    const secret = one as Secret
    const name = typeof secret.value === 'string' ? cacheName(secret) : undefined
    const known = name === undefined ? undefined : kept?.get(name)
    if (known) return known
    const made = toKey(
      secret,
      scheme,
      secrets.length > 1 ? `secret ${secret.id ?? at + 1}` : 'secret',
    )
    if (kept && name !== undefined) {
      if (kept.size >= keptKeys) kept.delete(kept.keys().next().value as string)
      kept.set(name, made)
    }
    return made
  })
}

const cacheName = ({ id, value, tenant, notBefore, notAfter }: Secret) =>
  JSON.stringify([id, value, tenant, notBefore, notAfter])

/** A secret that two tenants share proves neither of them. */
function checkTenants(secrets: readonly Secret[]): void {
  const tenants = new Map<string, string | undefined>()
  for (const { value, tenant } of secrets) {
    if (tenant !== undefined && (typeof tenant !== 'string' || tenant === '')) {
      throw new WebhookError('SECRET_INVALID', 'a tenant is no name: give text, or leave it out')
    }
    const text = typeof value === 'string' ? value : JSON.stringify([...(value as Uint8Array)])
    if (tenants.has(text) && tenants.get(text) !== tenant) {
      const message =
        'two tenants have the same secret, so nobody could tell who has sent: give each its own'
      throw new WebhookError('SECRET_INVALID', message)
    }
    tenants.set(text, tenant)
  }
}

function noSecret() {
  return new WebhookError(
    'SECRET_INVALID',
    'no secret: pass `secret`, e.g. secret: process.env.WEBHOOK_SECRET, and check that it is set',
  )
}

function toKey(secret: Secret, scheme: Scheme, name: string): SecretKey {
  const bytes = keyBytes(secret.value, scheme.key, name)
  const key: SecretKey = {
    ...(secret.id !== undefined && { id: secret.id }),
    ...(secret.tenant !== undefined && { tenant: secret.tenant }),
    key: makeHmacKey(bytes, scheme.algorithm),
    notBefore: time(secret.notBefore, Number.NEGATIVE_INFINITY, `${name}: notBefore`),
    notAfter: time(secret.notAfter, Number.POSITIVE_INFINITY, `${name}: notAfter`),
    material: () => secret.value,
  }
  return Object.defineProperty(key, 'material', { enumerable: false })
}

/**
 * The key that a secret's text stands for.
 *
 * @throws WebhookError `SECRET_INVALID`
 */
export function keyBytes(
  value: string | Uint8Array,
  decoding: Scheme['key'],
  name = 'secret',
): Uint8Array {
  const refuse = (why: string): never => {
    throw new WebhookError('SECRET_INVALID', `${name} ${why}`)
  }
  if (value instanceof Uint8Array) {
    if (value.length === 0) return refuse('is empty: anyone could sign with it')
    if (isTextLine(value)) return refuse('ends with a line break: trim the file that it came from')
    return value
  }
  if (typeof value !== 'string') return refuse('is neither text nor bytes')
  if (value.trim() === '') return refuse('is empty: check that the environment variable is set')
  if (value !== value.trim() || /[\r\n\t]/.test(value)) {
    return refuse('has stray white space: trim it, e.g. a line break at the end of the variable')
  }
  if (decoding === 'utf8') return new TextEncoder().encode(value)
  const text = decoding === 'whsec' ? value.replace(/^whsec_/, '') : value
  const bytes = decoding === 'hex' ? fromHex(text) : fromBase64(text)
  if (!bytes) return refuse(`is not ${decoding === 'hex' ? 'hex' : 'base64'}, as its scheme says`)
  if (bytes.length === 0) return refuse('is empty once decoded')
  return bytes
}

/** Printable text with a line break at its end is a file that was not trimmed, not a binary key. */
function isTextLine(bytes: Uint8Array): boolean {
  const last = bytes.at(-1)
  if (last !== 0x0a && last !== 0x0d) return false
  return bytes.every((byte) => (byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x0d)
}

function time(value: Date | string | undefined, otherwise: number, name: string): number {
  if (value === undefined) return otherwise
  const at = new Date(value).getTime()
  if (!Number.isNaN(at)) return at
  throw new WebhookError('SECRET_INVALID', `${name} is no date: give a Date or an ISO 8601 string`)
}
