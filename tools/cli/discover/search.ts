// The search: which schemes verify every capture. Each is tried with the verify() of a receiver, so
// a found scheme works.
import {
  isWebhookError,
  type Scheme,
  type SchemeDefinition,
  schemes,
  verify,
} from '../../../src/index.ts'
import type { NamedCapture } from '../capture-files.ts'
import { urlsOf } from '../proves-by.ts'
import type { NamedSecret } from '../secrets.ts'
import { type BodyVariant, bodyVariant, otherVariants } from './body-variants.ts'
import { candidatesOf } from './candidates.ts'
import { areOfOneEvent, idHeaders } from './ids.ts'
import { hasSignature, readingsOf, type SharedScheme } from './readings.ts'

/** A scheme that verifies all captures, and which bytes it signs. */
export interface Fit {
  readonly scheme: SharedScheme
  readonly body: BodyVariant
}

/** The result of a search. */
export type SearchResult =
  | {
      readonly result: 'found'
      readonly fit: Fit
      readonly weaker: readonly Fit[]
      /** The header of the id was seen with one event only, so it may be a constant. */
      readonly idIsGuess: boolean
    }
  | {
      readonly result: 'ambiguous'
      readonly fits: readonly Fit[]
      /** Each of these headers is a signature of its own. */
      readonly headers?: readonly string[]
    }
  | { readonly result: 'no-match' }
  /** These captures have no header that could be a signature. */
  | { readonly result: 'no-signature'; readonly files: readonly string[] }

/** Options of a search. */
export interface SearchOptions {
  readonly captures: readonly NamedCapture[]
  readonly secrets: readonly NamedSecret[]
  /** The address that the sender used, if captures have another. */
  readonly url?: string | undefined
  readonly templates: readonly string[]
  /** The signature header to use, if there are several. */
  readonly header?: string | undefined
  readonly signal: AbortSignal
  readonly onProgress?: (tried: number) => void
}

/** Finds the scheme of captures. */
export async function searchScheme(options: SearchOptions): Promise<SearchResult> {
  const { captures } = options
  const unsigned = captures.filter(({ delivery }) => !hasSignature(delivery.headers))
  if (unsigned.length > 0)
    return { result: 'no-signature', files: unsigned.map(({ file }) => file) }
  // Other spellings of the body are tried only if no scheme fits the exact one.
  for (const variants of [['exact'], otherVariants] as const) {
    let fits = await fitsOf(options, variants)
    for (const capture of captures.slice(1)) fits = await stillFitting(options, fits, capture)
    if (fits.length > 0) return choose(fits, captures)
  }
  return { result: 'no-match' }
}

async function fitsOf(options: SearchOptions, variants: readonly BodyVariant[]): Promise<Fit[]> {
  const [first] = options.captures
  if (!first) return []
  const { headers, url } = first.delivery
  const fits: Fit[] = []
  let tried = 0
  const wanted = options.header?.toLowerCase()
  for (const reading of readingsOf(headers)) {
    if (wanted !== undefined && reading.header !== wanted) continue
    const bounds = {
      headers,
      ids: idHeaders(options.captures),
      hasUrl: (options.url ?? url) !== undefined,
      keys: keysFor(options.secrets),
      templates: options.templates,
    }
    for (const scheme of candidatesOf(reading, bounds)) {
      for (const body of variants) {
        tried += 1
        if (tried % 500 === 0) await breathe(options, tried)
        if (await proves(options, { scheme, body }, first)) fits.push({ scheme, body })
      }
    }
  }
  return fits
}

/** Lets Ctrl-C take effect, and reports progress. */
async function breathe({ signal, onProgress }: SearchOptions, tried: number): Promise<void> {
  onProgress?.(tried)
  await new Promise<void>((resolve) => setImmediate(resolve))
  signal.throwIfAborted()
}

async function stillFitting(options: SearchOptions, fits: readonly Fit[], capture: NamedCapture) {
  const kept: Fit[] = []
  for (const fit of fits) if (await proves(options, fit, capture)) kept.push(fit)
  return kept
}

async function proves(options: SearchOptions, fit: Fit, capture: NamedCapture): Promise<boolean> {
  const { delivery } = capture
  const body = bodyVariant(delivery.body, fit.body) ?? delivery.body
  const scheme = schemeOf(fit)
  if (!scheme) return false
  for (const url of urlsOf(options.url ?? delivery.url)) {
    for (const secret of options.secrets) {
      try {
        const proof = await verify({ ...delivery, body, ...(url && { url }) }, { secret, scheme })
        if (proof.ok) return true
      } catch (error) {
        // The secret does not fit the key encoding of this scheme.
        if (!isWebhookError(error)) throw error
      }
    }
  }
  return false
}

/** Undefined if the definition is rejected because it is ambiguous. */
function schemeOf({ scheme }: Fit): Scheme | undefined {
  const timed = scheme.signed.includes('{timestamp}')
  try {
    return schemes.define({ ...scheme, ...(timed && { tolerance: 'none' as const }) })
  } catch (error) {
    if (isWebhookError(error)) return undefined
    throw error
  }
}

/** The ways to read the secrets as keys. */
function keysFor(secrets: readonly NamedSecret[]): readonly SchemeDefinition['key'][] {
  const texts = secrets.flatMap(({ value }) => (typeof value === 'string' ? [value] : []))
  const marked = texts.some((text) => text.startsWith('whsec_'))
  return texts.length === 0 ? ['utf8'] : ['utf8', marked ? 'whsec' : 'base64', 'hex']
}

const strength = { sha1: 1, sha256: 2, sha512: 3 } as const
const encodings = ['hex', 'base64', 'base64url', 'any']

/** One scheme if the fits differ only in spelling; otherwise they are ambiguous. */
function choose(all: readonly Fit[], captures: readonly NamedCapture[]): SearchResult {
  const best = Math.max(...all.map(({ scheme }) => strength[scheme.algorithm]))
  const strong = all.filter(({ scheme }) => strength[scheme.algorithm] === best)
  const weaker = all.filter((fit) => !strong.includes(fit))
  const owned = strong.filter((fit) => !repeatsOwnTime(fit, strong))
  const byMeaning = new Map<string, Fit>()
  for (const fit of owned) {
    const { encoding, ...meaning } = fit.scheme
    const key = JSON.stringify([meaning, fit.body])
    const before = byMeaning.get(key)
    if (!before || encodings.indexOf(encoding) < encodings.indexOf(before.scheme.encoding)) {
      byMeaning.set(key, fit)
    }
  }
  const [fit, ...others] = distinct([...byMeaning.values()])
  if (fit && others.length === 0) {
    const idIsGuess = fit.scheme.id !== undefined && areOfOneEvent(captures)
    return { result: 'found', fit, weaker, idIsGuess }
  }
  const fits = fit ? [fit, ...others] : []
  const headers = [...new Set(fits.map((one) => one.scheme.header))]
  const isEither = headers.length > 1 && headers.length === fits.length
  return { result: 'ambiguous', fits, ...(isEither && { headers }) }
}

/** A time in the signature header is the signed one, even if another header repeats it. */
function repeatsOwnTime({ scheme }: Fit, fits: readonly Fit[]): boolean {
  if (!scheme.timestamp) return false
  return fits.some(
    (other) =>
      !other.scheme.timestamp &&
      other.scheme.header === scheme.header &&
      other.scheme.signed === scheme.signed,
  )
}

/** Of several spellings of one body the first counts. */
function distinct(fits: readonly Fit[]): readonly Fit[] {
  const seen = new Set<string>()
  return fits.filter(({ scheme }) => {
    const key = JSON.stringify(scheme)
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}
