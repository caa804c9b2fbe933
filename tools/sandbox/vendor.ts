// The vendor whose part a sandbox plays: its preset by its name, and the keys with which it signs.
import {
  createECDH,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { invalid } from '../../src/foundation/check.ts'
import type { Vendor } from '../../src/protocol/vendor.ts'
import { type HmacKey, isPublicKey } from '../../src/signature/hmac/hmac.ts'
import type { Secret } from '../../src/signature/secrets.ts'
import { vendors } from '../../src/vendors/vendors.ts'

/** The name of a preset. */
export type VendorName = keyof typeof vendors

/** A receiver of the sandbox gives these presets the same options. */
const presets: Readonly<Record<string, () => Vendor>> = {
  ...vendors,
  jumio: () => vendors.jumio({ allow: ['127.0.0.0/8', '::1/128'], proxies: 0 }),
  smileId: () => vendors.smileId({ partnerId: 'sandbox' }),
}

export const vendorNames = Object.keys(presets)

export function vendorOf(given: Vendor | VendorName | undefined): Vendor | undefined {
  return typeof given === 'string' ? presets[given]?.() : given
}

/** The credentials that every vendor's API takes; they are as well known as the API keys. */
const apiCredentials = {
  token: 'sandbox-token',
  key: 'sandbox-key',
  secret: 'sandbox-secret',
  clientId: 'sandbox-client',
}

export type ApiCredentials = Readonly<typeof apiCredentials>

/** The credentials of a vendor's API; requests to Yoti are signed with a private key. */
export function credentialsOf(vendor: Vendor | undefined): ApiCredentials {
  if (vendor?.name !== 'yoti') return apiCredentials
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { ...apiCredentials, secret: String(privateKey.export({ type: 'pkcs8', format: 'pem' })) }
}

type Signing = Pick<Vendor['scheme'], 'algorithm'>

const keyId = 'sandbox'

/** The secret with which a sender of the scheme signs: the text, or the key that follows from it. */
export function signingSecret(text: string, { algorithm }: Signing): Secret {
  if (!isPublicKey(algorithm)) return { value: text }
  const digest = algorithm === 'ed25519' ? null : 'sha256'
  const key = { key: privateKey(text, algorithm), dsaEncoding: 'ieee-p1363' } as const
  const made: HmacKey = {
    sign: async (parts) => sign(digest, Buffer.concat(parts), key),
    matches: (parts, signatures) =>
      signatures.some((hex) => verify(digest, Buffer.concat(parts), key, Buffer.from(hex, 'hex'))),
  }
  return { id: keyId, value: { keyFor: () => made } }
}

/** The public key of a secret as PEM and as a JSON Web Key; undefined for a shared secret. */
export function publicKeyOf(text: string, { algorithm }: Signing) {
  if (!isPublicKey(algorithm)) return undefined
  const key = createPublicKey(privateKey(text, algorithm))
  const names = { ed25519: 'EdDSA', es256: 'ES256', rs256: 'RS256' }
  return {
    pem: String(key.export({ type: 'spki', format: 'pem' })),
    jwk: { ...key.export({ format: 'jwk' }), kid: keyId, alg: names[algorithm], use: 'sig' },
  }
}

/** Equal secrets give equal keys, so that a seed, a snapshot and a data file hold it too. */
function privateKey(text: string, algorithm: string): KeyObject {
  const seed = hash('sha256', `key of ${text}`, 'buffer')
  if (algorithm === 'ed25519') {
    const head = Buffer.from('302e020100300506032b657004220420', 'hex')
    return createPrivateKey({ key: Buffer.concat([head, seed]), format: 'der', type: 'pkcs8' })
  }
  if (algorithm !== 'es256') throw invalid(`a sandbox has no key pair for ${algorithm}`)
  const pair = createECDH('prime256v1')
  pair.setPrivateKey(seed)
  const point = pair.getPublicKey()
  const [d, x, y] = [seed, point.subarray(1, 33), point.subarray(33)].map((bytes) =>
    bytes.toString('base64url'),
  )
  const jwk = { kty: 'EC', crv: 'P-256', d, x, y } as const
  return createPrivateKey({ key: jwk, format: 'jwk' })
}
