// Yoti: nothing is signed. A token that you choose for a session comes with its notifications, so a
// receiver has to ask for `authenticity: 'token'` by name. Requests to its API are signed with RSA.
import { checkChoice, checkOptionNames, invalid } from '../foundation/check.ts'
import { schemes } from '../protocol/scheme.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { fromBase64, toBase64 } from '../signature/encoding.ts'
import { defineVendor } from './define-vendor.ts'
import { approvedOrRejected, behind, pages } from './preset-parts.ts'
import type { VendorApi } from './vendor-api.ts'

/**
 * Yoti. Read from its public documents and tried on deliveries made from them, not on real ones.
 * `auth` is the auth_type of your notifications; the secret of Basic is `btoa('user:password')`.
 * With `api`, whose clientId is the SDK id and whose secret is the private key as PEM, a completed
 * session has a decision. Yoti recommends for each check and decides nothing itself: a session is
 * approved if every check recommends APPROVE, and rejected if any recommends REJECT.
 */
export function yoti(
  options: {
    readonly auth?: 'Basic' | 'Bearer'
    readonly api?: VendorApi<'clientId' | 'secret'>
  } = {},
): Vendor {
  checkOptionNames('vendors.yoti', options, ['auth', 'api'])
  const { auth = 'Basic', api } = options
  checkChoice('auth', auth, ['Basic', 'Bearer'])
  const vendor: Vendor = {
    name: 'yoti',
    title: 'Yoti',
    documents: pages(`
      2026-11-28 https://developers.yoti.com/identity-verification/notifications
      2026-11-29 https://developers.yoti.com/identity-verification-api
      2026-11-29 https://developers.yoti.com/identity-verification/understanding-the-result`),
    triedOn: 'documents',
    scheme: schemes.token({ header: 'Authorization', prefix: `${auth} ` }),
    reading: { name: ['topic'], subject: ['session_id'], rules: [] },
    finality: { final: ['verification.expired'], reversible: approvedOrRejected },
    delivery: {},
    fixtures: [{ body: about('session_completion') }, { body: about('check_completion') }],
    decisions: [sessions],
  }
  return defineVendor(vendor, api && { ...api, fetch: signing(api) })
}

const id = 'a1b2c3d4-0000-4000-8000-1234567890ab'

const about = (topic: string) => ({ session_id: id, topic })

const sessions = behind({
  hints: { topic: 'session_completion' },
  request: {
    baseUrl: 'https://api.yoti.com/idverify/v1',
    path: '/sessions/{id}?sdkId={clientId}',
  },
  reading: { subject: ['session_id'], fields: { clientId: 'user_tracking_id' } },
  at: ['state', 'checks.*.report.recommendation.value'],
  before: ['ONGOING'],
  states: {
    ONGOING: null,
    EXPIRED: 'verification.expired',
    'COMPLETED:APPROVE': 'verification.approved',
    'COMPLETED:REJECT': 'verification.rejected',
    'COMPLETED:APPROVE REJECT': 'verification.rejected',
    'COMPLETED:NOT_AVAILABLE REJECT': 'verification.rejected',
    'COMPLETED:APPROVE NOT_AVAILABLE REJECT': 'verification.rejected',
    'COMPLETED:APPROVE NOT_AVAILABLE': null,
  },
  record: (state, values = '') => ({
    client_session_token_ttl: 599,
    session_id: id,
    state,
    resources: {},
    checks: values.split(' ').flatMap((value, at) => {
      if (value === '') return []
      const report = { recommendation: { value }, breakdown: [] }
      return { id: `check-${at}`, type: 'ID_DOCUMENT_AUTHENTICITY', state: 'DONE', report }
    }),
    user_tracking_id: 'user-1',
  }),
})

const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }

/** Signs method, path and query; the path begins after that of the base address. */
function signing({ secret, baseUrl, fetch: given }: VendorApi): typeof fetch {
  const der = keyOf(secret)
  const base = new URL(baseUrl ?? sessions.request.baseUrl).pathname.replace(/\/+$/, '')
  return async (address, init) => {
    const url = new URL(String(address))
    url.searchParams.set('nonce', crypto.randomUUID())
    url.searchParams.set('timestamp', String(Math.floor(Date.now() / 1000)))
    const text = `${init?.method}&${url.pathname.slice(base.length)}${url.search}`
    const key = await crypto.subtle.importKey('pkcs8', der, rsa, false, ['sign'])
    const digest = await crypto.subtle.sign(rsa.name, key, new TextEncoder().encode(text))
    const headers = new Headers(init?.headers)
    headers.set('x-yoti-auth-digest', toBase64(new Uint8Array(digest)))
    return (given ?? fetch)(url.href, { ...init, headers })
  }
}

/** The bytes of a private key in PKCS #8. Yoti makes keys in PKCS #1, which are wrapped. */
function keyOf(pem: unknown): Uint8Array<ArrayBuffer> {
  const [, kind, text = ''] =
    /-----BEGIN (RSA )?PRIVATE KEY-----([\w+/=\s]+)-----END/.exec(String(pem)) ?? []
  const bytes = fromBase64(text.replaceAll(/\s/g, ''))
  if (!bytes || bytes.length < 256) {
    throw invalid(
      'api of yoti needs secret, the private key as PEM: check the environment variable',
    )
  }
  if (!kind) return new Uint8Array(bytes)
  const rsaEncryption = [0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1, 5, 0]
  return der(0x30, [2, 1, 0, ...rsaEncryption, ...der(4, bytes)])
}

/** A value in DER, of 256 bytes or more. */
function der(tag: number, content: Iterable<number>): Uint8Array<ArrayBuffer> {
  const bytes = [...content]
  return new Uint8Array([tag, 0x82, bytes.length >> 8, bytes.length & 0xff, ...bytes])
}
