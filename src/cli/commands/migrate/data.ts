// migrate data: SQL that renames stored event names. It is printed, never run.
import { Option } from 'commander'
import { CliError, exitCodes } from '../../exit-code.ts'
import { type Dialect, dialects, toSql } from '../../migrate/sql.ts'
import { act, declare, type Session } from '../../session.ts'

interface DataOptions {
  readonly dialect?: Dialect
  readonly table?: string
  readonly column?: string
  readonly oldColumn: string
  readonly again?: boolean
  readonly reverse?: boolean
}

export const migrateData = (session: Session) =>
  declare('data', {
    summary: 'print SQL that renames stored event names, and takes it back',
    details: [
      'Prints SQL for a table of yours: counts before and after, the renaming in one transaction, a column that keeps the old name. The script that takes it back follows as a comment; --reverse prints it alone. Nothing is run.',
      'Names that are stored later need it again: a script that finds the column already there stops before it changes anything, since it may be one of yours, and --again prints the script for a column of an earlier run. MySQL commits by itself when the column is added: the script orders it so that a stop in the middle loses nothing.',
    ],
    examples: [
      'idv-webhooks migrate data --dialect postgres --table webhook_events --column name | psql -v ON_ERROR_STOP=1',
      'idv-webhooks migrate data --dialect sqlite --table events --column event_name --reverse',
    ],
  })
    .addOption(new Option('--dialect <dialect>', 'which database').choices([...dialects]))
    .option('--table <name>', 'the table, with its schema if it needs one')
    .option('--column <name>', 'the column that holds event names')
    .option('--old-column <name>', 'the new column that keeps the old name', 'legacy_name')
    .option('--again', 'the column is there from an earlier run')
    .option('--reverse', 'print the script that takes it back')
    .action(act<DataOptions>(session, (options) => run(session, options)))

async function run({ out }: Session, options: DataOptions) {
  const dialect = given(options.dialect, '--dialect')
  const table = given(options.table, '--table')
  const column = given(options.column, '--column')
  for (const name of [table, column, options.oldColumn]) {
    if (/^$|[\0\r\n]/.test(name)) throw new CliError('USAGE', 'a name is empty or broken')
  }
  // Postgres alone tells quoted names apart by their case.
  const spelled = (name: string) => (dialect === 'postgres' ? name : name.toLowerCase())
  if (spelled(column) === spelled(options.oldColumn)) {
    throw new CliError('USAGE', '--old-column is --column: the old name needs a column of its own')
  }
  const scripts = toSql({ ...options, dialect, table, column })
  out.record({ type: 'script', dialect, ...scripts })
  if (options.reverse) {
    out.data(scripts.reverse.trimEnd())
    return exitCodes.ok
  }
  out.data(`${scripts.forward}\n${commented(scripts.reverse)}`)
  return exitCodes.ok
}

/** A script as a comment: taking one `-- ` off every line after the head gives it back. */
function commented(script: string): string {
  const [head = '', ...rest] = script.trimEnd().split('\n\n')
  const lines = rest.join('\n\n').split('\n')
  return [head, '--', ...lines.map((line) => `-- ${line}`.trimEnd())].join('\n')
}

function given<Value>(value: Value | undefined, flag: string): Value {
  if (value !== undefined) return value
  throw new CliError('USAGE', `say ${flag}, e.g. --dialect postgres --table events --column name`)
}
