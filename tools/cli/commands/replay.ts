// replay: sends captures to an address again, unchanged or with a new signature.
import { type Scheme, sign } from '../../../src/index.ts'
import { type NamedCapture, readCaptures } from '../capture-files.ts'
import { needSignature, schemeOf } from '../capture-scheme.ts'
import { CliError, exitCodes } from '../exit-code.ts'
import { missingOf } from '../header-option.ts'
import { printable } from '../output.ts'
import { chosenScheme, type SchemeChoice, schemeOption } from '../scheme-option.ts'
import {
  type NamedSecret,
  needSecrets,
  type SecretOptions,
  secretFileOption,
  secretsFor,
} from '../secrets.ts'
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

interface ReplayOptions extends SecretOptions, SchemeChoice {
  readonly to?: string
  readonly resign?: boolean
  readonly unverified?: boolean
  readonly concurrency: number
  readonly rate?: number
  readonly timeout: number
  readonly showPayload?: boolean
}

export const replay = (session: Session) =>
  declare('replay', {
    summary: 'send captured deliveries again',
    details: [
      'Sends captures to an address in the given order and prints each response. They are sent exactly as recorded. --resign signs the same bytes again with your secret, which is needed for redacted captures (signed with the test secret) and for schemes that sign the time. --resign skips captures that did not verify when they were recorded, because signing would make them genuine. Exits 0 if all were accepted.',
    ],
    examples: [
      'idv-webhooks replay captures/approved.json --to http://localhost:3000/webhooks',
      'idv-webhooks replay captures/ --to http://localhost:3000/webhooks --resign --concurrency 8',
    ],
  })
    .argument('<captures...>', 'capture files, folders of them, or - for stdin')
    .option('--to <url>', 'address to send to', addressFrom)
    .option('--resign', 'sign again with the configured secret')
    .option('--unverified', 'with --resign: also sign captures that did not verify when recorded')
    .option('--concurrency <n>', 'deliveries at a time; 1 keeps their order', wholeFrom(1, 1000), 1)
    .option('--rate <n>', 'maximum deliveries per second', numberFrom(0.01))
    .option(
      '--timeout <seconds>',
      'how long to wait for a response',
      numberFrom(0.001, mostSeconds),
      30,
    )
    .option('--show-payload', 'print what is sent')
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act<ReplayOptions>(session, (options, paths) => run(session, options, paths)))

async function run(session: Session, options: ReplayOptions, paths: readonly string[]) {
  const { to } = options
  if (to === undefined) throw new CliError('USAGE', 'no address given: pass --to <url>')
  const captures = withoutRefused(session, options, await readCaptures(session, paths))
  const secrets = options.resign ? await needSecrets(session, options) : undefined
  const scheme = chosenScheme(session, options)
  const redacted = captures.some((capture) => capture.redacted)
  if (redacted && !secrets) {
    session.out.say(
      'redacted captures are signed with the test secret: use --resign to sign with yours',
    )
  }
  const sendings = captures.map((capture): Sending => {
    const own = schemeOf(capture, scheme).scheme
    if (secrets) needSigned(capture, own)
    if (secrets) needSignature(capture, scheme)
    return {
      name: capture.file,
      prepare: async () =>
        secrets ? resigned(session, capture, { to, secrets, scheme: own }) : exact(capture),
    }
  })
  return sendEach(session, { ...options, url: to, expect: 'taken' }, sendings)
}

/** Without captures that signing would make genuine. */
function withoutRefused(
  { out }: Session,
  { resign, unverified }: ReplayOptions,
  captures: readonly NamedCapture[],
): readonly NamedCapture[] {
  if (!resign || unverified) return captures
  const [refused, others] = [true, false].map((is) =>
    captures.filter(({ verified }) => (verified === false) === is),
  )
  for (const { file, code } of refused ?? []) {
    out.record({ type: 'left-out', file, code })
    out.say(
      `${printable(file)} skipped: it did not verify when it was recorded (${printable(code ?? 'no code')}); --unverified signs it anyway`,
    )
  }
  if (others?.length === 0)
    throw new CliError('NOTHING_SENT', 'all captures were skipped', exitCodes.failed)
  return others ?? []
}

/** A signature over an empty value is one that no sender makes. */
function needSigned({ file, delivery }: NamedCapture, scheme: Scheme): void {
  const [missing] = missingOf(scheme, delivery.headers)
  if (missing === undefined) return
  const why = `scheme ${scheme.name} signs the header ${missing}, which ${printable(file)} does not hold`
  throw new CliError('USAGE', `${why}: record the delivery again, or choose its --scheme`)
}

function exact({ delivery, method }: NamedCapture) {
  return { method, headers: delivery.headers, body: delivery.body }
}

async function resigned(
  { now }: Session,
  { delivery, method }: NamedCapture,
  means: { readonly to: string; readonly secrets: readonly NamedSecret[]; readonly scheme: Scheme },
) {
  const { to, secrets, scheme } = means
  const id = scheme.id && headerOf(delivery.headers, scheme.id.header)
  const signed = await sign(delivery.body, {
    secret: secretsFor(scheme, secrets),
    scheme,
    now,
    url: to,
    method,
    headers: Object.fromEntries(delivery.headers),
    ...(id && { id }),
  })
  const others = delivery.headers.filter(([name]) => !Object.hasOwn(signed, name))
  return { method, headers: [...others, ...Object.entries(signed)], body: delivery.body }
}

function headerOf(headers: NamedCapture['delivery']['headers'], wanted: string) {
  return headers.find(([name]) => name === wanted.toLowerCase())?.[1]
}
