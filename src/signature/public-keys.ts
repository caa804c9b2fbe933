// Imports public and private keys by jose. WebCrypto checks the signatures, because jose only
// checks those of a JWS. Only the import path `idv-webhooks/keys` reaches this file.
import { importPKCS8, importSPKI } from 'jose/key/import'
import { concat } from '../foundation/bytes.ts'
import { invalid } from '../foundation/check.ts'
import type { PublicKeyName, Scheme } from '../protocol/scheme-definition.ts'
import { bytesOfHex, fromBase64, fromHex, toBase64, toHex } from './encoding.ts'
import { type HmacKey, isPublicKey, jwsNames } from './hmac/hmac.ts'
import type { AsymmetricKey } from './secrets.ts'

/**
 * The public key of a sender, for `secret`: its text in the form that the scheme's `key` names, or
 * the bytes of its DER.
 *
 * @throws WebhookError `SECRET_INVALID` for an empty key
 * @example createReceiver({ scheme: senders.sendgrid(), secret: publicKey(process.env.SENDGRID_KEY) })
 */
export function publicKey(key: string | Uint8Array | undefined): AsymmetricKey {
  return asymmetricKey(key, 'public')
}

/** A private key as PEM (PKCS #8), for `sign`. */
export function privateKey(key: string | undefined): AsymmetricKey {
  return asymmetricKey(key, 'private')
}

function asymmetricKey(
  key: string | Uint8Array | undefined,
  kind: 'public' | 'private',
): AsymmetricKey {
  if (key === undefined || key.length === 0) {
    throw invalid(`the ${kind} key is missing: pass its text or its bytes`, 'SECRET_INVALID')
  }
  // Callers may wipe the bytes of a key after they have passed it.
  const given = typeof key === 'string' ? key.trim() : Uint8Array.from(key)
  return {
    keyFor({ algorithm, key: form, name }) {
      const refuse = (needs: string) =>
        invalid(`the scheme ${name} needs ${needs}, not this ${kind} key`, 'SECRET_INVALID')
      if (!isPublicKey(algorithm)) throw refuse('a shared secret')
      const der =
        typeof given === 'string' ? decoded(given, kind === 'public' ? form : 'pem') : given
      if (der && isOfKind(der, algorithm)) return importedKey(der, algorithm, kind)
      throw refuse(`${kinds[algorithm]} key in the form '${form}'`)
    },
  }
}

const kinds = { ed25519: 'an Ed25519', es256: 'a P-256', rs256: 'an RSA (2048 bits)' } as const

/** The parameters of an algorithm in WebCrypto. */
const parameters = {
  ed25519: { name: 'Ed25519' },
  es256: { name: 'ECDSA', hash: 'SHA-256' },
  rs256: { name: 'RSASSA-PKCS1-v1_5' },
} as const

/** The DER before the 32 bytes of a raw Ed25519 key. */
const rawHead = '302a300506032b6570032100'

function decoded(text: string, form: Scheme['key']): Uint8Array | undefined {
  const pem = /^-----BEGIN (PUBLIC|PRIVATE) KEY-----([\w+/=\s]+)-----END \1 KEY-----$/.exec(text)
  if (pem || form === 'pem') return fromBase64(pem?.[2]?.replaceAll(/\s/g, '') ?? '')
  const bytes = form === 'hex' ? fromHex(text) : fromBase64(text.replace(/^whpk_/, ''))
  return bytes?.length === 32 ? concat([bytesOfHex(rawHead), bytes]) : bytes
}

/** The object identifiers by which the DER of a key names its kind. */
const identifiers = {
  ed25519: ['06032b6570'],
  es256: ['06072a8648ce3d0201', '06082a8648ce3d030107'],
  rs256: ['06092a864886f70d010101'],
}

function isOfKind(der: Uint8Array, algorithm: PublicKeyName): boolean {
  const head = toHex(der.subarray(0, 40))
  // 2048 bits of RSA take 294 bytes.
  if (algorithm === 'rs256' && der.length < 294) return false
  return identifiers[algorithm].every((identifier) => head.includes(identifier))
}

function importedKey(
  der: Uint8Array,
  algorithm: PublicKeyName,
  kind: 'public' | 'private',
): HmacKey {
  const label = `${kind.toUpperCase()} KEY`
  const pem = `-----BEGIN ${label}-----\n${toBase64(der)}\n-----END ${label}-----`
  const importKey = kind === 'public' ? importSPKI : importPKCS8
  let imported: Promise<CryptoKey> | undefined
  const key = () => {
    imported ??= importKey(pem, jwsNames[algorithm])
    return imported
  }
  if (kind === 'public') return verifierOf(algorithm, key)
  return {
    sign: async (parts) =>
      new Uint8Array(await crypto.subtle.sign(parameters[algorithm], await key(), concat(parts))),
    matches: () =>
      Promise.reject(
        new TypeError('a private key cannot verify: pass publicKey() of the public one'),
      ),
  }
}

/** A key that checks signatures. */
export function verifierOf(algorithm: PublicKeyName, key: () => Promise<CryptoKey>): HmacKey {
  return {
    sign: () => Promise.reject(new TypeError('a public key cannot sign: pass privateKey()')),
    matches: async (parts, signatures) => {
      const message = concat(parts)
      for (const hex of signatures) {
        const given = bytesOfHex(hex)
        const signature = algorithm === 'es256' ? toP1363(given) : given
        if (!signature) continue
        if (await crypto.subtle.verify(parameters[algorithm], await key(), signature, message)) {
          return true
        }
      }
      return false
    },
  }
}

/** A P-256 signature as two numbers of 32 bytes, also from their DER; undefined if it is neither. */
function toP1363(signature: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  const { length } = signature
  if (length === 64) return signature
  const [outer, rest, first, firstLength = 0] = signature
  const [second, secondLength = 0] = signature.subarray(4 + firstLength)
  const isDer = outer === 0x30 && first === 0x02 && second === 0x02
  if (!isDer || rest !== length - 2 || 6 + firstLength + secondLength !== length) return undefined
  const numbers = [signature.subarray(4, 4 + firstLength), signature.subarray(6 + firstLength)]
  const pair = new Uint8Array(64)
  for (const [at, number] of numbers.entries()) {
    const bare = number[0] === 0 ? number.subarray(1) : number
    if (bare.length === 0 || bare.length > 32) return undefined
    pair.set(bare, (at + 1) * 32 - bare.length)
  }
  return pair
}
