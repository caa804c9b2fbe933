// The import path of schemes with public keys: no other reaches jose. Here key sets are loaded when
// they are needed, at most once in a cooldown, and serve on while their address is down.
import type { JWK } from 'jose'
import { JWKSMultipleMatchingKeys, JWKSNoMatchingKey } from 'jose/errors'
import { createLocalJWKSet } from 'jose/jwks/local'
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
import { type Clock, createAgeClock } from '../foundation/clock.ts'
import type { PublicKeyName } from '../protocol/scheme-definition.ts'
import { jwsNames, verifierOf } from './public-keys.ts'
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
  /** The algorithms whose keys are accepted. Neither a key nor a token selects another one. */
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
  readonly now?: Clock
}

/**
 * Reads one key by its id, from an API that gives keys one by one. `undefined` says that no such
 * key exists, and withdraws a kept one; a rejection does not.
 */
export type LoadKey = (
  keyId: string,
  options: { readonly signal: AbortSignal },
) => Promise<Jwk | undefined>

type Settings = Required<JwksOptions>

const durations = ['timeout', 'maxAge', 'cooldown', 'staleFor'] as const
const names: readonly string[] = ['algorithms', 'fetch', ...durations, 'maxBytes', 'now']
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
    ...{ staleFor: 86_400_000, maxBytes: 65_536, now: createAgeClock() },
    ...options,
  }
  const pinned: unknown = options.algorithms
  if (!Array.isArray(pinned) || !pinned.length || !pinned.every((one) => one in jwsNames)) {
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
  const set = new KeySet((signal) => fetchKeys(url.href, settings, signal), settings)
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
  if (Array.isArray(keys) && keys.length <= maxKeys) return keys
  throw new Error(`the answer is not a set of at most ${maxKeys} keys`)
}

/** Requests for unknown key ids in one cooldown; they are given back bit by bit. */
const maxUnknown = 60

/** Keys that an API gives one by one. Made-up key ids cost only a few requests. */
function keysById(load: LoadKey, settings: Settings): KeySource {
  const { cooldown, now } = settings
  const sets = new Map<string, KeySet>()
  let [left, at] = [maxUnknown, now().getTime()]
  const mayAsk = () => {
    const before = at
    at = now().getTime()
    left = Math.min(maxUnknown, left + (maxUnknown * (at - before)) / Math.max(cooldown, 1))
    if (left < 1) return false
    left -= 1
    return true
  }
  return {
    async keysFor(keyId, algorithm) {
      // Dots alone would lead out of the folder of an address that is made of them.
      if (keyId === undefined || !/^(?!\.+$)[\w.:~-]{1,200}$/.test(keyId)) return []
      let set = sets.get(keyId)
      if (!set) {
        // The key may exist, so its sender is asked to repeat the delivery.
        if (!mayAsk()) throw new Error('too many unknown key ids: the key is not asked for now')
        set = new KeySet(async (signal) => {
          const jwk = await load(keyId, { signal })
          return jwk ? [{ ...jwk, kid: keyId }] : []
        }, settings)
        if (sets.size >= maxKeys) sets.delete(sets.keys().next().value as string)
        sets.set(keyId, set)
      }
      return set.keysFor(keyId, algorithm).finally(() => {
        if (set.isEmpty) sets.delete(keyId)
      })
    },
  }
}

/** Milliseconds for which a delivery with a kept key waits for a newer set. */
const refreshWait = 1_000

/** A set of keys that is loaded when it is needed. */
class KeySet implements KeySource {
  readonly #load: (signal: AbortSignal) => Promise<readonly Jwk[]>
  readonly #settings: Settings
  #select: ReturnType<typeof createLocalJWKSet> | undefined
  #loadedAt = Number.NEGATIVE_INFINITY
  #triedAt = Number.NEGATIVE_INFINITY
  #loading: Promise<boolean> | undefined
  #failure: unknown

  constructor(load: (signal: AbortSignal) => Promise<readonly Jwk[]>, settings: Settings) {
    this.#load = load
    this.#settings = settings
  }

  /** Whether the set has no key and none is being loaded. */
  get isEmpty(): boolean {
    return !this.#loading && !this.#select?.jwks().keys.length
  }

  async keysFor(keyId: string | undefined, algorithm: PublicKeyName) {
    const { algorithms, maxAge, staleFor } = this.#settings
    if (!algorithms.includes(algorithm)) throw new Error(`jwks algorithms lack ${algorithm}`)
    const isTooOld = () => this.#since(this.#loadedAt) >= maxAge + staleFor
    const kept = isTooOld() ? [] : await this.#find(keyId, algorithm)
    if (kept.length > 0 && this.#since(this.#loadedAt) < maxAge) return kept
    const refreshed = this.#refresh()
    // An address that hangs holds up no delivery whose key is kept.
    const isNew = await (kept.length > 0
      ? inTime(refreshed, refreshWait, 'the key server').catch(() => false)
      : refreshed)
    const cause = this.#failure
    if (isTooOld()) throw new Error('no public keys could be fetched', { cause })
    const found = await this.#find(keyId, algorithm)
    if (found.length > 0 || isNew) return found
    // The sender may just have begun to sign by this key, and repeats what is answered with 503.
    throw new Error('the key id is unknown, and newer keys could not be fetched now', { cause })
  }

  #since(time: number): number {
    return this.#settings.now().getTime() - time
  }

  /** Resolves to whether this call began a request that gave a newer set. */
  #refresh(): Promise<boolean> {
    const { timeout, cooldown } = this.#settings
    const since = this.#since(this.#triedAt)
    if (this.#loading && since <= timeout) return this.#loading.then(() => false)
    if (!this.#loading && since < cooldown) return Promise.resolve(false)
    this.#triedAt = this.#settings.now().getTime()
    const loading = this.#loadSet().finally(() => {
      if (this.#loading === loading) this.#loading = undefined
    })
    this.#loading = loading
    return loading
  }

  async #loadSet(): Promise<boolean> {
    const { timeout } = this.#settings
    try {
      const keys = await inTime(
        this.#load(AbortSignal.timeout(timeout)),
        timeout,
        'the look-up of keys',
      )
      // Plaid's `expired_at` is the time at which a key was retired.
      const usable = keys.filter(({ expired_at }) => typeof expired_at !== 'number')
      this.#select = createLocalJWKSet({ keys: usable as JWK[] })
      this.#loadedAt = this.#settings.now().getTime()
      this.#failure = undefined
      return true
    } catch (error) {
      this.#failure = error
      return false
    }
  }

  async #find(keyId: string | undefined, algorithm: PublicKeyName) {
    const keys: CryptoKey[] = []
    try {
      const header = { alg: jwsNames[algorithm], ...(keyId !== undefined && { kid: keyId }) }
      if (this.#select) keys.push(await this.#select(header))
    } catch (error) {
      if (error instanceof JWKSMultipleMatchingKeys) for await (const key of error) keys.push(key)
      else if (!(error instanceof JWKSNoMatchingKey)) throw error
    }
    const isStrong = ({ algorithm: of }: CryptoKey) =>
      !('modulusLength' in of) || Number(of.modulusLength) >= 2048
    return keys
      .filter(isStrong)
      .map((key) => ({ id: keyId, key: verifierOf(algorithm, async () => key) }))
  }
}
