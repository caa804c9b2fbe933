// doctor: tests a running receiver through its whole stack, and names what alters the bytes.
import { defined } from '../../../src/foundation/defined.ts'
import { type DeliveryAnswer, deliver } from '../deliver.ts'
import { adviceFor, frameworkOf } from '../doctor/advice.ts'
import { findCauses } from '../doctor/cause.ts'
import {
  checkClock,
  checkInbox,
  checkNode,
  checkSecret,
  type DoctorCheck,
} from '../doctor/checks.ts'
import { type Examined, examine, type ProbeTarget } from '../doctor/examine.ts'
import { serviceFrame, vendorFrame } from '../doctor/probes.ts'
import { CliError, type ExitCode, exitCodes } from '../exit-code.ts'
import { findInbox, type InboxChoice, inboxOption } from '../inbox/find-inbox.ts'
import { addressFrom, repeated, timeoutOption } from '../option-values.ts'
import { printable, withoutUser } from '../output.ts'
import { chosenSender, extraHeaders, type SchemeChoice, schemeOption } from '../schemes.ts'
import {
  findSecrets,
  needSecrets,
  type SecretOptions,
  secretFileOption,
  secretsFor,
} from '../secrets.ts'
import { act, declare, type Session } from '../session.ts'

interface DoctorOptions extends SecretOptions, SchemeChoice, InboxChoice {
  readonly to?: string
  readonly timeout: number
  readonly leaveNothing?: boolean
  readonly header?: readonly string[]
}

export const doctor = (session: Session) =>
  declare('doctor', {
    details: [
      'Sends signed deliveries with awkward bodies, and ones that must be refused, through your real stack, and reports which guarantees hold. If bytes are altered, it proves the cause by signing what the alteration would make of them, and prints the fix for your framework. The event is named idv-webhooks.doctor: a receiver of this package verifies it, answers `ignored`, runs no handler and keeps nothing.',
      'It also checks Node, the secrets, the clocks and, with --inbox, the inbox: whether its file is whole, the promises of its store, who can read it, whether a worker keeps up. It lists what it did not check. Exits 0 if everything that can be proved holds, 1 if a guarantee does not hold, 2 if there is nothing to check.',
      'An app that keeps what it does not know keeps the genuine probes. --leave-nothing sends only what must be refused, so the exact bytes are not checked.',
    ],
    examples: [
      'idv-webhooks doctor --to http://localhost:3000/webhooks',
      'idv-webhooks doctor --to https://example.com/webhooks --leave-nothing',
      'idv-webhooks doctor --inbox inbox.db',
      'idv-webhooks doctor --to https://staging.example.com/webhooks --scheme timestamped --json',
    ],
  })
    .option('--to <url>', 'address of the running receiver', addressFrom)
    .addOption(timeoutOption('how long to wait for a response', 15))
    .option(
      '--header <name: value>',
      'add a header to every probe, signed if the scheme signs it; repeatable',
      repeated,
    )
    .option('--leave-nothing', 'send only probes that an inbox does not keep')
    .addOption(inboxOption())
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act<DoctorOptions>(session, (options) => runDoctor(session, options)))

/** Checks what there is to check, and reports it. */
export async function runDoctor(session: Session, options: DoctorOptions): Promise<ExitCode> {
  const { to, timeout, leaveNothing = false } = options
  const { scheme, vendor } = chosenSender(session, options)
  const reach = to && { url: to, extra: extraHeaders(options.header, scheme) }
  const secret = await (reach ? needSecrets : findSecrets)(session, options)
  const checks = [
    checkNode(process.versions.node),
    ...(await Promise.all(secret.map((one) => checkSecret(one, scheme)))),
  ]
  const found = await findInbox(session, { ...options, isChecked: true })
  const inbox = found ? await checkInbox(session, found) : []
  for (const check of [...checks, ...inbox]) printCheck(session, check)
  if (secret.length === 0) {
    reportUnchecked(session, 'secret', 'the secret: set WEBHOOK_SECRET, or pass --secret-file')
  }
  if (!reach) {
    reportUnchecked(session, 'to', 'the receiver: pass --to to probe it while it runs')
  }
  if (!found) reportUnchecked(session, 'inbox', 'the inbox: pass --inbox, or set IDV_INBOX')
  if (secret.length === 0 && !reach && !found) {
    throw new CliError('USAGE', 'nothing to check: pass --to, --inbox or a secret')
  }
  const isUnfit = checks.some(isFailed)
  const isBroken = isUnfit || inbox.some(isFailed)
  if (!reach || isUnfit) return isBroken ? exitCodes.failed : exitCodes.ok
  const frame = vendor ? vendorFrame(vendor) : serviceFrame
  const keys = secretsFor(scheme, secret)
  const target = { ...reach, timeout, scheme, frame, secret: keys, leaveNothing }
  const probed = await probe(session, target)
  return isBroken ? exitCodes.failed : probed
}

type Unchecked = 'secret' | 'to' | 'inbox' | 'exact bytes' | 'clock'

/** Prints a limit of a clean result. */
function reportUnchecked({ out }: Session, name: Unchecked, what: string): void {
  out.record({ type: 'unchecked', name })
  out.say(`not checked: ${what}`)
}

const isFailed = ({ state }: DoctorCheck) => state === 'failed'

async function probe(session: Session, target: ProbeTarget): Promise<ExitCode> {
  const { out, signal } = session
  const { url, extra, timeout, scheme } = target
  const nowhere = await deliver(
    {
      url: new URL('/idv-webhooks-doctor', url).href,
      method: 'GET',
      headers: extra.all,
      body: new Uint8Array(),
    },
    { timeout, signal },
  )
  const isReachable = nowhere.error === undefined
  const clock = checkClock(nowhere.headers.date, session.now(), scheme)
  if (isReachable && clock) printCheck(session, clock)
  const examined = isReachable ? await examine(session, target, nowhere) : [unreachable(nowhere)]
  const framework = frameworkOf([...examined.map(({ answer }) => answer), nowhere])
  if (framework !== 'unknown') out.say(`${framework} responds at ${printable(withoutUser(url))}`)
  for (const one of examined) printProbe(session, one)
  if (isReachable && !clock) {
    reportUnchecked(session, 'clock', 'the clock of the app, which sends no Date header')
  }
  if (target.leaveNothing) {
    const what = 'what is accepted, and the exact bytes (--leave-nothing)'
    reportUnchecked(session, 'exact bytes', what)
  }
  const causes = await findCauses(session, target, examined)
  for (const cause of causes) {
    const advice = adviceFor(cause, framework)
    out.record({ type: 'cause', framework, ...advice })
    out.data(`${out.paint('red', 'cause')}  ${advice.message}  (${cause})`)
    out.data(`${out.paint('green', 'fix')}    ${advice.fix}`)
  }
  const probes = examined.length
  const many = (wanted: Examined['result']) =>
    examined.filter(({ result }) => result === wanted).length
  const [failed, unproved] = [many('fails'), many('not provable')]
  out.record({ type: 'summary', probes, failed, unproved, causes, framework })
  const open = unproved > 0 ? `, ${unproved} not provable here` : ''
  out.say(`${probes - failed - unproved} of ${probes} probes hold, ${failed} failed${open}`)
  return failed > 0 || clock?.state === 'failed' ? exitCodes.failed : exitCodes.ok
}

/** The first request got no response, so the probes would fail the same way. */
function unreachable(answer: DeliveryAnswer): Examined {
  const probe = {
    name: 'a genuine delivery',
    guarantee: 'takes',
    body: new Uint8Array(),
    signature: 'right',
    leaves: false,
    good: () => false,
  } as const
  return { probe, answer, outcome: {}, result: 'fails' }
}

function printCheck({ out }: Session, { name, state, message }: DoctorCheck): void {
  out.record({ type: 'check', name, state, message })
  const color = { ok: 'green', warning: 'yellow', failed: 'red' } as const
  out.data(`${out.paint(color[state], state.padEnd(7))} ${printable(name)}: ${printable(message)}`)
}

function printProbe({ out }: Session, { probe, result, answer, outcome }: Examined): void {
  const { name, guarantee } = probe
  const { status, error } = answer
  out.record({ type: 'probe', name, guarantee, result, status, ...outcome, ...defined({ error }) })
  const response = [status || '', outcome.code ?? error ?? ''].join(' ').trim()
  if (result === 'holds') out.data(`${out.paint('green', 'holds')}   ${guarantee}: ${name}`)
  else if (result === 'fails') {
    out.data(`${out.paint('red', 'fails')}   ${guarantee}: ${name}  ${printable(response)}`)
  } else {
    const why = 'not provable here: the runtime joins repeated headers (fetch does)'
    out.data(`${out.paint('yellow', 'open')}    ${guarantee}: ${name}  ${why}`)
  }
}
