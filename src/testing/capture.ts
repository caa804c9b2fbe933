// A delivery as a file for tests: exact bytes, headers and scheme; by default without the person
// in it, and signed again with a test secret so that it still verifies.
import { systemClock } from '../clock.ts'
import { type Delivery, type HeaderList, headerList } from '../delivery.ts'
import { WebhookError } from '../errors.ts'
import { decodeUtf8, parseJson } from '../json.ts'
import { type Scheme, type SchemeDefinition, schemes } from '../protocol/scheme.ts'
import { fromBase64, toBase64 } from '../signature/encoding.ts'
import type { SecretInput } from '../signature/secrets.ts'
import { sign } from '../signature/signature.ts'
import { redactJson } from './redact.ts'
import { redactHeaders, redactUrl } from './redact-transport.ts'
import { testSecret } from './test-secret.ts'

/** A capture file: JSON; only `headers` and `body` are needed to read one. */
export interface Capture {
  readonly version: 1
  /** ISO 8601. */
  readonly receivedAt: string
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Base64 of the exact bytes. */
  readonly body: string
  /** How it is signed, as `schemes.define` takes it. */
  readonly scheme?: SchemeDefinition
  /** The person was taken out and, unless it was refused, the bytes were signed with the test secret. */
  readonly redacted?: true
  /** Whether it verified when it was captured; missing where nobody looked. */
  readonly verified?: boolean
  /** Why it did not. */
  readonly code?: string
}

/** What `verify` said of a delivery. */
export type Proof = { readonly ok: true } | { readonly ok: false; readonly code: string }

/** Options of `capture`. */
export interface CaptureOptions {
  readonly scheme?: Scheme
  /** Signs the redacted bytes; `testSecret` by default. */
  readonly secret?: SecretInput
  /** False keeps the bytes and headers as they arrived, the person in them too. */
  readonly redact?: boolean
  /** The request's method; POST by default. */
  readonly method?: string
  /** What `verify` said: what it refused is not signed again, so that it stays refused. */
  readonly proof?: Proof
}

/**
 * Makes a capture of a delivery.
 *
 * @throws WebhookError `SECRET_INVALID`
 * @example writeFileSync('approved.json', JSON.stringify(await capture(context.delivery), null, 2))
 */
export async function capture(delivery: Delivery, options: CaptureOptions = {}): Promise<Capture> {
  const { scheme = schemes.service(), redact = true, method = 'POST' } = options
  const receivedAt = delivery.receivedAt ?? systemClock()
  const headers = headerList(delivery.headers)
  const { template: _, ...definition } = scheme
  const proof = toFacts(options.proof)
  const facts = { version: 1, receivedAt: receivedAt.toISOString(), method } as const
  if (!redact) {
    const body = toBase64(delivery.body)
    return { ...facts, url: delivery.url ?? '/', headers, body, scheme: definition, ...proof }
  }
  const body = redactBody(delivery.body)
  const url = redactUrl(delivery.url ?? '/')
  const signed =
    options.proof?.ok === false
      ? refusedHeaders(headers, scheme)
      : await signedHeaders({ body, url, receivedAt }, scheme, options.secret)
  return {
    ...facts,
    url,
    headers: [...redactHeaders(headers), ...signed],
    body: toBase64(body),
    scheme: definition,
    redacted: true,
    ...proof,
  }
}

function toFacts(proof: Proof | undefined): Pick<Capture, 'verified' | 'code'> {
  if (!proof) return {}
  return proof.ok ? { verified: true } : { verified: false, code: proof.code }
}

async function signedHeaders(
  { body, url, receivedAt }: Required<Pick<Delivery, 'body' | 'url' | 'receivedAt'>>,
  scheme: Scheme,
  secret: SecretInput = testSecret,
): Promise<Capture['headers']> {
  const id = scheme.id && `msg_${receivedAt.toISOString().replaceAll(/\D/g, '')}`
  const now = () => receivedAt
  const signed = await sign(body, { secret, scheme, now, url, ...(id !== undefined && { id }) })
  return Object.entries(signed)
}

/** A signature, the time that it signs, or the version of either; anything else could be a name. */
const claim = /^(?:[\w-]{1,12}=)?(?:\d{1,12}|[A-Za-z0-9+/_-]{27,}={0,2})$|^v\d{1,3}[a-z]?$/

/** What was refused keeps what it claimed, so that it is refused for the same reason again. */
function refusedHeaders(headers: HeaderList, scheme: Scheme): Capture['headers'] {
  const claiming = [scheme.header, scheme.timestamp?.header, scheme.id?.header]
  return headers
    .filter(([name]) => claiming.some((one) => one?.toLowerCase() === name))
    .map(([name, value]) => [
      name,
      value.replaceAll(/[^\s,]+/g, (part) =>
        claim.test(part) ? part : part.replaceAll(/[^=]/g, 'x'),
      ),
    ])
}

/** What is no JSON cannot be understood, so nothing of it is kept but its length. */
function redactBody(body: Uint8Array): Uint8Array {
  const text = decodeUtf8(body)
  if (text === undefined || parseJson(text) === undefined)
    return new Uint8Array(body.length).fill(120)
  const mark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? '\uFEFF' : ''
  return new TextEncoder().encode(mark + redactJson(text))
}

/** A capture that was read: a delivery, with what is known of how it came. */
export interface ReadCapture {
  readonly delivery: Delivery & { readonly headers: HeaderList }
  readonly method: string
  readonly scheme?: Scheme
  readonly redacted: boolean
  /** Whether it verified when it was captured, where somebody looked. */
  readonly verified?: boolean
  /** Why it did not. */
  readonly code?: string
}

/**
 * Reads a capture from its JSON text or value.
 *
 * @throws WebhookError `CAPTURE_INVALID`, saying which part is wrong
 */
export function readCapture(capture: string | unknown): ReadCapture {
  const json = typeof capture === 'string' ? parseText(capture) : capture
  if (typeof json !== 'object' || json === null) throw invalid('is no object')
  const { headers, body, receivedAt, method, url, scheme, redacted, version, verified, code } =
    json as Readonly<Record<keyof Capture, unknown>>
  if (version !== undefined && version !== 1) {
    throw invalid(`has version ${String(version)}: this program reads version 1`)
  }
  const bytes = typeof body === 'string' ? fromBase64(body) : undefined
  if (!bytes) throw invalid('has no `body` in base64')
  const pairs = Array.isArray(headers) ? (headers as readonly unknown[]) : undefined
  if (!pairs?.every(isPair)) throw invalid('has no `headers` as a list of [name, value]')
  const at = receivedAt === undefined ? undefined : new Date(String(receivedAt))
  if (at && Number.isNaN(at.getTime())) throw invalid('has a `receivedAt` that is no date')
  return {
    delivery: {
      body: bytes,
      headers: headerList(pairs),
      ...(typeof url === 'string' && { url }),
      ...(at && { receivedAt: at }),
    },
    method: typeof method === 'string' ? method : 'POST',
    ...(scheme !== undefined && { scheme: schemes.define(scheme as SchemeDefinition) }),
    redacted: redacted === true,
    ...(typeof verified === 'boolean' && { verified }),
    ...(typeof code === 'string' && { code }),
  }
}

function isPair(pair: unknown): pair is readonly [string, string] {
  return Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === 'string')
}

function parseText(text: string): unknown {
  try {
    // A byte order mark, as editors leave one, is no letter of JSON.
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (cause) {
    throw invalid('is no JSON', cause)
  }
}

function invalid(why: string, cause?: unknown): WebhookError {
  return new WebhookError('CAPTURE_INVALID', `the capture ${why}`, { cause })
}
