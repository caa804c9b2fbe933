// replay: sends captures to an address again, unchanged or with a new signature.
import { defined } from '../../../src/foundation/defined.ts'
import { type Scheme, type SignOptions, sign } from '../../../src/index.ts'
import { type NamedCapture, readCaptures } from '../capture-files.ts'
import { CliError, exitCodes, usageError } from '../exit-code.ts'
import { printable } from '../output.ts'
import { chosenSender, missingOf, schemeOf } from '../schemes.ts'
import { needSecrets, secretsFor } from '../secrets.ts'
import { needAddress, type SendingOptions, sendEach, withSending } from '../send-each.ts'
import { act, declare, type Session } from '../session.ts'

interface ReplayCommandOptions extends SendingOptions {
  readonly resign?: boolean
  readonly unverified?: boolean
}

export const replay = (session: Session) =>
  withSending(
    declare('replay', {
      details:
        'Sends captures to an address in the given order and prints each response. They are sent exactly as recorded. --resign signs the same bytes again with your secret, which is needed for redacted captures (signed with the test secret) and for schemes that sign the time. --resign skips captures that did not verify when they were recorded, because signing would make them genuine. Exits 0 if all were accepted.',
      examples: [
        'replay captures/approved.json --to http://localhost:3000/webhooks',
        'replay captures/ --to http://localhost:3000/webhooks --resign --concurrency 8',
      ],
    }).argument('<captures...>', 'capture files, folders of them, or - for stdin'),
  )
    .option('--resign', 'sign again with the configured secret')
    .option('--unverified', 'with --resign: also sign captures that did not verify when recorded')
    .action(act(session, run))

async function run(session: Session, options: ReplayCommandOptions, paths: readonly string[]) {
  const to = needAddress(options)
  const captures = withoutRefused(session, options, await readCaptures(session, paths))
  const secrets = options.resign ? await needSecrets(session, options) : undefined
  const { scheme: chosen } = chosenSender(session, options)
  const sendings = captures.map((capture) => {
    const { file: name, delivery, method, redacted } = capture
    if (!secrets) {
      const hint = redacted
        ? 'it is masked, and signed with the test secret: use --resign'
        : undefined
      const { headers, body } = delivery
      return { name, hint, prepare: async () => ({ method, headers, body }) }
    }
    const scheme = checkResigning(capture, chosen)
    const signing = { url: to, scheme, secret: secretsFor(scheme, secrets) }
    return { name, prepare: () => resigned(session, capture, signing) }
  })
  return sendEach(session, { ...options, expect: 'taken' }, sendings)
}

/** Leaves out captures that signing would make genuine. */
function withoutRefused(
  { out }: Session,
  { resign, unverified }: ReplayCommandOptions,
  captures: readonly NamedCapture[],
): readonly NamedCapture[] {
  if (!resign || unverified) return captures
  const others = captures.filter(({ file, verified, code }) => {
    if (verified !== false) return true
    out.record({ type: 'left-out', file, code })
    const why = `it did not verify when it was recorded (${printable(code ?? 'no code')})`
    out.say(`${printable(file)} skipped: ${why}; --unverified signs it anyway`)
    return false
  })
  if (others.length > 0) return others
  throw new CliError('NOTHING_SENT', 'all captures were skipped', exitCodes.failed)
}

/** Checks that the chosen secret may sign a capture again. */
function checkResigning(capture: NamedCapture, chosen: Scheme | undefined): Scheme {
  const { delivery, scheme: own } = capture
  const file = printable(capture.file)
  const scheme = schemeOf(capture, chosen)
  const [missing] = missingOf(scheme, delivery.headers)
  // A sender signs no empty value.
  if (missing !== undefined) {
    const why = `scheme ${scheme.name} signs the header ${missing}, which ${file} does not hold`
    throw usageError(`${why}: record the delivery again, or choose its --scheme`)
  }
  // A shared token is the secret itself: no file chooses that it is sent, nor in which header.
  if (!chosen && own?.authenticity === 'token') {
    const header = printable(own.header)
    const why = `${file} names a scheme that sends the secret itself, in the header ${header}`
    throw usageError(`${why}: choose its --scheme, if your sender does`)
  }
  return scheme
}

async function resigned(
  { now }: Session,
  { delivery: { headers, body }, method }: NamedCapture,
  signing: SignOptions & { readonly scheme: Scheme },
) {
  const idHeader = signing.scheme.id?.header.toLowerCase()
  const id = headers.find(([name]) => name === idHeader)?.[1]
  const given = { ...signing, now, headers: Object.fromEntries(headers) }
  const signed = await sign(body, { ...given, ...defined({ method, id }) })
  const others = headers.filter(([name]) => !Object.hasOwn(signed, name))
  return { method, headers: [...others, ...Object.entries(signed)], body }
}
