// The challenges by which senders try an address before they use it, as responders for the option
// `respond`. A challenge runs only the handlers that match its event.
import { makeHmacKey } from '#hmac'
import { checkOptionNames, invalid } from '../foundation/check.ts'
import type { HandshakeRequest, Reply, Responder } from '../outcome/reply.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import { valueAt } from '../protocol/json-paths.ts'
import { toHex } from '../signature/encoding.ts'

const utf8 = new TextEncoder()

/** Printable and short, because an unauthenticated client chose the echoed text. */
const echoable = /^[\x20-\x7e]{1,1024}$/

function echo(text: string | null): Reply | undefined {
  if (text === null || !echoable.test(text)) return undefined
  const headers = { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' }
  return { status: 200, headers, body: text }
}

const queryOf = ({ url }: HandshakeRequest) =>
  URL.parse(url ?? '/', 'http://localhost')?.searchParams ?? new URLSearchParams()

/** A text of the event, wherever the envelope has put it. */
function textOf(event: WebhookEvent | undefined, ...paths: readonly string[]): string | undefined {
  for (const path of paths) {
    const value = valueAt(event?.raw, path) ?? valueAt(event?.data, path)
    if (typeof value === 'string') return value
  }
  return undefined
}

/** Answers a proved event of one name with JSON, and nothing else. */
function answering(
  name: string,
  answer: (event: WebhookEvent) => object | undefined | Promise<object | undefined>,
): Responder {
  return async (outcome, event) => {
    if (event?.receivedName !== name || outcome.kind === 'rejected') return undefined
    const body = await answer(event)
    return body && { status: 200, body: JSON.stringify(body) }
  }
}

function challengeOf(event: WebhookEvent) {
  const challenge = textOf(event, 'challenge')
  return challenge === undefined ? undefined : { challenge }
}

/** Answers a request before any event; all other replies are the standard ones. */
function handshaking(handshake: (request: HandshakeRequest) => Reply | undefined): Responder {
  return Object.assign(() => undefined, { handshake })
}

function sameText(one: string, other: string): boolean {
  const [a, b] = [utf8.encode(one), utf8.encode(other)]
  let difference = a.length ^ b.length
  for (let at = 0; at < a.length; at += 1) difference |= (a[at] ?? 0) ^ (b[at] ?? 0)
  return difference === 0
}

/**
 * A secret that a challenge cannot do without: an empty one is everybody's.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
function given(by: string, name: string, options: unknown): string {
  checkOptionNames(by, options, [name])
  const value = (options as Readonly<Record<string, unknown>> | undefined)?.[name]
  if (typeof value === 'string' && value.trim() !== '') return value
  // Never the value: it may be a secret.
  const what = typeof value === 'string' ? 'an empty string' : typeof value
  throw invalid(`${by} needs ${name}, got ${what}: check that the environment variable is set`)
}

/**
 * Responders for the challenges of senders.
 *
 * @example createReceiver({ secret, scheme: senders.slack(), respond: challenges.slack() })
 */
export const challenges = Object.freeze({
  /** `url_verification`: signed as every event of Slack is; wants its challenge back. */
  slack: (): Responder => answering('url_verification', challengeOf),
  /** `endpoint.url_validation`: wants its token with an HMAC of it under the same secret. */
  zoom: (options: { readonly secret: string }): Responder => {
    const secret = given('challenges.zoom', 'secret', options)
    const key = makeHmacKey(utf8.encode(secret), 'sha256')
    return answering('endpoint.url_validation', async (event) => {
      const plainToken = textOf(event, 'plainToken', 'payload.plainToken')
      if (plainToken === undefined) return undefined
      return { plainToken, encryptedToken: toHex(await key.sign([utf8.encode(plainToken)])) }
    })
  },
  /** `URL_VERIFICATION`: wants its challenge back; `vendors.trulioo()` brings it by itself. */
  trulioo: (): Responder => answering('URL_VERIFICATION', challengeOf),
  /** A GET with `hub.challenge`, answered only with the token that you gave Meta. */
  meta: (options: { readonly verifyToken: string }): Responder => {
    const verifyToken = given('challenges.meta', 'verifyToken', options)
    return handshaking((request) => {
      const query = queryOf(request)
      if (request.method !== 'GET' || query.get('hub.mode') !== 'subscribe') return undefined
      const token = query.get('hub.verify_token') ?? ''
      return sameText(token, verifyToken) ? echo(query.get('hub.challenge')) : undefined
    })
  },
  /** A GET with `challenge`. */
  dropbox: (): Responder =>
    handshaking((request) =>
      request.method === 'GET' ? echo(queryOf(request).get('challenge')) : undefined,
    ),
  /** A POST with `validationToken` in its address, before any subscription exists. */
  microsoftGraph: (): Responder =>
    handshaking((request) =>
      request.method === 'POST' ? echo(queryOf(request).get('validationToken')) : undefined,
    ),
})
