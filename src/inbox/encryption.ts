// Encryption at rest: AES-256-GCM bound to the row that the bytes belong to, with keys that rotate.
// Without a key the bytes are kept as they are, with a mark that says so.
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { concat, isBytes } from '../foundation/bytes.ts'
import { invalid } from '../foundation/check.ts'

/** 32 bytes, or 64 hex digits, or their base64. */
export type EncryptionKey = string | Uint8Array

export interface EncryptionOptions {
  /** Encrypts new content: 32 bytes, or their hex or base64. */
  readonly key: EncryptionKey
  /** Older keys, to decrypt older content. */
  readonly previous?: readonly EncryptionKey[]
  /**
   * Accepts unencrypted entries, too; remove it once they are handled.
   *
   * While this is on, anyone who can write to the store can inject events. Without it such entries
   * become dead letters (`UNREADABLE`).
   *
   * @default false
   */
  readonly acceptUnencrypted?: boolean
}

/** Encrypts and decrypts bytes; `label` names the row and the part, and must match. */
export interface Encryption {
  readonly hasKey: boolean
  encrypt(bytes: Uint8Array, label: string): Uint8Array
  decrypt(stored: Uint8Array, label: string): Uint8Array | undefined
  /** True if the bytes are as the current key would store them. */
  isCurrent(stored: Uint8Array): boolean
  /** True if the bytes were kept without a key and are rejected, because there is a key now. */
  isRefused(stored: Uint8Array): boolean
}

const unencryptedMark = 0
const encryptedMark = 1
const idLength = 8
const nonceLength = 12
const tagLength = 16
const headLength = 1 + idLength + nonceLength

/** @throws WebhookError `OPTION_INVALID` for a key that is not 32 bytes */
export function createEncryption(options?: EncryptionOptions): Encryption {
  const given = options ? [options.key, ...(options.previous ?? [])] : []
  const keys = given.map(keyBytes).map((key) => ({ key, id: keyId(key) }))
  const current = keys[0]
  const acceptsUnencrypted = current === undefined || options?.acceptUnencrypted === true
  const isRefused = (encrypted: Uint8Array) =>
    encrypted[0] === unencryptedMark && !acceptsUnencrypted
  return {
    hasKey: current !== undefined,
    encrypt: (bytes, label) => {
      if (!current) return concat([Uint8Array.of(unencryptedMark), bytes])
      const nonce = randomBytes(nonceLength)
      const cipher = createCipheriv('aes-256-gcm', rowKey(current.key, label), nonce)
      cipher.setAAD(Buffer.from(label))
      const text = [cipher.update(bytes), cipher.final()]
      const head = [Uint8Array.of(encryptedMark), current.id, nonce]
      return concat([...head, ...text, cipher.getAuthTag()])
    },
    decrypt: (encrypted, label) => {
      if (isRefused(encrypted)) return undefined
      if (encrypted[0] === unencryptedMark) return encrypted.subarray(1)
      const id = encrypted.subarray(1, 1 + idLength)
      const key = keys.find((one) => Buffer.compare(one.id, id) === 0)?.key
      return key && decrypted(encrypted, rowKey(key, label), label)
    },
    isCurrent: (encrypted) => {
      if (!current || encrypted[0] === unencryptedMark)
        return !current && encrypted[0] === unencryptedMark
      return Buffer.compare(encrypted.subarray(1, 1 + idLength), current.id) === 0
    },
    isRefused,
  }
}

function decrypted(encrypted: Uint8Array, key: Buffer, label: string): Uint8Array | undefined {
  if (encrypted.length < headLength + tagLength) return undefined
  const nonce = encrypted.subarray(1 + idLength, headLength)
  const cipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength })
  cipher.setAAD(Buffer.from(label))
  cipher.setAuthTag(encrypted.subarray(encrypted.length - tagLength))
  try {
    const text = encrypted.subarray(headLength, encrypted.length - tagLength)
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
  // A copy: some wipe the bytes of a key once it is handed over.
  if (isBytes(key) && key.length === 32) return nonZero(Uint8Array.from(key))
  if (typeof key === 'string') {
    const encoding = /^[0-9a-f]{64}$/i.test(key) ? 'hex' : 'base64'
    const bytes = Buffer.from(key, encoding)
    if (bytes.length === 32 && /^[\w+/-]+=*$/.test(key)) return nonZero(bytes)
  }
  if (key === undefined || (key as unknown) === '') {
    throw invalid('encryption.key is not set: check the environment variable that holds it')
  }
  throw invalid(
    'encryption.key must be 32 random bytes, in hex or base64. Make one with node -p "crypto.randomBytes(32).toString(\'base64\')"',
  )
}

function nonZero(key: Uint8Array): Uint8Array {
  if (key.some((byte) => byte !== 0)) return key
  throw invalid('encryption.key consists of zero bytes only: pass it before it is wiped')
}
