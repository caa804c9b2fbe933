// The schema as numbered steps that only add. A function that changes gets a new name, so that old and
// new processes run side by side while a deployment is under way.
import { WebhookError } from '../../../errors.ts'
import type { PostgresValue } from './driver.ts'
import { inSchema, quoted, type Statements, toStoreError } from './statements.ts'

export interface Migration {
  readonly version: number
  /** The oldest program, by the newest step that it knows, that still runs on it. */
  readonly compatible: number
  readonly statements: readonly string[]
}

/** The text of the schema, which the build puts here. */
declare const __SCHEMA__: string | undefined

/** Reads the files of the schema, in the order of their names: `psql -f` runs them for a schema `idv`. */
export function readSchema(): string {
  const fs = process.getBuiltinModule('node:fs')
  const folder = new URL('./sql/', import.meta.url)
  const names = fs.readdirSync(folder).sort()
  return names.map((name) => fs.readFileSync(new URL(name, folder), 'utf8')).join('\n')
}

const schema = typeof __SCHEMA__ === 'string' ? __SCHEMA__ : readSchema()

/** A statement of a file begins a line with one of these words; no line inside a function does. */
const between = /;\n+(?=create |alter |do |--)/

export const migrations: readonly Migration[] = [
  { version: 1, compatible: 1, statements: schema.split(between) },
]

const versions =
  'create table if not exists idv.versions (version int primary key, compatible int not null)'
const limit = 120_000

export function schemaSql(schema: string): string {
  const made = `create schema if not exists ${quoted(schema)}`
  const all = [made, versions, ...migrations.flatMap(statementsOf)]
  const texts = all.map((sql) => `${inSchema(sql, schema).trimEnd().replace(/;$/, '')};`)
  return `begin;\n\n${texts.join('\n\n')}\n\ncommit;\n`
}

/**
 * Brings the schema up to date. If several processes start at once, one does it and the others wait.
 *
 * @throws WebhookError `STORE_UNSUITABLE`, `STORE_FAILED`
 */
export async function migrate(
  statements: Statements,
  schema: string,
  steps: readonly Migration[] = migrations,
): Promise<void> {
  if ((await knownVersion(statements, steps)) >= newest(steps)) return
  const tx = await statements.within(limit, (signal) => statements.driver.begin(signal))
  const run = (sql: string, values: readonly PostgresValue[] = []) =>
    tx.query(statements.text(sql), values)
  try {
    await statements.within(limit, async () => {
      await run('select pg_advisory_xact_lock(hashtextextended($1::text, 0))', [schema])
      const known = await run('select from pg_namespace where nspname = $1::text', [schema])
      // A role that may not create schemas may not run `create schema if not exists` either.
      if (known.length === 0) await run(`create schema ${quoted(schema)}`)
      await run(versions)
      const [row] = await run('select max(version) as version from idv.versions')
      const done = Number(row?.version ?? 0)
      for (const step of steps.filter(({ version }) => version > done)) {
        for (const sql of statementsOf(step)) await run(sql)
      }
      await tx.commit()
    })
  } catch (error) {
    await statements.undo(tx)
    throw toStoreError(error).sqlState === '42501' ? forbidden() : error
  }
}

/**
 * @throws WebhookError `STORE_UNSUITABLE` if the schema is missing, older, or so much newer that this
 * program cannot work with it
 */
export async function assertSchema(statements: Statements): Promise<void> {
  const version = await knownVersion(statements, migrations)
  if (version >= newest(migrations)) return
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `the schema of the inbox has version ${version}, this version of idv-webhooks needs ${newest(migrations)}: run the SQL of postgresSchema() as the owner of the database, or leave migrate: false out`,
  )
}

function statementsOf({ version, compatible, statements }: Migration): readonly string[] {
  return [...statements, `insert into idv.versions values (${version}, ${compatible})`]
}

const newest = (steps: readonly Migration[]) => steps.at(-1)?.version ?? 0

async function knownVersion(statements: Statements, steps: readonly Migration[]): Promise<number> {
  const table = "select to_regclass('idv.versions') is not null as known"
  if ((await statements.first(table)).known !== true) return 0
  const sql = 'select version, compatible from idv.versions order by version desc limit 1'
  const row = await statements.first(sql)
  const [version, compatible] = [Number(row.version ?? 0), Number(row.compatible ?? 0)]
  if (compatible <= newest(steps)) return version
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `the schema of the inbox has version ${version}, this version of idv-webhooks knows ${newest(steps)} and cannot work with it: upgrade the package`,
  )
}

function forbidden(): WebhookError {
  return new WebhookError(
    'STORE_UNSUITABLE',
    'the database user may not create the schema of the inbox: run the SQL of postgresSchema() as the owner of the database, and set migrate: false',
  )
}
