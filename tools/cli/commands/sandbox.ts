// sandbox: the whole service on this machine, until Ctrl-C. It prints changes of verifications,
// mails and attempts of deliveries, and never the content of a delivery.
import { once } from 'node:events'
import { resolve } from 'node:path'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { defined } from '../../../src/foundation/defined.ts'
import {
  createSandbox,
  type Sandbox,
  type SandboxDelivery,
  type VendorName,
} from '../../sandbox/index.ts'
import { outcomeOf } from '../deliver.ts'
import { exitCodes, usageError } from '../exit-code.ts'
import { addressFrom, repeated, repeating, vendorFrom, wholeFrom } from '../option-values.ts'
import { type Output, printable, withoutUser } from '../output.ts'
import { listenError } from '../recorder.ts'
import { findSecrets, type SecretOptions, secretFileOption, secretOrigin } from '../secrets.ts'
import { act, declare, type Session } from '../session.ts'

interface SandboxCommandOptions extends SecretOptions {
  readonly port: number
  readonly host: string
  readonly seed?: string
  readonly at?: string
  readonly data?: string
  readonly to?: readonly string[]
  readonly events?: readonly string[]
  readonly vendor?: VendorName
  readonly rateLimit?: number
  readonly unlimited?: boolean
  readonly allowHost?: readonly string[]
  readonly quiet?: boolean
}

export const sandbox = (session: Session) =>
  declare('sandbox', {
    details: [
      'Serves the API under /v2/api and the control routes under /_sandbox, on loopback. Prints an API key, the secret of its deliveries unless you provide one, and every event as it happens.',
      'API keys: key_acme, key_globex and key_initech work; key_revoked, key_unpaid, key_noplan and key_limited respond 401, 402, 403 and 429. Subject names that trigger a result by themselves: "Auto Approve", "Auto Reject", "Auto Review", "No Answer".',
    ],
    examples: [
      'sandbox --to http://localhost:3000/webhooks',
      'sandbox --data sandbox.json --port 4800',
      'sandbox --vendor plaid --to http://localhost:3000/webhooks',
    ],
  })
    .option('--port <port>', 'port to listen on; 0 picks a free one', wholeFrom(0, 65_535), 4747)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--to <url>', 'send events to this address; repeatable', repeating(addressFrom))
    .option('--events <filter>', 'send only these events to --to; repeatable', repeated)
    .option('--vendor <name>', 'send and answer as this vendor does, e.g. plaid', vendorFrom)
    .option('--data <file>', 'keep the state in this JSON file')
    .option('--allow-host <name>', 'host name that the control routes accept; repeatable', repeated)
    .option('--seed <seed>', 'seed of ids, tokens and random choices')
    .option('--at <time>', 'start at this time with a frozen clock (ISO 8601)')
    .option('--rate-limit <n>', 'requests per minute for each organization', wholeFrom(0))
    .option('--unlimited', 'without a rate limit')
    .option('--quiet', 'do not print what happens')
    .addOption(secretFileOption())
    .action(act(session, run))

async function run(session: Session, options: SandboxCommandOptions) {
  const { out, signal, cwd } = session
  const { host, port, seed, at, data, to, events, rateLimit, unlimited, allowHost, vendor } =
    options
  if (events && !to) {
    throw usageError('--events needs an address: pass --to <url>')
  }
  if (unlimited && rateLimit !== undefined) {
    throw usageError('use --unlimited or --rate-limit, not both')
  }
  const [given] = await findSecrets(session, options)
  const secret = given && Buffer.from(given.value).toString()
  const made = await createSandbox(
    defined({
      seed,
      now: at,
      data: data === undefined ? undefined : resolve(cwd, data),
      secret,
      vendor,
      hosts: allowHost,
      rateLimit: unlimited ? (false as const) : rateLimit,
      subscriptions: to?.map((url) => defined({ url, events })),
    }),
  )
  let watching: Promise<void> | undefined
  try {
    await made.listen({ port, host }).catch((error: unknown) => {
      throw listenError(error, port)
    })
    announce(out, made, made.secret === secret ? secretOrigin(session, options) : undefined)
    // A failure to watch must not stop the sandbox.
    if (!options.quiet) watching = watch(session, made).catch(() => {})
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await made.close()
    await watching
    out.record({ type: 'closed' })
  }
  return exitCodes.ok
}

function announce(out: Session['out'], made: Sandbox, secretFrom: string | undefined): void {
  const { url, baseUrl, apiKey, secret, seed, vendor, publicKey } = made
  const control = `${url}/_sandbox`
  const origin = secretFrom === undefined ? { secret } : { secretFrom }
  const ofVendor = vendor ? defined({ vendor, api: made.api, publicKey }) : {}
  out.record({ type: 'ready', url, baseUrl, control, apiKey, ...origin, ...ofVendor, seed })
  out.say(`the sandbox is ready on ${out.tint('bold', url)}`)
  const shown = secretFrom === undefined ? secret : `(from ${secretFrom})`
  const service = { console: url, API: baseUrl, control, key: apiKey, secret: shown, seed }
  const more = vendor && { vendor, api: JSON.stringify(made.api) }
  const key = publicKey && { verify: publicKey.replaceAll('\n', ' ') }
  for (const [name, value] of Object.entries({ ...service, ...more, ...key }))
    out.say(`  ${name.padEnd(8)} ${value}`)
  const body = '{"type":"idv","requirements":["document"],"subjectName":"Auto Approve"}'
  out.say('try it:')
  out.say(
    `  curl -H 'x-api-key: ${apiKey}' -H 'content-type: application/json' -d '${body}' ${baseUrl}/verifications`,
  )
}

async function watch({ out }: Session, { fetch, url }: Sandbox): Promise<void> {
  const printed = new Map<string, number>()
  const { body } = await fetch(`${url}/_sandbox/events`)
  const decoder = new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>
  const messages = body?.pipeThrough(decoder).pipeThrough(new EventSourceParserStream())
  for await (const { event, data: text } of messages ?? []) {
    const data = JSON.parse(text)
    if (event === 'verification') {
      const { id, status } = data as Readonly<Record<'id' | 'status', string>>
      out.record({ type: 'verification', id, status })
      out.data(`verification ${id}  ${status}`)
    } else if (event === 'mail') {
      const { kind, verificationId } = data as Readonly<Record<'kind' | 'verificationId', string>>
      out.record({ type: 'mail', kind, verificationId })
      out.data(`mail  ${kind}  ${verificationId}`)
    } else if (event === 'delivery') printDelivery(out, printed, data as SandboxDelivery)
  }
}

/** Each attempt once; a dropped delivery has none. */
function printDelivery(
  out: Output,
  printed: Map<string, number>,
  { id, event, status, attempts }: SandboxDelivery,
): void {
  if (printed.get(id) === attempts.length) return
  const last = attempts.at(-1)
  if (!last && status !== 'dropped') return
  printed.set(id, attempts.length)
  if (!last) {
    out.record({ type: 'delivery', event, status, attempts: 0 })
    out.data(`${event}  ${out.paint('yellow', 'dropped')}`)
    return
  }
  const { response } = last
  const answer = response?.status ?? last.error ?? ''
  const to = withoutUser(last.request.url)
  const { code } = response ? outcomeOf({ body: Buffer.from(response.body, 'base64') }) : {}
  const attempt = attempts.length
  out.record({ type: 'delivery', id, event, to, status, answer, attempt, ...defined({ code }) })
  const text = printable([answer, code].filter(Boolean).join(' '))
  const words = out.paint(status === 'delivered' ? 'green' : 'red', text)
  out.data(`${event} → ${printable(to)}  ${words}  ${last.durationMs} ms`)
}
