// Checks of an inbox from outside: the promises of its store, who can read its file,
// what waits in it. No entry is shown.
import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { reasonOf } from '../../../src/errors.ts'
import type { InboxStats, StoreCapabilities } from '../../../src/inbox/index.ts'
import { CliError } from '../exit-code.ts'
import { type FoundInbox, openFound } from '../inbox/find-inbox.ts'
import { spanOf } from '../moment.ts'
import { count } from '../output.ts'
import type { Session } from '../session.ts'
import type { Check } from './local-checks.ts'

const check = (name: string, state: Check['state'], message: string): Check => ({
  name: `inbox ${name}`.trim(),
  state,
  message,
})

/** Opens the inbox, checks it and closes it. */
export async function checkInbox(session: Session, found: FoundInbox): Promise<readonly Check[]> {
  const { inbox, where, file, made } = found
  try {
    await openFound(session, found)
  } catch (error) {
    const message = reasonOf(error)
    // The application has it open, as it should.
    const owned = error instanceof CliError && error.code === 'INBOX_OWNED'
    return [check('', owned ? 'warning' : 'failed', message)]
  }
  try {
    return [
      check('', 'ok', file === undefined ? `${where} opens` : `${where} opens, and is whole`),
      checkPromises(inbox.capabilities),
      ...(file === undefined ? [] : [checkMode(statSync(file).mode), checkRoom(file)]),
      ...(made ? [checkEncryption(made.encrypted)] : []),
      ...checkStats(await inbox.stats(), file),
    ]
  } finally {
    await inbox.close()
  }
}

function checkPromises({ survives, order }: StoreCapabilities): Check {
  const lost = {
    nothing: 'forgets everything when the process ends: use sqliteStore() outside of tests',
    restart: 'may lose acknowledged deliveries in a power cut',
    'power-cut': '',
    failover: '',
  }[survives]
  if (lost !== '') return check('store', survives === 'nothing' ? 'failed' : 'warning', lost)
  if (order === 'none') return check('store', 'warning', 'keeps no order within an entity')
  return check('store', 'ok', 'acknowledged deliveries survive a power cut, in order per entity')
}

/** Payloads are personal data; Windows has no file modes and shows 0o666. */
function checkMode(mode: number): Check {
  const open = process.platform !== 'win32' && (mode & 0o077) !== 0
  const octal = (mode & 0o777).toString(8)
  return open
    ? check(
        'file',
        'warning',
        `other users can read it (mode ${octal}): chmod 600 the file and its -wal`,
      )
    : check('file', 'ok', 'only its user can read it')
}

const leastRoom = 256 * 1024 * 1024

function checkRoom(file: string): Check {
  const { bavail, bsize } = statfsSync(dirname(file))
  const free = bavail * bsize
  return free < leastRoom
    ? check(
        'disk',
        'warning',
        `${Math.round(free / 1024 / 1024)} MiB free: on a full disk every delivery is answered 503`,
      )
    : check('disk', 'ok', 'has free space')
}

function checkEncryption(encrypted: boolean): Check {
  return encrypted
    ? check('encryption', 'ok', 'the key opens it')
    : check(
        'encryption',
        'warning',
        'payloads are readable at rest: see createInbox({ encryption })',
      )
}

function checkStats({ dead, lag, retry }: InboxStats, file?: string): readonly Check[] {
  const run = (action: string) => `npx idv-webhooks inbox ${action} --inbox ${file ?? '<address>'}`
  return [
    checkLag(lag),
    ...(retry > 0 ? [check('retries', 'ok', waiting(retry, run))] : []),
    dead > 0
      ? check(
          'dead letters',
          'warning',
          `${count(dead, 'entry', 'entries')}: see ${run('list --state dead')}`,
        )
      : check('dead letters', 'ok', 'none'),
  ]
}

/** Not a fault, but the reason why a handler seems to do nothing after its fix. */
const waiting = (retries: number, run: (action: string) => string) =>
  `${count(retries, 'entry has', 'entries have')} failed and will be tried again: ${run('list --state retry')} shows when, ${run('redrive --state retry')} runs them at once`

const unusualLag = 30_000
const longestLag = 5 * 60_000

/** Entries that are due wait for less than a second where a worker keeps up. */
function checkLag(lag: number): Check {
  if (lag < unusualLag) return check('worker', 'ok', 'no entry waits for long')
  const message = `an entry has been waiting for ${spanOf(lag)}: usually no worker was started (createWorker(receiver).start()), or it cannot keep up`
  return check('worker', lag > longestLag ? 'failed' : 'warning', message)
}
