// replay: captures sent to an address again, exactly as they were or signed anew.
import { type Scheme, schemes, sign } from '../../index.ts'
import { type NamedCapture, readCaptures } from '../capture-files.ts'
import { CliError, exitCodes } from '../exit-code.ts'
import { printable } from '../output.ts'
import { chosenScheme, type SchemeChoice, schemeOption } from '../scheme-option.ts'
import { type NamedSecret, needSecrets, type SecretOptions, secretFileOption } from '../secrets.ts'
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
    summary: 'send captures again',
    details: [
      'Sends captures to an address again, in the order given, and prints what became of each. They go exactly as they were recorded; --resign signs the same bytes anew with your secret, which redacted captures (signed with the test secret) and schemes that sign the time need. A capture that did not verify when it was taken is left out then: signing it would make it genuine. Exits 0 when all that were sent were taken.',
    ],
    examples: [
      'idv-webhooks replay captures/approved.json --to http://localhost:3000/webhooks',
      'idv-webhooks replay captures/ --to http://localhost:3000/webhooks --resign --concurrency 8',
    ],
  })
    .argument('<captures...>', 'capture files, folders of them, or - for stdin')
    .option('--to <url>', 'where to send them', addressFrom)
    .option('--resign', 'sign them anew with the configured secret')
    .option('--unverified', 'with --resign: also captures that did not verify when taken')
    .option('--concurrency <n>', 'how many at a time; 1 keeps their order', wholeFrom(1, 1000), 1)
    .option('--rate <n>', 'at most so many a second', numberFrom(0.01))
    .option(
      '--timeout <seconds>',
      'how long to wait for an answer',
      numberFrom(0.001, mostSeconds),
      30,
    )
    .option('--show-payload', 'print what is sent')
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act<ReplayOptions>(session, (options, paths) => run(session, options, paths)))

async function run(session: Session, options: ReplayOptions, paths: readonly string[]) {
  const { to } = options
  if (to === undefined) throw new CliError('USAGE', 'error: say where to: --to <url>')
  const captures = withoutRefused(session, options, await readCaptures(session, paths))
  const secrets = options.resign ? await needSecrets(session, options) : undefined
  const scheme = chosenScheme(session, options)
  const redacted = captures.some((capture) => capture.redacted)
  if (redacted && !secrets) {
    session.out.say('redacted captures are signed with the test secret; --resign signs with yours')
  }
  const sendings = captures.map((capture): Sending => {
    const own = scheme ?? capture.scheme ?? schemes.service()
    return {
      name: capture.file,
      prepare: async () =>
        secrets ? resigned(session, capture, { to, secrets, scheme: own }) : exact(capture),
    }
  })
  return sendEach(session, { ...options, url: to, expect: 'taken' }, sendings)
}

/** Without those that signing would make genuine. */
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
      `${printable(file)}: did not verify when it was captured (${printable(code ?? 'no code')}), so it is not signed again (--unverified does)`,
    )
  }
  if (others?.length === 0)
    throw new CliError('NOTHING_SENT', 'none is left to send', exitCodes.failed)
  return others ?? []
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
    secret: secrets,
    scheme,
    now,
    url: to,
    ...(id && { id }),
  })
  const others = delivery.headers.filter(([name]) => !Object.hasOwn(signed, name))
  return { method, headers: [...others, ...Object.entries(signed)], body: delivery.body }
}

function headerOf(headers: NamedCapture['delivery']['headers'], wanted: string) {
  return headers.find(([name]) => name === wanted.toLowerCase())?.[1]
}
