// inbox move: an inbox from a SQLite file into Postgres, or back. Everything comes over as it is,
// once; a move that was interrupted goes on.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Argument } from 'commander'
import {
  type CopyTally,
  type InboxStore,
  type MoveReport,
  moveInbox,
} from '../../../../src/inbox/index.ts'
import { needConsent } from '../../consent.ts'
import { CliError, exitCodes } from '../../exit-code.ts'
import { storeError } from '../../inbox/find-inbox.ts'
import {
  fromVariable,
  isPostgresUrl,
  mayHoldInbox,
  postgresStoreAt,
  shownUrl,
} from '../../inbox/postgres-inbox.ts'
import { printable } from '../../output.ts'
import { act, declare, type Session } from '../../session.ts'

interface CommandOptions {
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** A store to move from or to, and how it is shown. */
interface Endpoint {
  readonly where: string
  readonly store: InboxStore
  /** Tables of the application in its file. */
  readonly foreign?: readonly string[]
}

const place = 'a SQLite file, an address postgres://…, or env:NAME of a variable that holds one'

export const inboxMove = (session: Session) =>
  declare('move', {
    summary: 'move an inbox between a SQLite file and Postgres',
    details: [
      'Copies every entry with its state, attempts, checkpoints, keys and payload (encrypted ones as they are), compares the counts, and only then switches over: afterwards the old inbox refuses to open, and stays as a backup. Stop the application first. The target must be empty.',
      'A move that is interrupted goes on when the same command runs again; until it is complete neither inbox opens. Asks for confirmation (--yes).',
      'An address with a password is never an argument: pass env:NAME, or set PGPASSWORD.',
    ],
    examples: [
      'idv-webhooks inbox move inbox.db env:DATABASE_URL --dry-run',
      'idv-webhooks inbox move inbox.db postgres://app@db.internal/app --yes',
      'idv-webhooks inbox move env:DATABASE_URL inbox.db --yes',
    ],
  })
    .addArgument(new Argument('<from>', place))
    .addArgument(new Argument('<to>', place))
    .option('--dry-run', 'count what would be moved without moving it')
    .option('--yes', 'skip the confirmation prompt')
    .action(act<CommandOptions>(session, (options, args) => run(session, options, args)))

async function run(session: Session, options: CommandOptions, args: readonly string[]) {
  const { out, signal } = session
  const { dryRun = false } = options
  const [from, to] = [await source(session, args[0]), await target(session, args[1], dryRun)]
  if (!dryRun) {
    await needConsent(session, options, `this moves the inbox ${from.where} to ${to.where}`)
  }
  session.ending.waits = true
  try {
    const report = await moveInbox(from.store, to.store, {
      dryRun,
      signal,
      onProgress: (at) => {
        out.progress(`${at.table}: ${at.rows} of ${at.of} copied`)
        out.record({ type: 'progress', ...at })
      },
    })
    print(session, { from, to, report })
    return exitCodes.ok
  } catch (error) {
    if (!signal.aborted) throw storeError(session, error)
    const message = 'the move was interrupted: run the same command again to complete it'
    throw new CliError('INTERRUPTED', message, exitCodes.interrupted)
  }
}

async function source(session: Session, given = ''): Promise<Endpoint> {
  const name = fromVariable(session, given)
  if (isPostgresUrl(name)) {
    return { where: shownUrl(name), store: await postgresStoreAt(name, { cwd: session.cwd }) }
  }
  const file = resolve(session.cwd, name)
  if (existsSync(file)) {
    return { where: name, store: await sqlite(file), foreign: foreignTables(file) }
  }
  throw new CliError('INBOX_MISSING', `there is no inbox ${name}: check the path`)
}

async function target(session: Session, given = '', dryRun: boolean): Promise<Endpoint> {
  const { cwd } = session
  const name = fromVariable(session, given)
  // A dry run creates nothing: what is not there yet is as empty as this.
  const empty = ':memory:'
  if (isPostgresUrl(name)) {
    const isNew = dryRun && !(await mayHoldInbox(name, cwd))
    const at = () => postgresStoreAt(name, { cwd, migrate: !dryRun })
    return { where: shownUrl(name), store: isNew ? await sqlite(empty) : await at() }
  }
  const file = resolve(cwd, name)
  const isNew = dryRun && !existsSync(file)
  return { where: name, store: await sqlite(isNew ? empty : file) }
}

/** Those that `context.tx` writes lie beside the inbox, and do not belong to it. */
function foreignTables(file: string): readonly string[] {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  try {
    const db = new DatabaseSync(file, { readOnly: true })
    try {
      const tables = db.prepare("select name from sqlite_schema where type = 'table' order by name")
      const names = tables.all().map(({ name }) => String(name))
      return names.filter((name) => !/^(idv|sqlite)_/.test(name))
    } finally {
      db.close()
    }
  } catch {
    // What is wrong with the file is said by the inbox itself.
    return []
  }
}

async function sqlite(file: string): Promise<InboxStore> {
  const { sqliteStore } = await import('../../../../src/inbox/stores/sqlite/sqlite.ts')
  return sqliteStore(file)
}

interface Moved {
  readonly from: Endpoint
  readonly to: Endpoint
  readonly report: MoveReport
}

function print({ out }: Session, { from, to, report }: Moved): void {
  const { state, isResumed } = report
  const { foreign = [] } = from
  const places = { source: from.where, target: to.where }
  const counts = { from: report.from, to: report.to ?? {} }
  out.record({ type: 'moved', ...places, state, isResumed, ...counts, left: foreign })
  for (const line of table(report.from, report.to)) out.data(line)
  if (state === 'planned') out.say(`nothing was moved: ${from.where} would go to ${to.where}`)
  else if (state === 'before') out.say(`${from.where} was moved to ${to.where} before`)
  else {
    out.say(`moved ${from.where} to ${to.where}; every count is the same`)
    out.say('next: start the application with the new store; the old inbox does not open any more')
  }
  if (foreign.length > 0) {
    const names = foreign.map(printable).join(', ')
    out.say(`not moved: your own tables ${names} in ${from.where}: copy them`)
  }
}

function table(from: CopyTally, to: CopyTally | undefined): readonly string[] {
  const line = (name: string, count: unknown, other: unknown) =>
    `${printable(name).padEnd(12)}${String(count).padStart(12)}${to ? String(other).padStart(12) : ''}`
  return [
    line('', 'from', 'to'),
    ...Object.entries(from).map(([name, count]) => line(name, count, to?.[name] ?? 0)),
  ]
}
