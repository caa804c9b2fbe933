// Checks without a receiver: Node, the form of the secret, the clock; and an inbox from outside: the
// promises of its store, who can read its file, what waits in it. No entry is shown.
import { statSync } from 'node:fs'
import { reasonOf } from '../../../src/errors.ts'
import { minSecretLength } from '../../../src/foundation/check.ts'
import type { InboxStats, StoreCapabilities } from '../../../src/inbox/index.ts'
import { type Scheme, verify } from '../../../src/index.ts'
import { testSecret } from '../../../src/testing/index.ts'
import { CliError } from '../exit-code.ts'
import { type FoundInbox, openFound } from '../inbox/find-inbox.ts'
import { count, spanOf } from '../output.ts'
import { type NamedSecret, secretsFor } from '../secrets.ts'
import type { Session } from '../session.ts'

export interface DoctorCheck {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly message: string
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

export function checkNode(version: string): DoctorCheck {
  const isOdd = Number.parseInt(version, 10) % 2 === 1
  return check('node', `Node ${version}`, isOdd && `Node ${version} has no long-term support`)
}

/** Checks the form of a secret; its value is never part of a message. */
export async function checkSecret(secret: NamedSecret, scheme: Scheme): Promise<DoctorCheck> {
  const name = `secret ${secret.id}`
  const { value } = secret
  try {
    const nothing = { body: new Uint8Array(), headers: {} }
    await verify(nothing, { secret: secretsFor(scheme, [secret]), scheme })
  } catch (error) {
    return check(name, '', reasonOf(error), 'failed')
  }
  const form = `${value.length} characters, read as ${scheme.key}`
  return check(name, form, secretFault(value, scheme))
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
export function checkClock(
  date: string | undefined,
  now: Date,
  scheme: Scheme,
): DoctorCheck | undefined {
  const seconds = Math.round((Date.parse(date ?? '') - now.getTime()) / 1000)
  if (Number.isNaN(seconds)) return undefined
  const side = seconds > 0 ? 'ahead of' : 'behind'
  const fault = `the app's clock is ${Math.abs(seconds)} s ${side} ours: synchronize both with NTP`
  const state = scheme.tolerance === 'none' ? 'warning' : 'failed'
  return check('clock', "the app's clock agrees with ours", Math.abs(seconds) > 30 && fault, state)
}

export async function checkInbox(
  session: Session,
  found: FoundInbox,
): Promise<readonly DoctorCheck[]> {
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
      ...(encrypted === undefined ? [] : [checkEncryption(encrypted)]),
      ...checkStats(await inbox.stats(), file ?? '<address>'),
    ]
  } finally {
    await inbox.close()
  }
}

function checkEncryption(encrypted: boolean): DoctorCheck {
  const fault = !encrypted && 'payloads are readable at rest: see createInbox({ encryption })'
  return check('inbox encryption', 'the key opens it', fault)
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
