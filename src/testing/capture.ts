// A delivery as a file for tests: exact bytes, headers and scheme; by default without personal data,
// and signed again with a test secret so that it still verifies.

import { type Delivery, type HeaderList, headerList } from '../delivery.ts'
import { checkOptionNames, invalid as refusal, shown } from '../foundation/check.ts'
import { systemClock } from '../foundation/clock.ts'
import { defined } from '../foundation/defined.ts'
import { decodeUtf8, parseJson } from '../foundation/json.ts'
import { type Scheme, type SchemeDefinition, schemes } from '../protocol/scheme.ts'
import { fromBase64, toBase64 } from '../signature/encoding.ts'
import { isPublicKey } from '../signature/hmac/hmac.ts'
import type { SecretInput } from '../signature/secrets.ts'
import { sign } from '../signature/signature.ts'
import { fakeId, isOpaqueId } from './opaque-id.ts'
import { redactJson } from './redact.ts'
import { refusedClaims } from './redact-claims.ts'
import { redactHeaders, redactSigned, redactUrl } from './redact-transport.ts'
import { testSecret } from './test-secret.ts'

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
  /** Whether it verified when it was captured; absent if that was not checked. */
  readonly verified?: boolean
  /** The code of the refusal. */
  readonly code?: string
}

/** The result of `verify` for a delivery. */
export type Proof = { readonly ok: true } | { readonly ok: false; readonly code: string }

/** Options of `capture`. */
export interface CaptureOptions {
  readonly scheme?: Scheme
  /** Signs the redacted bytes; `testSecret` by default. */
  readonly secret?: SecretInput
  /** False keeps the bytes and headers as they arrived, with all personal data. */
  readonly redact?: boolean
  /** Names of your sender's own fields: keys that are kept beside those that are known. */
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
  checkOptionNames('capture', options, ['scheme', 'secret', 'redact', 'keys', 'method', 'proof'])
  if (!(delivery?.body instanceof Uint8Array) || !delivery.headers) {
    const message =
      'capture expects a delivery { body, headers }, e.g. context.delivery of a handler'
    throw refusal(message, 'CAPTURE_INVALID')
  }
  const { scheme = schemes.service(), redact = true, keys, method = 'POST', proof } = options
  if (
    keys !== undefined &&
    !(Array.isArray(keys) && keys.every((key) => typeof key === 'string'))
  ) {
    throw refusal(`keys must be a list of names of fields, got ${shown(keys)}`)
  }
  const receivedAt = delivery.receivedAt ?? systemClock()
  const headers = headerList(delivery.headers)
  const { template: _, authenticity: __, ...definition } = scheme
  const start = { version: 1, receivedAt: receivedAt.toISOString(), method } as const
  const verdict = { verified: proof?.ok, code: proof?.ok === false ? proof.code : undefined }
  if (!redact) {
    const [url, body] = [delivery.url ?? '/', toBase64(delivery.body)]
    return defined({ ...start, url, headers, body, scheme: definition, ...verdict })
  }
  const body = redactBody(delivery.body, keys)
  const url = redactUrl(delivery.url ?? '/')
  // It could not have verified without them.
  const lacks = signedNames(scheme).some((signed) => !headers.some(([name]) => name === signed))
  const signed =
    proof?.ok === false || lacks
      ? refusedClaims(headers, scheme)
      : await signedHeaders({ body, url, method, receivedAt, headers }, scheme, options.secret)
  const names = new Set(signed.map(([name]) => name))
  return defined({
    ...start,
    url,
    headers: [...redactHeaders(headers).filter(([name]) => !names.has(name)), ...signed],
    body: toBase64(body),
    scheme: definition,
    redacted: true as const,
    ...verdict,
  })
}

/** The names that a scheme signs beside its own headers, in lower case. */
const signedNames = ({ template }: Scheme): readonly string[] =>
  template.flatMap((part) => ('header' in part ? [part.header.toLowerCase()] : []))

type Resigned = Pick<Delivery, 'body' | 'url' | 'method' | 'receivedAt' | 'headers'>

async function signedHeaders(
  { body, url, method, receivedAt, headers: given }: Required<Resigned>,
  scheme: Scheme,
  secret: SecretInput = testSecret,
): Promise<Capture['headers']> {
  // Nobody but the sender has its private key.
  if (isPublicKey(scheme.algorithm) && secret === testSecret) return []
  const sent = headerList(given).find(([name]) => name === scheme.id?.header.toLowerCase())?.[1]
  const id = sent === undefined || isOpaqueId(sent) ? sent : fakeId(sent)
  const now = () => receivedAt
  const further = headerList(given).filter(([name]) => signedNames(scheme).includes(name))
  const headers = Object.fromEntries(
    further.map(([name, value]) => [name, redactSigned(name, value)]),
  )
  const values = { secret, scheme, now, url, method, id, headers }
  return Object.entries(await sign(body, defined(values)))
}

/** Bytes that are not JSON cannot be understood, so only their length is kept. */
function redactBody(body: Uint8Array, keys?: readonly string[]): Uint8Array {
  const text = decodeUtf8(body)
  if (text === undefined || parseJson(text) === undefined)
    return new Uint8Array(body.length).fill(120)
  const byteOrderMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? '\uFEFF' : ''
  return new TextEncoder().encode(byteOrderMark + redactJson(text, keys))
}

/** A parsed capture: the delivery, and how it arrived. */
export interface ReadCapture {
  readonly delivery: Delivery & { readonly headers: HeaderList }
  readonly method: string
  readonly scheme?: Scheme
  readonly redacted: boolean
  /** Whether it verified when it was captured; absent if that was not checked. */
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
