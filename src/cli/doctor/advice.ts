// What each cause means and how to mend it, in the words of the framework that answers.
import type { Cause } from './cause.ts'
import type { Framework } from './framework.ts'

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
  'handler-failed': 'the app fails on a genuine delivery of an unknown event',
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
  'handler-failed': { other: 'look into the log of the app: a fallback or `*` handler throws' },
}

/** Says a cause and its fix. */
export function adviceFor(cause: Cause, framework: Framework): Advice {
  const fix = fixes[cause]
  return { cause, message: messages[cause], fix: fix[framework] ?? fix.other }
}
