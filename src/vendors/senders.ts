// How senders sign. Most rows were read from the senders' own pages in November 2026; about ten come
// from general knowledge. None was tried on a real delivery.
import { checkOptionNames } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import { schemes } from '../protocol/scheme.ts'
import type { Scheme, SchemeDefinition, TimestampFormat } from '../protocol/scheme-definition.ts'
import { hex, type Unnamed } from './preset-parts.ts'

const base64 = (header: SchemeDefinition['header'], difference: Partial<Unnamed> = {}) =>
  hex(header, { encoding: 'base64', ...difference })

/** `t=…,v1=…` in hex over `t.body`. */
const stamped = (header: string, signature = 'v1', timestamp = 't') =>
  hex(header, { grammar: { pairs: { signature, timestamp } }, signed: '{timestamp}.{body}' })

/** Standard Webhooks, under its own header names or others. */
const standard = (prefix: string, difference: Partial<Unnamed> = {}) =>
  base64(`${prefix}-signature`, {
    key: 'whsec',
    grammar: { list: { prefix: 'v1,' } },
    signed: '{id}.{timestamp}.{body}',
    timestamp: { header: `${prefix}-timestamp` },
    id: { header: `${prefix}-id` },
    ...difference,
  })

const prefixed = (prefix: string) => ({ grammar: { prefix } })

/** A signed time in a header. */
const timed = (signed: string, header: string, format: TimestampFormat = 'seconds') => ({
  signed,
  timestamp: { header, format },
})

const senderTable = {
  adyenBanking: base64('HmacSignature', { key: 'hex' }),
  airwallex: hex('x-signature', timed('{timestamp}{body}', 'x-timestamp', 'milliseconds')),
  asana: hex('X-Hook-Signature'),
  authorizeNet: hex('X-ANET-Signature', { algorithm: 'sha512', ...prefixed('sha512=') }),
  bitbucket: hex('X-Hub-Signature', prefixed('sha256=')),
  box: base64(['BOX-SIGNATURE-PRIMARY', 'BOX-SIGNATURE-SECONDARY'], {
    ...timed('{body}{timestamp}', 'BOX-DELIVERY-TIMESTAMP', 'iso8601'),
    tolerance: 600,
  }),
  brex: standard('webhook'),
  buildkite: stamped('X-Buildkite-Signature', 'signature', 'timestamp'),
  cal: hex('X-Cal-Signature-256'),
  calendly: stamped('Calendly-Webhook-Signature'),
  checkoutCom: hex('Cko-Signature'),
  circleci: hex('circleci-signature', { grammar: { pairs: { signature: 'v1' } } }),
  clerk: standard('svix'),
  coinbaseCommerce: hex('X-CC-Webhook-Signature'),
  convoy: stamped('X-Convoy-Signature'),
  discord: hex('X-Signature-Ed25519', {
    algorithm: 'ed25519',
    key: 'hex',
    ...timed('{timestamp}{body}', 'X-Signature-Timestamp'),
  }),
  docusign: base64('X-DocuSign-Signature-{n}'),
  dropbox: hex('X-Dropbox-Signature'),
  elevenlabs: stamped('ElevenLabs-Signature', 'v0'),
  github: hex('X-Hub-Signature-256', prefixed('sha256=')),
  githubSha1: hex('X-Hub-Signature', { algorithm: 'sha1', ...prefixed('sha1=') }),
  gitlabToken: 'X-Gitlab-Token',
  gitlab: standard('webhook'),
  heroku: base64('Heroku-Webhook-Hmac-SHA256'),
  hubspot: base64('X-HubSpot-Signature-v3', {
    signed: '{method}{url}{body}{timestamp}',
    url: { decoded: '%3A %2F %3F %40 %21 %24 %27 %28 %29 %2A %2C %3B'.split(' ') },
    timestamp: { header: 'X-HubSpot-Request-Timestamp', format: 'milliseconds' },
  }),
  intercom: hex('X-Hub-Signature', { algorithm: 'sha1', ...prefixed('sha1=') }),
  lemonSqueezy: hex('X-Signature'),
  linear: hex('Linear-Signature'),
  loops: standard('webhook'),
  meta: hex('X-Hub-Signature-256', prefixed('sha256=')),
  microsoftTeams: base64('Authorization', { key: 'base64', ...prefixed('HMAC ') }),
  mux: stamped('Mux-Signature'),
  notion: hex('X-Notion-Signature', prefixed('sha256=')),
  openai: standard('webhook'),
  paddle: hex('Paddle-Signature', {
    grammar: { pairs: { signature: 'h1', timestamp: 'ts', separator: ';' } },
    signed: '{timestamp}:{body}',
  }),
  pagerduty: hex('X-PagerDuty-Signature', prefixed('v1=')),
  paystack: hex('x-paystack-signature', { algorithm: 'sha512' }),
  pomelo: base64('X-Signature', {
    key: 'base64',
    ...prefixed('hmac-sha256 '),
    ...timed('{timestamp}{header:X-Endpoint}{body}', 'X-Timestamp'),
  }),
  razorpay: hex('X-Razorpay-Signature'),
  replicate: standard('webhook'),
  resend: standard('svix'),
  sanity: hex('sanity-webhook-signature', {
    encoding: 'base64url',
    grammar: { pairs: { signature: 'v1', timestamp: 't' } },
    signed: '{timestamp}.{body}',
    timestamp: { format: 'milliseconds' },
  }),
  sendgrid: base64('X-Twilio-Email-Event-Webhook-Signature', {
    algorithm: 'es256',
    key: 'base64',
    ...timed('{timestamp}{body}', 'X-Twilio-Email-Event-Webhook-Timestamp'),
  }),
  sentry: hex('Sentry-Hook-Signature'),
  shopify: base64('X-Shopify-Hmac-Sha256'),
  slack: hex('X-Slack-Signature', {
    ...prefixed('v0='),
    ...timed('v0:{timestamp}:{body}', 'X-Slack-Request-Timestamp'),
  }),
  square: base64('x-square-hmacsha256-signature', { signed: '{url}{body}' }),
  standardWebhooksEd25519: standard('webhook', {
    algorithm: 'ed25519',
    key: 'whpk',
    grammar: { list: { prefix: 'v1a,' } },
  }),
  stripe: stamped('Stripe-Signature'),
  supabase: standard('webhook'),
  svix: standard('svix'),
  telegram: 'X-Telegram-Bot-Api-Secret-Token',
  telnyx: base64('telnyx-signature-ed25519', {
    algorithm: 'ed25519',
    key: 'base64',
    ...timed('{timestamp}|{body}', 'telnyx-timestamp'),
  }),
  twitch: hex('Twitch-Eventsub-Message-Signature', {
    ...prefixed('sha256='),
    ...timed('{id}{timestamp}{body}', 'Twitch-Eventsub-Message-Timestamp', 'iso8601'),
    id: { header: 'Twitch-Eventsub-Message-Id' },
    tolerance: 600,
  }),
  typeform: base64('Typeform-Signature', prefixed('sha256=')),
  vercel: hex('x-vercel-signature', { algorithm: 'sha1' }),
  webflow: hex(
    'x-webflow-signature',
    timed('{timestamp}:{body}', 'x-webflow-timestamp', 'milliseconds'),
  ),
  wise: base64('X-Signature-SHA256', { algorithm: 'rs256', key: 'pem' }),
  woocommerce: base64('X-WC-Webhook-Signature'),
  workos: hex('WorkOS-Signature', {
    grammar: { pairs: { signature: 'v1', timestamp: 't' } },
    signed: '{timestamp}.{body}',
    timestamp: { format: 'milliseconds' },
  }),
  xero: base64('x-xero-signature'),
  zendesk: base64(
    'X-Zendesk-Webhook-Signature',
    timed('{timestamp}{body}', 'X-Zendesk-Webhook-Signature-Timestamp', 'iso8601'),
  ),
  zoom: hex('x-zm-signature', {
    ...prefixed('v0='),
    ...timed('v0:{timestamp}:{body}', 'x-zm-request-timestamp'),
  }),
}

/** Options of a sender's scheme. */
export interface SenderOptions {
  /** Seconds to either side of a signed time, or 'none'. */
  readonly tolerance?: number | 'none'
}

export type SenderName = keyof typeof senderTable

/**
 * The schemes of widespread senders. Tested with signatures made as their public documents say, not
 * on real deliveries.
 *
 * @example createReceiver({ secret, scheme: senders.slack() })
 */
export const senders = Object.freeze(
  Object.fromEntries(
    Object.entries(senderTable).map(([name, row]) => [
      name,
      (options: SenderOptions = {}) => schemeOf(name, row, options),
    ]),
  ),
  // Trust is granted here: the names are those of the table.
) as Readonly<Record<SenderName, (options?: SenderOptions) => Scheme>>

function schemeOf(name: string, row: Unnamed | string, options: SenderOptions): Scheme {
  checkOptionNames(`senders.${name}`, options, ['tolerance'])
  if (typeof row === 'string') return schemes.token({ header: row })
  return schemes.define({ name, ...row, ...defined(options) })
}
