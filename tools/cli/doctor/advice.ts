// Every cause that doctor can name, with its meaning and its fix. doctor recognizes an app's
// framework by its headers, its 404 page and the message of its JSON parser.
import type { DeliveryAnswer } from '../deliver.ts'

const frameworks = ['express', 'fastify', 'next', 'nest', 'koa', 'hono'] as const

export type Framework = (typeof frameworks)[number] | 'unknown'

const byText: readonly (readonly [Framework, RegExp])[] = [
  ['fastify', /FST_ERR_|"message":"Route [A-Z]+:/],
  ['nest', /"message":"Cannot (GET|POST) [^"]*","error":"Not Found"/],
  ['express', /<pre>(Cannot (GET|POST) |SyntaxError: )/],
  ['next', /__next|\/_next\/static/],
  ['hono', /^404 Not Found$/],
  ['koa', /^Not Found$/],
]

/** The framework behind responses; the first clear sign counts. */
export function frameworkOf(answers: readonly Pick<DeliveryAnswer, 'headers' | 'body'>[]) {
  const powered = answers.map(({ headers }) => headers['x-powered-by'] ?? '')
  if (powered.some((name) => /^Next\.js/i.test(name))) return 'next'
  for (const { body } of answers) {
    const text = new TextDecoder().decode(body).trim()
    const found = byText.find(([, pattern]) => pattern.test(text))
    if (found) return found[0]
  }
  return powered.some((name) => /^Express/i.test(name)) ? 'express' : 'unknown'
}

/** Tells whether an app on this framework can see repeated headers; fetch runtimes join them. */
export function keepsHeadersApart(framework: Framework): boolean {
  return ['express', 'fastify', 'nest', 'koa'].includes(framework)
}

/** Tells whether a JSON parser of the framework rejected the body before a receiver saw it. */
export function refusedByParser({
  status,
  body,
}: Pick<DeliveryAnswer, 'status' | 'body'>): boolean {
  if (status !== 400) return false
  const text = new TextDecoder().decode(body)
  return /FST_ERR_CTP|SyntaxError|Invalid JSON|Unexpected (token|end)|not valid JSON/i.test(text)
}

type Fixes = Partial<Record<Framework, string>> & { readonly other: string }

/** A meaning and its fix: one text for all frameworks, or a text for each. */
type Advice = readonly [message: string, fix: string | Fixes]

const unparsed: Fixes = {
  express:
    "Express: mount the receiver above app.use(express.json()): app.post('/webhooks', toExpress(receiver))",
  fastify:
    "Fastify: use await app.register(toFastify(receiver), { path: '/webhooks' }), and remove a route of your own that reads request.body",
  next: 'Next.js: export const POST = toNext(receiver), with no request.json() or request.text() before it; Pages Router: toNextPages(receiver) and config = { api: { bodyParser: false } }',
  nest: "NestJS: add WebhookModule.forRoot({ receiver, path: '/webhooks' }) of idv-webhooks/nest to the imports of AppModule, and remove a controller of your own on that path",
  koa: 'Koa: mount the receiver before koa-body, and pass it ctx.req',
  hono: 'Hono: app.post(path, (c) => toFetch(receiver)(c.req.raw)), before anything calls c.req.json()',
  other: 'pass the untouched request to the receiver: no body parser may run before it',
}

const proxy =
  'find the proxy, gateway or logger before the app that rewrites bodies, and let it forward them unchanged'

const useParse = 'parse(verified.delivery) of this package is strict and never throws'

export const advice = {
  unreachable: ['nothing responds at this address', 'start the app; check host and port'],
  unanswered: [
    'a genuine delivery gets no response, and other probes do: the connection breaks, or the time limit passes',
    'see the log of the app, and of the proxy or dev server before it',
  ],
  redirected: [
    'the address redirects, and senders do not follow redirects',
    'use the address that it leads to (https, a trailing slash), here and in the service',
  ],
  'no-route': [
    'the route does not exist for POST',
    'check the path, and that the route takes POST',
  ],
  guarded: [
    'something refuses the delivery before the receiver sees it',
    'exclude the route from login and CSRF checks: the signature authenticates the sender',
  ],
  'envelope-not-read': [
    'the receiver verifies the delivery and reads another envelope (option `vendor` or `envelope`)',
    'pass --scheme vendors.<name> if the receiver has that vendor; a receiver with an envelope of its own cannot read a probe, so test it with captures: replay --to <url>',
  ],
  'secret-unavailable': [
    'the app cannot look up its secret',
    'set the environment variable of the secret (Next.js: in .env.local; Workers: with wrangler secret put), and check what the `secret` function of the receiver returns or throws',
  ],
  'store-unavailable': [
    'the inbox of the app cannot be written',
    'check that its file or database exists and can be written, and see the log of the app',
  ],
  'handler-failed': [
    'a handler of the app fails on an unknown event',
    'see the log of the app: a fallback or `*` handler throws',
  ],
  'app-failed': ['the app responds with a server error', 'see the log of the app'],
  'body-consumed': ['a body parser reads the body before the receiver', unparsed],
  'reserialized-by-parser': [
    'a body parser of the app parses the body, and re-serialized JSON is verified',
    unparsed,
  ],
  'reserialized-on-the-way': [
    'the JSON is parsed and serialized again before it is verified, by a proxy or by the app',
    `in the app, let no body parser run before the receiver; if there is none, ${proxy}`,
  ],
  'newline-added': [
    'a line break is added to the body before it is verified',
    `verify the bytes as they arrive: ${proxy}`,
  ],
  'newline-removed': [
    'the body is trimmed before it is verified',
    'do not trim: verify the bytes as they arrive',
  ],
  'decoded-as-text': [
    'the body is decoded to text before it is verified, which loses bytes',
    {
      other: 'do not read the body as text (req.text(), bodyParser.text()): use its bytes',
      express:
        'Express: remove express.text() before the receiver, and mount toExpress(receiver) above it',
    },
  ],
  'parser-limit': [
    'something before the receiver has a limit below 256 KiB',
    {
      ...unparsed,
      express:
        "Express: mount the receiver above app.use(express.json()): app.post('/webhooks', toExpress(receiver)); for a parser of your own, raise its limit: express.raw({ type: () => true, limit: '1mb' })",
      other:
        'raise the limit of the proxy (nginx: client_max_body_size) or parser before the receiver',
    },
  ],
  'parser-content-type': [
    'something before the receiver refuses `application/json; charset=utf-8`',
    unparsed,
  ],
  'not-verified': [
    'deliveries without a signature are accepted: nothing is verified',
    'verify every delivery: mount a receiver on this route',
  ],
  'signature-not-compared': [
    'a wrong signature is accepted, so anyone can send events',
    'refuse when verify() returns { ok: false }, as the adapters of this package do',
  ],
  unbounded: [
    'a body of 12 MiB is read completely, so anyone can fill the memory',
    'use an adapter of this package: it stops reading at maxBytes, 1 MiB by default',
  ],
  'secret-or-scheme': [
    'genuine deliveries are refused: the app has another secret or scheme',
    'compare the secrets (WEBHOOK_SECRET here and in the app), pass --scheme if the app pins one, and see discover',
  ],
  'signature-lost': [
    'a signed delivery arrives without its signature: a proxy drops the header, or the app expects another one',
    'let proxies and gateways forward the signature header (some have allow-lists; nginx drops names with an underscore); if the app pins a scheme with another header, pass the same one with --scheme',
  ],
  'headers-joined': [
    'two signature headers are joined into one before they are verified',
    'pass the headers to verify() as pairs: Object.entries(request.headersDistinct).flatMap(([name, all]) => all.map((one) => [name, one])); request.headers joins them',
  ],
  'time-not-checked': [
    'a delivery that was signed an hour ago is accepted, so a recorded one can be replayed',
    "set the tolerance of the scheme in seconds; 'none' disables the check",
  ],
  'unreadable-fails': [
    'a verified body that cannot be read makes the app fail (5xx), so the sender retries it forever',
    `catch the errors of JSON.parse and respond 400; ${useParse}`,
  ],
  'unreadable-taken': [
    'a body that is not UTF-8 or not JSON is accepted',
    `decode strictly, new TextDecoder('utf-8', { fatal: true }), and respond 400; ${useParse}`,
  ],
  'compressed-read': [
    'a compressed body is decompressed or read, not refused',
    {
      other: 'do not decompress before verifying: respond 415 to a content-encoding',
      express: 'Express: express.raw({ type: () => true, inflate: false }), or toExpress(receiver)',
    },
  ],
  'any-method': [
    'the route treats another method than POST as a delivery',
    'register the route for POST only, and respond 405 to other methods',
  ],
  unexplained: [
    'the failed probes match no known cause',
    'look for these statuses in the log of the app, or pass the untouched request to an adapter of this package',
  ],
} as const satisfies Readonly<Record<string, Advice>>

export type Cause = keyof typeof advice

export function adviceFor(cause: Cause, framework: Framework) {
  const [message, fix]: Advice = advice[cause]
  const text = typeof fix === 'string' ? fix : (fix[framework] ?? fix.other)
  return { cause, message, fix: text }
}
