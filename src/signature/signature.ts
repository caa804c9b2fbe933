// sign() and matches() side by side: over exactly the bytes that a scheme says, nothing else.
import { sha256 } from '#hmac'
import { isBytes } from '../foundation/bytes.ts'
import { checkFunction, checkOptionNames, invalid, kindShown } from '../foundation/check.ts'
import { type Clock, systemClock } from '../foundation/clock.ts'
import type { Scheme, TemplateValue } from '../protocol/scheme-definition.ts'
import { checkScheme, serviceScheme } from '../protocol/service-scheme.ts'
import { encode, toBase64url, toHex } from './encoding.ts'
import { type Claim, writeHeaders } from './grammar.ts'
import type { HmacKey } from './hmac/hmac.ts'
import { compile, type SecretInput, type SecretKey } from './secrets.ts'
import { writeTime } from './time.ts'

/** The values that one delivery has for a template. */
export interface SignedValues {
  readonly body: Uint8Array
  readonly timestamp?: string | undefined
  readonly id?: string | undefined
  readonly url?: string | undefined
  /** POST by default. */
  readonly method?: string | undefined
  /** The value of a further header that is signed. */
  readonly header?: ((name: string) => string | undefined) | undefined
}

const utf8 = new TextEncoder()

/** The bytes that a scheme signs, in parts, so that a body is never copied. */
function signedParts(scheme: Scheme, values: SignedValues): readonly Uint8Array[] {
  // A template of one piece is `{body}`.
  if (scheme.template.length === 1) return [values.body]
  return scheme.template.map((part) => {
    if ('text' in part) return utf8.encode(part.text)
    if ('header' in part) return utf8.encode(values.header?.(part.header.toLowerCase()) ?? '')
    if (part.value === 'body') return values.body
    if (part.value === 'url') return utf8.encode(signedUrl(scheme, values.url ?? ''))
    return utf8.encode(values[part.value] ?? (part.value === 'method' ? 'POST' : ''))
  })
}

/** The address in the form in which the sender signs it. */
function signedUrl({ url: form }: Scheme, url: string): string {
  const plain = (text: string, code: string) =>
    text.replaceAll(new RegExp(code, 'gi'), decodeURIComponent(code))
  return form ? form.decoded.reduce(plain, url) : url
}

/** Tells whether one of a claim's signatures is the key's over the values. */
export function matches(
  { key }: SecretKey,
  scheme: Scheme,
  { signatures, timestamp, jws }: Claim,
  values: SignedValues,
): boolean | Promise<boolean> {
  if (jws) return matchesJws(key, { jws, signatures, body: values.body })
  const signed = timestamp === undefined ? values : { ...values, timestamp }
  return key.matches(signedParts(scheme, signed), signatures)
}

/** A JWS signs its own text, which holds the body or its hash. */
async function matchesJws(
  key: HmacKey,
  {
    jws: { input, bodyHash },
    signatures,
    body,
  }: Pick<Required<Claim>, 'jws' | 'signatures'> & Pick<SignedValues, 'body'>,
): Promise<boolean> {
  const isOfBody = bodyHash === undefined || toHex(await sha256(body)) === bodyHash
  return isOfBody && (await key.matches([input], signatures))
}

/** Options of `sign`. */
export interface SignOptions {
  /** Several secrets sign side by side, as a rotating sender does. */
  readonly secret: SecretInput | undefined
  readonly scheme?: Scheme
  /** The delivery's id, for schemes that sign one; random by default. */
  readonly id?: string
  /** The address of the receiver, for schemes that sign the address. */
  readonly url?: string
  /** The method, for schemes that sign it; POST by default. */
  readonly method?: string
  /** Further headers, for schemes that sign them by name. */
  readonly headers?: Readonly<Record<string, string>>
  readonly now?: Clock
}

/**
 * The headers that a sender of the scheme adds to a body; names are in lower case.
 *
 * @throws WebhookError `SECRET_INVALID`, `SCHEME_INVALID`, `OPTION_INVALID`
 * @example const headers = await sign(body, { secret: process.env.WEBHOOK_SECRET })
 */
export async function sign(
  body: Uint8Array | string,
  options: SignOptions,
): Promise<Record<string, string>> {
  checkOptionNames('sign', options, signNames)
  if (typeof body !== 'string' && !isBytes(body)) {
    throw invalid(`sign expects the body as bytes (Uint8Array) or text, got ${kindShown(body)}`)
  }
  const { scheme = serviceScheme, now = systemClock, url, method, headers = {} } = options
  checkScheme(scheme)
  if (scheme.bodyJws) {
    const why =
      'signs within the body: make deliveries with signedDelivery() of idv-webhooks/testing'
    throw invalid(`the scheme ${scheme.name} ${why}`, 'SCHEME_INVALID')
  }
  checkFunction('now', now, '() => new Date()')
  if (scheme.authenticity === 'ip') return {}
  const uses = (value: TemplateValue) =>
    scheme.template.some((part) => 'value' in part && part.value === value)
  const id = uses('id') ? (options.id ?? `msg_${crypto.randomUUID()}`) : undefined
  const timestamp = writeTime(scheme, now())
  const bytes = typeof body === 'string' ? utf8.encode(body) : body
  const signed = signedHeaders(scheme, headers)
  const header = (name: string) => signed.find(([key]) => key === name)?.[1]
  const parts = signedParts(scheme, { body: bytes, timestamp, id, url, method, header })
  const keys = compile(options.secret, scheme)
  const texts = await Promise.all(
    keys.map((key) => signatureText(scheme, key, { bytes, parts, timestamp })),
  )
  const entries: (readonly [string | undefined, string | undefined])[] = [
    ...writeHeaders(scheme, texts, timestamp),
    [scheme.timestamp?.header, timestamp],
    [scheme.id?.header, id],
    ...signed,
  ]
  return Object.fromEntries(
    entries.flatMap(([name, value]) =>
      name === undefined || value === undefined ? [] : [[name.toLowerCase(), value]],
    ),
  )
}

const signNames: readonly (keyof SignOptions)[] = [
  ...(['secret', 'scheme', 'id', 'url', 'method', 'headers', 'now'] as const),
]

function signedHeaders(
  { template }: Scheme,
  headers: Readonly<Record<string, string>>,
): readonly (readonly [name: string, value: string])[] {
  const given = Object.entries(headers ?? {}).map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  )
  return template.flatMap((part) => {
    if (!('header' in part)) return []
    const name = part.header.toLowerCase()
    const value = given.find(([key]) => key === name)?.[1]
    if (value !== undefined) return [[name, value] as const]
    throw invalid(`sign needs headers: { '${name}': … }, which the scheme signs`)
  })
}

async function signatureText(
  scheme: Scheme,
  { key, id: keyId }: SecretKey,
  of: {
    readonly bytes: Uint8Array
    readonly parts: readonly Uint8Array[]
    readonly timestamp: string
  },
): Promise<string> {
  if (scheme.authenticity === 'token') return new TextDecoder().decode(await key.sign([]))
  if (scheme.jws) {
    const digest = toHex(await sha256(of.bytes))
    const input = scheme.jws.input(scheme, { digest, iat: Number(of.timestamp), keyId })
    return `${input}.${toBase64url(await key.sign([utf8.encode(input)]))}`
  }
  return encode(await key.sign(of.parts), scheme.encoding === 'any' ? 'hex' : scheme.encoding)
}
