// inbox move: an inbox from a SQLite file into Postgres, or back. Everything comes over as it is,
// once; a move that was interrupted goes on.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Argument } from 'commander'
import {
  type CopyTally,
  type InboxStore,
  type MoveProgress,
  moveInbox,
} from '../../../../src/inbox/index.ts'
import { CliError, exitCodes } from '../../exit-code.ts'
import {
  fromVariable,
  isPostgresUrl,
  postgresStoreAt,
  shownUrl,
  storeError,
} from '../../inbox/find-inbox.ts'
import { act, declare, needConsent, type Session } from '../../session.ts'

interface CommandOptions {
  readonly dryRun?: boolean
  readonly yes?: boolean
}

interface NamedStore {
  readonly where: string
  readonly store: InboxStore
}

const place = 'a SQLite file, an address postgres://…, or env:NAME of a variable that holds one'

export const inboxMove = (session: Session) =>
  declare('move', {
    summary: 'move an inbox between a SQLite file and Postgres',
    details: [
      'Copies every entry with its state, attempts, checkpoints, keys and payload (encrypted ones as they are), compares the counts, and only then switches over: afterwards the old inbox refuses to open, and stays as a backup. Stop the application first. The target must be empty. Tables of your own are left behind.',
      'A move that is interrupted goes on when the same command runs again; until it is complete neither inbox opens. Asks for confirmation (--yes).',
      'An address with a password is never an argument: pass env:NAME, or set PGPASSWORD.',
    ],
    examples: [
      'inbox move inbox.db env:DATABASE_URL --dry-run',
      'inbox move env:DATABASE_URL inbox.db --yes',
    ],
  })
    .addArgument(new Argument('<from>', place))
    .addArgument(new Argument('<to>', place))
    .option('--dry-run', 'count what would be moved without moving it')
    .option('--yes', 'skip the confirmation prompt')
    .action(act(session, run))

async function run(session: Session, options: CommandOptions, args: readonly string[]) {
  const { out, signal } = session
  const from = await endpoint(session, args[0])
  const to = await endpoint(session, args[1], true)
  if (!options.dryRun) {
    await needConsent(session, options, `this moves the inbox ${from.where} to ${to.where}`)
  }
  session.ending.waits = true
  const line = { type: 'moved', source: from.where, target: to.where } as const
  try {
    if (options.dryRun) {
      const counts = await counted(from.store)
      out.record({ ...line, state: 'planned', isResumed: false, from: counts, to: {} })
      for (const text of table(counts)) out.data(text)
      out.say(`nothing was moved: ${from.where} would go to ${to.where}`)
      return exitCodes.ok
    }
    const onProgress = (at: MoveProgress) => {
      out.progress(`${at.table}: ${at.rows} of ${at.of} copied`)
      out.record({ type: 'progress', ...at })
    }
    const report = await moveInbox(from.store, to.store, { signal, onProgress })
    out.record({ ...line, state: 'moved', ...report })
    for (const text of table(report.from, report.to)) out.data(text)
    out.say(`moved ${from.where} to ${to.where}; every count is the same`)
    out.say('next: start the application with the new store; the old inbox does not open any more')
    return exitCodes.ok
  } catch (error) {
    if (!signal.aborted) throw storeError(session, error)
    const message = 'the move was interrupted: run the same command again to complete it'
    throw new CliError('INTERRUPTED', message, exitCodes.interrupted)
  }
}

async function endpoint(session: Session, given = '', isTarget = false): Promise<NamedStore> {
  const { cwd } = session
  const name = fromVariable(session, given)
  if (isPostgresUrl(name)) {
    const store = await postgresStoreAt(name, { cwd, migrate: isTarget })
    return { where: shownUrl(name), store }
  }
  const file = resolve(cwd, name)
  if (!isTarget && !existsSync(file)) {
    throw new CliError('INBOX_MISSING', `there is no inbox ${name}: check the path`)
  }
  const { sqliteStore } = await import('../../../../src/inbox/stores/sqlite/sqlite.ts')
  return { where: name, store: sqliteStore(file) }
}

async function counted(store: InboxStore): Promise<CopyTally> {
  await store.open(() => {})
  try {
    return (await store.copy?.tally()) ?? {}
  } finally {
    await store.close()
  }
}

function table(from: CopyTally, to?: CopyTally): readonly string[] {
  const line = (name: string, count: unknown, other: unknown) =>
    `${name.padEnd(12)}${String(count).padStart(12)}${to ? String(other).padStart(12) : ''}`
  return [
    line('', 'from', 'to'),
    ...Object.entries(from).map(([name, count]) => line(name, count, to?.[name] ?? 0)),
  ]
}
