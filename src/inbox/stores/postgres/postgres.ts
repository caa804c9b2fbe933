// The shared store: the inbox in a Postgres database, for any number of receivers and workers. A
// group of deliveries is one statement and one commit; the rules of the port are functions in SQL.

import { blamingCaller, WebhookError } from '../../../errors.ts'
import {
  checkChoice,
  checkMilliseconds,
  checkOptionNames,
  invalid,
  kindShown,
  shown,
} from '../../../foundation/check.ts'
import { warn } from '../../../foundation/warn.ts'
import { keysPurgedSetting } from '../../retention.ts'
import type { InboxStore, MetaStore, StoreCapabilities } from '../../store.ts'
import { adminOf, postgresCopy } from './admin.ts'
import { Announcements } from './announcements.ts'
import { assertRights, assertServer } from './checks.ts'
import { OwnerClaims } from './claims.ts'
import type { PostgresDriver } from './driver.ts'
import { assertSchema, migrate, schemaSql } from './migrations.ts'
import { Owner } from './owner.ts'
import { toBytes } from './rows.ts'
import { OperatorStatements, Statements, statementError } from './statements.ts'
import { workOf } from './work.ts'

export type {
  PostgresDriver,
  PostgresListener,
  PostgresRow,
  PostgresTransaction,
  PostgresValue,
} from './driver.ts'
export {
  fromPglite,
  fromPostgresJs,
  type Pglite,
  type PgliteClient,
  type PostgresJs,
  type PostgresJsConnection,
} from './from-callbacks.ts'
export { type FromPgOptions, fromPg, type PgClient, type PgPool } from './from-pg.ts'

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /**
   * The schema that holds the inbox.
   *
   * @default 'idv_inbox'
   */
  readonly schema?: string
  /**
   * `failover` requires a synchronous standby.
   *
   * With PGlite the default is less.
   *
   * @default 'power-cut'
   */
  readonly survives?: 'power-cut' | 'failover'
  /**
   * Wakes workers at once; with `false` they poll once a second.
   *
   * It uses a connection. The default is false with `mode: 'operator'`.
   *
   * @default true
   */
  readonly listen?: boolean
  /**
   * Creates and updates the schema; with `false` run the SQL of `inbox schema`.
   *
   * `postgresSchema()` gives that SQL. The default is false with `mode: 'operator'`.
   *
   * @default true
   */
  readonly migrate?: boolean
  /**
   * Milliseconds for one statement; then its connection is destroyed.
   *
   * @default 5_000
   */
  readonly timeout?: number
  /**
   * `operator` opens the inbox to find, redrive and forget.
   *
   * It neither claims nor migrates, and leaves the key as it is.
   *
   * @default 'owner'
   */
  readonly mode?: 'owner' | 'operator'
}

type PostgresSettings = Required<Omit<PostgresStoreOptions, 'survives'>> & {
  readonly survives: StoreCapabilities['survives']
}

/**
 * Creates a store in a Postgres database, shared by any number of processes.
 *
 * @throws WebhookError `OPTION_INVALID`; opening it throws `STORE_FAILED`, `STORE_TIMEOUT` or
 *   `STORE_UNSUITABLE`
 * @example createInbox({ store: postgresStore(fromPg(new pg.Pool({ connectionString }))) })
 */
export function postgresStore<Tx>(
  driver: PostgresDriver<Tx>,
  options: PostgresStoreOptions = {},
): InboxStore<Tx> {
  const settings = blamingCaller(postgresStore, () => checkedSettings(options, driver))
  // The handle of its transactions is the driver's: the store hands it on as it is.
  return composed(driver, settings) as InboxStore as InboxStore<Tx>
}

/**
 * Gives the SQL that makes the schema, for applications that may not create tables: open the store
 * with `migrate: false` then.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function postgresSchema(options: Pick<PostgresStoreOptions, 'schema'> = {}): string {
  checkOptionNames('postgresSchema', options, ['schema'])
  const { schema = 'idv_inbox' } = options
  checkSchema(schema)
  return schemaSql(schema)
}

function composed(driver: PostgresDriver, settings: PostgresSettings): InboxStore {
  const { schema, mode, survives, timeout } = settings
  const isBeside = mode === 'operator'
  const statements = new Statements(driver, { limit: timeout, schema })
  const working = isBeside ? new OperatorStatements(driver, { limit: timeout, schema }) : statements
  const owner = new Owner(statements, { isSilent: isBeside })
  const announcements = new Announcements(statements, { channel: schema, owner })
  const claims = new OwnerClaims(working, owner)
  const changed = () => {
    claims.window.reset()
    announcements.announce()
  }
  return {
    name: 'Postgres',
    capabilities: capabilitiesOf(survives),
    ...workOf({ statements: working, owner, announcements, claims }),
    ...adminOf(statements, changed),
    ...metaOf(statements, isBeside),
    // A move needs the inbox for itself.
    ...(isBeside ? {} : { copy: postgresCopy(statements, owner) }),
    now: () => owner.clock.now(),
    onDone: (heard) => announcements.onDone(heard),
    open: async (wake) => {
      statements.isOpen = true
      try {
        await prepare(statements, settings)
        await owner.enter()
        await announcements.open(wake, settings.listen)
      } catch (error) {
        statements.isOpen = false
        throw error
      }
      if (settings.listen) void warnOfSilence(announcements, statements)
    },
    close: async () => {
      if (!statements.isOpen) return
      // A connection that hangs must not keep the process.
      await Promise.all([owner.leave(1_000), announcements.close(1_000)])
      statements.isOpen = false
    },
  }
}

const capabilitiesOf = (survives: StoreCapabilities['survives']): StoreCapabilities => ({
  order: 'entity',
  survives,
  dedupeDays: Number.POSITIVE_INFINITY,
  tx: true,
  shared: true,
  fairness: 'tenants',
  erases: 'unlinked',
})

async function prepare(statements: Statements, settings: PostgresSettings): Promise<void> {
  await assertServer(statements, settings)
  if (settings.migrate) await migrate(statements, settings.schema)
  else await assertSchema(statements)
  await assertRights(statements, settings)
}

/** Reads and writes settings. An operator begins no inbox, and may have another key. */
function metaOf(statements: Statements, isBeside: boolean): MetaStore {
  const sql = 'select value from idv.settings where name = $1::text'
  return {
    recall: async (name, initial) => {
      if (!isBeside) await statements.call('recall', [name, initial])
      const kept = toBytes((await statements.first(sql, [name])).value)
      if (kept) return kept
      if (!isBeside) throw statementError('STORE_FAILED', `the setting ${name} could not be read`)
      if (initial.length === 0) return initial
      throw new WebhookError(
        'STORE_UNSUITABLE',
        'no application has opened this inbox yet: start the application first',
      )
    },
    remember: async (name, value) => {
      if (!isBeside || name === keysPurgedSetting) await statements.call('remember', [name, value])
    },
  }
}

async function warnOfSilence(announcements: Announcements, statements: Statements): Promise<void> {
  const isHeard = await announcements.isHeard(2_000).catch(() => true)
  if (isHeard || !statements.isOpen) return
  warn(
    'notifications of Postgres do not arrive, as behind a pooler in transaction mode, or where the connection that listens fails: give the driver a listener of its own (`fromPg(pool, { listener })`), or set listen: false; workers look once a second meanwhile',
    'POSTGRES_LISTEN',
  )
}

const names = ['schema', 'survives', 'listen', 'migrate', 'timeout', 'mode'] as const

function checkedSettings(options: PostgresStoreOptions, driver: PostgresDriver): PostgresSettings {
  if (typeof driver?.query !== 'function' || typeof driver.begin !== 'function') {
    throw invalid(
      `postgresStore expects a driver, e.g. postgresStore(fromPg(pool)), got ${kindShown(driver)}`,
    )
  }
  checkOptionNames('postgresStore', options, names)
  checkChoice('mode', options.mode, ['owner', 'operator'])
  const { mode = 'owner' } = options
  const [listen, migrate] = [mode === 'owner', mode === 'owner']
  const survives = options.survives ?? driver.survives ?? 'power-cut'
  const defaults = { schema: 'idv_inbox', listen, migrate, timeout: 5_000 }
  const all = { ...defaults, ...options, survives, mode }
  checkChoice('survives', survives, [driver.survives ?? 'power-cut', driver.survives ?? 'failover'])
  checkChoice('listen', all.listen, [true, false])
  checkChoice('migrate', all.migrate, [true, false])
  checkMilliseconds('timeout', all.timeout)
  checkSchema(all.schema)
  return all
}

/** Checks the name of a schema, which is also the name of a channel. */
function checkSchema(schema: unknown): void {
  if (typeof schema === 'string' && /^[a-z_][a-z0-9_]{0,39}$/.test(schema)) return
  throw invalid(
    `schema must be a name of lower-case letters, digits and underscores, got ${shown(schema)}`,
  )
}
