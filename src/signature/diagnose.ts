// Why a signature does not match, as far as it can be proved: a variant of the bytes or of the key
// that does verify. It reads unverified bytes, so its work is bounded.

import { makeHmacKey } from '#hmac'
import { type Delivery, type HeaderList, headerValues } from '../delivery.ts'
import { concat } from '../foundation/bytes.ts'
import { decodeUtf8, parseJson } from '../foundation/json.ts'
import { nextTurn } from '../host/runtime.ts'
import type { Scheme } from '../protocol/scheme.ts'
import type { Claim } from './grammar.ts'
import { type HmacAlgorithm, isHmac } from './hmac/hmac.ts'
import { compile, keyBytes, SecretKey, testSecret } from './secrets.ts'
import { matches } from './signature.ts'
import { readTime } from './time.ts'

/** A proved cause, for the operator. */
export interface Diagnosis {
  readonly cause:
    | 'body-reserialized'
    | 'trailing-newline'
    | 'byte-order-mark'
    | 'bytes-as-json'
    | 'secret-outside-validity'
    | 'secret-encoding'
    | 'clock-skew'
    | 'test-secret'
  readonly message: string
  readonly fix: string
}

/** Evidence that a refused delivery leaves for its diagnosis. */
export interface Evidence {
  readonly delivery: Delivery
  readonly headers: HeaderList
  readonly scheme: Scheme
  readonly claims: readonly Claim[]
  readonly keys: readonly SecretKey[]
  readonly now: Date
}

/** The most claims and the most keys that are tried with each variant. */
const maxTried = 2
/** The bytes and the levels of the largest body that is parsed: indentation grows with both. */
const maxParsedBytes = 64 * 1024
const maxLevels = 32

/** Diagnoses that wait, each of which holds an unproved body. */
const maxWaiting = 64

let waiting = 0
let last: Promise<unknown> = Promise.resolve()

/**
 * Returns the proved cause of a refusal; undefined if nothing is proved or too many diagnoses wait.
 * One runs at a time.
 */
export async function diagnose(code: string, evidence: Evidence): Promise<Diagnosis | undefined> {
  if (waiting >= maxWaiting) return undefined
  waiting += 1
  const few = {
    ...evidence,
    claims: evidence.claims.slice(0, maxTried),
    keys: evidence.keys.slice(0, maxTried * 2),
  }
  const work = () => (code === 'TIMESTAMP_OUTSIDE_TOLERANCE' ? ofTime(few) : ofMismatch(few))
  const diagnosis = last.then(work, work)
  last = diagnosis
  try {
    return await diagnosis
  } finally {
    waiting -= 1
  }
}

/** Looks for what would have matched. */
async function ofMismatch(evidence: Evidence): Promise<Diagnosis | undefined> {
  const { keys, now, delivery, scheme } = evidence
  const at = now.getTime()
  const valid: SecretKey[] = []
  for (const key of keys) {
    const { notBefore = at, notAfter = at } = key
    if (at >= notBefore && at <= notAfter) valid.push(key)
    else if (await proves(evidence, key, delivery.body)) return outside(key, at)
  }
  const tried = valid.slice(0, maxTried)
  if (scheme.authenticity !== 'signature') return undefined
  const { algorithm } = scheme
  for (const key of isHmac(algorithm) ? tried : []) {
    for (const decoding of ['utf8', 'base64', 'hex', 'whsec'] as const) {
      if (decoding === scheme.key || !isHmac(algorithm)) continue
      const other = readAs(decoding, key, algorithm)
      if (other && (await proves(evidence, other, delivery.body))) {
        return wrongDecoding(decoding, evidence)
      }
    }
  }
  const [publicKey] = isHmac(algorithm) ? compile(testSecret, scheme) : []
  if (publicKey && (await proves(evidence, publicKey, delivery.body))) return publicSecret
  for (const [cause, bytes] of bodyVariants(delivery.body)) {
    for (const key of tried) {
      if (await proves(evidence, key, bytes)) return { cause, ...bodyDiagnoses[cause] }
    }
  }
  return undefined
}

/** Reads the text of a secret in another encoding; undefined if that is impossible. */
function readAs(
  decoding: Scheme['key'],
  { material }: SecretKey,
  algorithm: HmacAlgorithm,
): SecretKey | undefined {
  if (typeof material !== 'string') return undefined
  try {
    const key = makeHmacKey(keyBytes(material, decoding), algorithm)
    return new SecretKey({ value: material }, key, 'secret')
  } catch {
    return undefined
  }
}

/** Tells a genuine delivery that came late from a forged one. */
async function ofTime(evidence: Evidence): Promise<Diagnosis | undefined> {
  for (const claim of evidence.claims) {
    for (const key of evidence.keys) {
      if (!(await proves({ ...evidence, claims: [claim] }, key, evidence.delivery.body))) continue
      const signed = readTime(evidence.scheme, claim.timestamp ?? '') ?? 0
      const seconds = Math.round(evidence.now.getTime() / 1000 - signed)
      const side = seconds > 0 ? 'before' : 'after'
      return {
        cause: 'clock-skew',
        message: `the signature is genuine, but its time is ${Math.abs(seconds)} s ${side} ours`,
        fix: 'check both clocks; if the sender repeats the time of the first attempt, raise the tolerance',
      }
    }
  }
  return undefined
}

async function proves(evidence: Evidence, key: SecretKey, body: Uint8Array): Promise<boolean> {
  const { scheme, claims, delivery, headers } = evidence
  const header = (name: string) => headerValues(headers, name)[0]
  const id = scheme.id && header(scheme.id.header)?.trim()
  for (const claim of claims) {
    // Other work gets its turn between two HMACs over the bytes of an unauthenticated client.
    await nextTurn()
    const { url, method } = delivery
    if (await matches(key, scheme, claim, { body, id, url, method, header })) return true
  }
  return false
}

type BodyCause = 'body-reserialized' | 'trailing-newline' | 'byte-order-mark' | 'bytes-as-json'

const utf8 = new TextEncoder()
const mark = [0xef, 0xbb, 0xbf]

/** Bytes that the sender may have signed instead of the received bytes, one variant at a time. */
function* bodyVariants(body: Uint8Array): Generator<readonly [BodyCause, Uint8Array]> {
  const ends = (...bytes: number[]) =>
    bytes.every((byte, at) => body.at(at - bytes.length) === byte)
  if (ends(0x0d, 0x0a)) yield ['trailing-newline', body.subarray(0, -2)]
  if (ends(0x0a)) yield ['trailing-newline', body.subarray(0, -1)]
  yield ['trailing-newline', concat([body, utf8.encode('\n')])]
  yield ['trailing-newline', concat([body, utf8.encode('\r\n')])]
  if (mark.every((byte, at) => body[at] === byte)) yield ['byte-order-mark', body.subarray(3)]
  else yield ['byte-order-mark', concat([Uint8Array.from(mark), body])]
  if (body.length > maxParsedBytes) return
  const text = decodeUtf8(body)
  const json = text === undefined ? undefined : parseJson(text, maxLevels)
  if (json === undefined) return
  const bytes = bytesIn(json.value)
  if (bytes) yield ['bytes-as-json', bytes]
  for (const spelling of spellings(json.value)) {
    yield ['body-reserialized', utf8.encode(spelling)]
    yield ['body-reserialized', utf8.encode(`${spelling}\n`)]
  }
}

/** The bytes in the JSON of a Buffer or of another Uint8Array, which JSON.stringify writes. */
function bytesIn(json: unknown): Uint8Array | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const numbers: unknown = 'data' in json ? json.data : Object.values(json)
  if (!Array.isArray(numbers) || numbers.length === 0) return undefined
  const isByte = (value: unknown) => Number.isInteger(value) && value === (Number(value) & 255)
  return numbers.every(isByte) ? Uint8Array.from(numbers) : undefined
}

/** The ways in which common serializers spell the same JSON. */
function* spellings(json: unknown): Generator<string> {
  for (const basic of layouts(json)) {
    yield basic
    const escaped = basic.replace(/[^\x20-\x7e\s]/g, escapeUnicode)
    if (escaped !== basic) yield escaped
    const slashed = basic.replaceAll('/', '\\/')
    if (slashed !== basic) yield slashed
  }
}

function* layouts(json: unknown): Generator<string> {
  yield JSON.stringify(json)
  yield JSON.stringify(sortKeys(json))
  for (const indent of [2, 4, '\t']) {
    const pretty = JSON.stringify(json, null, indent)
    yield pretty
    if (indent !== 2) continue
    yield pretty
      .replace(/\n */g, ' ')
      .replace(/([[{]) /g, '$1')
      .replace(/ ([\]}])/g, '$1')
  }
}

const escapeUnicode = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`

function sortKeys(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(sortKeys)
  if (typeof json !== 'object' || json === null) return json
  const entries = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, value]) => [key, sortKeys(value)]))
}

const endsChanged = (what: string) => ({
  message: `the body verifies with or without ${what}: something on the way added or removed it`,
  fix: 'pass on the bytes as they arrive; look for a proxy, logger or file that edits them',
})

const bodyDiagnoses: Readonly<Record<BodyCause, Omit<Diagnosis, 'cause'>>> = {
  'body-reserialized': {
    message:
      'the body verifies after it is serialised differently: a parser or proxy changed it on the way',
    fix: 'mount the receiver before any body parser (express.json(), bodyParser) and behind no proxy that rewrites JSON',
  },
  'bytes-as-json': {
    message:
      'the body is the JSON of a Buffer, whose bytes verify: an HTTP client or a proxy serialised them',
    fix: 'send the bytes as they are, or as text, e.g. .send(new TextDecoder().decode(body)) with supertest',
  },
  'trailing-newline': endsChanged('a line break at its end'),
  'byte-order-mark': endsChanged('a byte order mark'),
}

const publicSecret: Diagnosis = {
  cause: 'test-secret',
  message: 'it is signed with the public test secret: a masked capture, or a test delivery',
  fix: 'use replay --resign, which signs it with your secret, or sign the delivery with that',
}

function outside(key: SecretKey, at: number): Diagnosis {
  const name = key.id === undefined ? 'a configured secret' : `secret ${key.id}`
  const when =
    at > (key.notAfter ?? at) ? 'is no longer valid (notAfter)' : 'is not valid yet (notBefore)'
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
