// send: signed deliveries of any event to an address, as the service sends them, or tampered with.
import { Option } from 'commander'
import { suggestion } from '../../../src/foundation/check.ts'
import { defined } from '../../../src/foundation/defined.ts'
import { schemes } from '../../../src/index.ts'
import { canonicalName, eventNames, legacyNames } from '../../../src/protocol/index.ts'
import {
  type FixtureName,
  fixture,
  signedDelivery,
  type Tampering,
  tamperings,
} from '../../../src/testing/index.ts'
import { inDialect, namesInDialect } from '../../../src/vendors/dialect.ts'
import type { Vendor } from '../../../src/vendors/index.ts'
import { CliError, usageError } from '../exit-code.ts'
import { readInput } from '../files.ts'
import { repeated, wholeFrom } from '../option-values.ts'
import { printable } from '../output.ts'
import { override } from '../override.ts'
import { chosenSender, extraHeaders, headerOption } from '../schemes.ts'
import { needSecrets, secretsFor } from '../secrets.ts'
import { needAddress, type SendingOptions, sendEach, withSending } from '../send-each.ts'
import { act, declare, type Session } from '../session.ts'

interface SendOptions extends SendingOptions {
  readonly file?: string
  readonly override?: readonly string[]
  readonly remove?: readonly string[]
  readonly header?: readonly string[]
  readonly fault?: Tampering
  readonly times: number
}

export const send = (session: Session) =>
  withSending(
    declare('send', {
      details: [
        'Sends a signed event to an address and prints the status and time of each response. Each delivery is a new event about a new verification or client; --override data.id=ver_1 sends several about one, and with --override id=evt_1 and --override createdAt=<time> they are duplicates. Exits 0 if all were accepted, or with --fault if all were refused.',
        `Events: ${eventNames.join(' ')}`,
        `Legacy: ${legacyNames.join(' ')}`,
      ],
      examples: [
        'send verification.approved --to http://localhost:3000/webhooks',
        'send client.updated --to http://localhost:3000/webhooks --override data.city=Ottawa',
        'send client.updated --to http://localhost:3000/webhooks --fault tampered',
        'send --file event.json --to http://localhost:3000/webhooks --times 100 --rate 20',
      ],
    }).argument('[event]', 'event name, current or legacy'),
  )
    .option('--times <n>', 'number of deliveries', wholeFrom(1), 1)
    .option('--file <file>', 'send the bytes of this file, or - for stdin, instead of an example')
    .option('--override <path=value>', 'set a field, as JSON or else text; repeatable', repeated)
    .option('--remove <path>', 'remove a field; repeatable', repeated)
    .addOption(headerOption())
    .addOption(
      new Option('--fault <fault>', 'send a delivery that must be refused').choices([
        ...tamperings,
      ]),
    )
    .action(act(session, run))

async function run(session: Session, options: SendOptions, [event]: readonly string[]) {
  const url = needAddress(options)
  const { file, fault: tamper, times } = options
  if (event === undefined && file === undefined) {
    throw usageError('nothing to send: pass an event name, or --file <file>')
  }
  // A misspelt name is reported before a missing secret, because the user corrects it first.
  const { scheme = schemes.service(), vendor } = chosenSender(session, options)
  const extra = extraHeaders(options.header, scheme)
  const make = await bodyMaker(
    session,
    options,
    file === undefined ? exampleMaker(event ?? '', vendor) : undefined,
  )
  const secret = secretsFor(scheme, await needSecrets(session, options))
  const sending = {
    name: [event ?? file, tamper].filter(Boolean).join(' '),
    async prepare() {
      const signing = { secret, scheme, now: session.now, url, headers: extra.signed }
      const { body, headers } = await signedDelivery(make(), { ...signing, ...defined({ tamper }) })
      const own = Object.entries(headers).filter(([name]) => !Object.hasOwn(extra.signed, name))
      return { body, headers: [['user-agent', 'idv-webhooks'] as const, ...own, ...extra.all] }
    },
  }
  const plan = { ...options, expect: tamper ? 'refused' : 'taken' } as const
  return sendEach(session, plan, { length: times, at: () => sending })
}

async function bodyMaker(
  session: Session,
  { file, override: sets = [], remove = [] }: SendOptions,
  example: ReturnType<typeof exampleMaker> | undefined,
): Promise<() => unknown> {
  if (file === undefined) return () => override(example?.(session.now()), { sets, remove })
  const bytes = await readInput(session, file)
  if (sets.length + remove.length === 0) return () => bytes
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return () => override(json, { sets, remove })
  } catch {
    throw usageError(`${file} is not JSON, so its fields cannot be changed`)
  }
}

/** In an inbox, later events of one entity wait behind a failed one: each example is of another. */
export function exampleMaker(event: string, vendor: Vendor | undefined): (now: Date) => unknown {
  const name = vendor ? canonicalName(event) : event
  const known: readonly string[] = vendor ? namesInDialect(vendor) : [...eventNames, ...legacyNames]
  if (!known.includes(name)) {
    const why = vendor
      ? `vendors.${vendor.name} has no example of '${printable(event)}', only of ${known.join(', ')}: pass another body with --file`
      : `unknown event '${printable(event)}'.${suggestion(event, known) || ' See --help for all names.'}`
    throw new CliError('EVENT_NAME_UNKNOWN', why)
  }
  return (now) => {
    const made = { id: `evt_${crypto.randomUUID()}`, data: { id: crypto.randomUUID() } }
    return vendor
      ? inDialect(vendor, { ...made, name, occurredAt: now })
      : fixture(event as FixtureName, { ...made, createdAt: now.toISOString() })
  }
}
