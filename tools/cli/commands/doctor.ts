// doctor: tests a running receiver through its whole stack, and names what alters the bytes.
import { defined } from '../../../src/foundation/defined.ts'
import { readCaptures } from '../capture-files.ts'
import { type Answer, deliver } from '../deliver.ts'
import { adviceFor } from '../doctor/advice.ts'
import { findCauses } from '../doctor/cause.ts'
import { checkCaptures } from '../doctor/check-captures.ts'
import { type Examined, examine, type Target } from '../doctor/examine.ts'
import { frameworkOf } from '../doctor/framework.ts'
import { checkInbox } from '../doctor/inbox-checks.ts'
import { type Check, checkClock, checkNode, checkSecret } from '../doctor/local-checks.ts'
import { type Probe, probeEvent, serviceFrame, vendorFrame } from '../doctor/probes.ts'
import { CliError, type ExitCode, exitCodes } from '../exit-code.ts'
import { extraHeaders } from '../header-option.ts'
import { findInbox } from '../inbox/find-inbox.ts'
import { type InboxChoice, inboxOption } from '../inbox/inbox-option.ts'
import { count, printable, withoutUser } from '../output.ts'
import { repeated } from '../repeated.ts'
import { chosenSender, type SchemeChoice, schemeOption } from '../scheme-option.ts'
import {
  findSecrets,
  needSecrets,
  type SecretOptions,
  secretFileOption,
  secretsFor,
} from '../secrets.ts'
import { act, addressFrom, declare, mostSeconds, numberFrom, type Session } from '../session.ts'

interface DoctorOptions extends SecretOptions, SchemeChoice, InboxChoice {
  readonly to?: string
  readonly timeout: number
  readonly leaveNothing?: boolean
  readonly capture?: readonly string[]
  readonly header?: readonly string[]
}

export const doctor = (session: Session) =>
  declare('doctor', {
    summary: 'test a running receiver and explain what is wrong',
    details: [
      'Sends signed deliveries with awkward bodies, and ones that must be refused, through your real stack, and reports which guarantees hold. If bytes are altered, it proves the cause by signing what the alteration would make of them, and prints the fix for your framework. The event is named idv-webhooks.doctor: a receiver of this package verifies it, answers `ignored`, runs no handler and keeps nothing.',
      'It also checks Node, the secrets, the clocks and, with --inbox, the inbox: whether its file is whole, the promises of its store, who can read it, whether a worker keeps up. It lists what it did not check. Exits 0 if everything that can be proved holds, 1 if a guarantee does not hold, 2 if there is nothing to check.',
      'With --capture it names the preset of idv-webhooks/vendors, or the scheme, that verifies deliveries which your sender really made.',
      'An app that keeps what it does not know gets one genuine delivery, the same in every run, so that one entry remains. --leave-nothing sends only what must be refused, so the exact bytes are not checked.',
    ],
    examples: [
      'idv-webhooks doctor --to http://localhost:3000/webhooks',
      'idv-webhooks doctor --to https://example.com/webhooks --leave-nothing',
      'idv-webhooks doctor --inbox inbox.db',
      'idv-webhooks doctor --to https://staging.example.com/webhooks --scheme timestamped --json',
    ],
  })
    .option('--to <url>', 'address of the running receiver', addressFrom)
    .option(
      '--timeout <seconds>',
      'how long to wait for a response',
      numberFrom(0.001, mostSeconds),
      15,
    )
    .option(
      '--header <name: value>',
      'add a header to every probe, signed if the scheme signs it; repeatable',
      repeated,
    )
    .option('--leave-nothing', 'send only probes that an inbox does not keep')
    .option(
      '--capture <path>',
      'a capture of the sender, or a folder of them; repeatable',
      repeated,
    )
    .addOption(inboxOption())
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act<DoctorOptions>(session, (options) => runDoctor(session, options)))

/** Checks what there is to check, and reports it. */
export async function runDoctor(session: Session, options: DoctorOptions): Promise<ExitCode> {
  const { to, timeout } = options
  const { scheme, vendor } = chosenSender(session, options)
  const reach = to && { url: to, extra: extraHeaders(options.header, scheme) }
  const isOpen = to === undefined && options.capture === undefined
  const secret = await (isOpen ? findSecrets : needSecrets)(session, options)
  const checks = [
    checkNode(process.versions.node),
    ...(await Promise.all(secret.map((one) => checkSecret(one, scheme)))),
  ]
  const unfit = checks.some(isFailed)
  const captures = await readCaptures(session, options.capture ?? [])
  const captured = captures.length > 0 ? [await checkCaptures(captures, secret, scheme)] : []
  const found = await findInbox(session, { ...options, isChecked: true })
  const inbox = found ? await checkInbox(session, found) : []
  for (const check of [...checks, ...captured, ...inbox]) printCheck(session, check)
  const broken = unfit || [...captured, ...inbox].some(isFailed)
  reportUnchecked(session, {
    secret: secret.length > 0,
    to: to !== undefined,
    inbox: Boolean(found),
  })
  if (secret.length === 0 && to === undefined && !found) {
    throw new CliError('USAGE', 'nothing to check: pass --to, --inbox or a secret')
  }
  if (!reach || unfit) return broken ? exitCodes.failed : exitCodes.ok
  const { leaveNothing = false } = options
  const kept = new Set<Probe>()
  try {
    const frame = vendor ? vendorFrame(vendor) : serviceFrame
    const keys = secretsFor(scheme, secret)
    const target = { ...reach, timeout, scheme, frame, secret: keys, leaveNothing, kept }
    const probed = await probe(session, target)
    return broken ? exitCodes.failed : probed
  } finally {
    reportKept(session, kept.size)
  }
}

function reportKept({ out }: Session, entries: number): void {
  if (entries === 0) return
  out.record({ type: 'left', event: probeEvent, entries })
  out.say(`left in the inbox: ${count(entries, 'entry', 'entries')} of the event ${probeEvent}`)
}

const unchecked = [
  ['secret', 'the secret: set WEBHOOK_SECRET, or pass --secret-file'],
  ['to', 'the receiver: pass --to to probe it while it runs'],
  ['inbox', 'the inbox: pass --inbox, or set IDV_INBOX'],
] as const

/** Prints the limits of a clean result. */
function reportUnchecked(
  { out }: Session,
  checked: Readonly<Record<'secret' | 'to' | 'inbox', boolean>>,
): void {
  for (const [name, words] of unchecked) {
    if (checked[name]) continue
    out.record({ type: 'unchecked', name })
    out.say(`not checked: ${words}`)
  }
}

const isFailed = ({ state }: Check) => state === 'failed'

async function probe(session: Session, target: Target) {
  const { out } = session
  const nowhere = await deliver(
    {
      url: new URL('/idv-webhooks-doctor', target.url).href,
      method: 'GET',
      headers: target.extra.all,
      body: new Uint8Array(),
    },
    { timeout: target.timeout, signal: session.signal },
  )
  const reachable = nowhere.error === undefined
  const clock = checkClock(nowhere.headers.date, session.now(), target.scheme)
  if (reachable && clock) printCheck(session, clock)
  const examined = reachable ? await examine(session, target, [nowhere]) : [unreachable(nowhere)]
  const framework = frameworkOf([...examined.map(({ answer }) => answer), nowhere])
  if (framework !== 'unknown')
    out.say(`${framework} responds at ${printable(withoutUser(target.url))}`)
  for (const one of examined) printProbe(session, one)
  if (reachable && !clock) {
    out.record({ type: 'unchecked', name: 'clock' })
    out.say('not checked: the clock of the app, which sends no Date header')
  }
  if (target.leaveNothing) {
    out.record({ type: 'unchecked', name: 'exact bytes' })
    out.say('not checked: what is accepted, and the exact bytes (--leave-nothing)')
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
function unreachable(answer: Answer): Examined {
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

function printCheck({ out }: Session, { name, state, message }: Check): void {
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
