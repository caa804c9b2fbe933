// The schema as numbered steps that only add. Functions carry versions in their names, so that old
// and new processes run side by side while a deployment is under way.
import { WebhookError } from '../../../errors.ts'
import type { PostgresTransaction } from './driver.ts'
import { assertOwner, ownerGuard } from './schema-owner.ts'
import { assign } from './sql/assign.ts'
import { claim } from './sql/claim.ts'
import { due } from './sql/due.ts'
import { keep } from './sql/keep.ts'
import { lanes } from './sql/lanes.ts'
import { operate } from './sql/operate.ts'
import { owners } from './sql/owners.ts'
import { ownPath } from './sql/plans.ts'
import { settle } from './sql/settle.ts'
import { procedures } from './sql/standalone.ts'
import { tables } from './sql/tables.ts'
import { quoted, Statements, toStoreError } from './statements.ts'

/** One step of the schema. */
export interface Migration {
  readonly version: number
  /** The oldest program, by the newest step that it knows, that still runs on it. */
  readonly compatible: number
  readonly statements: readonly string[]
}

export const migrations: readonly Migration[] = [
  {
    version: 1,
    compatible: 1,
    statements: [
      ...tables,
      ...lanes,
      ...keep,
      ...due,
      ...claim,
      ...settle,
      ...assign,
      ...owners,
      ...operate,
      ...procedures,
    ],
  },
]

const versions =
  'create table if not exists idv.versions (version int primary key, compatible int not null)'
/** Defaults and indexes keep the operators that are found as they are made. */
const local = ownPath.replace('set', 'set local')
const limit = 120_000

/** The statements of the whole schema, for those who may not let the application make it. */
export function schemaSql(schema: string, from = 0): string {
  const statements = new Statements(noDriver, { limit, schema })
  const steps = migrations.filter(({ version }) => version > from).flatMap(statementsOf)
  const made = `create schema if not exists ${quoted(schema)}`
  const all = [local, made, ownerGuard(schema), versions, ...steps]
  return `begin;\n\n${all.map((sql) => `${statements.text(sql)};`).join('\n\n')}\n\ncommit;\n`
}

/** Another process has made the schema, or a table in it, since this one looked. */
const duplicates: readonly unknown[] = ['23505', '42P06', '42P07']
const mostAttempts = 5

/**
 * Brings the schema up to date; of several processes that start at once one does it. They wait for one
 * another by what they make and lock, as only the owner can: any role may hold an advisory lock.
 *
 * @throws WebhookError `STORE_UNSUITABLE`, `STORE_FAILED`
 */
export async function migrate(
  statements: Statements,
  schema: string,
  steps: readonly Migration[] = migrations,
): Promise<void> {
  for (let left = mostAttempts; (await knownVersion(statements, steps)) < newest(steps); left--) {
    try {
      return await migrateOnce(statements, schema, steps)
    } catch (error) {
      const { sqlState } = toStoreError(error)
      if (left <= 1 || !duplicates.includes(sqlState)) throw refused(sqlState) ?? error
      // Before it is looked at again: another role may have made it, and a view runs what its owner likes.
      const ask = statements.run.bind(statements)
      await assertOwner(ask, { schema, names: objectNames, byAnother: false })
    }
  }
}

async function migrateOnce(
  statements: Statements,
  schema: string,
  steps: readonly Migration[],
): Promise<void> {
  const tx = await statements.within(limit, (signal) => statements.driver.begin(signal))
  try {
    await statements.within(limit, async () => {
      const run = (sql: string) => tx.query(statements.text(sql), [])
      await tx.query(local, [])
      if (!(await hasSchema(tx, schema))) await run(`create schema ${quoted(schema)}`)
      // Another role may have made it since it was looked at.
      await assertOwner((sql, values) => tx.query(sql, values), {
        schema,
        names: objectNames,
        byAnother: false,
      })
      await run(versions)
      // Until the transaction ends: who waited finds it done.
      await run('lock table idv.versions in share row exclusive mode')
      const [row] = await run('select max(version) as version from idv.versions')
      const done = Number(row?.version ?? 0)
      for (const step of steps.filter(({ version }) => version > done)) {
        for (const sql of statementsOf(step)) await run(sql)
      }
      await tx.commit()
    })
  } catch (error) {
    await statements.undo(tx)
    throw error
  }
}

/** The names of the tables, functions and procedures. */
export const objectNames: readonly string[] = migrations
  .flatMap(({ statements }) => [versions, ...statements])
  .flatMap(
    (sql) =>
      sql.match(/(?<=^create (?:table|function|procedure)(?: if not exists)? idv\.)\w+/) ?? [],
  )

/**
 * @throws WebhookError `STORE_UNSUITABLE` where the schema is missing, older, or so much newer that
 * this program cannot work with it
 */
export async function assertSchema(statements: Statements): Promise<void> {
  const version = await knownVersion(statements, migrations)
  if (version >= newest(migrations)) return
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `the schema of the inbox has version ${version}, this version of idv-webhooks needs ${newest(migrations)}: run the SQL of postgresSchema() as the owner of the database, or leave migrate: false out`,
  )
}

/** Who may not make schemas may not run `create schema if not exists` either. */
async function hasSchema(tx: PostgresTransaction, schema: string): Promise<boolean> {
  const rows = await tx.query('select from pg_catalog.pg_namespace where nspname = $1', [schema])
  return rows.length > 0
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

function refused(sqlState: string | undefined): WebhookError | undefined {
  if (sqlState !== '42501') return undefined
  return new WebhookError(
    'STORE_UNSUITABLE',
    'the database user may not create the schema of the inbox: run the SQL of postgresSchema() as the owner of the database, and set migrate: false',
  )
}

const noDriver = {
  name: 'none',
  query: () => Promise.reject(new Error('not connected')),
  begin: () => Promise.reject(new Error('not connected')),
}
