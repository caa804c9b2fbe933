// send: signed deliveries of any event to an address, as the service sends them, or tampered with.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Option } from 'commander'
import { eventNames, legacyNames } from '../../../src/protocol/index.ts'
import { signedDelivery, type Tampering, tamperings } from '../../../src/testing/index.ts'
import type { Vendor } from '../../../src/vendors/index.ts'
import { exampleMaker } from '../example-event.ts'
import { CliError } from '../exit-code.ts'
import { extraHeaders } from '../header-option.ts'
import { override } from '../override.ts'
import { readFailure } from '../read-failure.ts'
import { repeated } from '../repeated.ts'
import { chosenSender, type SchemeChoice, schemeOption } from '../scheme-option.ts'
import { needSecrets, type SecretOptions, secretFileOption, secretsFor } from '../secrets.ts'
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
      'Sends a signed event to an address and prints the status and time of each response. Each delivery is a new event about a new verification or client; --override data.id=ver_1 sends several about one, and with --override id=evt_1 and --override createdAt=<time> they are duplicates. Exits 0 if all were accepted, or with --fault if all were refused.',
      `Events: ${eventNames.join(' ')}`,
      `Legacy: ${legacyNames.join(' ')}`,
    ],
    examples: [
      'idv-webhooks send verification.approved --to http://localhost:3000/webhooks',
      'idv-webhooks send client.updated --to http://localhost:3000/webhooks --override data.city=Ottawa',
      'idv-webhooks send client.updated --to http://localhost:3000/webhooks --fault tampered',
      'idv-webhooks send --file event.json --to http://localhost:3000/webhooks --times 100 --rate 20',
    ],
  })
    .argument('[event]', 'event name, current or legacy')
    .option('--to <url>', 'address to send to', addressFrom)
    .option(
      '--file <file>',
      'send the bytes of this file, or - for stdin, instead of an example event',
    )
    .option('--override <path=value>', 'set a field, as JSON or else text; repeatable', repeated)
    .option('--remove <path>', 'remove a field; repeatable', repeated)
    .option(
      '--header <name: value>',
      'add a header, signed if the scheme signs it; repeatable',
      repeated,
    )
    .addOption(
      new Option('--fault <fault>', 'send a delivery that must be refused').choices([
        ...tamperings,
      ]),
    )
    .option('--times <n>', 'number of deliveries', wholeFrom(1), 1)
    .option('--rate <n>', 'maximum deliveries per second', numberFrom(0.01))
    .option('--concurrency <n>', 'deliveries at a time', wholeFrom(1, 1000), 1)
    .option(
      '--timeout <seconds>',
      'how long to wait for a response',
      numberFrom(0.001, mostSeconds),
      30,
    )
    .option('--show-payload', 'print what is sent')
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act<SendOptions>(session, (options, [event]) => run(session, options, event)))

async function run(session: Session, options: SendOptions, event: string | undefined) {
  const { to, file } = options
  if (to === undefined) throw new CliError('USAGE', 'no address given: pass --to <url>')
  if (event === undefined && file === undefined) {
    throw new CliError('USAGE', 'nothing to send: pass an event name, or --file <file>')
  }
  // Before the secret is required: a misspelt name is the first thing to correct.
  const { scheme, vendor } = chosenSender(session, options)
  const extra = extraHeaders(options.header, scheme)
  const make = await bodyMaker(session, options, { event, vendor })
  const secret = await needSecrets(session, options)
  const sending: Sending = {
    name: [event ?? file, options.fault].filter(Boolean).join(' '),
    async prepare() {
      const { body, headers } = await signedDelivery(make(), {
        secret: secretsFor(scheme, secret),
        scheme,
        now: session.now,
        url: to,
        headers: extra.signed,
        ...(options.fault && { tamper: options.fault }),
      })
      const own = Object.entries(headers).filter(([name]) => !Object.hasOwn(extra.signed, name))
      return { body, headers: [['user-agent', 'idv-webhooks'], ...own, ...extra.all] }
    },
  }
  const plan = { ...options, url: to, expect: options.fault ? 'refused' : 'taken' } as const
  return sendEach(session, plan, { length: options.times, at: () => sending })
}

/** The event to make, and in whose shape. */
interface Example {
  readonly event: string | undefined
  readonly vendor: Vendor | undefined
}

/** Creates each body: the exact bytes of the file, or a new event of that name. */
async function bodyMaker(
  session: Session,
  options: SendOptions,
  { event = '', vendor }: Example,
): Promise<() => unknown> {
  const { override: sets = [], remove = [] } = options
  if (options.file !== undefined) {
    const bytes = await bytesOf(session, options.file)
    if (sets.length + remove.length === 0) return () => bytes
    const json = jsonOf(bytes, options.file)
    return () => override(json, { sets, remove })
  }
  const example = exampleMaker(event, vendor)
  return () => override(example(session.now()), { sets, remove })
}

async function bytesOf({ cwd, stdin }: Session, name: string): Promise<Uint8Array> {
  if (name === '-') return buffer(stdin)
  try {
    return readFileSync(resolve(cwd, name))
  } catch (error) {
    throw new CliError('FILE_MISSING', `${name} ${readFailure(error)}`)
  }
}

function jsonOf(bytes: Uint8Array, name: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    throw new CliError('USAGE', `${name} is not JSON, so its fields cannot be changed`)
  }
}
