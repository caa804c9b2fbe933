// Options of the store in Postgres: their defaults and their checks.
import {
  checkChoice,
  checkMilliseconds,
  checkOptionNames,
  invalid,
  shown,
} from '../../../foundation/check.ts'
import type { StoreCapabilities } from '../../store.ts'
import type { PostgresDriver } from './driver.ts'

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /** The schema that holds the inbox; default `idv_inbox`. */
  readonly schema?: string
  /**
   * `failover` declares that a synchronous standby takes over without a loss; opening the store
   * verifies it. Default `power-cut`; with PGlite it is less.
   */
  readonly survives?: 'power-cut' | 'failover'
  /**
   * Hears at once what other processes keep, on a connection of its own. Without it a worker looks
   * once a second. Default true; false with `mode: 'operator'`.
   */
  readonly listen?: boolean
  /**
   * Makes and updates the schema. With `false` it must be there: `postgresSchema()` gives
   * its SQL. Default true; false with `mode: 'operator'`.
   */
  readonly migrate?: boolean
  /** Milliseconds for one statement, after which its connection is destroyed; default 5,000. */
  readonly timeout?: number
  /**
   * `operator` opens the inbox beside its application, for finding, redriving, replaying and
   * forgetting; it can neither keep nor claim, and leaves the key as it is. Default `owner`.
   */
  readonly mode?: 'owner' | 'operator'
}

/** The options with their defaults. */
export type PostgresSettings = Required<Omit<PostgresStoreOptions, 'survives'>> & {
  readonly survives: StoreCapabilities['survives']
}

const names = ['schema', 'survives', 'listen', 'migrate', 'timeout', 'mode'] as const

/** @throws WebhookError `OPTION_INVALID` */
export function checkedSettings(
  options: PostgresStoreOptions,
  driver: PostgresDriver,
): PostgresSettings {
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

/** It is also the name of a channel, and of locks. */
export function checkSchema(schema: unknown): void {
  if (typeof schema === 'string' && /^[a-z_][a-z0-9_]{0,39}$/.test(schema)) return
  throw invalid(
    `schema must be a name of lower-case letters, digits and underscores, got ${shown(schema)}`,
  )
}
