// doctor: tests a running receiver through its whole stack, and names what alters the bytes.
import { statSync } from 'node:fs'
import { reasonOf } from '../../../src/errors.ts'
import { minSecretLength } from '../../../src/foundation/check.ts'
import { defined } from '../../../src/foundation/defined.ts'
import type { InboxStats, StoreCapabilities } from '../../../src/inbox/index.ts'
import { type Scheme, schemes, verify } from '../../../src/index.ts'
import { testSecret } from '../../../src/testing/index.ts'
import { deliver } from '../deliver.ts'
import { adviceFor, frameworkOf } from '../doctor/advice.ts'
import { causeOf, findCauses } from '../doctor/cause.ts'
import {
  type Examined,
  examine,
  type Guarantee,
  type ProbeTarget,
  serviceFrame,
  vendorFrame,
} from '../doctor/probes.ts'
import { CliError, type ExitCode, exitCodes, usageError } from '../exit-code.ts'
import {
  type FoundInbox,
  findInbox,
  type InboxChoice,
  inboxOption,
  openFound,
} from '../inbox/find-inbox.ts'
import { addressFrom, timeoutOption } from '../option-values.ts'
import { count, type Output, printable, spanOf, withoutUser } from '../output.ts'
import type { DoctorCheck } from '../records.ts'
import {
  chosenSender,
  extraHeaders,
  headerOption,
  type SchemeChoice,
  schemeOption,
} from '../schemes.ts'
import {
  findSecrets,
  type NamedSecret,
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
    examples: ['doctor --to http://localhost:3000/webhooks', 'doctor --inbox inbox.db'],
  })
    .option('--to <url>', 'address of the running receiver', addressFrom)
    .addOption(timeoutOption('how long to wait for a response', 15))
    .addOption(headerOption())
    .option('--leave-nothing', 'send only probes that an inbox does not keep')
    .addOption(inboxOption())
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act(session, runDoctor))

async function runDoctor(session: Session, options: DoctorOptions): Promise<ExitCode> {
  const { to, timeout, leaveNothing = false } = options
  const { scheme = schemes.service(), vendor } = chosenSender(session, options)
  const reach = to && { url: to, extra: extraHeaders(options.header, scheme) }
  const secret = await (reach ? needSecrets : findSecrets)(session, options)
  const found = await findInbox(session, { ...options, isChecked: true })
  const version = process.versions.node
  const isOdd = Number.parseInt(version, 10) % 2 === 1
  const checks = [
    check('node', `Node ${version}`, isOdd && `Node ${version} has no long-term support`),
    ...(await Promise.all(secret.map((one) => checkSecret(one, scheme)))),
  ]
  const isUsable = !checks.some(isFailed)
  if (found) checks.push(...(await checkInbox(session, found)))
  const unchecked: Unchecked[] = []
  if (secret.length === 0) unchecked.push('secret')
  if (!reach) unchecked.push('to')
  if (!found) unchecked.push('inbox')
  let failed = 0
  if (reach && isUsable) {
    const frame = vendor ? vendorFrame(vendor) : serviceFrame
    const keys = secretsFor(scheme, secret)
    const target = { ...reach, timeout, scheme, frame, secret: keys, leaveNothing }
    failed = await probe(session, target, { checks, unchecked })
  } else printChecks(session, { checks, unchecked })
  if (secret.length === 0 && !reach && !found) {
    throw usageError('nothing to check: pass --to, --inbox or a secret')
  }
  return failed > 0 || checks.some(isFailed) ? exitCodes.failed : exitCodes.ok
}

const uncheckedTexts = {
  secret: 'the secret: set WEBHOOK_SECRET, or pass --secret-file',
  to: 'the receiver: pass --to to probe it while it runs',
  inbox: 'the inbox: pass --inbox, or set IDV_INBOX',
  'exact bytes': 'what is accepted, and the exact bytes (--leave-nothing)',
  clock: 'the clock of the app, which sends no Date header',
} as const

type Unchecked = keyof typeof uncheckedTexts

interface CheckReport {
  readonly checks: DoctorCheck[]
  readonly unchecked: Unchecked[]
}

const isFailed = ({ state }: DoctorCheck) => state === 'failed'

/** Probes a receiver, and reports all: causes with their fixes first. Returns the failed probes. */
async function probe(session: Session, target: ProbeTarget, checked: CheckReport): Promise<number> {
  const { out, signal } = session
  const { url, extra, timeout, scheme } = target
  const address = new URL('/idv-webhooks-doctor', url).href
  const asked = { url: address, method: 'GET', headers: extra.all, body: new Uint8Array() }
  out.progress('asks whether anything responds')
  const nowhere = await deliver(asked, { timeout, signal })
  const clock = checkClock(nowhere.headers.date, session.now(), scheme)
  if (clock) checked.checks.push(clock)
  else if (nowhere.error === undefined) checked.unchecked.push('clock')
  if (target.leaveNothing) checked.unchecked.push('exact bytes')
  const examined = await examine(session, target, nowhere)
  const framework = frameworkOf([...examined.map(({ answer }) => answer), nowhere])
  const causes = await findCauses(session, target, examined)
  const failed = examined.filter(({ result }) => result === 'fails')
  for (const cause of causes) {
    const advice = adviceFor(cause, framework)
    out.record({ type: 'cause', framework, ...advice })
    out.data(`${out.paint('red', 'cause')}   ${advice.message}  (${cause})`)
    out.data(`${out.paint('green', 'fix')}     ${advice.fix}`)
    const own = failed.filter((one) => causeOf(one, causes) === cause)
    printFailed(out, own)
  }
  printChecks(session, checked)
  if (framework !== 'unknown') out.say(`${framework} responds at ${printable(withoutUser(url))}`)
  for (const one of examined) printProbe(session, one)
  const unproved = examined.filter(({ result }) => result === 'not provable').length
  const summary = { probes: examined.length, failed: failed.length, unproved, causes, framework }
  out.record({ type: 'summary', ...summary })
  const passed = examined.length - failed.length - unproved
  const open = unproved > 0 ? `, ${unproved} not provable here` : ''
  out.say(`${passed} of ${examined.length} probes passed, ${failed.length} failed${open}`)
  return failed.length
}

/** Prints the probes that failed for one cause; many probes are folded into a line. */
function printFailed(out: Output, failed: readonly Examined[]): void {
  const lines = failed.map(({ probe, answer, outcome }) => {
    const response = [answer.status || '', outcome.code ?? answer.error ?? ''].join(' ').trim()
    return `${words[probe.guarantee]}: ${probe.name}  ${printable(response)}`
  })
  const fail = out.paint('red', 'fail')
  if (lines.length < 4) for (const line of lines) out.data(`${fail}    ${line}`)
  else out.data(`${fail}    ${lines.length} probes fail for this reason, such as ${lines[0]}`)
}

function printChecks({ out }: Session, { checks, unchecked }: CheckReport): void {
  const failedFirst = checks.toSorted((one, other) => +isFailed(other) - +isFailed(one))
  for (const { name, state, message } of failedFirst) {
    out.record({ type: 'check', name, state, message })
    const [color, word] = marks[state]
    out.data(`${out.paint(color, word)}    ${printable(name)}: ${printable(message)}`)
  }
  for (const name of unchecked) {
    out.record({ type: 'unchecked', name })
    out.say(`not checked: ${uncheckedTexts[name]}`)
  }
}

const marks = {
  ok: ['green', 'pass'],
  warning: ['yellow', 'warn'],
  failed: ['red', 'fail'],
} as const

const words: Readonly<Record<Guarantee, string>> = {
  takes: 'accepts',
  'exact bytes': 'exact bytes',
  refuses: 'rejects',
  bounded: 'bounded',
}

/** Prints a probe; a failed probe is printed beside its cause instead. */
function printProbe({ out }: Session, { probe, result, answer, outcome }: Examined): void {
  const { name, guarantee } = probe
  const { status, error } = answer
  out.record({ type: 'probe', name, guarantee, result, status, ...outcome, ...defined({ error }) })
  const line = `${words[guarantee]}: ${name}`
  if (result === 'holds') out.data(`${out.paint('green', 'pass')}    ${line}`)
  if (result === 'not provable') {
    const why = 'not provable here: the runtime joins repeated headers (fetch does)'
    out.data(`${out.paint('yellow', 'open')}    ${line}  ${why}`)
  }
}

/** A check that holds if `fault` is undefined; otherwise it has the state `otherwise`. */
function check(
  name: string,
  ok: string,
  fault: string | undefined | false,
  otherwise: DoctorCheck['state'] = 'warning',
): DoctorCheck {
  return fault ? { name, state: otherwise, message: fault } : { name, state: 'ok', message: ok }
}

/** Checks the form of a secret; its value is never part of a message. */
async function checkSecret(secret: NamedSecret, scheme: Scheme): Promise<DoctorCheck> {
  const name = `secret ${secret.id}`
  const { value } = secret
  try {
    const nothing = { body: new Uint8Array(), headers: {} }
    await verify(nothing, { secret: secretsFor(scheme, [secret]), scheme })
  } catch (error) {
    return check(name, '', reasonOf(error), 'failed')
  }
  return check(
    name,
    `${value.length} characters, read as ${scheme.key}`,
    secretFault(value, scheme),
  )
}

function secretFault(value: NamedSecret['value'], { key }: Scheme): string | undefined {
  if (value === testSecret) return 'is the public test secret: anyone can sign with it'
  if (value.length < minSecretLength) {
    const length = count(value.length, 'character')
    return `has only ${length}: use ${minSecretLength} or more, e.g. from openssl rand -hex 32`
  }
  return typeof value === 'string' && value.startsWith('whsec_') && key === 'utf8'
    ? "begins with whsec_, but the scheme reads it as text: set its key to 'whsec'"
    : undefined
}

/** Compares the app's clock with ours by its Date header; undefined if it sends none. */
function checkClock(date: string | undefined, now: Date, scheme: Scheme): DoctorCheck | undefined {
  const seconds = Math.round((Date.parse(date ?? '') - now.getTime()) / 1000)
  if (Number.isNaN(seconds)) return undefined
  const side = seconds > 0 ? 'ahead of' : 'behind'
  const fault = `the app's clock is ${Math.abs(seconds)} s ${side} ours: synchronize both with NTP`
  const state = scheme.tolerance === 'none' ? 'warning' : 'failed'
  return check('clock', "the app's clock agrees with ours", Math.abs(seconds) > 30 && fault, state)
}

async function checkInbox(session: Session, found: FoundInbox): Promise<readonly DoctorCheck[]> {
  const { inbox, where, file, encrypted } = found
  try {
    await openFound(session, found)
  } catch (error) {
    // The application has it open, as it should.
    const isOwned = error instanceof CliError && error.code === 'INBOX_OWNED'
    return [check('inbox', '', reasonOf(error), isOwned ? 'warning' : 'failed')]
  }
  try {
    return [
      check('inbox', `${where} opens${file === undefined ? '' : ', and is whole'}`, undefined),
      checkPromises(inbox.capabilities),
      ...(file === undefined ? [] : [checkMode(statSync(file).mode)]),
      ...(encrypted === undefined
        ? []
        : [check('inbox encryption', 'the key opens it', !encrypted && readable)]),
      ...checkStats(await inbox.stats(), file ?? '<address>'),
    ]
  } finally {
    await inbox.close()
  }
}

function checkPromises({ survives, order }: StoreCapabilities): DoctorCheck {
  const name = 'inbox store'
  const kept = 'acknowledged deliveries survive a power cut, in order per entity'
  if (survives === 'nothing') {
    const lost = 'forgets everything when the process ends: use sqliteStore() outside of tests'
    return check(name, kept, lost, 'failed')
  }
  const mayLose = survives === 'restart' && 'may lose acknowledged deliveries in a power cut'
  return check(name, kept, mayLose || (order === 'none' && 'keeps no order within an entity'))
}

const readable = 'payloads are readable at rest: see createInbox({ encryption })'

/** Payloads are personal data; Windows has no file modes and shows 0o666. */
function checkMode(mode: number): DoctorCheck {
  const isOpen = process.platform !== 'win32' && (mode & 0o077) !== 0
  const octal = (mode & 0o777).toString(8)
  const fault = `other users can read it (mode ${octal}): chmod 600 the file and its -wal`
  return check('inbox file', 'only its user can read it', isOpen && fault)
}

/** Entries that are due wait for less than a second if a worker keeps up. */
const unusualLag = 30_000
const maxLag = 5 * 60_000

function checkStats({ dead, lag, retry }: InboxStats, where: string): readonly DoctorCheck[] {
  const run = (action: string) => `npx idv-webhooks inbox ${action} --inbox ${where}`
  const retries = count(retry, 'entry has', 'entries have')
  // A waiting retry is not a fault, but explains why a fixed handler seems to do nothing.
  const waiting = `${retries} failed and will be tried again: ${run('list --state retry')} shows when`
  const late = `an entry has been waiting for ${spanOf(lag)}: usually no worker was started (createWorker(receiver).start()), or it cannot keep up`
  const letters = `${count(dead, 'entry', 'entries')}: see ${run('list --state dead')}`
  const state = lag > maxLag ? 'failed' : 'warning'
  return [
    check('inbox worker', 'no entry waits for long', lag >= unusualLag && late, state),
    ...(retry > 0 ? [check('inbox retries', waiting, undefined)] : []),
    check('inbox dead letters', 'none', dead > 0 && letters),
  ]
}
