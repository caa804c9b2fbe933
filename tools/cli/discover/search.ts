// The search: which schemes verify every capture. Each is tried with the verify() of a receiver, so
// a found scheme works.
import { setImmediate } from 'node:timers/promises'
import { isWebhookError, type Scheme, type SchemeDefinition, schemes } from '../../../src/index.ts'
import type { NamedCapture } from '../capture-files.ts'
import type { SearchFailure } from '../records.ts'
import type { NamedSecret } from '../secrets.ts'
import { candidatesOf } from './candidates.ts'
import { type CaptureTrial, provesBy } from './presets.ts'
import {
  areOfOneEvent,
  hasSignature,
  idHeaders,
  readingsOf,
  type SharedScheme,
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
  let fits = await fitsOf(options)
  for (const capture of captures.slice(1)) {
    const kept: SharedScheme[] = []
    for (const fit of fits) if (await proves(options, fit, capture)) kept.push(fit)
    fits = kept
  }
  return fits.length > 0 ? choose(fits, captures) : { result: 'no-match' }
}

async function fitsOf(options: SearchOptions): Promise<SharedScheme[]> {
  const { captures, secrets, templates, header, url, signal, onProgress } = options
  const [first] = captures
  if (!first) return []
  const { headers } = first.delivery
  const hasUrl = (url ?? first.delivery.url) !== undefined
  const bounds = { headers, ids: idHeaders(captures), hasUrl, keys: keysFor(secrets), templates }
  const fits: SharedScheme[] = []
  let tried = 0
  for (const reading of readingsOf(headers)) {
    if (header !== undefined && reading.header !== header.toLowerCase()) continue
    for (const scheme of candidatesOf(reading, bounds)) {
      tried += 1
      if (tried % 500 === 0) {
        onProgress?.(tried)
        // Lets Ctrl-C take effect.
        await setImmediate()
        signal.throwIfAborted()
      }
      if (await proves(options, scheme, first)) fits.push(scheme)
    }
  }
  return fits
}

async function proves(
  options: SearchOptions,
  scheme: SharedScheme,
  { delivery }: NamedCapture,
): Promise<boolean> {
  const timed = scheme.signed.includes('{timestamp}')
  let defined: Scheme
  try {
    defined = schemes.define({ ...scheme, ...(timed && { tolerance: 'none' as const }) })
  } catch (error) {
    // The definition is ambiguous.
    if (isWebhookError(error)) return false
    throw error
  }
  return provesBy(defined, delivery, options)
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
