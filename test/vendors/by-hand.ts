// The headers of each sender, written with node:crypto alone and without code of this package.
import { createHash, createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto'
import type { Scheme } from 'idv-webhooks'
import { type AsymmetricKey, publicKey } from 'idv-webhooks/keys'

export interface Sent {
  readonly body: Buffer
  /** Milliseconds since 1970, a whole second. */
  readonly at: number
  readonly id: string
  readonly url: string
}

export interface ByHand {
  /** The body that is sent, if the sender signs within it. */
  readonly sends?: (body: Buffer) => Buffer
  /** As the receiver is given it. */
  readonly secret: string
  /** Another key of the same kind, where the kind is not plain text. */
  readonly other?: string
  readonly headers: (sent: Sent) => Record<string, string>
}

const text = 'a-secret-of-thirty-two-characters'
const raw = createHash('sha256').update('key').digest()
const otherRaw = createHash('sha256').update('other').digest()
const mac = (algorithm: string, key: string | Buffer, ...parts: (string | Buffer)[]) => {
  const hmac = createHmac(algorithm, key)
  for (const part of parts) hmac.update(part)
  return hmac
}
const hex = (...parts: (string | Buffer)[]) => mac('sha256', text, ...parts).digest('hex')
const b64 = (...parts: (string | Buffer)[]) => mac('sha256', text, ...parts).digest('base64')
const seconds = (at: number) => String(at / 1000)
const iso = (at: number) => new Date(at).toISOString()

const ed25519 = generateKeyPairSync('ed25519')
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const spki = { format: 'der', type: 'spki' } as const
const otherEd25519 = generateKeyPairSync('ed25519').publicKey.export(spki).subarray(-32)
const rawEd25519 = ed25519.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)

const plain = (
  header: string,
  of: (body: Buffer) => string,
  { secret = text, other }: { secret?: string; other?: string } = {},
): ByHand => ({
  secret,
  ...(other !== undefined && { other }),
  headers: ({ body }) => ({ [header]: of(body) }),
})
const stamped = (header: string, t = 't', v = 'v1'): ByHand => ({
  secret: text,
  headers: ({ body, at }) => ({
    [header]: `${t}=${seconds(at)},${v}=${hex(`${seconds(at)}.`, body)}`,
  }),
})
const standard = (prefix: string): ByHand => ({
  secret: `whsec_${raw.toString('base64')}`,
  other: `whsec_${otherRaw.toString('base64')}`,
  headers: ({ body, at, id }) => ({
    [`${prefix}-id`]: id,
    [`${prefix}-timestamp`]: seconds(at),
    [`${prefix}-signature`]: `v1,${mac('sha256', raw, `${id}.${seconds(at)}.`, body).digest('base64')}`,
  }),
})

export const byHand: Readonly<Record<string, ByHand>> = {
  adyenBanking: plain('hmacsignature', (body) => mac('sha256', raw, body).digest('base64'), {
    secret: raw.toString('hex').toUpperCase(),
    other: otherRaw.toString('hex'),
  }),
  airwallex: {
    secret: text,
    headers: ({ body, at }) => ({
      'x-timestamp': String(at),
      'x-signature': hex(String(at), body),
    }),
  },
  asana: plain('x-hook-signature', hex),
  authorizeNet: plain(
    'x-anet-signature',
    // The key is the text, as the published vector of a real delivery proves.
    (body) => `sha512=${mac('sha512', raw.toString('hex'), body).digest('hex').toUpperCase()}`,
    { secret: raw.toString('hex'), other: otherRaw.toString('hex') },
  ),
  bitbucket: plain('x-hub-signature', (body) => `sha256=${hex(body)}`),
  box: {
    secret: text,
    headers: ({ body, at }) => {
      const time = iso(at).replace('.000Z', '+00:00')
      return {
        'box-delivery-timestamp': time,
        'box-signature-primary': b64(body, time),
        'box-signature-secondary': mac('sha256', 'another', body, time).digest('base64'),
      }
    },
  },
  brex: standard('webhook'),
  buildkite: stamped('x-buildkite-signature', 'timestamp', 'signature'),
  cal: plain('x-cal-signature-256', hex),
  calendly: stamped('calendly-webhook-signature'),
  checkoutCom: plain('cko-signature', hex),
  circleci: plain('circleci-signature', (body) => `v1=${hex(body)},v2=ignored`),
  clerk: standard('svix'),
  coinbaseCommerce: plain('x-cc-webhook-signature', hex),
  convoy: stamped('x-convoy-signature'),
  discord: {
    secret: rawEd25519.toString('hex'),
    other: otherEd25519.toString('hex'),
    headers: ({ body, at }) => ({
      'x-signature-timestamp': seconds(at),
      'x-signature-ed25519': signBytes(
        null,
        Buffer.concat([Buffer.from(seconds(at)), body]),
        ed25519.privateKey,
      ).toString('hex'),
    }),
  },
  docusign: {
    secret: text,
    headers: ({ body }) => ({
      'x-docusign-signature-1': mac('sha256', 'another', body).digest('base64'),
      'x-docusign-signature-2': b64(body),
    }),
  },
  dropbox: plain('x-dropbox-signature', hex),
  elevenlabs: stamped('elevenlabs-signature', 't', 'v0'),
  github: plain('x-hub-signature-256', (body) => `sha256=${hex(body)}`),
  githubSha1: plain('x-hub-signature', (body) => `sha1=${mac('sha1', text, body).digest('hex')}`),
  gitlabToken: plain('x-gitlab-token', () => text),
  gitlab: standard('webhook'),
  heroku: plain('heroku-webhook-hmac-sha256', b64),
  hubspot: {
    secret: text,
    headers: ({ body, at, url }) => ({
      'x-hubspot-request-timestamp': String(at),
      'x-hubspot-signature-v3': b64('POST', url, body, String(at)),
    }),
  },
  intercom: plain('x-hub-signature', (body) => `sha1=${mac('sha1', text, body).digest('hex')}`),
  lemonSqueezy: plain('x-signature', hex),
  linear: plain('linear-signature', hex),
  loops: standard('webhook'),
  meta: plain('x-hub-signature-256', (body) => `sha256=${hex(body)}`),
  microsoftTeams: plain(
    'authorization',
    (body) => `HMAC ${mac('sha256', raw, body).digest('base64')}`,
    { secret: raw.toString('base64'), other: otherRaw.toString('base64') },
  ),
  mux: stamped('mux-signature'),
  notion: plain('x-notion-signature', (body) => `sha256=${hex(body)}`),
  openai: standard('webhook'),
  paddle: {
    secret: text,
    headers: ({ body, at }) => ({
      'paddle-signature': `ts=${seconds(at)};h1=${hex(`${seconds(at)}:`, body)}`,
    }),
  },
  pagerduty: plain('x-pagerduty-signature', (body) => `v1=${'0'.repeat(64)},v1=${hex(body)}`),
  paystack: plain('x-paystack-signature', (body) => mac('sha512', text, body).digest('hex')),
  pomelo: {
    secret: raw.toString('base64'),
    other: otherRaw.toString('base64'),
    headers: ({ body, at }) => ({
      'x-timestamp': seconds(at),
      'x-endpoint': '/identity/webhook',
      'x-signature': `hmac-sha256 ${mac('sha256', raw, seconds(at), '/identity/webhook', body).digest('base64')}`,
    }),
  },
  razorpay: plain('x-razorpay-signature', hex),
  replicate: standard('webhook'),
  resend: standard('svix'),
  sanity: {
    secret: text,
    headers: ({ body, at }) => ({
      'sanity-webhook-signature': `t=${at},v1=${mac('sha256', text, `${at}.`, body).digest('base64url')}`,
    }),
  },
  sendgrid: {
    secret: p256.publicKey.export(spki).toString('base64'),
    other: generateKeyPairSync('ec', { namedCurve: 'P-256' })
      .publicKey.export(spki)
      .toString('base64'),
    headers: ({ body, at }) => ({
      'x-twilio-email-event-webhook-timestamp': seconds(at),
      'x-twilio-email-event-webhook-signature': signBytes(
        'sha256',
        Buffer.concat([Buffer.from(seconds(at)), body]),
        p256.privateKey,
      ).toString('base64'),
    }),
  },
  sentry: plain('sentry-hook-signature', hex),
  shopify: plain('x-shopify-hmac-sha256', b64),
  slack: {
    secret: text,
    headers: ({ body, at }) => ({
      'x-slack-request-timestamp': seconds(at),
      'x-slack-signature': `v0=${hex(`v0:${seconds(at)}:`, body)}`,
    }),
  },
  square: {
    secret: text,
    headers: ({ body, url }) => ({ 'x-square-hmacsha256-signature': b64(url, body) }),
  },
  standardWebhooksEd25519: {
    secret: `whpk_${rawEd25519.toString('base64')}`,
    other: `whpk_${otherEd25519.toString('base64')}`,
    headers: ({ body, at, id }) => {
      const signed = Buffer.concat([Buffer.from(`${id}.${seconds(at)}.`), body])
      const signature = signBytes(null, signed, ed25519.privateKey).toString('base64')
      return {
        'webhook-id': id,
        'webhook-timestamp': seconds(at),
        'webhook-signature': `v1a,${signature} v1,not-ours`,
      }
    },
  },
  stripe: stamped('stripe-signature'),
  supabase: { ...standard('webhook'), secret: `v1,whsec_${raw.toString('base64')}` },
  svix: standard('svix'),
  telegram: plain('x-telegram-bot-api-secret-token', () => text),
  telnyx: {
    secret: rawEd25519.toString('base64'),
    other: otherEd25519.toString('base64'),
    headers: ({ body, at }) => ({
      'telnyx-timestamp': seconds(at),
      'telnyx-signature-ed25519': signBytes(
        null,
        Buffer.concat([Buffer.from(`${seconds(at)}|`), body]),
        ed25519.privateKey,
      ).toString('base64'),
    }),
  },
  twitch: {
    secret: text,
    headers: ({ body, at, id }) => {
      const time = iso(at).replace('.000Z', '.634234626Z')
      return {
        'twitch-eventsub-message-id': id,
        'twitch-eventsub-message-timestamp': time,
        'twitch-eventsub-message-signature': `sha256=${hex(id, time, body)}`,
      }
    },
  },
  typeform: plain('typeform-signature', (body) => `sha256=${b64(body)}`),
  vercel: plain('x-vercel-signature', (body) => mac('sha1', text, body).digest('hex')),
  webflow: {
    secret: text,
    headers: ({ body, at }) => ({
      'x-webflow-timestamp': String(at),
      'x-webflow-signature': hex(`${at}:`, body),
    }),
  },
  wise: plain(
    'x-signature-sha256',
    (body) => signBytes('sha256', body, rsa.privateKey).toString('base64'),
    {
      secret: rsa.publicKey.export({ format: 'pem', type: 'spki' }).toString(),
      other: generateKeyPairSync('rsa', { modulusLength: 2048 })
        .publicKey.export({ format: 'pem', type: 'spki' })
        .toString(),
    },
  ),
  woocommerce: plain('x-wc-webhook-signature', b64),
  workos: {
    secret: text,
    headers: ({ body, at }) => ({ 'workos-signature': `t=${at}, v1=${hex(`${at}.`, body)}` }),
  },
  xero: plain('x-xero-signature', b64),
  zendesk: {
    secret: text,
    headers: ({ body, at }) => {
      const time = iso(at).replace('.000Z', 'Z')
      return {
        'x-zendesk-webhook-signature-timestamp': time,
        'x-zendesk-webhook-signature': b64(time, body),
      }
    },
  },
  zoom: {
    secret: text,
    headers: ({ body, at }) => ({
      'x-zm-request-timestamp': seconds(at),
      'x-zm-signature': `v0=${hex(`v0:${seconds(at)}:`, body)}`,
    }),
  },
}

const jwtPart = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const pemOf = (key: { export(options: object): string | Buffer }) =>
  String(key.export({ format: 'pem', type: 'spki' }))

const basic = Buffer.from('user:a-password-of-some-length').toString('base64')

/** The headers of each vendor that signs or sends a token. */
export const vendorsByHand: Readonly<Record<string, ByHand>> = {
  alloy: { secret: basic, headers: () => ({ authorization: `Basic ${basic}` }) },
  cashfree: {
    secret: text,
    headers: ({ body, at }) => ({
      'x-webhook-timestamp': String(at),
      'x-webhook-signature': b64(String(at), body),
    }),
  },
  checkr: plain('x-checkr-signature', hex),
  complycube: plain('complycube-signature', hex),
  middesk: plain('x-middesk-signature-256', hex),
  prembly: plain('x-prembly-signature', b64),
  truv: plain('x-webhook-sign', (body) => `v1=${hex(body)}`),
  yoti: { secret: basic, headers: () => ({ authorization: `Basic ${basic}` }) },
  didit: plain('x-signature', hex),
  idenfy: plain('idenfy-signature', hex),
  ondato: {
    secret: text,
    headers: ({ body, at }) => {
      const time = seconds(at)
      return { 'ondato-signature': `t=${time},s=${hex(`${time}.`, body)}` }
    },
  },
  onfido: plain('x-sha2-signature', hex),
  // Two groups, as while a secret rotates; ours is the second.
  persona: {
    secret: text,
    headers: ({ body, at }) => {
      const time = seconds(at)
      const old = mac('sha256', 'the-former-secret', `${time}.`, body).digest('hex')
      return { 'persona-signature': `t=${time},v1=${old} t=${time},v1=${hex(`${time}.`, body)}` }
    },
  },
  plaid: {
    secret: pemOf(p256.publicKey),
    other: pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey),
    headers: ({ body, at }) => {
      const hash = createHash('sha256').update(body).digest('hex')
      const claims = { iat: at / 1000, request_body_sha256: hash }
      const input = `${jwtPart({ alg: 'ES256', typ: 'JWT', kid: 'k1' })}.${jwtPart(claims)}`
      const key = { key: p256.privateKey, dsaEncoding: 'ieee-p1363' as const }
      const signature = signBytes('sha256', Buffer.from(input), key).toString('base64url')
      return { 'plaid-verification': `${input}.${signature}` }
    },
  },
  smileId: {
    secret: text,
    headers: ({ at }) => ({
      'response-timestamp': iso(at),
      'response-signature': b64(iso(at), '2000', 'sid_request'),
    }),
  },
  stripeIdentity: stamped('stripe-signature'),
  sumsub: plain('x-payload-digest', hex),
  truora: {
    secret: text,
    headers: () => ({ 'content-type': 'application/jwt' }),
    sends: (body) => {
      const input = `${jwtPart({ alg: 'HS256', typ: 'JWT' })}.${body.toString('base64url')}`
      return Buffer.from(`${input}.${mac('sha256', text, input).digest('base64url')}`)
    },
  },
  trulioo: plain('x-trulioo-signature', hex),
  veriff: plain('x-hmac-signature', hex),
  vouched: plain('x-signature', (body) => mac('sha1', text, body).digest('base64')),
}

/** The secret as a receiver of the scheme takes it. */
export function secretFor({ algorithm }: Scheme, secret: string): string | AsymmetricKey {
  return ['ed25519', 'es256', 'rs256'].includes(algorithm) ? publicKey(secret) : secret
}
