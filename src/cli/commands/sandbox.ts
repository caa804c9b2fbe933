// sandbox: the whole service on this machine, until Ctrl-C, or for the length of a scenario.
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isWebhookError } from '../../index.ts'
import { createSandbox, type Sandbox, type SandboxOptions } from '../../sandbox/index.ts'
import { CliError, exitCodes } from '../exit-code.ts'
import { openBrowser } from '../open-browser.ts'
import { count } from '../output.ts'
import { repeated, repeating } from '../repeated.ts'
import { findSecrets, type SecretOptions, secretFileOption, secretOrigin } from '../secrets.ts'
import { act, addressFrom, declare, type Session, wholeFrom } from '../session.ts'
import { watchSandbox } from '../watch-sandbox.ts'

interface Options extends SecretOptions {
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
      'Serves the API under /v2/api and the control plane under /_sandbox, on loopback, and prints a key to use them with, and the secret of its deliveries unless you gave it one. What happens is printed as it happens.',
      'API keys: key_acme key_globex key_initech; key_revoked key_unpaid key_noplan key_limited give 401 402 403 429. Subject names: "Auto Approve" "Auto Reject" "Auto Review" "No Answer".',
    ],
    examples: [
      'idv-webhooks sandbox --to http://localhost:3000/webhooks',
      'idv-webhooks sandbox --data sandbox.db --port 4800',
      'idv-webhooks sandbox --scenario failing.json --once',
    ],
  })
    .option('--port <port>', 'where to listen; 0 takes any free port', wholeFrom(0, 65_535), 4747)
    .option('--host <host>', 'the address to listen on', '127.0.0.1')
    .option('--to <url>', 'subscribe this address to events; repeatable', repeating(addressFrom))
    .option('--events <filter>', 'send only these events to --to; repeatable', repeated)
    .option('--data <file>', 'keep the state in a SQLite file')
    .option('--scenario <file>', 'start as a scenario file says, and do what it says')
    .option('--once', 'end when the scenario is done and nothing is due')
    .option(
      '--allow-host <name>',
      'a name that the control plane answers to; may be repeated',
      repeated,
    )
    .option('--seed <seed>', 'drive ids, tokens and dice by this')
    .option('--at <time>', 'start at this time and stand still (ISO 8601)')
    .option('--rate-limit <n>', 'requests a minute for every organization', wholeFrom(0))
    .option('--unlimited', 'no rate limit')
    .option('--open', 'open the console in a browser')
    .option('--quiet', 'do not print what happens')
    .addOption(secretFileOption())
    .action(act<Options>(session, (options) => run(session, options)))

/** A scenario that ends otherwise than it should is a difference that was found, not a misuse. */
async function begun(
  session: Session,
  options: Options,
  secret: string | undefined,
): Promise<Sandbox> {
  try {
    return await createSandbox(toSandboxOptions(session, options, secret))
  } catch (error) {
    if (!isWebhookError(error) || error.code !== 'SCENARIO_FAILED') throw error
    throw new CliError(error.code, error.message, exitCodes.failed)
  }
}

async function run(session: Session, options: Options) {
  const { out, signal } = session
  if (options.once && options.scenario === undefined) {
    throw new CliError('USAGE', 'error: --once needs a scenario: --scenario <file>')
  }
  if (options.events && !options.to) {
    throw new CliError('USAGE', 'error: --events is for --to <url>')
  }
  if (options.unlimited && options.rateLimit !== undefined) {
    throw new CliError('USAGE', 'error: --unlimited and --rate-limit contradict each other')
  }
  if (options.at !== undefined && Number.isNaN(Date.parse(options.at))) {
    throw new CliError('USAGE', 'error: --at is no time: give ISO 8601, e.g. 2026-01-01T00:00:00Z')
  }
  const [given] = await findSecrets(session, options)
  const secret = given && asText(given.value)
  const made = await begun(session, options, secret)
  try {
    await listen(made, options)
    announce(session, made, made.secret === secret ? secretOrigin(session, options) : undefined)
    if (options.open) openBrowser(session, made.url)
    const watching = options.quiet || options.once ? undefined : watchSandbox(session, made)
    if (options.once) await made.flush()
    else if (!signal.aborted) await once(signal, 'abort')
    await watching?.end()
    if (options.once && !summarise(session, made)) return exitCodes.failed
  } finally {
    await made.close()
    out.record({ type: 'closed' })
  }
  return exitCodes.ok
}

function toSandboxOptions(
  session: Session,
  options: Options,
  secret: string | undefined,
): SandboxOptions {
  const { seed, at, data, scenario, to, events, rateLimit, unlimited } = options
  return {
    ...(seed !== undefined && { seed }),
    ...(at !== undefined && { now: at }),
    ...(data !== undefined && { data: resolve(session.cwd, data) }),
    ...(scenario !== undefined && { scenario: readJson(session, scenario) as never }),
    ...(secret !== undefined && { secret }),
    ...(options.allowHost && { hosts: options.allowHost }),
    ...(unlimited ? { rateLimit: false as const } : rateLimit !== undefined && { rateLimit }),
    smtpUrl: session.env.SMTP_URL ?? '',
    ...(to && {
      subscriptions: to.map((url) => ({
        url,
        ...(events && { events }),
      })),
    }),
  }
}

const asText = (value: string | Uint8Array) =>
  typeof value === 'string' ? value : new TextDecoder().decode(value)

function readJson({ cwd }: Session, file: string): unknown {
  const path = resolve(cwd, file)
  if (!existsSync(path)) throw new CliError('FILE_MISSING', `${file} is not there`)
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    throw new CliError('SCENARIO_INVALID', `${file} is no JSON`)
  }
}

async function listen(made: Sandbox, { port, host }: Options): Promise<void> {
  try {
    await made.listen({ port, host })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'LISTEN_FAILED'
    if (code !== 'EADDRINUSE') throw error
    const message = `port ${port} is taken: stop what listens there, or give --port 0 for any free one`
    throw new CliError(code, message, exitCodes.failed)
  }
}

/** The one time that the key is printed, and the secret where nobody has it yet. */
function announce({ out }: Session, made: Sandbox, secretFrom: string | undefined): void {
  const { url, baseUrl, apiKey, secret, seed } = made
  const control = `${url}/_sandbox`
  const told = secretFrom === undefined ? { secret } : { secretFrom }
  out.record({ type: 'ready', url, baseUrl, control, apiKey, ...told, seed })
  out.say(`the sandbox is ready on ${out.tint('bold', url)}`)
  const shown = secretFrom === undefined ? secret : `(from ${secretFrom})`
  const facts = {
    console: url,
    API: baseUrl,
    control,
    key: apiKey,
    secret: shown,
    seed: String(seed),
  }
  for (const [name, value] of Object.entries(facts)) out.say(`  ${name.padEnd(8)} ${value}`)
}

/** True when everything has arrived. */
function summarise({ out }: Session, made: Sandbox): boolean {
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
