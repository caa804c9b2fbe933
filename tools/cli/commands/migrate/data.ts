// migrate data: prints SQL that renames stored event names; it runs nothing.
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
    summary: 'print SQL that renames stored event names',
    details: [
      'Prints SQL for your table: counts before and after, the update in one transaction, and a new column that keeps the old name. The script that undoes it follows as a comment; --reverse prints only that. Nothing is run.',
      'If the column exists already, the script stops before it changes anything, because the column may be yours. For names that were stored since an earlier run, --again prints a script that uses its column. MySQL commits when the column is added: the script is ordered so that an interruption loses nothing.',
    ],
    examples: [
      'idv-webhooks migrate data --dialect postgres --table webhook_events --column name | psql -v ON_ERROR_STOP=1',
      'idv-webhooks migrate data --dialect sqlite --table events --column event_name --reverse',
    ],
  })
    .addOption(new Option('--dialect <dialect>', 'database').choices([...dialects]))
    .option('--table <name>', 'table, with its schema if needed')
    .option('--column <name>', 'column with the event names')
    .option('--old-column <name>', 'new column that keeps the old name', 'legacy_name')
    .option('--again', 'use the column of an earlier run')
    .option('--reverse', 'print only the script that undoes it')
    .action(act<DataOptions>(session, (options) => run(session, options)))

async function run({ out }: Session, options: DataOptions) {
  const dialect = needed(options.dialect, '--dialect')
  const table = needed(options.table, '--table')
  const column = needed(options.column, '--column')
  for (const name of [table, column, options.oldColumn]) {
    if (/^$|[\0\r\n]/.test(name))
      throw new CliError(
        'USAGE',
        'names of tables and columns must not be empty or contain line breaks',
      )
  }
  // Only Postgres distinguishes quoted names by case.
  const spelled = (name: string) => (dialect === 'postgres' ? name : name.toLowerCase())
  if (spelled(column) === spelled(options.oldColumn)) {
    throw new CliError(
      'USAGE',
      '--old-column must differ from --column: the old name needs a column of its own',
    )
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

/** A script as a comment: every line after the head starts with `-- `. */
function commented(script: string): string {
  const [head = '', ...rest] = script.trimEnd().split('\n\n')
  const lines = rest.join('\n\n').split('\n')
  return [head, '--', ...lines.map((line) => `-- ${line}`.trimEnd())].join('\n')
}

function needed<Value>(value: Value | undefined, flag: string): Value {
  if (value !== undefined) return value
  throw new CliError(
    'USAGE',
    `missing ${flag}: pass e.g. --dialect postgres --table events --column name`,
  )
}
