// The targets of the fuzzer, each with the property that holds for any input. A target throws if it
// does not hold.
import { createHmac } from 'node:crypto'
import { createReceiver, parse, type Scheme, schemes, sign, verify } from 'idv-webhooks'
import { createSandbox } from 'idv-webhooks/sandbox'
import { readCapture } from 'idv-webhooks/testing'
import { parsesArguments, pasted } from './arguments.ts'

const secret = 'the-secret-of-the-fuzzer'
const encoder = new TextEncoder()
const decoder = new TextDecoder('latin1')

/** The text before the first line break, and the bytes after it. */
function halves(data: Uint8Array): [string, Uint8Array] {
  const at = data.indexOf(10)
  const end = at < 0 ? data.length : at
  return [decoder.decode(data.subarray(0, end)), data.subarray(end + 1)]
}

function hold(condition: boolean, what: string): void {
  if (!condition) throw new Error(what)
}

/** Whatever is accepted has the true digest in its header, in one of the encodings. */
async function verifies(data: Uint8Array) {
  const [header, body] = halves(data)
  const { ok } = await verify({ body, headers: { 'x-service-signature': header } }, { secret })
  const digest = createHmac('sha256', secret).update(body).digest()
  const forms = [digest.toString('base64'), digest.toString('base64url')]
  const isThere =
    header.toLowerCase().includes(digest.toString('hex')) ||
    forms.some((form) => header.includes(form.replace(/=+$/, '')))
  hold(!ok || isThere, 'accepted without the digest')
  const trueHeader = { 'x-service-signature': digest.toString('hex') }
  const genuine = await verify({ body, headers: trueHeader }, { secret })
  hold(genuine.ok, 'a genuine delivery was refused')
}

const grammars: readonly Scheme[] = [
  schemes.timestamped(),
  schemes.define({
    name: 'list',
    header: 'X-Service-Signature',
    algorithm: 'sha512',
    key: 'utf8',
    encoding: 'base64',
    grammar: { list: { prefix: 'v1,' } },
    signed: '{body}',
  }),
  schemes.define({
    name: 'prefix',
    header: 'X-Service-Signature',
    algorithm: 'sha1',
    key: 'utf8',
    encoding: 'any',
    grammar: { prefix: 'sha1=' },
    signed: '{body}',
  }),
  schemes.define({
    name: 'plain',
    header: 'X-Service-Signature',
    algorithm: 'sha256',
    key: 'utf8',
    encoding: 'base64url',
    grammar: 'plain',
    signed: 'v0:{body}',
  }),
]

/** No header makes a grammar throw, or proves unsigned bytes. */
async function readsHeaders(data: Uint8Array) {
  const scheme = grammars[(data[0] ?? 0) % grammars.length]
  const [header, body] = halves(data.subarray(1))
  const options = { secret, ...(scheme && { scheme }) }
  const { ok } = await verify({ body, headers: { 'x-service-signature': header } }, options)
  hold(!ok, 'accepted what was not signed')
}

async function verified(body: Uint8Array) {
  const delivery = { body, headers: await sign(body, { secret }) }
  return verify(delivery, { secret })
}

/** Whatever is signed is parsed or refused, and pollutes nothing. */
async function parses(data: Uint8Array) {
  const proof = await verified(data)
  hold(proof.ok, 'a genuine delivery was refused')
  if (!proof.ok) return
  const parsed = parse(proof)
  hold(Object.keys(Object.prototype).length === 0, 'Object.prototype was changed')
  if (parsed.ok) JSON.parse(new TextDecoder('utf-8').decode(data))
}

const receivers = [
  createReceiver({ secret, observe() {}, validate: 'reject' }),
  createReceiver({ secret, observe() {}, envelope: { name: 'a.b', id: ['c', 'd.e'], data: 'f' } }),
  createReceiver({ secret, observe() {}, legacy: 'reject', validate: 'off' }),
]
for (const receiver of receivers) receiver.fallback(() => {})

/** Every outcome is the sender's or a success: none is a fault of ours. */
async function receives(data: Uint8Array) {
  const receiver = receivers[(data[0] ?? 0) % receivers.length]
  const body = data.subarray(1)
  const outcome = await receiver?.receive({ body, headers: await sign(body, { secret }) })
  hold(outcome?.kind !== 'failed', `failed with ${JSON.stringify(outcome)}`)
}

/** A file is a capture, or is refused with a code of ours. */
function readsCaptures(data: Uint8Array) {
  try {
    readCapture(new TextDecoder().decode(data))
  } catch (error) {
    hold(typeof (error as { code?: unknown }).code === 'string', `threw ${String(error)}`)
  }
}

let sandbox: Awaited<ReturnType<typeof createSandbox>> | undefined
let asked = 0

/** The sandbox answers anything with a documented status, and never with a fault of its own. */
async function answers(data: Uint8Array) {
  if (!sandbox || asked++ % 2_000 === 0) {
    await sandbox?.close()
    sandbox = await createSandbox({
      seed: 1,
      rateLimit: false,
      now: '2026-01-01T00:00:00Z',
      // A clock that moves by a year runs a year of retries.
      fetch: async () => new Response(null, { status: 204 }),
    })
  }
  const [line, body] = halves(data)
  const [method = '', path = ''] = line.split(' ', 2)
  const verb = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method) ? method : 'POST'
  const url = URL.parse(path, `${sandbox.baseUrl}/`)
  // No Request can be made of an address with a user's name in it.
  if (url?.username !== '' || url.password !== '') return
  // Input of which no request can be made.
  if (url.username !== '' || url.password !== '') return
  const headers = { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' }
  const given = verb === 'GET' ? {} : { body: new Uint8Array(body) }
  const response = await sandbox.fetch(new Request(url, { method: verb, headers, ...given }))
  hold(response.status < 500, `${line} was answered with ${response.status}`)
  await response.body?.cancel()
}

export interface FuzzTarget {
  readonly run: (data: Uint8Array) => unknown
  readonly seeds: readonly string[]
}

const event =
  '{"id":"evt_1","event":"verification.approved","createdAt":"2026-01-01T00:00:00Z","data":{"id":"ver_1"}}'
const hex = createHmac('sha256', secret).update(encoder.encode(event)).digest('hex')

export const targets: Readonly<Record<string, FuzzTarget>> = {
  verify: { run: verifies, seeds: [`${hex}\n${event}`, `sha256=${hex}, ${hex}\n`] },
  headers: {
    run: readsHeaders,
    seeds: [`0t=1767225600,v1=${hex}\n${event}`, `1v1,YWJj v1,YWJj\n${event}`, `2sha1=${hex}\n`],
  },
  parse: { run: parses, seeds: [event, '{"__proto__":{"a":1},"constructor":{"prototype":{}}}'] },
  envelopes: {
    run: receives,
    seeds: [
      `0${event}`,
      '1{"a":{"b":"x"},"c":1,"d":{"e":"2"},"f":{}}',
      '2{"type":"request.approved","object":{}}',
    ],
  },
  captures: {
    run: readsCaptures,
    seeds: ['{"version":1,"headers":[["a","b"]],"body":"e30="}', '{"headers":{},"body":""}'],
  },
  arguments: {
    run: (data) => parsesArguments(decoder.decode(data).split('\n')),
    seeds: [
      'send\nverification.approved\n--to\nhttp://localhost:3000/',
      `verify\ncapture.json\n--secret-file\n${pasted}`,
      `inbox\nlist\n--state=${pasted}`,
      `sandbox\n--port\n${pasted}`,
      `doctor\n--to\n${pasted}\n--json`,
      `${pasted}`,
      'migrate\ndata\n--dialect\npostgres\n--table\nevents.name',
      'reconcile\n--since\n2026-01-01T00:00:00Z\n--dry-run',
      'capture\n--out\nx\n--raw\n--yes',
      'discover\n--scheme\ntimestamped\n--tolerance=none',
    ],
  },
  sandbox: {
    run: answers,
    seeds: [
      'POST verifications\n{"type":"idv","requirements":["document"]}',
      'GET verifications?status=approved&limit=1&dateFrom=2026-01-01T00:00:00Z\n',
      'POST clients\n{"nameFirst":"A","metadata":{"a":1}}',
      'PUT /_sandbox/clock\n{"now":"2026-01-01T00:00:00Z","frozen":true}',
      'POST /_sandbox/subscriptions\n{"url":"http://127.0.0.1:9/","events":["*"]}',
    ],
  },
}
