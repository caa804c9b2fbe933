// Bytes at rest: AES-256-GCM bound to the row they belong to, with keys that rotate. Without a key
// the bytes are kept as they are, marked so.
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { WebhookError } from '../errors.ts'

/** 32 bytes, or 64 hex digits, or their base64. */
export type EncryptionKey = string | Uint8Array

/** The `encryption` option. */
export interface EncryptionOptions {
  /** Seals what is kept from now on. */
  readonly key: EncryptionKey
  /** Older keys, for reading what they have sealed. */
  readonly previous?: readonly EncryptionKey[]
  /**
   * Also takes what was kept before there was a key. Only until such entries are handled: so long
   * who can write to the store can put events into it. A worker does not start without it before.
   */
  readonly acceptPlain?: boolean
}

/** Seals and opens bytes; `label` names the row and the part, and must be the same for both. */
export interface Seal {
  /** Whether it opens what was kept without a key. */
  readonly takesPlain: boolean
  seal(bytes: Uint8Array, label: string): Uint8Array
  /** The bytes, or undefined when no key opens them. */
  open(sealed: Uint8Array, label: string): Uint8Array | undefined
  /** Whether the current key has sealed them. */
  isCurrent(sealed: Uint8Array): boolean
  /** Whether they were kept without a key, and are refused because there is one. */
  isRefusedPlain(sealed: Uint8Array): boolean
}

const plainMark = 0
const sealedMark = 1
const idLength = 8
const nonceLength = 12
const tagLength = 16
const headLength = 1 + idLength + nonceLength

/** @throws WebhookError `OPTION_INVALID` for a key that is not 32 bytes */
export function createSeal(options?: EncryptionOptions): Seal {
  const given = options ? [options.key, ...(options.previous ?? [])] : []
  const keys = given.map((key) => ({ key: keyBytes(key), id: keyId(keyBytes(key)) }))
  const current = keys[0]
  const takesPlain = current === undefined || options?.acceptPlain === true
  const isRefusedPlain = (sealed: Uint8Array) => sealed[0] === plainMark && !takesPlain
  return {
    takesPlain,
    seal: (bytes, label) => {
      if (!current) return joined([Uint8Array.of(plainMark), bytes])
      const nonce = randomBytes(nonceLength)
      const cipher = createCipheriv('aes-256-gcm', rowKey(current.key, label), nonce)
      cipher.setAAD(Buffer.from(label))
      const text = [cipher.update(bytes), cipher.final()]
      const head = [Uint8Array.of(sealedMark), current.id, nonce]
      return joined([...head, ...text, cipher.getAuthTag()])
    },
    open: (sealed, label) => {
      if (isRefusedPlain(sealed)) return undefined
      if (sealed[0] === plainMark) return sealed.subarray(1)
      const id = sealed.subarray(1, 1 + idLength)
      const key = keys.find((one) => Buffer.compare(one.id, id) === 0)?.key
      return key && opened(sealed, rowKey(key, label), label)
    },
    isCurrent: (sealed) => {
      if (!current || sealed[0] === plainMark) return !current && sealed[0] === plainMark
      return Buffer.compare(sealed.subarray(1, 1 + idLength), current.id) === 0
    },
    isRefusedPlain,
  }
}

/** In memory of their own: a piece of Node's pool takes the whole pool along to another thread. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

function opened(sealed: Uint8Array, key: Buffer, label: string): Uint8Array | undefined {
  if (sealed.length < headLength + tagLength) return undefined
  const nonce = sealed.subarray(1 + idLength, headLength)
  const cipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength })
  cipher.setAAD(Buffer.from(label))
  cipher.setAuthTag(sealed.subarray(sealed.length - tagLength))
  try {
    const text = sealed.subarray(headLength, sealed.length - tagLength)
    return Buffer.concat([cipher.update(text), cipher.final()])
  } catch {
    return undefined
  }
}

/** A key for each row, so that random nonces never run out under one key. */
function rowKey(key: Uint8Array, label: string): Buffer {
  return createHmac('sha256', key).update(`row:${label}`).digest()
}

function keyId(key: Uint8Array): Buffer {
  return createHash('sha256').update('key-id:').update(key).digest().subarray(0, idLength)
}

function keyBytes(key: EncryptionKey): Uint8Array {
  if (key instanceof Uint8Array && key.length === 32) return key
  if (typeof key === 'string') {
    const encoding = /^[0-9a-f]{64}$/i.test(key) ? 'hex' : 'base64'
    const bytes = Buffer.from(key, encoding)
    if (bytes.length === 32 && /^[\w+/-]+=*$/.test(key)) return bytes
  }
  throw new WebhookError(
    'OPTION_INVALID',
    'encryption.key must be 32 random bytes, as hex or base64: make one with node -p "crypto.randomBytes(32).toString(\'base64\')"',
  )
}
