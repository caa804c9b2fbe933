// sign() and matches() side by side: HMAC over exactly the bytes that a scheme says, nothing else.
import { type Clock, systemClock } from '../clock.ts'
import { type Scheme, schemes, type TemplateValue } from '../protocol/scheme.ts'
import { encode } from './encoding.ts'
import { type Claim, writeClaims } from './grammar.ts'
import { compile, type SecretInput, type SecretKey } from './secrets.ts'

/** What a template's values stand for in one delivery. */
export interface SignedValues {
  readonly body: Uint8Array
  readonly timestamp?: string | undefined
  readonly id?: string | undefined
  readonly url?: string | undefined
}

const utf8 = new TextEncoder()

/** The bytes that a scheme signs, in parts, so that a body is never copied. */
function signedParts(scheme: Scheme, values: SignedValues): readonly Uint8Array[] {
  // A template of one piece is the body alone.
  if (scheme.template.length === 1) return [values.body]
  return scheme.template.map((part) => {
    if ('text' in part) return utf8.encode(part.text)
    const value = values[part.value]
    return typeof value === 'string' ? utf8.encode(value) : (value ?? new Uint8Array())
  })
}

/** Whether one of a claim's signatures is the key's HMAC over the values. */
export function matches(
  { key }: SecretKey,
  scheme: Scheme,
  { signatures, timestamp }: Claim,
  values: SignedValues,
): boolean | Promise<boolean> {
  const signed = timestamp === undefined ? values : { ...values, timestamp }
  return key.matches(signedParts(scheme, signed), signatures)
}

/** Options of `sign`. */
export interface SignOptions {
  /** Several secrets sign side by side, as a rotating sender does. */
  readonly secret: SecretInput | undefined
  readonly scheme?: Scheme
  /** The delivery's id, for schemes that sign one; random by default. */
  readonly id?: string
  /** Where it is sent, for schemes that sign the address. */
  readonly url?: string
  readonly now?: Clock
}

/**
 * The headers that a sender of the scheme adds to a body; names are in lower case.
 *
 * @throws WebhookError `SECRET_INVALID`
 * @example const headers = await sign(body, { secret: process.env.WEBHOOK_SECRET })
 */
export async function sign(
  body: Uint8Array | string,
  options: SignOptions,
): Promise<Record<string, string>> {
  const { scheme = schemes.service(), now = systemClock, url } = options
  const uses = (value: TemplateValue) =>
    scheme.template.some((part) => 'value' in part && part.value === value)
  const id = uses('id') ? (options.id ?? `msg_${crypto.randomUUID()}`) : undefined
  const timestamp = String(Math.floor(now().getTime() / 1000))
  const bytes = typeof body === 'string' ? utf8.encode(body) : body
  const parts = signedParts(scheme, { body: bytes, timestamp, id, url })
  const encoding = scheme.encoding === 'any' ? 'hex' : scheme.encoding
  const signatures = await Promise.all(
    compile(options.secret, scheme).map(async ({ key }) => encode(await key.sign(parts), encoding)),
  )
  return headerRecord([
    [scheme.header, writeClaims(scheme, signatures, timestamp)],
    ...(scheme.timestamp ? [[scheme.timestamp.header, timestamp] as const] : []),
    ...(scheme.id && id !== undefined ? [[scheme.id.header, id] as const] : []),
  ])
}

/** Names in lower case, as they arrive; the scheme's own spelling can be read too. */
function headerRecord(entries: readonly (readonly [string, string])[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of entries) {
    const spelled = { value, configurable: true, writable: true }
    if (name !== name.toLowerCase()) Object.defineProperty(headers, name, spelled)
    headers[name.toLowerCase()] = value
  }
  return headers
}
