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

/** A scheme that verifies all captures, and which spelling of the body it signs. */
export interface Fit {
  readonly scheme: SharedScheme
  /** `exact`, or how the signed bytes differ from those that arrived. */
  readonly body: BodyVariant
}

/** The only scheme that fits. */
export interface FoundScheme extends Fit {
  readonly result: 'found'
  readonly weaker: readonly Fit[]
  /** The header of the id was seen with one event only, so it may be a constant. */
  readonly idIsGuess?: true
}

/** The result of a search. */
export type SearchResult = FoundScheme | SearchFailure

/** Options of a search. */
export interface SearchOptions extends CaptureTrial {
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
  const { captures, secrets, templates, header, url, signal, onProgress } = options
  const [first] = captures
  if (!first) return []
  const { headers } = first.delivery
  const hasUrl = (url ?? first.delivery.url) !== undefined
  const bounds = { headers, ids: idHeaders(captures), hasUrl, keys: keysFor(secrets), templates }
  const fits: Fit[] = []
  let tried = 0
  for (const reading of readingsOf(headers)) {
    if (header !== undefined && reading.header !== header.toLowerCase()) continue
    for (const scheme of candidatesOf(reading, bounds)) {
      for (const body of variants) {
        tried += 1
        if (tried % 500 === 0) {
          onProgress?.(tried)
          // Lets Ctrl-C take effect.
          await setImmediate()
          signal.throwIfAborted()
        }
        if (await proves(options, { scheme, body }, first)) fits.push({ scheme, body })
      }
    }
  }
  return fits
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
  return scheme !== undefined && provesBy(scheme, { ...delivery, body }, options)
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
  const byMeaning = new Map<string, Fit>()
  // The likelier encoding first; if several spellings of the body fit, the first counts.
  const inOrder = strong.toSorted(
    (one, other) =>
      encodings.indexOf(one.scheme.encoding) - encodings.indexOf(other.scheme.encoding),
  )
  for (const fit of inOrder) {
    if (repeatsOwnTime(fit, strong)) continue
    const { encoding: _, ...meaning } = fit.scheme
    const key = JSON.stringify(meaning)
    if (!byMeaning.has(key)) byMeaning.set(key, fit)
  }
  const fits = [...byMeaning.values()]
  const [fit, ...others] = fits
  if (fit && others.length === 0) {
    const isGuess = fit.scheme.id !== undefined && areOfOneEvent(captures)
    const weaker = all.filter((one) => !strong.includes(one))
    return { result: 'found', ...fit, weaker, ...(isGuess && { idIsGuess: true }) }
  }
  const headers = [...new Set(fits.map((one) => one.scheme.header))]
  const isEither = headers.length > 1 && headers.length === fits.length
  return { result: 'ambiguous', fits, ...(isEither && { headers }) }
}

/** A time in the signature header is the signed one, even if another header repeats it. */
function repeatsOwnTime({ scheme }: Fit, fits: readonly Fit[]): boolean {
  if (!scheme.timestamp) return false
  return fits.some(
    ({ scheme: { timestamp, header, signed } }) =>
      !timestamp && header === scheme.header && signed === scheme.signed,
  )
}

/** JSON as Python writes it: `{"a": 1, "b": [1, 2]}`. */
export function spaced(json: string): string {
  return minified(json).replaceAll(
    /("(?:[^"\\]|\\.)*")|([:,])/g,
    (_, text, mark) => text ?? `${mark} `,
  )
}

const minified = (json: string) => JSON.stringify(JSON.parse(json))

const spellings = {
  'without-newline': (text: string) => text.replace(/\r?\n$/, ''),
  'with-newline': (text: string) => `${text}\n`,
  minified,
  spaced,
  indented: (text: string) => JSON.stringify(JSON.parse(text), null, 2),
} as const

/** `exact`, or how the signed bytes differ from those that arrived. */
export type BodyVariant = 'exact' | keyof typeof spellings

/** The variants to try if the exact bytes do not fit. */
export const otherVariants = Object.keys(spellings) as readonly (keyof typeof spellings)[]

/** One variant of a body; undefined if it equals the body or does not exist. */
export function bodyVariant(body: Uint8Array, variant: BodyVariant): Uint8Array | undefined {
  if (variant === 'exact') return body
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
    const spelled = spellings[variant](text)
    return spelled === text ? undefined : new TextEncoder().encode(spelled)
  } catch {
    // Not UTF-8, not JSON, or nested too deeply.
    return undefined
  }
}
