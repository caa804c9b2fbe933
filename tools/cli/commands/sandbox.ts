// sandbox: the whole service on this machine, until Ctrl-C or the end of a scenario.
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { suggestion } from '../../../src/foundation/check.ts'
import { defined } from '../../../src/foundation/defined.ts'
import { isWebhookError } from '../../../src/index.ts'
import { eventNames, legacyNames } from '../../../src/protocol/index.ts'
import { createSandbox, type Sandbox, type SandboxOptions } from '../../sandbox/index.ts'
import { CliError, exitCodes } from '../exit-code.ts'
import { openBrowser } from '../open-browser.ts'
import { count, printable } from '../output.ts'
import { repeated, repeating } from '../repeated.ts'
import { findSecrets, type SecretOptions, secretFileOption, secretOrigin } from '../secrets.ts'
import { act, addressFrom, declare, type Session, wholeFrom } from '../session.ts'
import { watchSandbox } from '../watch-sandbox.ts'

interface SandboxCommandOptions extends SecretOptions {
  readonly port: number
  readonly host: string
  readonly seed?: string
  readonly at?: string
  readonly data?: string
  readonly scenario?: string
  readonly to?: readonly string[]
  readonly events?: readonly string[]
  readonly rateLimit?: number
  readonly unlimited?: boolean
  readonly once?: boolean
  readonly allowHost?: readonly string[]
  readonly quiet?: boolean
  readonly open?: boolean
}

export const sandbox = (session: Session) =>
  declare('sandbox', {
    summary: 'run the whole service on this machine',
    details: [
      'Serves the API under /v2/api and the control routes under /_sandbox, on loopback. Prints an API key, the secret of its deliveries unless you provide one, and every event as it happens.',
      'API keys: key_acme, key_globex and key_initech work; key_revoked, key_unpaid, key_noplan and key_limited respond 401, 402, 403 and 429. Subject names that trigger a result by themselves: "Auto Approve", "Auto Reject", "Auto Review", "No Answer".',
    ],
    examples: [
      'idv-webhooks sandbox --to http://localhost:3000/webhooks',
      'idv-webhooks sandbox --data sandbox.json --port 4800',
      'idv-webhooks sandbox --scenario failing.json --once',
    ],
  })
    .option('--port <port>', 'port to listen on; 0 picks a free one', wholeFrom(0, 65_535), 4747)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--to <url>', 'send events to this address; repeatable', repeating(addressFrom))
    .option('--events <filter>', 'send only these events to --to; repeatable', repeated)
    .option('--data <file>', 'keep the state in this JSON file')
    .option('--scenario <file>', 'run this scenario file')
    .option('--once', 'exit when the scenario is complete and nothing is due')
    .option('--allow-host <name>', 'host name that the control routes accept; repeatable', repeated)
    .option('--seed <seed>', 'seed of ids, tokens and random choices')
    .option('--at <time>', 'start at this time with a frozen clock (ISO 8601)')
    .option('--rate-limit <n>', 'requests per minute for each organization', wholeFrom(0))
    .option('--unlimited', 'without a rate limit')
    .option('--open', 'open the console in a browser')
    .option('--quiet', 'do not print what happens')
    .addOption(secretFileOption())
    .action(act<SandboxCommandOptions>(session, (options) => run(session, options)))

/** A scenario that fails is a difference found, not a usage error. */
async function createFor(options: SandboxOptions): Promise<Sandbox> {
  try {
    return await createSandbox(options)
  } catch (error) {
    if (!isWebhookError(error) || error.code !== 'SCENARIO_FAILED') throw error
    throw CliError.from(error, { exitCode: exitCodes.failed })
  }
}

async function run(session: Session, options: SandboxCommandOptions) {
  const { out, signal } = session
  if (options.once && options.scenario === undefined) {
    throw new CliError('USAGE', '--once needs a scenario: pass --scenario <file>')
  }
  if (options.events && !options.to) {
    throw new CliError('USAGE', '--events needs an address: pass --to <url>')
  }
  for (const filter of options.events ?? []) checkFilter(filter)
  if (options.unlimited && options.rateLimit !== undefined) {
    throw new CliError('USAGE', 'use --unlimited or --rate-limit, not both')
  }
  if (options.at !== undefined && Number.isNaN(Date.parse(options.at))) {
    throw new CliError('USAGE', '--at must be an ISO 8601 time, e.g. 2026-01-01T00:00:00Z')
  }
  const [given] = await findSecrets(session, options)
  const secret = given && asText(given.value)
  const scenario = options.scenario && readJson(session, options.scenario)
  const made = await createFor(toSandboxOptions(session, options, { secret, scenario }))
  try {
    await listen(made, options)
    announce(session, made, made.secret === secret ? secretOrigin(session, options) : undefined)
    reportOwnSecrets(session, scenario, made.secret)
    if (options.open) openBrowser(session, made.url)
    const watching = options.quiet || options.once ? undefined : watchSandbox(session, made)
    if (options.once) await made.flush()
    else if (!signal.aborted) await once(signal, 'abort')
    await watching?.end()
    if (options.once && !summarize(session, made)) return exitCodes.failed
  } finally {
    await made.close()
    out.record({ type: 'closed' })
  }
  return exitCodes.ok
}

/** @throws CliError `EVENT_NAME_UNKNOWN` for a filter that no subscription can have */
function checkFilter(filter: string): void {
  const names: readonly string[] = [...eventNames, ...legacyNames]
  const families = names.map((name) => `${name.slice(0, name.indexOf('.'))}.*`)
  const known = [...new Set([...names, ...families, '*'])]
  if (known.includes(filter)) return
  const hint = suggestion(filter, known) || ' Pass an event, a family such as client.*, or *.'
  throw new CliError('EVENT_NAME_UNKNOWN', `--events: unknown event '${printable(filter)}'.${hint}`)
}

function toSandboxOptions(
  session: Session,
  options: SandboxCommandOptions,
  { secret, scenario }: { readonly secret: string | undefined; readonly scenario: unknown },
): SandboxOptions {
  const { seed, at, data, to, events, rateLimit, unlimited, allowHost } = options
  return defined({
    seed,
    now: at,
    data: data === undefined ? undefined : resolve(session.cwd, data),
    // createSandbox() checks what the file contains.
    scenario: scenario as SandboxOptions['scenario'],
    secret,
    hosts: allowHost,
    rateLimit: unlimited ? (false as const) : rateLimit,
    smtpUrl: session.env.IDV_SMTP_URL,
    subscriptions: to?.map((url) => defined({ url, events })),
  })
}

const asText = (value: string | Uint8Array) =>
  typeof value === 'string' ? value : new TextDecoder().decode(value)

function readJson({ cwd }: Session, file: string): unknown {
  const path = resolve(cwd, file)
  if (!existsSync(path))
    throw new CliError('FILE_MISSING', `${file} does not exist: check the path`)
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    throw new CliError('SCENARIO_INVALID', `${file} is not JSON`)
  }
}

async function listen(made: Sandbox, { port, host }: SandboxCommandOptions): Promise<void> {
  try {
    await made.listen({ port, host })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'LISTEN_FAILED'
    if (code !== 'EADDRINUSE') throw error
    const message = `port ${port} is in use: stop what listens there, or pass --port 0 for a free one`
    throw new CliError(code, message, exitCodes.failed)
  }
}

/** Prints the API key, and the secret if the caller did not provide it. */
function announce({ out, env }: Session, made: Sandbox, secretFrom: string | undefined): void {
  const { url, baseUrl, apiKey, secret, seed } = made
  const control = `${url}/_sandbox`
  const origin = secretFrom === undefined ? { secret } : { secretFrom }
  const { IDV_SMTP_URL: smtpUrl } = env
  const mail = smtpUrl ? { mailServer: new URL(smtpUrl).host } : {}
  out.record({ type: 'ready', url, baseUrl, control, apiKey, ...origin, ...mail, seed })
  out.say(`the sandbox is ready on ${out.tint('bold', url)}`)
  const shown = secretFrom === undefined ? secret : `(from ${secretFrom})`
  const lines = {
    console: url,
    API: baseUrl,
    control,
    key: apiKey,
    secret: shown,
    ...(mail.mailServer && { mail: `is sent by ${mail.mailServer} (IDV_SMTP_URL)` }),
    seed: String(seed),
  }
  for (const [name, value] of Object.entries(lines)) out.say(`  ${name.padEnd(8)} ${value}`)
  const body = '{"type":"idv","requirements":["document"],"subjectName":"Auto Approve"}'
  out.say('try it:')
  out.say(
    `  curl -H 'x-api-key: ${apiKey}' -H 'content-type: application/json' -d '${body}' ${baseUrl}/verifications`,
  )
}

/** A secret in the scenario file wins, so WEBHOOK_SECRET would not verify its deliveries. */
function reportOwnSecrets({ out }: Session, scenario: unknown, secret: string): void {
  const { subscriptions } = (scenario ?? {}) as { readonly subscriptions?: unknown }
  const list = Array.isArray(subscriptions) ? (subscriptions as readonly unknown[]) : []
  const own = list.filter((one) => {
    const given = (one as { readonly secret?: unknown } | null)?.secret
    return given !== undefined && given !== secret
  })
  if (own.length === 0) return
  const which = count(own.length, 'subscription')
  out.say(`${which} of the scenario signs with a secret of its own, not with the one above`)
}

/** True if every delivery has arrived. */
function summarize({ out }: Session, made: Sandbox): boolean {
  const deliveries = made.deliveries.list()
  const counts: Record<string, number> = {}
  for (const { event, status, attempts } of deliveries.toReversed()) {
    counts[status] = (counts[status] ?? 0) + 1
    out.record({ type: 'delivery', event, status, attempts: attempts.length })
    out.data(`${event}  ${status}  ${count(attempts.length, 'attempt')}`)
  }
  out.record({ type: 'summary', deliveries: counts })
  const words = Object.entries(counts).map(([status, many]) => `${many} ${status}`)
  out.say(`deliveries: ${words.join(', ') || 'none'}`)
  return deliveries.every(({ status }) => status === 'delivered' || status === 'dropped')
}
