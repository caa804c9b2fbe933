// Why a signature does not match, told only as far as it can be proved: a variant of the bytes or
// of the key that does verify. On demand, because it costs more than the refusal itself.

import { makeHmacKey } from '#hmac'
import { type Delivery, type HeaderList, headerValues } from '../delivery.ts'
import { decodeUtf8, parseJson } from '../json.ts'
import type { Scheme } from '../protocol/scheme.ts'
import type { Claim } from './grammar.ts'
import { keyBytes, type SecretKey } from './secrets.ts'
import { matches } from './signature.ts'

/** A proved cause, for the operator. */
export interface Diagnosis {
  readonly cause:
    | 'body-reserialized'
    | 'trailing-newline'
    | 'byte-order-mark'
    | 'secret-outside-validity'
    | 'secret-encoding'
    | 'clock-skew'
  readonly message: string
  readonly fix: string
}

/** What a refused delivery leaves to be examined. */
export interface Evidence {
  readonly delivery: Delivery
  readonly headers: HeaderList
  readonly scheme: Scheme
  readonly claims: readonly Claim[]
  readonly keys: readonly SecretKey[]
  readonly now: Date
}

const parsedFirst =
  'mount the receiver before any body parser (express.json(), bodyParser) and behind no proxy that rewrites JSON'

/** Looks for what would have matched. */
export async function diagnoseMismatch(evidence: Evidence): Promise<Diagnosis | undefined> {
  const { keys, now, delivery } = evidence
  const at = now.getTime()
  const valid = keys.filter((key) => at >= key.notBefore && at <= key.notAfter)
  for (const key of keys) {
    if (!valid.includes(key) && (await proves(evidence, key, delivery.body)))
      return outside(key, at)
  }
  for (const key of valid) {
    for (const [cause, bytes] of bodyVariants(delivery.body)) {
      if (await proves(evidence, key, bytes)) return bodyDiagnosis(cause)
    }
    for (const [decoding, other] of keyVariants(key, evidence.scheme)) {
      if (await proves(evidence, other, delivery.body)) return wrongDecoding(decoding, evidence)
    }
  }
  return undefined
}

/** Tells a genuine delivery that came late from a forged one. */
export async function diagnoseTime(evidence: Evidence): Promise<Diagnosis | undefined> {
  for (const claim of evidence.claims) {
    for (const key of evidence.keys) {
      if (!(await proves({ ...evidence, claims: [claim] }, key, evidence.delivery.body))) continue
      const seconds = Math.round(evidence.now.getTime() / 1000 - Number(claim.timestamp))
      const side = seconds > 0 ? 'before' : 'after'
      return {
        cause: 'clock-skew',
        message: `the signature is genuine, but its time is ${Math.abs(seconds)} s ${side} ours`,
        fix: 'check both clocks; for a sender that keeps the time of the first attempt, raise the tolerance',
      }
    }
  }
  return undefined
}

async function proves(evidence: Evidence, key: SecretKey, body: Uint8Array): Promise<boolean> {
  const { scheme, claims, delivery, headers } = evidence
  const signedId = scheme.id && headerValues(headers, scheme.id.header)[0]?.trim()
  for (const claim of claims) {
    if (await matches(key, scheme, claim, { body, id: signedId, url: delivery.url })) return true
  }
  return false
}

type BodyCause = 'body-reserialized' | 'trailing-newline' | 'byte-order-mark'

/** Bytes that the sender may have signed instead of those that arrived. */
function* bodyVariants(body: Uint8Array): Generator<readonly [BodyCause, Uint8Array]> {
  const utf8 = new TextEncoder()
  const ends = (...bytes: number[]) =>
    bytes.every((byte, at) => body.at(at - bytes.length) === byte)
  if (ends(0x0d, 0x0a)) yield ['trailing-newline', body.subarray(0, -2)]
  if (ends(0x0a)) yield ['trailing-newline', body.subarray(0, -1)]
  yield ['trailing-newline', withEnd(body, '\n')]
  yield ['trailing-newline', withEnd(body, '\r\n')]
  const mark = [0xef, 0xbb, 0xbf]
  if (mark.every((byte, at) => body[at] === byte)) yield ['byte-order-mark', body.subarray(3)]
  else yield ['byte-order-mark', new Uint8Array([...mark, ...body])]
  const text = decodeUtf8(body)
  const json = text === undefined ? undefined : parseJson(text)
  if (json === undefined) return
  for (const spelling of spellings(json.value)) {
    yield ['body-reserialized', utf8.encode(spelling)]
    yield ['body-reserialized', utf8.encode(`${spelling}\n`)]
  }
}

function withEnd(body: Uint8Array, end: string): Uint8Array {
  const longer = new Uint8Array(body.length + end.length)
  longer.set(body)
  longer.set(new TextEncoder().encode(end), body.length)
  return longer
}

/** The ways in which common serialisers spell the same JSON. */
function spellings(json: unknown): string[] {
  const compact = JSON.stringify(json)
  const pretty = [2, 4, '\t'].map((indent) => JSON.stringify(json, null, indent))
  const spaced = pretty[0]
    ?.replace(/\n */g, ' ')
    .replace(/([[{]) /g, '$1')
    .replace(/ ([\]}])/g, '$1')
  const sorted = JSON.stringify(sortKeys(json))
  const basic = [compact, ...pretty, ...(spaced === undefined ? [] : [spaced]), sorted]
  const escaped = basic.map((text) => text.replace(/[^\x20-\x7e\s]/g, escapeUnicode))
  const slashed = basic.map((text) => text.replaceAll('/', '\\/'))
  return [...new Set([...basic, ...escaped, ...slashed])]
}

const escapeUnicode = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`

function sortKeys(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(sortKeys)
  if (typeof json !== 'object' || json === null) return json
  const entries = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, value]) => [key, sortKeys(value)]))
}

function* keyVariants(key: SecretKey, scheme: Scheme): Generator<readonly [string, SecretKey]> {
  const value = key.material()
  if (typeof value !== 'string') return
  for (const decoding of ['utf8', 'base64', 'hex', 'whsec'] as const) {
    if (decoding === scheme.key) continue
    let bytes: Uint8Array
    try {
      bytes = keyBytes(value, decoding)
    } catch {
      continue
    }
    yield [decoding, { ...key, material: key.material, key: makeHmacKey(bytes, scheme.algorithm) }]
  }
}

function bodyDiagnosis(cause: BodyCause): Diagnosis {
  if (cause === 'body-reserialized') {
    return {
      cause,
      message:
        'the body verifies once it is spelled differently: it was parsed and written again on its way',
      fix: parsedFirst,
    }
  }
  const what = cause === 'trailing-newline' ? 'a line break at its end' : 'a byte order mark'
  return {
    cause,
    message: `the body verifies with or without ${what}: something on its way added or removed it`,
    fix: 'hand on the bytes as they arrive; look for a proxy, logger or file that edits them',
  }
}

function outside(key: SecretKey, at: number): Diagnosis {
  const name = key.id === undefined ? 'a configured secret' : `secret ${key.id}`
  const when = at > key.notAfter ? 'is no longer valid (notAfter)' : 'is not valid yet (notBefore)'
  return {
    cause: 'secret-outside-validity',
    message: `the body verifies under ${name}, which ${when}`,
    fix: 'widen its validity, or let the sender use the current secret',
  }
}

function wrongDecoding(decoding: string, { scheme }: Evidence): Diagnosis {
  return {
    cause: 'secret-encoding',
    message: `the body verifies when the secret is read as ${decoding} instead of ${scheme.key}`,
    fix: `set the scheme's key to '${decoding}'`,
  }
}
