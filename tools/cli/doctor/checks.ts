// Checks without a receiver: Node, the form of the secret, the clock; and an inbox from outside: the
// promises of its store, who can read its file, what waits in it. No entry is shown.
import { statSync } from 'node:fs'
import { reasonOf } from '../../../src/errors.ts'
import type { InboxStats, StoreCapabilities } from '../../../src/inbox/index.ts'
import { type Scheme, verify } from '../../../src/index.ts'
import { testSecret } from '../../../src/testing/index.ts'
import { CliError } from '../exit-code.ts'
import { type FoundInbox, openFound } from '../inbox/find-inbox.ts'
import { count, spanOf } from '../output.ts'
import { type NamedSecret, secretsFor } from '../secrets.ts'
import type { Session } from '../session.ts'

/** A check of the environment. */
export interface DoctorCheck {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly message: string
}

const check = (name: string, state: DoctorCheck['state'], message: string): DoctorCheck => ({
  name: name.trim(),
  state,
  message,
})

/** Checks the version of Node that runs this. */
export function checkNode(version: string): DoctorCheck {
  const [major = 0] = version.split('.').map(Number)
  return major % 2 === 1
    ? check('node', 'warning', `Node ${version} is not a long-term support release`)
    : check('node', 'ok', `Node ${version}`)
}

/** Checks the form of a secret; its value is never part of a message. */
export async function checkSecret(secret: NamedSecret, scheme: Scheme): Promise<DoctorCheck> {
  const name = `secret ${secret.id}`
  const { value } = secret
  try {
    const nothing = { body: new Uint8Array(), headers: {} }
    await verify(nothing, { secret: secretsFor(scheme, [secret]), scheme })
  } catch (error) {
    return check(name, 'failed', reasonOf(error))
  }
  const fault = secretFault(value, scheme)
  return fault === undefined
    ? check(name, 'ok', `${value.length} characters, read as ${scheme.key}`)
    : check(name, 'warning', fault)
}

function secretFault(value: NamedSecret['value'], { key }: Scheme): string | undefined {
  const text = typeof value === 'string' ? value : undefined
  if (text === testSecret) return 'is the public test secret: anyone can sign with it'
  if (text !== undefined && /^(undefined|null|true|false)$|^(['"]).*\2$/.test(text)) {
    return 'is a word or has quotes that do not belong to it: check the environment variable'
  }
  if (value.length < 16) return `has only ${count(value.length, 'character')}: use 32 or more`
  if (text?.startsWith('whsec_') && key === 'utf8') {
    return "begins with whsec_, but the scheme reads it as text: set its key to 'whsec'"
  }
  if (text === undefined || new Set(text).size >= 8) return undefined
  return 'repeats a few characters: create one with openssl rand -hex 32'
}

/** Compares the app's clock with ours by its Date header; undefined if it sends none. */
export function checkClock(
  date: string | undefined,
  now: Date,
  scheme: Scheme,
): DoctorCheck | undefined {
  const theirs = date === undefined ? Number.NaN : new Date(date).getTime()
  if (Number.isNaN(theirs)) return undefined
  const seconds = Math.round((theirs - now.getTime()) / 1000)
  if (Math.abs(seconds) <= 30) return check('clock', 'ok', "the app's clock agrees with ours")
  const side = seconds > 0 ? 'ahead of' : 'behind'
  const message = `the app's clock is ${Math.abs(seconds)} s ${side} ours: synchronize both with NTP`
  return check('clock', scheme.tolerance === 'none' ? 'warning' : 'failed', message)
}

/** Opens the inbox, checks it and closes it. */
export async function checkInbox(
  session: Session,
  found: FoundInbox,
): Promise<readonly DoctorCheck[]> {
  const { inbox, where, file, made } = found
  try {
    await openFound(session, found)
  } catch (error) {
    // The application has it open, as it should.
    const isOwned = error instanceof CliError && error.code === 'INBOX_OWNED'
    return [check('inbox', isOwned ? 'warning' : 'failed', reasonOf(error))]
  }
  try {
    return [
      check('inbox', 'ok', `${where} opens${file === undefined ? '' : ', and is whole'}`),
      checkPromises(inbox.capabilities),
      ...(file === undefined ? [] : [checkMode(statSync(file).mode)]),
      ...(made ? [checkEncryption(made.encrypted)] : []),
      ...checkStats(await inbox.stats(), file ?? '<address>'),
    ]
  } finally {
    await inbox.close()
  }
}

function checkPromises({ survives, order }: StoreCapabilities): DoctorCheck {
  const name = 'inbox store'
  if (survives === 'nothing') {
    const lost = 'forgets everything when the process ends: use sqliteStore() outside of tests'
    return check(name, 'failed', lost)
  }
  if (survives === 'restart') {
    return check(name, 'warning', 'may lose acknowledged deliveries in a power cut')
  }
  return order === 'none'
    ? check(name, 'warning', 'keeps no order within an entity')
    : check(name, 'ok', 'acknowledged deliveries survive a power cut, in order per entity')
}

/** Payloads are personal data; Windows has no file modes and shows 0o666. */
function checkMode(mode: number): DoctorCheck {
  const isOpen = process.platform !== 'win32' && (mode & 0o077) !== 0
  const octal = (mode & 0o777).toString(8)
  const warning = `other users can read it (mode ${octal}): chmod 600 the file and its -wal`
  return isOpen
    ? check('inbox file', 'warning', warning)
    : check('inbox file', 'ok', 'only its user can read it')
}

function checkEncryption(encrypted: boolean): DoctorCheck {
  const warning = 'payloads are readable at rest: see createInbox({ encryption })'
  return encrypted
    ? check('inbox encryption', 'ok', 'the key opens it')
    : check('inbox encryption', 'warning', warning)
}

function checkStats({ dead, lag, retry }: InboxStats, where: string): readonly DoctorCheck[] {
  const run = (action: string) => `npx idv-webhooks inbox ${action} --inbox ${where}`
  const retries = count(retry, 'entry has', 'entries have')
  // Not a fault, but the reason why a handler seems to do nothing after its fix.
  const waiting = `${retries} failed and will be tried again: ${run('list --state retry')} shows when, ${run('redrive --state retry')} runs them at once`
  const letters = `${count(dead, 'entry', 'entries')}: see ${run('list --state dead')}`
  return [
    checkLag(lag),
    ...(retry > 0 ? [check('inbox retries', 'ok', waiting)] : []),
    dead > 0
      ? check('inbox dead letters', 'warning', letters)
      : check('inbox dead letters', 'ok', 'none'),
  ]
}

const unusualLag = 30_000
const maxLag = 5 * 60_000

/** Entries that are due wait for less than a second if a worker keeps up. */
function checkLag(lag: number): DoctorCheck {
  if (lag < unusualLag) return check('inbox worker', 'ok', 'no entry waits for long')
  const message = `an entry has been waiting for ${spanOf(lag)}: usually no worker was started (createWorker(receiver).start()), or it cannot keep up`
  return check('inbox worker', lag > maxLag ? 'failed' : 'warning', message)
}
