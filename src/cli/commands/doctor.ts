// doctor: probes a running receiver through its whole stack, and names what alters the bytes.
import { schemes } from '../../index.ts'
import { type Answer, deliver } from '../deliver.ts'
import { adviceFor } from '../doctor/advice.ts'
import { findCauses } from '../doctor/cause.ts'
import { type Examined, examine, type Patient } from '../doctor/examine.ts'
import { frameworkOf } from '../doctor/framework.ts'
import { checkInbox } from '../doctor/inbox-checks.ts'
import { tellLeftovers } from '../doctor/leftovers.ts'
import { type Check, checkClock, checkNode, checkSecret } from '../doctor/local-checks.ts'
import type { Probe } from '../doctor/probes.ts'
import { CliError, exitCodes } from '../exit-code.ts'
import { findInbox } from '../inbox/find-inbox.ts'
import { type InboxChoice, inboxOption } from '../inbox/inbox-option.ts'
import { count, printable } from '../output.ts'
import { chosenScheme, type SchemeChoice, schemeOption } from '../scheme-option.ts'
import { findSecrets, needSecrets, type SecretOptions, secretFileOption } from '../secrets.ts'
import { act, addressFrom, declare, mostSeconds, numberFrom, type Session } from '../session.ts'

interface DoctorOptions extends SecretOptions, SchemeChoice, InboxChoice {
  readonly to?: string
  readonly timeout: number
  readonly leaveNothing?: boolean
}

export const doctor = (session: Session) =>
  declare('doctor', {
    summary: 'probe a running receiver and name what is wrong with it',
    details: [
      'Sends signed deliveries with awkward bodies, and ones that must be refused, through your real stack, and reports which guarantees hold. Where bytes are altered it signs what the alteration would make of them, so the cause is proved; the fix is for the framework that answers. The event is called idv-webhooks.doctor: handlers of real events do not run, a fallback or `*` handler does.',
      'Before that it checks Node, the shape and strength of the secrets and, where one is named, the inbox: what its store promises, who may read it, whether a worker keeps up. With --url it compares clocks. What it did not look at it says. Exits 1 when a guarantee does not hold, 2 when there is nothing to look at.',
      'An app with an inbox keeps the probes that are proved: they are listed at the end, with how to be rid of them. --leave-nothing sends only what must be refused, and leaves the exact bytes unproved.',
    ],
    examples: [
      'idv-webhooks doctor --to http://localhost:3000/webhooks',
      'idv-webhooks doctor --to https://example.com/webhooks --leave-nothing',
      'idv-webhooks doctor --inbox inbox.db',
      'idv-webhooks doctor --to https://staging.example.com/webhooks --scheme timestamped --json',
    ],
  })
    .option('--to <url>', 'the address of the running receiver', addressFrom)
    .option(
      '--timeout <seconds>',
      'how long to wait for an answer',
      numberFrom(0.001, mostSeconds),
      15,
    )
    .option('--leave-nothing', 'send only probes that no inbox keeps')
    .addOption(inboxOption())
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act<DoctorOptions>(session, (options) => run(session, options)))

async function run(session: Session, options: DoctorOptions) {
  const { to, timeout } = options
  const scheme = chosenScheme(session, options) ?? schemes.service()
  const secret = await (to === undefined ? findSecrets : needSecrets)(session, options)
  const checks = [
    checkNode(process.versions.node),
    ...(await Promise.all(secret.map((one) => checkSecret(one, scheme)))),
  ]
  const unfit = checks.some(isFailed)
  const found = await findInbox(session, options)
  const inbox = found ? await checkInbox(session, found) : []
  for (const check of [...checks, ...inbox]) tellCheck(session, check)
  const broken = unfit || inbox.some(isFailed)
  reportUnchecked(session, {
    secret: secret.length > 0,
    to: to !== undefined,
    inbox: Boolean(found),
  })
  if (secret.length === 0 && to === undefined && !found) {
    throw new CliError('USAGE', 'error: nothing to look at: pass --to, --inbox or a secret')
  }
  if (to === undefined || unfit) return broken ? exitCodes.failed : exitCodes.ok
  const { leaveNothing = false } = options
  const kept = new Set<Probe>()
  const since = session.now()
  const patient = { url: to, timeout, scheme, secret, leaveNothing, kept }
  try {
    const probed = await probe(session, patient)
    return broken ? exitCodes.failed : probed
  } finally {
    const again = kept.size > 0 ? await findInbox(session, options) : undefined
    await tellLeftovers(session, { probes: kept, since, found: again })
  }
}

const unchecked = [
  ['secret', 'the secret: set WEBHOOK_SECRET, or pass --secret-file'],
  ['to', 'the receiver: pass --to to probe it while it runs'],
  ['inbox', 'the inbox: pass --inbox, or set IDV_INBOX'],
] as const

/** What a clean result does not cover. */
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

async function probe(session: Session, patient: Patient) {
  const { out } = session
  const nowhere = await deliver(
    {
      url: new URL('/idv-webhooks-doctor', patient.url).href,
      method: 'GET',
      headers: [],
      body: new Uint8Array(),
    },
    { timeout: patient.timeout, signal: session.signal },
  )
  const reachable = nowhere.error === undefined
  const clock = checkClock(nowhere.headers.date, session.now(), patient.scheme)
  if (reachable) tellCheck(session, clock)
  const examined = reachable ? await examine(session, patient) : [unreachable(nowhere)]
  const framework = frameworkOf([...examined.map(({ answer }) => answer), nowhere])
  if (framework !== 'unknown') out.say(`${framework} answers at ${printable(patient.url)}`)
  for (const one of examined) tellProbe(session, one)
  if (patient.leaveNothing) {
    out.record({ type: 'unchecked', name: 'exact bytes' })
    out.say(
      'not checked: what is taken, and the exact bytes: these probes leave entries in an inbox',
    )
  }
  const causes = await findCauses(session, patient, examined)
  for (const cause of causes) {
    const advice = adviceFor(cause, framework)
    out.record({ type: 'cause', framework, ...advice })
    out.data(`${out.paint('red', 'cause')}  ${advice.message}  (${cause})`)
    out.data(`${out.paint('green', 'fix')}    ${advice.fix}`)
  }
  const failed = examined.filter(({ holds }) => !holds).length
  out.record({ type: 'summary', probes: examined.length, failed, causes, framework })
  out.say(
    failed === 0
      ? `all of ${count(examined.length, 'probe')} hold`
      : `${failed} of ${count(examined.length, 'probe')} ${failed === 1 ? 'does' : 'do'} not hold`,
  )
  return failed > 0 || clock.state === 'failed' ? exitCodes.failed : exitCodes.ok
}

/** No answer to the first request: the probes would only repeat it. */
function unreachable(answer: Answer): Examined {
  const probe = {
    name: 'a genuine delivery',
    guarantee: 'takes',
    body: new Uint8Array(),
    signature: 'right',
    leaves: false,
    good: () => false,
  } as const
  return { probe, answer, told: {}, holds: false }
}

function tellCheck({ out }: Session, { name, state, message }: Check): void {
  out.record({ type: 'check', name, state, message })
  const color = { ok: 'green', warning: 'yellow', failed: 'red' } as const
  out.data(`${out.paint(color[state], state.padEnd(7))} ${printable(name)}: ${printable(message)}`)
}

function tellProbe({ out }: Session, { probe, holds, answer, told }: Examined): void {
  const { name, guarantee } = probe
  const { status, error } = answer
  const facts = { status, ...told, ...(error !== undefined && { error }) }
  out.record({ type: 'probe', name, guarantee, holds, ...facts })
  const word = holds ? out.paint('green', 'holds  ') : out.paint('red', 'fails  ')
  const answered = holds ? '' : `  ${[status || '', told.code ?? error ?? ''].join(' ').trim()}`
  out.data(`${word} ${guarantee}: ${name}${printable(answered)}`)
}
