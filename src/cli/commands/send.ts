// send: signed deliveries of any event to an address, as the service would send them, or tampered with.
import { readFileSync } from 'node:fs'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { resolve } from 'node:path'
import { Option } from 'commander'
import { nearest } from '../../check.ts'
import { schemes } from '../../index.ts'
import { eventNames, legacyNames } from '../../protocol/index.ts'
import {
  type FixtureName,
  fixture,
  signedDelivery,
  type Tampering,
  tamperings,
} from '../../testing/index.ts'
import { CliError } from '../exit-code.ts'
import { printable } from '../output.ts'
import { override } from '../override.ts'
import { repeated } from '../repeated.ts'
import { chosenScheme, type SchemeChoice, schemeOption } from '../scheme-option.ts'
import { needSecrets, type SecretOptions, secretFileOption } from '../secrets.ts'
import { type Sending, sendEach } from '../send-each.ts'
import {
  act,
  addressFrom,
  declare,
  mostSeconds,
  numberFrom,
  type Session,
  wholeFrom,
} from '../session.ts'

interface SendOptions extends SecretOptions, SchemeChoice {
  readonly to?: string
  readonly file?: string
  readonly override?: readonly string[]
  readonly remove?: readonly string[]
  readonly header?: readonly string[]
  readonly fault?: Tampering
  readonly times: number
  readonly rate?: number
  readonly concurrency: number
  readonly timeout: number
  readonly showPayload?: boolean
}

export const send = (session: Session) =>
  declare('send', {
    summary: 'send a signed event to an address',
    details: [
      'Sends a signed event to an address and prints the status and time of each answer. Every delivery is an event of its own; --override id=evt_1 makes them duplicates. Exits 0 when all were taken; with --fault, when all were refused, as they must be.',
      `Events: ${eventNames.join(' ')}`,
      `Legacy: ${legacyNames.join(' ')}`,
    ],
    examples: [
      'idv-webhooks send verification.approved --to http://localhost:3000/webhooks',
      'idv-webhooks send client.updated --to http://localhost:3000/webhooks --override data.city=Ottawa',
      'idv-webhooks send request.approved --to http://localhost:3000/webhooks --fault tampered',
      'idv-webhooks send --file event.json --to http://localhost:3000/webhooks --times 100 --rate 20',
    ],
  })
    .argument('[event]', 'the name of an event, current or legacy')
    .option('--to <url>', 'where to send it', addressFrom)
    .option('--file <file>', 'send exactly these bytes, instead of a made-up event')
    .option('--override <path=value>', 'change a field: JSON, else text; may be repeated', repeated)
    .option('--remove <path>', 'leave out a field; may be repeated', repeated)
    .option('--header <name: value>', 'add a header; may be repeated', repeated)
    .addOption(new Option('--fault <fault>', 'tamper with it').choices([...tamperings]))
    .option('--times <n>', 'how many', wholeFrom(1), 1)
    .option('--rate <n>', 'at most so many a second', numberFrom(0.01))
    .option('--concurrency <n>', 'how many at a time', wholeFrom(1, 1000), 1)
    .option(
      '--timeout <seconds>',
      'how long to wait for an answer',
      numberFrom(0.001, mostSeconds),
      30,
    )
    .option('--show-payload', 'print what is sent')
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act<SendOptions>(session, (options, [event]) => run(session, options, event)))

async function run(session: Session, options: SendOptions, event: string | undefined) {
  const { to, file } = options
  if (to === undefined) throw new CliError('USAGE', 'error: say where to: --to <url>')
  if (event === undefined && file === undefined) {
    throw new CliError('USAGE', 'error: say what to send: the name of an event, or --file <file>')
  }
  // A misspelt name is told before a secret is asked for.
  const make = maker(session, options, event)
  const secret = await needSecrets(session, options)
  const scheme = chosenScheme(session, options) ?? schemes.service()
  const extra = (options.header ?? []).map(headerOf)
  const sending: Sending = {
    name: [event ?? file, options.fault].filter(Boolean).join(' '),
    async prepare() {
      const { body, headers } = await signedDelivery(make(), {
        secret,
        scheme,
        now: session.now,
        url: to,
        ...(options.fault && { tamper: options.fault }),
      })
      return {
        body,
        headers: [['user-agent', 'idv-webhooks'], ...Object.entries(headers), ...extra],
      }
    },
  }
  const plan = { ...options, url: to, expect: options.fault ? 'refused' : 'taken' } as const
  return sendEach(session, plan, { length: options.times, at: () => sending })
}

/** Makes what is sent: the file's exact bytes, or a fresh event of the name. */
function maker(session: Session, options: SendOptions, event: string | undefined): () => unknown {
  const { override: sets = [], remove = [] } = options
  if (options.file !== undefined) {
    const bytes = bytesOf(resolve(session.cwd, options.file), options.file)
    if (sets.length + remove.length === 0) return () => bytes
    const json = jsonOf(bytes, options.file)
    return () => override(json, { sets, remove })
  }
  const known: readonly string[] = [...eventNames, ...legacyNames]
  if (event !== undefined && !known.includes(event)) {
    const close = nearest(event, known)
    const hint = close === undefined ? 'see --help for all' : `did you mean '${close}'?`
    throw new CliError('EVENT_NAME_UNKNOWN', `there is no event '${printable(event)}': ${hint}`)
  }
  const name = event as FixtureName
  return () => {
    const createdAt = session.now().toISOString()
    const fresh = fixture(name, { id: `evt_${crypto.randomUUID()}`, createdAt })
    return override(fresh, { sets, remove })
  }
}

function bytesOf(path: string, name: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch {
    throw new CliError('FILE_MISSING', `${name} cannot be read`)
  }
}

function jsonOf(bytes: Uint8Array, name: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    throw new CliError('USAGE', `error: ${name} is no JSON, so no field of it can be changed`)
  }
}

function headerOf(text: string): readonly [string, string] {
  const at = text.indexOf(':')
  const [name, value] = [text.slice(0, Math.max(at, 0)).trim(), text.slice(at + 1).trim()]
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  } catch {
    throw new CliError('USAGE', "error: --header is no header: give 'name: value'")
  }
  return [name, value]
}
