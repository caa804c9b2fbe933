// The import path of schemes with public keys: no other reaches jose. Here key sets are loaded when
// they are needed, at most once in a cooldown, and serve on while their address is down.
import type { JWSHeaderParameters } from 'jose'
import { JWKSMultipleMatchingKeys, JWKSNoMatchingKey } from 'jose/errors'
import { createLocalJWKSet } from 'jose/jwks/local'
import { createRemoteJWKSet, customFetch } from 'jose/jwks/remote'
import { inTime } from '../foundation/abortable.ts'
import { readStream } from '../foundation/bytes.ts'
import {
  checkMilliseconds,
  checkOptionNames,
  checkWholeNumber,
  invalid,
  kindShown,
  shown,
} from '../foundation/check.ts'
import { isObject } from '../protocol/json-paths.ts'
import type { PublicKeyName } from '../protocol/scheme-definition.ts'
import { isPublicKey, jwsNames } from './hmac/hmac.ts'
import { verifierOf } from './public-keys.ts'
import type { KeySource } from './secrets.ts'

export { privateKey, publicKey } from './public-keys.ts'
export type { AsymmetricKey, KeySource } from './secrets.ts'

/** A key of a JSON Web Key Set (RFC 7517). */
export interface Jwk {
  readonly kty?: string
  readonly kid?: string
  readonly [member: string]: unknown
}

/** Options of `jwks`. */
export interface JwksOptions {
  /** The accepted algorithms. Neither a key nor a token selects another. */
  readonly algorithms: readonly PublicKeyName[]
  readonly fetch?: typeof fetch
  /** Milliseconds for one request; default 5,000. */
  readonly timeout?: number
  /** Milliseconds for which keys are used without another request; default 10 minutes. */
  readonly maxAge?: number
  /** Milliseconds between requests for unknown key ids, or after a failure; default 30,000. */
  readonly cooldown?: number
  /** Milliseconds for which kept keys serve while the address is down; default 24 hours. */
  readonly staleFor?: number
  /** The longest answer in bytes; default 64 KiB. */
  readonly maxBytes?: number
}

/**
 * Reads one key by its id, for APIs that give keys one by one. `undefined` says that no such key
 * exists, and withdraws a kept key; a rejection does not.
 */
export type LoadKey = (
  keyId: string,
  options: { readonly signal: AbortSignal },
) => Promise<Jwk | undefined>

type Settings = Required<JwksOptions>

const durations = ['timeout', 'maxAge', 'cooldown', 'staleFor'] as const
const names: readonly string[] = ['algorithms', 'fetch', ...durations, 'maxBytes']
const maxKeys = 100

/**
 * Keys for the `secret` option of a receiver whose scheme has a public-key algorithm: a JSON Web
 * Key Set at an https address, or a function that reads one key by its id.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example
 * createReceiver({ scheme, secret: jwks('https://vendor.example/jwks.json', { algorithms: ['es256'] }) })
 */
export function jwks(source: string | URL | LoadKey, options: JwksOptions): KeySource {
  checkOptionNames('jwks', options, names)
  const settings: Settings = {
    ...{ fetch: globalThis.fetch, timeout: 5000, maxAge: 600_000, cooldown: 30_000 },
    ...{ staleFor: 86_400_000, maxBytes: 65_536 },
    ...options,
  }
  const pinned: unknown = options.algorithms
  if (!Array.isArray(pinned) || !pinned.length || !pinned.every(isPublicKey)) {
    throw invalid(`jwks algorithms must list ed25519, es256 or rs256, got ${shown(pinned)}`)
  }
  for (const name of durations) checkMilliseconds(`jwks ${name}`, settings[name])
  checkWholeNumber('jwks maxBytes', settings.maxBytes)
  return typeof source === 'function' ? keysById(source, settings) : keysOf(source, settings)
}

function keysOf(source: string | URL, settings: Settings): KeySource {
  const url = URL.parse(String(source))
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    const got = kindShown(source)
    throw invalid(`jwks must be given an https address without a password, got ${got}`)
  }
  const set = keySet((signal) => fetchKeys(url.href, settings, signal), settings)
  return {
    async keysFor(keyId, algorithm) {
      const keys = await set.keysFor(keyId, algorithm)
      // Rejects if the set has no usable key at all: that is a fault of the key server.
      if (keys.length === 0) await set.keysFor(undefined, algorithm)
      return keys
    },
  }
}

async function fetchKeys(
  url: string,
  { fetch, maxBytes }: Settings,
  signal: AbortSignal,
): Promise<readonly Jwk[]> {
  // A redirect could lead to another host, or away from https.
  const answer = await fetch(url, {
    signal,
    redirect: 'manual',
    headers: { accept: 'application/jwk-set+json, application/json' },
  })
  if (!answer.ok || answer.redirected) {
    await answer.body?.cancel()
    throw new Error(`the key server answered with status ${answer.status}`)
  }
  const bytes = await readStream(answer.body, { most: maxBytes, signal })
  if (!bytes) throw new Error(`the key set is longer than ${maxBytes} bytes`)
  const { keys } = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) ?? {}
  if (Array.isArray(keys) && keys.length <= maxKeys && keys.every(isObject)) return keys
  throw new Error(`the answer is not a set of at most ${maxKeys} keys`)
}

/** Requests for unknown key ids in one cooldown; the budget refills gradually. */
const maxUnknown = 60

/** Keys from an API that gives them one by one. Invented key ids cost only a few requests. */
function keysById(load: LoadKey, settings: Settings): KeySource {
  const { cooldown } = settings
  const sets = new Map<string, KeySet>()
  let [left, at] = [maxUnknown, Date.now()]
  const mayAsk = () => {
    const before = at
    at = Date.now()
    left = Math.min(maxUnknown, left + (maxUnknown * (at - before)) / Math.max(cooldown, 1))
    if (left < 1) return false
    left -= 1
    return true
  }
  return {
    async keysFor(keyId, algorithm) {
      // An id of dots would lead out of the folder in an address that contains it.
      if (keyId === undefined || !/^(?!\.+$)[\w.:~-]{1,200}$/.test(keyId)) return []
      let set = sets.get(keyId)
      if (!set) {
        // The key may exist, so its sender is asked to repeat the delivery.
        if (!mayAsk()) throw new Error('too many unknown key ids: the key is not asked for now')
        set = keySet(async (signal) => {
          const jwk = await load(keyId, { signal })
          return jwk ? [{ ...jwk, kid: keyId }] : []
        }, settings)
        if (sets.size >= maxKeys) sets.delete(sets.keys().next().value as string)
        sets.set(keyId, set)
      }
      return set.keysFor(keyId, algorithm).finally(() => {
        if (set.isEmpty()) sets.delete(keyId)
      })
    },
  }
}

/** Milliseconds for which a delivery with a kept key waits for a newer set. */
const refreshWait = 1_000

interface KeySet extends KeySource {
  /** True if the set has no key and loads none. */
  isEmpty(): boolean
}

/** A set of keys that jose loads on demand, one load at a time. */
function keySet(
  load: (signal: AbortSignal) => Promise<readonly Jwk[]>,
  { algorithms, timeout, maxAge, cooldown, staleFor }: Settings,
): KeySet {
  let [loadedAt, failedAt, failure]: [number, number, unknown] = [0, 0, undefined]
  const set = createRemoteJWKSet(new URL('https://keys.invalid'), {
    ...{ timeoutDuration: timeout, cacheMaxAge: maxAge, cooldownDuration: cooldown },
    [customFetch]: async (_, { signal }) => {
      if (Date.now() - failedAt < cooldown) throw failure
      try {
        const keys = await inTime(load(signal), timeout, 'the look-up of keys')
        loadedAt = Date.now()
        // Plaid's `expired_at` is the time at which a key was retired.
        return Response.json({ keys: keys.filter((key) => typeof key.expired_at !== 'number') })
      } catch (error) {
        failedAt = Date.now()
        failure = error
        throw error
      }
    },
  })
  const keptKeys = async (header: JWSHeaderParameters) => {
    const kept = Date.now() - loadedAt < maxAge + staleFor ? set.jwks() : undefined
    return kept && !set.fresh ? matching(createLocalJWKSet(kept), header) : []
  }
  return {
    isEmpty: () => !set.reloading && !set.jwks()?.keys.length,
    async keysFor(keyId, algorithm) {
      if (!algorithms.includes(algorithm)) throw new Error(`jwks algorithms lack ${algorithm}`)
      const header = { alg: jwsNames[algorithm], ...(keyId !== undefined && { kid: keyId }) }
      const wasRequested = set.coolingDown || set.reloading
      const kept = await keptKeys(header)
      const found = matching(set, header)
      // An address that is down or hangs delays no delivery whose key is kept.
      const keys = await (kept.length > 0
        ? inTime(found, refreshWait, 'the key server').catch(() => kept)
        : found)
      // The sender may just have begun to use this key, and repeats a delivery that gets 503.
      if (keys.length === 0 && wasRequested) throw new Error('unknown key id: no newer keys yet')
      return keys.map((key) => ({ id: keyId, key: verifierOf(algorithm, async () => key) }))
    },
  }
}

async function matching(
  select: (header: JWSHeaderParameters) => Promise<CryptoKey>,
  header: JWSHeaderParameters,
): Promise<readonly CryptoKey[]> {
  const keys: CryptoKey[] = []
  try {
    keys.push(await select(header))
  } catch (error) {
    if (error instanceof JWKSMultipleMatchingKeys) for await (const key of error) keys.push(key)
    else if (!(error instanceof JWKSNoMatchingKey)) throw error
  }
  // Shorter RSA keys can be broken.
  return keys.filter(
    ({ algorithm }) => !('modulusLength' in algorithm) || Number(algorithm.modulusLength) >= 2048,
  )
}
