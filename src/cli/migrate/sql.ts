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
  const { dialect, table, column, oldColumn } = options
  const quote = quoter(dialect)
  const names = {
    table: table.split('.').map(quote).join('.'),
    column: quote(column),
    old: quote(oldColumn),
  }
  return { forward: forward(dialect, names), reverse: reverse(dialect, names) }
}

interface Names {
  readonly table: string
  readonly column: string
  readonly old: string
}

function forward(dialect: Dialect, { table, column, old }: Names): string {
  const add = `ALTER TABLE ${table} ADD COLUMN ${old} ${textType[dialect]};`
  const counts = countOf({ table, column, old })
  const update = [
    `UPDATE ${table}`,
    `   SET ${old} = ${column},`,
    `       ${column} = CASE ${column}`,
    ...legacyNames.map((name) => `         WHEN '${name}' THEN '${canonicalName(name)}'`),
    `         ELSE ${column}`,
    '       END',
    ` WHERE ${column} IN (${list});`,
  ].join('\n')
  return [
    '-- Renames stored legacy event names. Keys and ids are not touched.',
    `-- Run it with: ${howToRun[dialect]}`,
    '',
    '-- What will change.',
    counts,
    '',
    ...inTransaction(dialect, { alter: add, first: true, body: update }),
    '',
    '-- What has changed, and that nothing is left (no rows).',
    `SELECT ${old}, ${column}, COUNT(*) AS renamed FROM ${table} WHERE ${old} IS NOT NULL GROUP BY ${old}, ${column} ORDER BY ${old};`,
    counts,
    '',
  ].join('\n')
}

function reverse(dialect: Dialect, { table, column, old }: Names): string {
  const update = `UPDATE ${table} SET ${column} = ${old} WHERE ${old} IS NOT NULL;`
  const drop = `ALTER TABLE ${table} DROP COLUMN ${old};`
  return [
    '-- Takes the renaming of stored event names back.',
    `-- Run it with: ${howToRun[dialect]}`,
    '',
    ...inTransaction(dialect, { alter: drop, first: false, body: update }),
    '',
  ].join('\n')
}

function countOf({ table, column }: Names): string {
  return `SELECT ${column}, COUNT(*) AS stored FROM ${table} WHERE ${column} IN (${list}) GROUP BY ${column} ORDER BY ${column};`
}

/** MySQL commits at every ALTER, so there it stands outside. */
function inTransaction(
  dialect: Dialect,
  {
    alter,
    first,
    body,
  }: { readonly alter: string; readonly first: boolean; readonly body: string },
): readonly string[] {
  const ordered = first ? [alter, body] : [body, alter]
  if (dialect !== 'mysql') return [begin[dialect], ...ordered, 'COMMIT;']
  const changed = [begin.mysql, body, 'COMMIT;']
  return first ? [alter, ...changed] : [...changed, alter]
}

function quoter(dialect: Dialect): (name: string) => string {
  const mark = dialect === 'mysql' ? '`' : '"'
  return (name) => mark + name.replaceAll(mark, mark + mark) + mark
}
