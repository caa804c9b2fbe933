// migrate data: prints SQL that renames stored event names; it runs nothing.
import { Option } from 'commander'
import { legacyNames } from '../../../../src/protocol/index.ts'
import { CliError, exitCodes } from '../../exit-code.ts'
import { act, declare, type Session } from '../../session.ts'

const dialects = ['sqlite', 'postgres', 'mysql'] as const

interface DataOptions {
  readonly dialect?: (typeof dialects)[number]
  readonly table?: string
  readonly column?: string
  readonly oldColumn: string
}

export const migrateData = (session: Session) =>
  declare('data', {
    summary: 'print SQL that renames stored event names',
    details: [
      'Prints SQL for your table: the update, and a new column that keeps the old name. The script that undoes it follows as a comment. Nothing is run.',
    ],
    examples: [
      'idv-webhooks migrate data --dialect postgres --table webhook_events --column name | psql -v ON_ERROR_STOP=1',
    ],
  })
    .addOption(new Option('--dialect <dialect>', 'database').choices([...dialects]))
    .option('--table <name>', 'table, with its schema if needed')
    .option('--column <name>', 'column with the event names')
    .option('--old-column <name>', 'new column that keeps the old name', 'legacy_name')
    .action(act<DataOptions>(session, (options) => run(session, options)))

async function run({ out }: Session, options: DataOptions) {
  const { dialect, table, column, oldColumn } = options
  if (dialect === undefined || table === undefined || column === undefined) {
    const missing = (['dialect', 'table', 'column'] as const).find((one) => !options[one])
    const message = `missing --${missing}: pass e.g. --dialect postgres --table events --column name`
    throw new CliError('USAGE', message)
  }
  if ([table, column, oldColumn].some((name) => /^$|[\0\r\n]/.test(name))) {
    const message = 'names of tables and columns must not be empty or contain line breaks'
    throw new CliError('USAGE', message)
  }
  const script = toSql({ dialect, table, column, oldColumn })
  out.record({ type: 'script', dialect, script })
  out.data(script)
  return exitCodes.ok
}

const [prefix = ''] = legacyNames[0].split('.')
const runWith = {
  sqlite: 'sqlite3 -bail <file.db> < this',
  postgres: 'psql -v ON_ERROR_STOP=1 -f this',
  mysql: 'mysql <database> < this',
}
const textType = { sqlite: 'TEXT', postgres: 'text', mysql: 'VARCHAR(64)' }

function toSql({ dialect, ...names }: Required<DataOptions>): string {
  const mark = dialect === 'postgres' ? '"' : '`'
  const quote = (name: string) => mark + name.replaceAll(mark, mark + mark) + mark
  const table = names.table.split('.').map(quote).join('.')
  const [column, old] = [quote(names.column), quote(names.oldColumn)]
  const renamed = (name: string) => `REPLACE(${name}, '${prefix}.', 'verification.')`
  const list = legacyNames.map((name) => `'${name}'`).join(', ')
  const add = `ALTER TABLE ${table} ADD COLUMN ${old} ${textType[dialect]};`
  const begin = dialect === 'mysql' ? 'START TRANSACTION;' : 'BEGIN;'
  return [
    '-- Renames stored legacy event names. Keys and ids are unchanged.',
    `-- Run it with: ${runWith[dialect]}`,
    '-- It stops before it changes anything if the column for the old names exists. For names that were',
    '-- stored since, run the UPDATE alone.',
    // MySQL commits at every ALTER TABLE.
    ...(dialect === 'mysql' ? [add, begin] : [begin, add]),
    `UPDATE ${table}`,
    `   SET ${old} = ${column}, ${column} = ${renamed(column)}`,
    ` WHERE ${column} IN (${list});`,
    'COMMIT;',
    `SELECT ${old}, ${column}, COUNT(*) AS renamed FROM ${table} WHERE ${old} IS NOT NULL GROUP BY ${old}, ${column};`,
    '',
    '-- Undoes it, except for names that were changed since:',
    `-- UPDATE ${table} SET ${column} = ${old} WHERE ${column} = ${renamed(old)};`,
    `-- ALTER TABLE ${table} DROP COLUMN ${old};`,
  ].join('\n')
}
