// What each cause means and how to mend it, in the words of the framework that answers.

import type { Framework } from './framework.ts'
import type { Cause } from './known-causes.ts'

/** A cause, for people. */
export interface Advice {
  readonly cause: Cause
  readonly message: string
  readonly fix: string
}

const messages: Readonly<Record<Cause, string>> = {
  unreachable: 'nothing answers at this address',
  redirected: 'the address redirects, and senders do not follow',
  'no-route': 'there is no such route for POST',
  guarded: 'something refuses the delivery before the receiver sees it',
  'body-consumed': 'a body parser reads the body before the receiver',
  'reserialized-by-parser':
    'a body parser of the app parses the body, and what is verified is JSON written again',
  'reserialized-on-the-way':
    'the JSON is parsed and written again before it is verified, by a proxy or by the app',
  'newline-added': 'a line break is added to the body before it is verified',
  'newline-removed': 'the body is trimmed before it is verified',
  'mark-removed': 'a byte order mark is removed before the body is verified',
  'decoded-as-text':
    'the body is decoded to text before it is verified, so not every byte survives',
  'decoded-as-latin1': 'the body is decoded as Latin-1 before it is verified',
  'parser-limit': 'something before the receiver has a limit below 256 KiB',
  'parser-content-type': 'something before the receiver refuses `application/json; charset=utf-8`',
  'not-verified': 'deliveries without a signature are taken: nothing is verified at all',
  unbounded: 'a body of 12 MiB is read whole: anyone can fill the memory',
  'secret-or-scheme': 'genuine deliveries are refused: the app has another secret or scheme',
  'signature-lost':
    'a signed delivery arrives without its signature: the header is dropped on the way, or the app looks for it in another one',
  'handler-failed': 'the app fails on a genuine delivery of an unknown event',
  'signature-not-compared':
    'a signature is asked for and not compared: a wrong one is taken, so anyone can send events',
  'headers-joined':
    'two signature headers are joined into one before they are verified, so nobody can tell which was the sender’s',
  'time-not-checked':
    'a delivery that was signed an hour ago is taken, so whoever recorded one can send it again',
  'unreadable-fails':
    'a proved body that cannot be read makes the app fail (5xx), so the sender sends it again and again',
  'unreadable-taken':
    'a body that is no text is taken as if it were: what cannot be read is replaced in silence',
  'mark-not-read': 'a byte order mark before the JSON is more than the app’s JSON.parse can read',
  'compressed-read': 'a compressed body is unpacked or read, and not refused',
  'any-method': 'the route answers another method than POST as if it were a delivery',
  unexplained: 'the probes that fail show no cause that is known here',
}

type Fixes = Partial<Record<Framework, string>> & { readonly other: string }

const unparsed: Fixes = {
  express:
    "Express: mount the receiver above app.use(express.json()): app.post('/webhooks', toExpress(receiver))",
  fastify:
    "Fastify: await app.register(toFastify(receiver), { path: '/webhooks' }) keeps the exact bytes; drop a route of your own that reads request.body",
  next: 'Next.js: beside export default toNextPages(receiver), add export const config = { api: { bodyParser: false } }; in the App Router, use toNext(receiver)',
  nest: 'Nest: NestFactory.create(App, { bodyParser: false }), and mount toNode(receiver) on the route',
  koa: 'Koa: mount the receiver before koa-body, and hand it ctx.req',
  hono: 'Hono: app.post(path, (c) => toFetch(receiver)(c.req.raw)), before anything calls c.req.json()',
  other: 'hand the receiver the untouched request: no body parser may run before it',
}

const useParse = 'parse(verified.delivery) of this package reads strictly and never throws'

const onTheWay =
  'look for a proxy, gateway, relay or logger between the sender and the app that rewrites bodies, and let it pass them on as they are'

const fixes: Readonly<Record<Cause, Fixes>> = {
  unreachable: { other: 'start the app; check host and port' },
  redirected: {
    other: 'give the address it leads to (https, a slash at the end), here and to the service',
  },
  'no-route': { other: 'check the path, and that the route takes POST' },
  guarded: { other: 'let the route through: no login, no CSRF check; the signature is the proof' },
  'body-consumed': unparsed,
  'reserialized-by-parser': unparsed,
  'reserialized-on-the-way': {
    ...Object.fromEntries(
      Object.entries(unparsed).map(([name, fix]) => [
        name,
        `${fix}. If the app is sound: ${onTheWay}`,
      ]),
    ),
    other: `${unparsed.other}. If the app is sound: ${onTheWay}`,
  },
  'newline-added': { other: `hand on the bytes as they arrive: ${onTheWay}` },
  'newline-removed': { other: 'do not trim: verify the bytes as they arrive' },
  'mark-removed': { other: 'do not decode before verifying: verify the bytes as they arrive' },
  'decoded-as-text': {
    other: 'do not read the body as text (req.text(), bodyParser.text()): take its bytes',
    express: 'Express: drop express.text() before the receiver, mount toExpress(receiver) above it',
  },
  'decoded-as-latin1': { other: 'do not read the body as text: take its bytes' },
  'parser-limit': {
    ...unparsed,
    express:
      "Express: mount the receiver above app.use(express.json()): app.post('/webhooks', toExpress(receiver)); with a parser of your own raise its limit: express.raw({ type: () => true, limit: '1mb' })",
    other:
      'raise the limit of the proxy (nginx: client_max_body_size) or parser before the receiver',
  },
  'parser-content-type': unparsed,
  'not-verified': { other: 'verify every delivery: mount a receiver on this route' },
  unbounded: {
    other: 'use an adapter of this package: it stops reading at maxBytes, 1 MiB by default',
  },
  'secret-or-scheme': {
    other:
      'compare the secrets (WEBHOOK_SECRET here and in the app), give --scheme if the app pins one, and see discover',
  },
  'signature-lost': {
    other:
      'let proxies and gateways between here and the app hand on the signature header (allow-lists of headers drop it; nginx drops names with an underscore); where the app pins a scheme with another header, give the same one with --scheme',
  },
  'handler-failed': { other: 'look into the log of the app: a fallback or `*` handler throws' },
  'signature-not-compared': {
    other: 'refuse when verify() answers { ok: false }; an adapter of this package does so',
  },
  'headers-joined': {
    other:
      'give verify() the headers as pairs: Object.entries(request.headersDistinct).flatMap(([name, all]) => all.map((one) => [name, one])); request.headers has them joined',
  },
  'time-not-checked': { other: "give the scheme a tolerance in seconds; 'none' switches it off" },
  'unreadable-fails': {
    other: `catch what JSON.parse throws and answer 400; ${useParse}`,
  },
  'unreadable-taken': {
    other: `decode strictly, new TextDecoder('utf-8', { fatal: true }), and answer 400; ${useParse}`,
  },
  'mark-not-read': { other: `drop a leading \\uFEFF once it is verified; ${useParse}` },
  'compressed-read': {
    other: 'do not unpack before verifying: answer 415 where there is a content-encoding',
    express: 'Express: express.raw({ type: () => true, inflate: false }), or toExpress(receiver)',
  },
  'any-method': { other: 'register the route for POST alone, and answer 405 to the rest' },
  unexplained: {
    other:
      'look for these statuses in the log of the app, or hand the untouched request to an adapter of this package: it keeps all of this',
  },
}

/** Says a cause and its fix. */
export function adviceFor(cause: Cause, framework: Framework): Advice {
  const fix = fixes[cause]
  return { cause, message: messages[cause], fix: fix[framework] ?? fix.other }
}
