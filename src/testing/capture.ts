// A delivery as a file for tests: exact bytes, headers and scheme; by default without personal data,
// and signed again with a test secret so that it still verifies.

import { type Delivery, type HeaderList, headerList } from '../delivery.ts'
import { isBytes } from '../foundation/bytes.ts'
import { checkOptionNames, invalid as refusal, shown } from '../foundation/check.ts'
import { systemClock } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import { decodeUtf8, parseJson } from '../foundation/json.ts'
import { type Scheme, type SchemeDefinition, schemes } from '../protocol/scheme.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { presetPlaces } from '../redaction/fields.ts'
import { opaqueId } from '../redaction/ids.ts'
import { redactBody } from '../redaction/redact.ts'
import { redactClaims, redactHeader, redactHeaders, redactUrl } from '../redaction/transport.ts'
import { fromBase64, toBase64 } from '../signature/encoding.ts'
import { isPublicKey } from '../signature/hmac/hmac.ts'
import { type SecretInput, testSecret } from '../signature/secrets.ts'
import { signBody } from './signed-delivery.ts'

/** A capture file: JSON; only `headers` and `body` are required to read one. */
export interface Capture {
  readonly version: 1
  /** ISO 8601. */
  readonly receivedAt: string
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Base64 of the exact bytes. */
  readonly body: string
  /** The signature scheme, as `schemes.define` takes it. */
  readonly scheme?: SchemeDefinition
  /** Personal data was removed and, unless it was refused, the bytes were signed again. */
  readonly redacted?: true
  /** True if it verified when it was captured; absent if that was not checked. */
  readonly verified?: boolean
  /** The code of the refusal. */
  readonly code?: string
}

/** The result of `verify` for a delivery. */
export type Proof = { readonly ok: true } | { readonly ok: false; readonly code: string }

/** Options of `capture`. */
export interface CaptureOptions {
  readonly scheme?: Scheme
  /** The preset of the sender: its scheme is the default, and the values that it documents stay. */
  readonly vendor?: Vendor
  /** Signs the redacted bytes; `testSecret` by default. */
  readonly secret?: SecretInput
  /** False keeps the bytes and headers as they arrived, with all personal data. */
  readonly redact?: boolean
  /** Names of your sender's own fields: capture keeps these keys beside the documented ones. */
  readonly keys?: readonly string[]
  /** The request's method; POST by default. */
  readonly method?: string
  /** The result of `verify`: a refused delivery is not signed again, so that it stays refused. */
  readonly proof?: Proof
}

/**
 * Makes a capture of a delivery.
 *
 * @throws WebhookError `SECRET_INVALID`, `CAPTURE_INVALID`
 * @example writeFileSync('approved.json', JSON.stringify(await capture(context.delivery), null, 2))
 */
export async function capture(delivery: Delivery, options: CaptureOptions = {}): Promise<Capture> {
  checkCapture(delivery, options)
  const { vendor, scheme = vendor?.scheme ?? schemes.service(), proof, method = 'POST' } = options
  const receivedAt = delivery.receivedAt ?? systemClock()
  const headers = headerList(delivery.headers)
  const { template: _, authenticity: __, ...definition } = scheme
  const start = { version: 1, receivedAt: receivedAt.toISOString(), method } as const
  const verdict = { verified: proof?.ok, code: proof?.ok === false ? proof.code : undefined }
  if (options.redact === false) {
    const [url, body] = [delivery.url ?? '/', toBase64(delivery.body)]
    return defined({ ...start, url, headers, body, scheme: definition, ...verdict })
  }
  const payload = scheme.bodyJws?.unwrap({ body: delivery.body, now: 0 }).body ?? delivery.body
  const body = redactBytes(payload, options)
  const url = redactUrl(delivery.url ?? '/')
  // A delivery that lacks a signed header cannot have verified.
  const lacks = signedNames(scheme).some((signed) => !headers.some(([name]) => name === signed))
  const signed =
    proof?.ok === false || lacks
      ? { body, headers: redactClaims(headers, scheme) }
      : await signedAgain({ body, url, method, receivedAt, headers }, scheme, options.secret)
  const names = new Set(signed.headers.map(([name]) => name))
  return defined({
    ...start,
    url,
    headers: [...redactHeaders(headers).filter(([name]) => !names.has(name)), ...signed.headers],
    body: toBase64(signed.body),
    scheme: definition,
    redacted: true as const,
    ...verdict,
  })
}

const optionNames: readonly (keyof CaptureOptions)[] = [
  ...(['scheme', 'vendor', 'secret', 'redact', 'keys', 'method', 'proof'] as const),
]

function checkCapture(delivery: Delivery, options: CaptureOptions): void {
  checkOptionNames('capture', options, optionNames)
  if (!isBytes(delivery?.body) || !delivery.headers) {
    const message =
      'capture expects a delivery { body, headers }, e.g. context.delivery of a handler'
    throw refusal(message, 'CAPTURE_INVALID')
  }
  const { keys = [] } = options
  if (!Array.isArray(keys) || keys.some((key) => typeof key !== 'string')) {
    throw refusal(`keys must be a list of names of fields, got ${shown(keys)}`)
  }
}

/** The names that a scheme signs beside its own headers, in lower case. */
const signedNames = ({ template }: Scheme): readonly string[] =>
  template.flatMap((part) => ('header' in part ? [part.header.toLowerCase()] : []))

type Resigned = Pick<Delivery, 'body' | 'url' | 'method' | 'receivedAt' | 'headers'>

async function signedAgain(
  { body, url, method, receivedAt, headers: given }: Required<Resigned>,
  scheme: Scheme,
  secret: SecretInput = testSecret,
): Promise<Pick<Capture, 'headers'> & Pick<Delivery, 'body'>> {
  // Only the sender has its private key.
  if (isPublicKey(scheme.algorithm) && secret === testSecret) return { body, headers: [] }
  const sent = headerList(given).find(([name]) => name === scheme.id?.header.toLowerCase())?.[1]
  const id = sent === undefined ? undefined : opaqueId(sent)
  const now = () => receivedAt
  const further = headerList(given).filter(([name]) => signedNames(scheme).includes(name))
  const headers = Object.fromEntries(
    further.map(([name, value]) => [name, redactHeader(name, value)]),
  )
  const values = { secret, scheme, now, url, method, id, headers }
  const signed = await signBody(body, defined(values))
  return { body: signed.body, headers: Object.entries(signed.headers) }
}

/** For bytes that are not JSON, capture keeps only the length. */
function redactBytes(body: Uint8Array, { keys = [], vendor }: CaptureOptions): Uint8Array {
  const text = decodeUtf8(body)
  const json = text === undefined ? undefined : parseJson(text)
  if (json === undefined) return new Uint8Array(body.length).fill(120)
  const redacted = redactBody(json.value, keys, vendor && presetPlaces(vendor))
  return new TextEncoder().encode(JSON.stringify(redacted))
}

/** A parsed capture: the delivery, and how it arrived. */
export interface ReadCapture {
  readonly delivery: Delivery & { readonly headers: HeaderList }
  readonly method: string
  readonly scheme?: Scheme
  readonly redacted: boolean
  /** True if it verified when it was captured; absent if that was not checked. */
  readonly verified?: boolean
  /** The code of the refusal. */
  readonly code?: string
}

/**
 * Reads a capture from its JSON text or value.
 *
 * @throws WebhookError `CAPTURE_INVALID`, saying which part is wrong
 */
export function readCapture(capture: string | unknown): ReadCapture {
  const json = typeof capture === 'string' ? parseText(capture) : capture
  if (typeof json !== 'object' || json === null) throw invalid('must be a JSON object')
  if ('delivery' in json) {
    throw invalid('was already read by readCapture(): pass the content of the capture file')
  }
  const { headers, body, receivedAt, method, url, scheme, redacted, version, verified, code } =
    json as Readonly<Record<keyof Capture, unknown>>
  if (version !== undefined && version !== 1) {
    throw invalid(`has version ${String(version)}: this program reads version 1`)
  }
  const bytes = typeof body === 'string' ? fromBase64(body) : undefined
  if (!bytes) throw invalid('needs `body` in base64')
  const pairs = Array.isArray(headers) ? (headers as readonly unknown[]) : undefined
  if (!pairs?.every(isPair)) throw invalid('needs `headers` as a list of [name, value]')
  const at = receivedAt === undefined ? undefined : new Date(String(receivedAt))
  if (at && Number.isNaN(at.getTime()))
    throw invalid('has an invalid `receivedAt`: use ISO 8601, or leave it out')
  const arrived = { url: text(url), method: text(method), receivedAt: at }
  return defined({
    delivery: defined({ body: bytes, headers: headerList(pairs), ...arrived }),
    method: arrived.method ?? 'POST',
    scheme: scheme === undefined ? undefined : schemes.define(scheme as SchemeDefinition),
    redacted: redacted === true,
    verified: typeof verified === 'boolean' ? verified : undefined,
    code: text(code),
  })
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isPair(pair: unknown): pair is readonly [string, string] {
  return Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === 'string')
}

function parseText(json: string): unknown {
  try {
    // Strip the byte order mark that some editors add; JSON.parse rejects it.
    return JSON.parse(json.replace(/^\uFEFF/, ''))
  } catch (cause) {
    throw invalid('must be JSON', cause)
  }
}

function invalid(why: string, cause?: unknown) {
  return refusal(`the capture ${why}`, 'CAPTURE_INVALID', { cause })
}
