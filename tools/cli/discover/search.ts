// The search: which schemes verify every capture. Each is tried with the verify() of a receiver, so
// a found scheme works.
import { setImmediate } from 'node:timers/promises'
import { defined } from '../../../src/foundation/defined.ts'
import { isWebhookError, type Scheme, type SchemeDefinition, schemes } from '../../../src/index.ts'
import type { NamedCapture } from '../capture-files.ts'
import type { SearchFailure } from '../records.ts'
import type { NamedSecret } from '../secrets.ts'
import { type CaptureTrial, provesBy } from './presets.ts'
import {
  areOfOneEvent,
  hasSignature,
  idHeaders,
  readingsOf,
  type SharedScheme,
  timeHeaders,
} from './readings.ts'

export interface FoundScheme {
  readonly result: 'found'
  readonly scheme: SharedScheme
  /** The sender also sends signatures with a weaker algorithm. */
  readonly hasWeaker: boolean
  /** True if only one event had the header of the id: the header may be a constant. */
  readonly idIsGuess?: true
}

export type SearchResult = FoundScheme | SearchFailure

export interface SearchOptions extends CaptureTrial {
  readonly templates: readonly string[]
  /** The signature header to use, if there are several. */
  readonly header?: string | undefined
  readonly signal: AbortSignal
  readonly onProgress?: (tried: number) => void
}

export async function searchScheme(options: SearchOptions): Promise<SearchResult> {
  const { captures } = options
  const unsigned = captures.filter(({ delivery }) => !hasSignature(delivery.headers))
  if (unsigned.length > 0)
    return { result: 'no-signature', files: unsigned.map(({ file }) => file) }
  const [first, ...others] = captures
  let fits = first ? await fitsOf(options, first) : []
  for (const capture of others) {
    const kept: SharedScheme[] = []
    for (const fit of fits) if (await proves(options, fit, capture)) kept.push(fit)
    fits = kept
  }
  return fits.length > 0 ? choose(fits, captures) : { result: 'no-match' }
}

async function fitsOf(options: SearchOptions, first: NamedCapture): Promise<SharedScheme[]> {
  const { signal, onProgress } = options
  const fits: SharedScheme[] = []
  let tried = 0
  for (const scheme of candidatesOf(options, first.delivery)) {
    tried += 1
    if (tried % 500 === 0) {
      onProgress?.(tried)
      // Lets Ctrl-C take effect.
      await setImmediate()
      signal.throwIfAborted()
    }
    if (await proves(options, scheme, first)) fits.push(scheme)
  }
  return fits
}

async function proves(options: SearchOptions, scheme: SharedScheme, { delivery }: NamedCapture) {
  const timed = scheme.signed.includes('{timestamp}')
  let candidate: Scheme
  try {
    candidate = schemes.define({ ...scheme, ...(timed && { tolerance: 'none' as const }) })
  } catch (error) {
    // The definition is ambiguous.
    if (isWebhookError(error)) return false
    throw error
  }
  return provesBy(candidate, delivery, options)
}

/** The ways to read the secrets as keys. */
function keysFor(secrets: readonly NamedSecret[]): readonly SchemeDefinition['key'][] {
  const texts = secrets.flatMap(({ value }) => (typeof value === 'string' ? [value] : []))
  const marked = texts.some((text) => text.startsWith('whsec_'))
  return texts.length === 0 ? ['utf8'] : ['utf8', marked ? 'whsec' : 'base64', 'hex']
}

const strength = { sha1: 1, sha256: 2, sha512: 3 } as const
const encodings = ['hex', 'base64', 'base64url', 'any']

function choose(all: readonly SharedScheme[], captures: readonly NamedCapture[]): SearchResult {
  const best = Math.max(...all.map(({ algorithm }) => strength[algorithm]))
  const strong = all.filter(({ algorithm }) => strength[algorithm] === best)
  const byMeaning = new Map<string, SharedScheme>()
  const rank = ({ encoding }: SharedScheme) => encodings.indexOf(encoding)
  // The likelier encoding counts.
  for (const scheme of strong.toSorted((one, other) => rank(one) - rank(other))) {
    if (repeatsOwnTime(scheme, strong)) continue
    const { encoding: _, ...meaning } = scheme
    const key = JSON.stringify(meaning)
    if (!byMeaning.has(key)) byMeaning.set(key, scheme)
  }
  const [scheme, ...others] = byMeaning.values()
  if (scheme && others.length === 0) {
    const isGuess = scheme.id !== undefined && areOfOneEvent(captures)
    const hasWeaker = strong.length < all.length
    return { result: 'found', scheme, hasWeaker, ...(isGuess && { idIsGuess: true }) }
  }
  const fits = [...byMeaning.values()].map((one) => ({ scheme: one, body: 'exact' as const }))
  const headers = [...new Set(fits.map((one) => one.scheme.header))]
  const isEither = headers.length > 1 && headers.length === fits.length
  return { result: 'ambiguous', fits, ...(isEither && { headers }) }
}

/** A time in the signature header is the signed time, even if another header repeats it. */
function repeatsOwnTime(scheme: SharedScheme, fits: readonly SharedScheme[]): boolean {
  if (!scheme.timestamp) return false
  return fits.some(
    ({ timestamp, header, signed }) =>
      !timestamp && header === scheme.header && signed === scheme.signed,
  )
}

const orders: readonly (readonly string[])[] = [
  ['{body}'],
  ['{timestamp}', '{body}'],
  ['{body}', '{timestamp}'],
  ['{id}', '{body}'],
  ['{body}', '{id}'],
  ['{id}', '{timestamp}', '{body}'],
  ['{timestamp}', '{id}', '{body}'],
  ['{url}', '{body}'],
  ['{body}', '{url}'],
  ['{timestamp}', '{url}', '{body}'],
  ['{url}', '{timestamp}', '{body}'],
  ['{id}', '{url}', '{body}'],
]
const separators = ['.', '', ':', '\n', '|', ',', '-', '_', ' ']

/** The signed templates that senders use, the simplest first. */
const templates: readonly string[] = [
  ...new Set([
    ...orders.flatMap((order) => separators.map((separator) => order.join(separator))),
    ...['v0', 'v1'].flatMap((version) =>
      orders
        .filter((order) => order.includes('{timestamp}') && order.at(-1) === '{body}')
        .flatMap((order) => ['.', ':'].map((separator) => [version, ...order].join(separator))),
    ),
  ]),
]

/** Every scheme worth trying on a delivery. */
function* candidatesOf(
  { secrets, captures, header, url, templates: own }: SearchOptions,
  delivery: NamedCapture['delivery'],
): Generator<SharedScheme> {
  const { headers } = delivery
  const keys = keysFor(secrets)
  const hasUrl = (url ?? delivery.url) !== undefined
  for (const { timed, ...fixed } of readingsOf(headers)) {
    if (header !== undefined && fixed.header !== header.toLowerCase()) continue
    const others = headers.filter(([name]) => name !== fixed.header)
    const times = timed ? [undefined] : timeHeaders(others)
    const ids = idHeaders(captures).filter((name) => name !== fixed.header)
    for (const signed of new Set([...own, ...templates])) {
      const signsTime = signed.includes('{timestamp}')
      if ((signed.includes('{url}') && !hasUrl) || (timed && !signsTime)) continue
      for (const time of signsTime ? times : [undefined]) {
        for (const id of signed.includes('{id}') ? ids : [undefined]) {
          if (time !== undefined && time === id) continue
          const sources = {
            timestamp: time === undefined ? undefined : { header: time },
            id: id === undefined ? undefined : { header: id },
          }
          for (const key of keys) {
            yield { name: 'discovered', ...fixed, key, signed, ...defined(sources) }
          }
        }
      }
    }
  }
}
