// How senders sign. Most rows were read from the page beside them in November 2026; about ten come
// from general knowledge and name the page that describes the scheme. None was tried on a real one.
import { checkOptionNames } from '../foundation/check.ts'
import { schemes } from '../protocol/scheme.ts'
import type { Scheme, SchemeDefinition } from '../protocol/scheme-definition.ts'

/** A sender of the table: its scheme but the name, or the header of its token. */
interface SenderRow {
  readonly scheme: Omit<SchemeDefinition, 'name'>
  /** Without its `https://`. */
  readonly document: string
}

type Difference = Partial<SenderRow['scheme']>

/** HMAC-SHA256 of the body in hex, and what differs from that. */
function hex(
  header: SchemeDefinition['header'],
  document: string,
  difference: Difference = {},
): SenderRow {
  const usual = { algorithm: 'sha256', key: 'utf8', encoding: 'hex' } as const
  return {
    scheme: { header, ...usual, grammar: 'plain', signed: '{body}', ...difference },
    document,
  }
}

const base64 = (
  header: SchemeDefinition['header'],
  document: string,
  difference: Difference = {},
) => hex(header, document, { encoding: 'base64', ...difference })

/** `t=…,v1=…` in hex over `t.body`. */
const stamped = (header: string, document: string, signature = 'v1', timestamp = 't') =>
  hex(header, document, {
    grammar: { pairs: { signature, timestamp } },
    signed: '{timestamp}.{body}',
  })

/** Standard Webhooks, under its own header names or others. */
const standard = (prefix: string, document: string, difference: Difference = {}): SenderRow =>
  base64(`${prefix}-signature`, document, {
    key: 'whsec',
    grammar: { list: { prefix: 'v1,' } },
    signed: '{id}.{timestamp}.{body}',
    timestamp: { header: `${prefix}-timestamp` },
    id: { header: `${prefix}-id` },
    ...difference,
  })

const prefixed = (prefix: string): Difference => ({ grammar: { prefix } })

const token = (header: string, document: string, prefix?: string) => ({
  token: prefix === undefined ? { header } : { header, prefix },
  document,
})

const senderTable = {
  adyenBanking: base64(
    'HmacSignature',
    'docs.adyen.com/development-resources/webhooks/verify-hmac-signatures/',
    { key: 'hex' },
  ),
  airwallex: hex(
    'x-signature',
    'www.airwallex.com/docs/developer-tools/webhooks/listen-for-webhook-events',
    {
      signed: '{timestamp}{body}',
      timestamp: { header: 'x-timestamp', format: 'milliseconds' },
    },
  ),
  asana: hex('X-Hook-Signature', 'developers.asana.com/docs/webhooks-guide'),
  authorizeNet: hex(
    'X-ANET-Signature',
    'developer.authorize.net/api/reference/features/webhooks.html',
    { algorithm: 'sha512', ...prefixed('sha512=') },
  ),
  bitbucket: hex(
    'X-Hub-Signature',
    'support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/',
    prefixed('sha256='),
  ),
  box: base64(
    ['BOX-SIGNATURE-PRIMARY', 'BOX-SIGNATURE-SECONDARY'],
    'developer.box.com/guides/webhooks/v2/signatures-v2/',
    {
      signed: '{body}{timestamp}',
      timestamp: { header: 'BOX-DELIVERY-TIMESTAMP', format: 'iso8601' },
      tolerance: 600,
    },
  ),
  brex: standard('webhook', 'developer.brex.com/docs/webhooks/'),
  buildkite: stamped(
    'X-Buildkite-Signature',
    'buildkite.com/docs/apis/webhooks/pipelines',
    'signature',
    'timestamp',
  ),
  cal: hex('X-Cal-Signature-256', 'cal.com/docs/developing/guides/automation/webhooks'),
  calendly: stamped(
    'Calendly-Webhook-Signature',
    'developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures',
  ),
  checkoutCom: hex(
    'Cko-Signature',
    'www.checkout.com/docs/developer-resources/webhooks/receive-webhooks',
  ),
  circleci: hex('circleci-signature', 'circleci.com/docs/outbound-webhooks/', {
    grammar: { pairs: { signature: 'v1' } },
  }),
  clerk: standard('svix', 'clerk.com/docs/webhooks/sync-data'),
  coinbaseCommerce: hex(
    'X-CC-Webhook-Signature',
    'docs.cdp.coinbase.com/commerce/docs/webhooks-security',
  ),
  convoy: stamped('X-Convoy-Signature', 'www.getconvoy.io/docs/product-manual/signatures'),
  discord: hex(
    'X-Signature-Ed25519',
    'discord.com/developers/docs/interactions/overview#setting-up-an-endpoint-validating-security-request-headers',
    {
      algorithm: 'ed25519',
      key: 'hex',
      signed: '{timestamp}{body}',
      timestamp: { header: 'X-Signature-Timestamp' },
    },
  ),
  docusign: base64(
    'X-DocuSign-Signature-{n}',
    'developers.docusign.com/platform/webhooks/connect/hmac/',
  ),
  dropbox: hex('X-Dropbox-Signature', 'www.dropbox.com/developers/reference/webhooks'),
  elevenlabs: stamped(
    'ElevenLabs-Signature',
    'elevenlabs.io/docs/product-guides/administration/webhooks',
    'v0',
  ),
  github: hex(
    'X-Hub-Signature-256',
    'docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries',
    prefixed('sha256='),
  ),
  githubSha1: hex(
    'X-Hub-Signature',
    'docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers',
    { algorithm: 'sha1', ...prefixed('sha1=') },
  ),
  gitlabToken: token('X-Gitlab-Token', 'docs.gitlab.com/user/project/integrations/webhooks/'),
  gitlab: standard('webhook', 'docs.gitlab.com/user/project/integrations/webhooks/'),
  heroku: base64('Heroku-Webhook-Hmac-SHA256', 'devcenter.heroku.com/articles/app-webhooks'),
  hubspot: base64(
    'X-HubSpot-Signature-v3',
    'developers.hubspot.com/docs/api/webhooks/validating-requests',
    {
      signed: '{method}{url}{body}{timestamp}',
      url: { decoded: '%3A %2F %3F %40 %21 %24 %27 %28 %29 %2A %2C %3B'.split(' ') },
      timestamp: { header: 'X-HubSpot-Request-Timestamp', format: 'milliseconds' },
    },
  ),
  intercom: hex('X-Hub-Signature', 'developers.intercom.com/docs/webhooks', {
    algorithm: 'sha1',
    ...prefixed('sha1='),
  }),
  lemonSqueezy: hex('X-Signature', 'docs.lemonsqueezy.com/help/webhooks/signing-requests'),
  linear: hex('Linear-Signature', 'linear.app/developers/webhooks'),
  loops: standard('webhook', 'loops.so/docs/webhooks'),
  meta: hex(
    'X-Hub-Signature-256',
    'developers.facebook.com/docs/graph-api/webhooks/getting-started',
    prefixed('sha256='),
  ),
  microsoftTeams: base64(
    'Authorization',
    'learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-outgoing-webhook',
    { key: 'base64', ...prefixed('HMAC ') },
  ),
  mux: stamped('Mux-Signature', 'www.mux.com/docs/core/verify-webhook-signatures'),
  notion: hex(
    'X-Notion-Signature',
    'developers.notion.com/reference/webhooks',
    prefixed('sha256='),
  ),
  openai: standard('webhook', 'platform.openai.com/docs/guides/webhooks'),
  paddle: hex('Paddle-Signature', 'developer.paddle.com/webhooks/signature-verification', {
    grammar: { pairs: { signature: 'h1', timestamp: 'ts', separator: ';' } },
    signed: '{timestamp}:{body}',
  }),
  pagerduty: hex(
    'X-PagerDuty-Signature',
    'developer.pagerduty.com/docs/verifying-signatures',
    prefixed('v1='),
  ),
  paystack: hex('x-paystack-signature', 'paystack.com/docs/payments/webhooks/', {
    algorithm: 'sha512',
  }),
  pomelo: base64('X-Signature', 'developers.pomelo.la/en/api-reference/webhooks', {
    key: 'base64',
    ...prefixed('hmac-sha256 '),
    signed: '{timestamp}{header:X-Endpoint}{body}',
    timestamp: { header: 'X-Timestamp' },
  }),
  razorpay: hex('X-Razorpay-Signature', 'razorpay.com/docs/webhooks/validate-test/'),
  replicate: standard('webhook', 'replicate.com/docs/topics/webhooks/verify-webhook'),
  resend: standard('svix', 'resend.com/docs/dashboard/webhooks/verify-webhooks-requests'),
  sanity: hex(
    'sanity-webhook-signature',
    'www.sanity.io/docs/content-lake/webhook-best-practices',
    {
      encoding: 'base64url',
      grammar: { pairs: { signature: 'v1', timestamp: 't' } },
      signed: '{timestamp}.{body}',
      timestamp: { format: 'milliseconds' },
    },
  ),
  sendgrid: base64(
    'X-Twilio-Email-Event-Webhook-Signature',
    'www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features',
    {
      algorithm: 'es256',
      key: 'base64',
      signed: '{timestamp}{body}',
      timestamp: { header: 'X-Twilio-Email-Event-Webhook-Timestamp' },
    },
  ),
  sentry: hex(
    'Sentry-Hook-Signature',
    'docs.sentry.io/organization/integrations/integration-platform/webhooks/',
  ),
  shopify: base64('X-Shopify-Hmac-Sha256', 'shopify.dev/docs/apps/build/webhooks/subscribe/https'),
  slack: hex('X-Slack-Signature', 'docs.slack.dev/authentication/verifying-requests-from-slack/', {
    ...prefixed('v0='),
    signed: 'v0:{timestamp}:{body}',
    timestamp: { header: 'X-Slack-Request-Timestamp' },
  }),
  square: base64(
    'x-square-hmacsha256-signature',
    'developer.squareup.com/docs/webhooks/step3validate',
    { signed: '{url}{body}' },
  ),
  standardWebhooksEd25519: standard(
    'webhook',
    'github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md',
    { algorithm: 'ed25519', key: 'whpk', grammar: { list: { prefix: 'v1a,' } } },
  ),
  stripe: stamped('Stripe-Signature', 'docs.stripe.com/webhooks#verify-manually'),
  supabase: standard('webhook', 'supabase.com/docs/guides/auth/auth-hooks'),
  svix: standard('svix', 'docs.svix.com/receiving/verifying-payloads/how-manual'),
  telegram: token('X-Telegram-Bot-Api-Secret-Token', 'core.telegram.org/bots/api#setwebhook'),
  telnyx: base64(
    'telnyx-signature-ed25519',
    'developers.telnyx.com/docs/messaging/messages/receiving-webhooks',
    {
      algorithm: 'ed25519',
      key: 'base64',
      signed: '{timestamp}|{body}',
      timestamp: { header: 'telnyx-timestamp' },
    },
  ),
  twitch: hex(
    'Twitch-Eventsub-Message-Signature',
    'dev.twitch.tv/docs/eventsub/handling-webhook-events/',
    {
      ...prefixed('sha256='),
      signed: '{id}{timestamp}{body}',
      timestamp: { header: 'Twitch-Eventsub-Message-Timestamp', format: 'iso8601' },
      id: { header: 'Twitch-Eventsub-Message-Id' },
      tolerance: 600,
    },
  ),
  typeform: base64(
    'Typeform-Signature',
    'www.typeform.com/developers/webhooks/secure-your-webhooks/',
    prefixed('sha256='),
  ),
  vercel: hex('x-vercel-signature', 'vercel.com/docs/headers/request-headers#x-vercel-signature', {
    algorithm: 'sha1',
  }),
  webflow: hex('x-webflow-signature', 'developers.webflow.com/data/docs/working-with-webhooks', {
    signed: '{timestamp}:{body}',
    timestamp: { header: 'x-webflow-timestamp', format: 'milliseconds' },
  }),
  wise: base64(
    'X-Signature-SHA256',
    'docs.wise.com/api-docs/features/webhooks-notifications/event-handling',
    { algorithm: 'rs256', key: 'pem' },
  ),
  woocommerce: base64('X-WC-Webhook-Signature', 'woocommerce.com/document/webhooks/'),
  workos: hex('WorkOS-Signature', 'workos.com/docs/events/data-syncing/webhooks', {
    grammar: { pairs: { signature: 'v1', timestamp: 't' } },
    signed: '{timestamp}.{body}',
    timestamp: { format: 'milliseconds' },
  }),
  xero: base64('x-xero-signature', 'developer.xero.com/documentation/guides/webhooks/overview'),
  zendesk: base64(
    'X-Zendesk-Webhook-Signature',
    'developer.zendesk.com/documentation/webhooks/verifying/',
    {
      signed: '{timestamp}{body}',
      timestamp: { header: 'X-Zendesk-Webhook-Signature-Timestamp', format: 'iso8601' },
    },
  ),
  zoom: hex('x-zm-signature', 'developers.zoom.us/docs/api/webhooks/#verify-webhook-events', {
    ...prefixed('v0='),
    signed: 'v0:{timestamp}:{body}',
    timestamp: { header: 'x-zm-request-timestamp' },
  }),
}

/** Options of a sender's scheme. */
export interface SenderOptions {
  /** Seconds to either side of a signed time, or 'none'. */
  readonly tolerance?: number | 'none'
}

export type SenderName = keyof typeof senderTable

/** Where it was read how each sender signs. */
export const senderDocuments: Readonly<Record<SenderName, string>> = Object.freeze(
  Object.fromEntries(
    Object.entries(senderTable).map(([name, { document }]) => [name, `https://${document}`]),
  ),
  // Trust is granted here: the names are those of the table.
) as Record<SenderName, string>

/**
 * The schemes of widespread senders. Tested with signatures made as their public documents say, not
 * on real deliveries.
 *
 * @example createReceiver({ secret, scheme: senders.slack() })
 */
export const senders = Object.freeze(
  Object.fromEntries(
    Object.keys(senderTable).map((name) => [
      name,
      (options: SenderOptions = {}) => schemeOf(name as SenderName, options),
    ]),
  ),
  // Trust is granted here too.
) as Readonly<Record<SenderName, (options?: SenderOptions) => Scheme>>

function schemeOf(name: SenderName, options: SenderOptions): Scheme {
  checkOptionNames(`senders.${name}`, options, ['tolerance'])
  const row = senderTable[name]
  if ('token' in row) return schemes.token(row.token)
  const { tolerance = row.scheme.tolerance } = options
  const definition = { name, ...row.scheme }
  return schemes.define(tolerance === undefined ? definition : { ...definition, tolerance })
}
