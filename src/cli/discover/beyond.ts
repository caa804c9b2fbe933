// What stands in the headers of a delivery that no scheme of this package found: whether there is a
// signature at all, and where the secret proves it, how it is made and why it cannot be expressed.
import { createHmac } from 'node:crypto'
import type { NamedCapture } from '../capture-files.ts'
import type { NamedSecret } from '../secrets.ts'
import { templates } from './candidates.ts'
import { messageSignature } from './message-signature.ts'
import { isSeconds, otherMoment, readsAsMoment } from './moments.ts'
import { isOrdinary } from './readings.ts'

/** A signature that no scheme can express. */
export interface Beyond {
  readonly header: string
  /** What keeps a scheme from expressing it, for people. */
  readonly why: readonly string[]
  /** How it is made, where the secret proved that. */
  readonly proved?: {
    readonly algorithm: string
    readonly encoding: 'hex' | 'base64'
    readonly signed: string
  }
}

const lengths = { sha256: 32, sha384: 48, sha512: 64, sha1: 20, sha224: 28 } as const
type Algorithm = keyof typeof lengths

/** A piece of a header's value that is as long as a signature. */
interface Digest {
  readonly header: string
  readonly value: string
  readonly algorithm: Algorithm
  readonly encoding: 'hex' | 'base64'
  readonly bytes: Buffer
  /** Which of the values of its header it stands in, from 1, and how many there are. */
  readonly place: { readonly at: number; readonly of: number }
}

type Headers = NamedCapture['delivery']['headers']

const bySignatureName = /signature|(^|-)(sig|sign|hmac|mac|digest)(-|$)/i

/** What is known when it is looked for. */
export interface BeyondMeans {
  readonly secrets: readonly NamedSecret[]
  /** The headers that could be the id. */
  readonly ids: readonly string[]
}

/** Looks for a signature beyond the schemes of this package; undefined where there is none. */
export function lookBeyond(capture: NamedCapture, means: BeyondMeans): Beyond | undefined {
  const { headers } = capture.delivery
  const digests = digestsOf(headers)
  for (const digest of digests) {
    const proof = prove(capture, digest, means)
    if (proof) return proof
  }
  const odd = digests.find((digest) => reasons(digest).length > 0)
  if (odd) return { header: odd.header, why: reasons(odd) }
  const named = headers.find(([name, value]) => bySignatureName.test(name) && value.trim() !== '')
  if (!named || digests.some(({ header }) => header === named[0])) return undefined
  return {
    header: named[0],
    why: ['nothing in it is as long as an HMAC: it may be made with a key pair'],
  }
}

/** Pieces between white space and separators, with or without a name before them. */
function digestsOf(headers: Headers): readonly Digest[] {
  return headers.flatMap(([header, value], index) => {
    if (isOrdinary(header)) return []
    const isSame = ([name]: Headers[number]) => name === header
    const place = {
      at: headers.slice(0, index + 1).filter(isSame).length,
      of: headers.filter(isSame).length,
    }
    return value.split(/[\s,;|]+/).flatMap((piece) => {
      // RFC 9421 and structured fields at large: sig1=:…:
      const bare = piece.replace(/:$/, '')
      const texts = [bare, ...[...bare.matchAll(/[=:]/g)].map((mark) => bare.slice(mark.index + 1))]
      return texts.flatMap((text) =>
        digestOf(text).map((one) => ({ ...one, header, value, place })),
      )
    })
  })
}

type Bare = Omit<Digest, 'header' | 'value' | 'place'>

function digestOf(text: string): readonly Bare[] {
  const isHex = /^[0-9a-f]+$/i.test(text)
  const isBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/.test(text)
  return (Object.keys(lengths) as Algorithm[]).flatMap((algorithm): readonly Bare[] => {
    const size = lengths[algorithm]
    if (isHex && text.length === size * 2) {
      return [{ algorithm, encoding: 'hex', bytes: Buffer.from(text, 'hex') }]
    }
    const bytes = Buffer.from(text, 'base64')
    const long = text.replace(/=+$/, '').length === Math.ceil((size * 4) / 3)
    // 64 letters of hex alone are SHA-256, though they could be base64 of SHA-384.
    if (!isBase64 || isHex || !long || bytes.length !== size) return []
    return [{ algorithm, encoding: 'base64', bytes }]
  })
}

/** What is known to be beyond a scheme in how the signature stands there. */
function reasons({ algorithm, value, place }: Digest): readonly string[] {
  const known = algorithm === 'sha256' || algorithm === 'sha512' || algorithm === 'sha1'
  const pairs = /[\w-]+=/.test(value)
  return [
    ...(known
      ? []
      : [`it is as long as HMAC-${algorithm.toUpperCase()}, which is no algorithm of a scheme`]),
    ...(pairs && value.includes(';') ? ['its parts are separated by semicolons'] : []),
    ...(pairs && /,\s/.test(value) ? ['there is white space after its commas'] : []),
    ...(value.includes('|') ? ['its parts are separated by |'] : []),
    ...(/=:[^:]+:/.test(value) ? ['it stands between colons, as in RFC 9421'] : []),
    ...(place.of > 1
      ? [
          `its header stands ${place.of} times, as while a secret is rotated, and a receiver takes a security header once (several signatures stand in one, after commas)`,
        ]
      : []),
  ]
}

/** Something of a header that may be signed, and why no scheme can. */
interface Piece {
  readonly text: string
  readonly from: string
  readonly why?: string | undefined
}

/** Every moment in the headers, in the signature's own first. */
function momentsOf(headers: Headers, own: string): readonly Piece[] {
  const ordered = [...headers].sort(([a], [b]) => Number(b === own) - Number(a === own))
  return ordered.flatMap(([name, value]) => {
    if (isOrdinary(name)) return []
    const pieces = [value.trim(), ...value.split(/[\s,;|]+/)].flatMap((piece) => [
      piece,
      ...piece.split(/^[\w-]+=/).slice(1),
    ])
    return [...new Set(pieces)].flatMap((text): readonly Piece[] => {
      const other = otherMoment(text)
      if (other === undefined && !isSeconds(text)) return []
      const why = other && `the time that it signs is given as ${other}, not in seconds`
      return [{ text, from: name, why }]
    })
  })
}

/** Every header that could stand where an id does, though it may be none. */
function othersOf(
  headers: Headers,
  { own, ids }: { readonly own: string; readonly ids: readonly string[] },
): readonly Piece[] {
  return headers.flatMap(([name, value]): readonly Piece[] => {
    const text = value.trim()
    if (isOrdinary(name) || name === own || readsAsMoment(text)) return []
    const why = `it signs the header ${name}, which is no id: it is the same for every event`
    return [{ text, from: name, why: ids.includes(name) ? undefined : why }]
  })
}

function prove(
  capture: NamedCapture,
  digest: Digest,
  { secrets, ids }: BeyondMeans,
): Beyond | undefined {
  const { headers, url } = capture.delivery
  const moments = momentsOf(headers, digest.header)
  const others = othersOf(headers, { own: digest.header, ids })
  const keys = secrets.flatMap(({ value }) => keysOf(value))
  const message = messageSignature(capture, digest.header)
  if (message && keys.some((key) => isMade(digest, key, message.base))) {
    return proved(digest, message.signed, [message.why])
  }
  for (const signed of templates) {
    if (signed.includes('{url}') && url === undefined) continue
    for (const moment of signed.includes('{timestamp}') ? moments : [undefined]) {
      for (const other of signed.includes('{id}') ? others : [undefined]) {
        const parts = { timestamp: moment?.text ?? '', id: other?.text ?? '', url: url ?? '' }
        const bytes = fill(signed, parts, capture.delivery.body)
        if (!keys.some((key) => isMade(digest, key, bytes))) continue
        const found = proved(digest, signed, [moment?.why, other?.why])
        // What nothing keeps from being expressed is for the search of schemes to find.
        if (found.why.length > 0) return found
      }
    }
  }
  return undefined
}

function proved(
  digest: Digest,
  signed: string,
  more: readonly (string | undefined)[],
): Beyond & Required<Pick<Beyond, 'proved'>> {
  const { header, algorithm, encoding, place } = digest
  const which = place.of > 1 ? [`of its ${place.of} values number ${place.at} is proved`] : []
  const why = [...reasons(digest), ...which, ...more.flatMap((one) => one ?? [])]
  return { header, why, proved: { algorithm, encoding, signed } }
}

function isMade({ algorithm, bytes }: Digest, key: Uint8Array, signed: Uint8Array): boolean {
  return createHmac(algorithm, key).update(signed).digest().equals(bytes)
}

function keysOf(value: string | Uint8Array): readonly Uint8Array[] {
  if (typeof value !== 'string') return [value]
  return [
    Buffer.from(value),
    Buffer.from(value.replace(/^whsec_/, ''), 'base64'),
    Buffer.from(value, 'hex'),
  ]
}

function fill(
  template: string,
  parts: Readonly<Record<string, string>>,
  body: Uint8Array,
): Uint8Array {
  const pieces = template.split(/\{(\w+)\}/)
  return Buffer.concat(
    pieces.map((piece, at) => {
      if (at % 2 === 0) return Buffer.from(piece)
      return piece === 'body' ? body : Buffer.from(parts[piece] ?? '')
    }),
  )
}
