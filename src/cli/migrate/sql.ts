// SQL that renames stored event names, and the SQL that takes it back, for three dialects.
import { canonicalName, legacyNames } from '../../protocol/index.ts'

export const dialects = ['sqlite', 'postgres', 'mysql'] as const

export type Dialect = (typeof dialects)[number]

/** What is renamed. */
export interface SqlOptions {
  readonly dialect: Dialect
  /** May name its schema: `audit.events`. */
  readonly table: string
  readonly column: string
  /** Keeps the name that stood there before. */
  readonly oldColumn: string
  /** The column is there from an earlier run. */
  readonly again?: boolean | undefined
}

/** The script that renames, and the one that takes it back. */
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
  mysql: 'mysql <database> < this (it stops at the first error)',
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
  /** The schema and the table as text values; the schema is NULL where none is named. */
  readonly values: { readonly schema: string; readonly table: string; readonly old: string }
}

function namesOf({ dialect, table, column, oldColumn }: SqlOptions): Names {
  // SQLite takes an unknown "name" for a text; an unknown `name` is an error in every build of it.
  const mark = dialect === 'postgres' ? '"' : '`'
  const quote = (name: string) => mark + name.replaceAll(mark, mark + mark) + mark
  const parts = table.split('.')
  const schema = parts.length > 1 ? textValue(dialect, parts.at(-2) ?? '') : 'NULL'
  return {
    table: parts.map(quote).join('.'),
    column: quote(column),
    old: quote(oldColumn),
    values: {
      schema,
      table: textValue(dialect, parts.at(-1) ?? ''),
      old: textValue(dialect, oldColumn),
    },
  }
}

/** A text as SQL writes it; MySQL reads backslashes in it. */
function textValue(dialect: Dialect, text: string): string {
  const escaped = dialect === 'mysql' ? text.replaceAll('\\', '\\\\') : text
  return `'${escaped.replaceAll("'", "''")}'`
}

function forward(options: SqlOptions, names: Names): string {
  const { dialect, again } = options
  const { table, column, old } = names
  const update = [
    `UPDATE ${table}`,
    `   SET ${old} = ${column},`,
    `       ${column} = CASE ${column}`,
    ...legacyNames.map((name) => `         WHEN '${name}' THEN '${canonicalName(name)}'`),
    `         ELSE ${column}`,
    '       END',
    ` WHERE ${column} IN (${list});`,
  ]
  const add = again ? { before: [], inside: [] } : addColumn(dialect, names)
  return [
    '-- Renames stored legacy event names. Keys and ids are not touched.',
    `-- Run it with: ${howToRun[dialect]}`,
    `-- ${again ? `Needs the column ${old} of an earlier run; may be run as often as needed.` : runTwice[dialect]}`,
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
    '-- What has changed, and that nothing is left (no rows).',
    `SELECT ${old}, ${column}, COUNT(*) AS renamed FROM ${table} WHERE ${old} IS NOT NULL GROUP BY ${old}, ${column} ORDER BY ${old};`,
    countOf(names),
    '',
  ].join('\n')
}

const stops =
  'Where the column is there already it stops before it changes anything: --again prints it for names that were stored since.'
const runTwice = {
  sqlite: stops,
  postgres: stops,
  mysql: `${stops} Needs a table of InnoDB.`,
} as const

/** What adds the column for the old names, before the transaction or in it. */
function addColumn(dialect: Dialect, names: Names) {
  const { table, old, values } = names
  const add = `ALTER TABLE ${table} ADD COLUMN ${old} ${textType[dialect]};`
  // The column may be somebody's own, so none that is there already is written into.
  if (dialect === 'postgres') {
    return {
      before: [],
      inside: ['-- Fails where the column is there, and all that follows.', add],
    }
  }
  if (dialect === 'mysql') {
    const before = [
      '-- MySQL commits by itself at every ALTER TABLE, so no transaction can hold this one. It stands',
      '-- first and adds an empty column: it fails where there is one already, and a stop after it has',
      '-- changed no name (--again prints the script for then).',
      add,
      '',
    ]
    return { before, inside: [] }
  }
  const schema = values.schema === 'NULL' ? '' : `, ${values.schema}`
  // SQLite goes on after an error unless it is told not to: this check stands before all.
  const before = [
    '-- Stops here when the column is there already.',
    'CREATE TEMP TABLE IF NOT EXISTS idv_first_run (',
    '  ok INTEGER CONSTRAINT "the column is there already: print this script with --again" CHECK (ok)',
    ');',
    `INSERT INTO idv_first_run SELECT COUNT(*) = 0 FROM pragma_table_info(${values.table}${schema}) WHERE name = ${values.old} COLLATE NOCASE;`,
    'DROP TABLE idv_first_run;',
    '',
  ]
  return { before, inside: [add] }
}

function reverse(dialect: Dialect, { table, column, old }: Names): string {
  const update = `UPDATE ${table} SET ${column} = ${old} WHERE ${old} IS NOT NULL;`
  const drop = `ALTER TABLE ${table} DROP COLUMN ${old};`
  const back = [begin[dialect], update]
  const mysql = [
    ...back,
    'COMMIT;',
    '-- MySQL commits by itself at every ALTER TABLE, so this one stands last: a stop before it',
    '-- loses nothing, and the script can be run again.',
    drop,
  ]
  return [
    '-- Takes the renaming of stored event names back.',
    `-- Run it with: ${howToRun[dialect]}`,
    `-- A second run stops at once: the column ${old} is gone by then.`,
    '',
    `SELECT ${old}, COUNT(*) AS taken_back FROM ${table} WHERE ${old} IS NOT NULL GROUP BY ${old} ORDER BY ${old};`,
    '',
    ...(dialect === 'mysql' ? mysql : [...back, drop, 'COMMIT;']),
    '',
  ].join('\n')
}

function countOf({ table, column }: Names): string {
  return `SELECT ${column}, COUNT(*) AS stored FROM ${table} WHERE ${column} IN (${list}) GROUP BY ${column} ORDER BY ${column};`
}
