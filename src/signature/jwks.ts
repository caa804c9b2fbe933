// Public keys by address: fetched when they are needed, kept, and asked for again no oftener than a
// stranger's made-up key ids deserve. The algorithm is the receiver's, never the sender's.
import { inTime } from '../foundation/abortable.ts'
import {
  checkMilliseconds,
  checkOptionNames,
  checkWholeNumber,
  invalid,
  kindShown,
  shown,
} from '../foundation/check.ts'
import { type Clock, createAgeClock } from '../foundation/clock.ts'
import { keepAwake, type WaitUntil } from '../host/promises.ts'
import type { PublicKeyName } from '../protocol/scheme-definition.ts'
import { Flights } from './flights.ts'
import { KeyLoads } from './key-loads.ts'
import { keyOf, mostKeys, type PublicKey, readKeySet } from './key-set.ts'
import type { Jwk } from './public-keys.ts'

/** Options of `jwks`. */
export interface JwksOptions {
  /** The algorithms whose keys are taken; what a key or a token says is only compared with them. */
  readonly algorithms: readonly PublicKeyName[]
  readonly fetch?: typeof fetch
  /** Milliseconds for one request; default 5,000. */
  readonly timeout?: number
  /** Milliseconds for which keys are taken as they are; default 10 minutes. */
  readonly maxAge?: number
  /** Milliseconds between requests for key ids that are unknown, or after a failure; default 30,000. */
  readonly cooldown?: number
  /** Milliseconds for which kept keys serve while the address is down; default 24 hours. */
  readonly staleFor?: number
  /** The longest answer in bytes; default 64 KiB. */
  readonly maxBytes?: number
  readonly now?: Clock
}

/** Gives the keys that may have signed under a key id; what `jwks` makes. */
export interface KeySource {
  /**
   * Rejects only where no key at all could be had. `address` is whose request asks, if known, and
   * `waitUntil` that of its host.
   */
  keysFor(
    keyId: string | undefined,
    address?: string,
    waitUntil?: WaitUntil,
  ): Promise<readonly PublicKey[]>
}

/**
 * Reads one key by its id, from an API that gives them one by one. Undefined says that there is no
 * such key, also none that is kept; it rejects where that could not be learned.
 */
export type LoadKey = (
  keyId: string,
  options: { readonly signal: AbortSignal },
) => Promise<Jwk | undefined>

const names: readonly (keyof JwksOptions)[] = [
  ...(['algorithms', 'fetch', 'timeout', 'maxAge', 'cooldown', 'staleFor'] as const),
  ...(['maxBytes', 'now'] as const),
]
const algorithms: readonly unknown[] = ['ed25519', 'es256', 'rs256']

type Settings = Required<JwksOptions>

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
    fetch: globalThis.fetch,
    timeout: 5000,
    maxAge: 600_000,
    cooldown: 30_000,
    staleFor: 86_400_000,
    maxBytes: 65_536,
    now: createAgeClock(),
    ...options,
  }
  const pinned: unknown = options.algorithms
  if (
    !Array.isArray(pinned) ||
    pinned.length === 0 ||
    !pinned.every((one) => algorithms.includes(one))
  ) {
    throw invalid(`jwks algorithms must list ed25519, es256 or rs256, got ${shown(pinned)}`)
  }
  for (const name of ['timeout', 'maxAge', 'cooldown', 'staleFor'] as const) {
    checkMilliseconds(`jwks ${name}`, settings[name])
  }
  checkWholeNumber('jwks maxBytes', settings.maxBytes)
  if (typeof source === 'function') return new KeysById(source, settings)
  return new PublishedKeys(addressOf(source), settings)
}

function addressOf(source: unknown): string {
  const url = source instanceof URL ? source : URL.parse(String(source))
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url.href
  throw invalid(`jwks must be given an https address without a password, got ${kindShown(source)}`)
}

/** All keys of an address, fetched together. */
class PublishedKeys implements KeySource {
  readonly #url: string
  readonly #settings: Settings
  #keys: readonly PublicKey[] = []
  #fetchedAt = Number.NEGATIVE_INFINITY
  #triedAt = Number.NEGATIVE_INFINITY
  /** Requests that were begun, and the latest of them that was answered with a set of keys. */
  #begun = 0
  #answered = 0
  #failure: unknown
  readonly #flights: Flights<void>

  constructor(url: string, settings: Settings) {
    this.#url = url
    this.#settings = settings
    this.#flights = new Flights(settings.timeout)
  }

  async keysFor(
    keyId: string | undefined,
    _address?: string,
    waitUntil?: WaitUntil,
  ): Promise<readonly PublicKey[]> {
    const { maxAge, staleFor, now } = this.#settings
    const isKnown = () =>
      this.#keys.length > 0 && (keyId === undefined || this.#keys.some(({ id }) => id === keyId))
    const isTooOld = () => now().getTime() - this.#fetchedAt >= maxAge + staleFor
    const before = this.#begun
    if (!isKnown() || isOver(maxAge, this.#fetchedAt, now)) {
      const wasAnswered = this.#answered === before
      const fresh = this.#refresh()
      keepAwake(waitUntil, fresh)
      // Kept keys may serve: an address that hangs holds no delivery up for the whole of its time.
      const ms = this.#begun > before && !wasAnswered ? longPatience : patience
      const mayServe = isKnown() && !isTooOld()
      await (mayServe ? inTime(fresh, ms, 'the key server').catch(() => {}) : fresh)
    }
    if (this.#keys.length === 0 || isTooOld()) {
      throw new Error('no public keys could be fetched', { cause: this.#failure })
    }
    if (!isKnown() && this.#answered <= before) {
      // A sender may have just begun to sign by it, and repeats what is answered with 503. The answer
      // to a request that was under way may be from before.
      const cause = this.#failure
      throw new Error('the key id is unknown, and newer keys could not be fetched now', { cause })
    }
    return keyId === undefined ? this.#keys : this.#keys.filter(({ id }) => id === keyId)
  }

  async #refresh(): Promise<void> {
    const { cooldown, now } = this.#settings
    const flight = this.#flights.of(this.#url)
    if (flight && !flight.wasDropped) return flight.answer
    // What was dropped says nothing of the address.
    if (!flight && !isOver(cooldown, this.#triedAt, now)) return
    this.#triedAt = now().getTime()
    this.#begun += 1
    await this.#flights.begin(this.#url, this.#fetch(this.#begun))
  }

  async #fetch(request: number): Promise<void> {
    try {
      this.#keys = await readKeySet(this.#url, this.#settings)
      this.#fetchedAt = this.#settings.now().getTime()
      this.#answered = Math.max(this.#answered, request)
      // A set without a usable key withdraws the kept ones, as an outage does not.
      const isEmpty = this.#keys.length === 0
      this.#failure = isEmpty
        ? new Error('the key set has no key of the pinned algorithms')
        : undefined
    } catch (error) {
      // The kept keys serve on, for as long as `staleFor` says.
      this.#failure = error
    }
  }
}

/** Also where the clock went back since, so that nothing waits until it has caught up. */
function isOver(ms: number, since: number, now: Clock): boolean {
  const age = now().getTime() - since
  return age < 0 || age >= ms
}

/** Milliseconds for which a delivery whose key is kept waits for newer ones. */
const patience = 1_000
/**
 * The same where the request before had no answer: a host may drop it, or freeze, once the delivery
 * that began it is answered. Less than the time limit of a look-up.
 */
const longPatience = 4_000

interface KeptKey {
  readonly keys: readonly PublicKey[]
  readonly at: number
  /** When it was last asked for again. */
  readonly triedAt: number
}

/** Keys that an API gives one by one; made-up ids may cost only a few requests. */
class KeysById implements KeySource {
  readonly #load: LoadKey
  readonly #settings: Settings
  readonly #kept = new Map<string, KeptKey>()
  readonly #flights: Flights<readonly PublicKey[]>
  readonly #loads: KeyLoads

  constructor(load: LoadKey, settings: Settings) {
    this.#load = load
    this.#settings = settings
    this.#flights = new Flights(settings.timeout)
    this.#loads = new KeyLoads(settings.cooldown, settings.now().getTime())
  }

  async keysFor(
    keyId: string | undefined,
    address?: string,
    waitUntil?: WaitUntil,
  ): Promise<readonly PublicKey[]> {
    // Dots alone would lead an address that is made of them up.
    if (keyId === undefined || !/^(?!\.+$)[\w.:~-]{1,200}$/.test(keyId)) return []
    const { maxAge, cooldown, now } = this.#settings
    const at = now().getTime()
    const kept = this.#kept.get(keyId)
    if (kept && !isOver(maxAge, kept.at, now)) return kept.keys
    const flight = this.#flights.of(keyId)
    if (flight && !flight.wasDropped) return this.#soon(flight.answer, this.#stale(kept, at))
    // A kept key is asked for again whatever strangers do: it may have been withdrawn.
    if (kept ? !isOver(cooldown, kept.triedAt, now) : !this.#loads.take(address, at)) {
      const stale = this.#stale(kept, at)
      if (stale.length > 0) return stale
      // It may be a genuine key's, and made-up ones have used the requests up: 503 is sent again.
      throw new Error('too many unknown key ids: the key is not asked for now')
    }
    if (kept) this.#kept.set(keyId, { ...kept, triedAt: at })
    const answer = this.#flights.begin(keyId, this.#loadKey(keyId, kept))
    keepAwake(
      waitUntil,
      answer.catch(() => {}),
    )
    const wasAnswered = kept?.triedAt === kept?.at
    return this.#soon(answer, this.#stale(kept, at), wasAnswered ? patience : longPatience)
  }

  /** Kept keys may serve: an API that hangs holds no delivery up for the whole of its time. */
  #soon(answer: Promise<readonly PublicKey[]>, kept: readonly PublicKey[], ms = patience) {
    return kept.length > 0 ? inTime(answer, ms, 'the look-up of a key').catch(() => kept) : answer
  }

  async #loadKey(keyId: string, kept: KeptKey | undefined): Promise<readonly PublicKey[]> {
    const { timeout, algorithms: allowed, now } = this.#settings
    const at = now().getTime()
    try {
      const loading = this.#load(keyId, { signal: AbortSignal.timeout(timeout) })
      const jwk = await inTime(loading, timeout, 'the look-up of a key')
      // The id is the one that was asked for: the answer has no say in it.
      const keys = jwk ? keyOf({ ...jwk, kid: keyId }, allowed) : []
      this.#kept.delete(keyId)
      if (keys.length === 0) return keys
      if (this.#kept.size >= mostKeys) this.#kept.delete(this.#kept.keys().next().value as string)
      this.#kept.set(keyId, { keys, at, triedAt: at })
      return keys
    } catch (error) {
      const stale = this.#stale(kept, at)
      if (stale.length > 0) return stale
      throw error
    }
  }

  #stale(kept: KeptKey | undefined, at: number): readonly PublicKey[] {
    const { maxAge, staleFor } = this.#settings
    return kept && at - kept.at < maxAge + staleFor ? kept.keys : []
  }
}
