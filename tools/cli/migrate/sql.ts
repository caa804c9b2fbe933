// SQL that renames stored event names, and SQL that undoes it, for three dialects.
import { canonicalName, legacyNames } from '../../../src/protocol/index.ts'
import { currentPrefix, legacyPrefix } from './legacy.ts'

export const dialects = ['sqlite', 'postgres', 'mysql'] as const

export type Dialect = (typeof dialects)[number]

/** The names to rename, and where. */
export interface SqlOptions {
  readonly dialect: Dialect
  /** May include a schema: `audit.events`. */
  readonly table: string
  readonly column: string
  /** Keeps the previous name. */
  readonly oldColumn: string
  /** The column exists from an earlier run. */
  readonly again?: boolean | undefined
}

/** The script that renames, and the one that undoes it. */
export interface SqlScripts {
  readonly forward: string
  readonly reverse: string
}

const textType = { sqlite: 'TEXT', postgres: 'text', mysql: 'VARCHAR(64)' } as const
const begin = {
  sqlite: 'BEGIN IMMEDIATE;',
  postgres: 'BEGIN;',
  mysql: 'START TRANSACTION;',
} as const
const howToRun = {
  sqlite: 'sqlite3 -bail <file.db> < this',
  postgres: 'psql -v ON_ERROR_STOP=1 -f this',
  mysql: 'mysql <database> < this (stops at the first error)',
} as const

const list = legacyNames.map((name) => `'${name}'`).join(', ')

/** Writes both scripts. */
export function toSql(options: SqlOptions): SqlScripts {
  const names = namesOf(options)
  return { forward: forward(options, names), reverse: reverse(options.dialect, names) }
}

interface Names {
  readonly table: string
  readonly column: string
  readonly old: string
  /**
   * The two as they are compared. PostgreSQL has no `=` for varchar alone: one that another role has made
   * in a schema of the path would fit better, and run as whoever runs the script.
   */
  readonly compared: { readonly column: string; readonly old: string }
  /** The schema and the table as string literals; the schema is NULL if none is given. */
  readonly values: { readonly schema: string; readonly table: string; readonly old: string }
}

function namesOf({ dialect, table, column, oldColumn }: SqlOptions): Names {
  // SQLite reads an unknown "name" as a string; an unknown `name` is always an error.
  const mark = dialect === 'postgres' ? '"' : '`'
  const quote = (name: string) => mark + name.replaceAll(mark, mark + mark) + mark
  const parts = table.split('.')
  const asText = (name: string) => (dialect === 'postgres' ? `${name}::pg_catalog.text` : name)
  const schema = parts.length > 1 ? textValue(dialect, parts.at(-2) ?? '') : 'NULL'
  return {
    table: parts.map(quote).join('.'),
    column: quote(column),
    old: quote(oldColumn),
    compared: { column: asText(quote(column)), old: asText(quote(oldColumn)) },
    values: {
      schema,
      table: textValue(dialect, parts.at(-1) ?? ''),
      old: textValue(dialect, oldColumn),
    },
  }
}

/** A string literal; MySQL interprets backslashes. */
function textValue(dialect: Dialect, text: string): string {
  const escaped = dialect === 'mysql' ? text.replaceAll('\\', '\\\\') : text
  return `'${escaped.replaceAll("'", "''")}'`
}

function forward(options: SqlOptions, names: Names): string {
  const { dialect, again } = options
  const { table, column, old, compared } = names
  const add: Adding = again ? { before: [], inside: [] } : addColumn(dialect, names)
  const checked = add.checked ?? { and: '', after: [] }
  const update = [
    `UPDATE ${table}`,
    `   SET ${old} = ${column},`,
    `       ${column} = CASE ${compared.column}`,
    ...legacyNames.map((name) => `         WHEN '${name}' THEN '${canonicalName(name)}'`),
    `         ELSE ${column}`,
    '       END',
    ` WHERE ${compared.column} IN (${list})${checked.and};`,
    ...checked.after,
  ]
  return [
    '-- Renames stored legacy event names. Keys and ids are unchanged.',
    `-- Run it with: ${howToRun[dialect]}`,
    `-- ${again ? `Needs the column ${old} of an earlier run; can be run repeatedly.` : runTwice[dialect]}`,
    '',
    '-- What will change.',
    countOf(names),
    '',
    ...add.before,
    begin[dialect],
    ...add.inside,
    ...update,
    'COMMIT;',
    '',
    '-- What has changed, and what is left (no rows).',
    `SELECT ${old}, ${column}, COUNT(*) AS renamed FROM ${table} WHERE ${old} IS NOT NULL GROUP BY ${old}, ${column} ORDER BY ${old};`,
    countOf(names),
    '',
  ].join('\n')
}

const stops =
  'Stops before it changes anything if the column exists: --again prints a script for names stored since.'
const runTwice = {
  sqlite: stops,
  postgres: stops,
  mysql: `${stops} Needs an InnoDB table.`,
} as const

/** The statements that add the column for the old names. */
interface Adding {
  readonly before: readonly string[]
  /** In the transaction. */
  readonly inside: readonly string[]
  /** A condition of the update, and what follows it, where no error ends the script. */
  readonly checked?: { readonly and: string; readonly after: readonly string[] }
}

function addColumn(dialect: Dialect, names: Names): Adding {
  const { table, old, values } = names
  const add = `ALTER TABLE ${table} ADD COLUMN ${old} ${textType[dialect]};`
  // An existing column may hold other data, so it is never written to.
  if (dialect === 'postgres') {
    return {
      before: [],
      inside: ['-- Fails if the column exists, and rolls back everything.', add],
    }
  }
  if (dialect === 'mysql') {
    const before = [
      '-- MySQL commits at every ALTER TABLE, so it cannot be part of the transaction. It comes first',
      '-- and adds an empty column: it fails if the column exists, and an interruption after it has',
      '-- changed no name (then use --again).',
      add,
      '',
    ]
    return { before, inside: [] }
  }
  const schema = values.schema === 'NULL' ? '' : `, ${values.schema}`
  // SQLite continues after an error by default, so the update needs the row of this check.
  const before = [
    '-- Stops here if the column exists.',
    'CREATE TEMP TABLE IF NOT EXISTS idv_first_run (',
    '  ok INTEGER CONSTRAINT "the column exists: print this script with --again" CHECK (ok)',
    ');',
    `INSERT INTO idv_first_run SELECT COUNT(*) = 0 FROM pragma_table_info(${values.table}${schema}) WHERE name = ${values.old} COLLATE NOCASE;`,
    '',
  ]
  const and = '\n   AND EXISTS (SELECT 1 FROM temp.idv_first_run)'
  return { before, inside: [add], checked: { and, after: ['DROP TABLE temp.idv_first_run;'] } }
}

function reverse(dialect: Dialect, { table, column, old, compared }: Names): string {
  // Another name was written later, by the application or by hand. A column may compare without case.
  const isRenamed = `${compared.column} = REPLACE(LOWER(${compared.old}), '${legacyPrefix}.', '${currentPrefix}.')`
  const update = `UPDATE ${table} SET ${column} = ${old} WHERE ${isRenamed};`
  const drop = `ALTER TABLE ${table} DROP COLUMN ${old};`
  const back = [begin[dialect], update]
  const mysql = [
    ...back,
    'COMMIT;',
    '-- MySQL commits at every ALTER TABLE, so it comes last: an interruption before it loses',
    '-- nothing, and the script can be run again.',
    drop,
  ]
  return [
    '-- Undoes the renaming of stored event names.',
    `-- Run it with: ${howToRun[dialect]}`,
    `-- A second run fails: the column ${old} no longer exists.`,
    '',
    `SELECT ${old}, COUNT(*) AS restored FROM ${table} WHERE ${isRenamed} GROUP BY ${old} ORDER BY ${old};`,
    '-- Has another name by now, and keeps it (no rows).',
    `SELECT ${old}, ${column}, COUNT(*) AS kept FROM ${table} WHERE ${old} IS NOT NULL AND NOT (${isRenamed}) GROUP BY ${old}, ${column} ORDER BY ${old};`,
    '',
    ...(dialect === 'mysql' ? mysql : [...back, drop, 'COMMIT;']),
    '',
  ].join('\n')
}

function countOf({ table, column, compared }: Names): string {
  return `SELECT ${column}, COUNT(*) AS stored FROM ${table} WHERE ${compared.column} IN (${list}) GROUP BY ${column} ORDER BY ${column};`
}
