// The shared store: the inbox in a Postgres database, for any number of receivers and workers. A
// group of deliveries is one statement and one commit; rules of the port live in its functions.

import { WebhookError } from '../../../errors.ts'
import { checkOptionNames, invalid, kindShown } from '../../../foundation/check.ts'
import { type Clock, steadyClock } from '../../../foundation/clock.ts'
import { warn } from '../../../foundation/warn.ts'
import type {
  LatencyQuery,
  Purge,
  Purged,
  Reopening,
  StoredEntry,
  StoreQuery,
  StoreStats,
} from '../../admin-store.ts'
import type { CopyStore } from '../../copy-store.ts'
import { keysPurgedSetting } from '../../retention.ts'
import type { InboxStore, StoreCapabilities } from '../../store.ts'
import type {
  Alignment,
  Assigned,
  Assignment,
  ClaimRequest,
  ClaimResult,
  Inserted,
  Lapsed,
  Lease,
  NewEntry,
  Settlement,
  StoreTx,
} from '../../work-store.ts'
import { PostgresAdmin } from './admin.ts'
import { Announcements } from './announcements.ts'
import { assertServer } from './checks.ts'
import { PostgresCopy } from './copy.ts'
import type { PostgresDriver } from './driver.ts'
import { assertSchema, migrate, objectNames, schemaSql } from './migrations.ts'
import { alignNumbers } from './numbers.ts'
import {
  checkedSettings,
  checkSchema,
  type PostgresSettings,
  type PostgresStoreOptions,
} from './options.ts'
import { Owner } from './owner.ts'
import { assertOwner } from './schema-owner.ts'
import { Statements } from './statements.ts'
import { PostgresWork } from './work.ts'

export type {
  PostgresDriver,
  PostgresListener,
  PostgresRow,
  PostgresTransaction,
  PostgresValue,
} from './driver.ts'
export { type FromPgOptions, fromPg, type PgClient, type PgPool } from './from-pg.ts'
export { fromPglite, type Pglite, type PgliteClient } from './from-pglite.ts'
export { fromPostgresJs, type PostgresJs, type PostgresJsConnection } from './from-postgres-js.ts'
export type { PostgresStoreOptions } from './options.ts'

/**
 * A store in a Postgres database, shared by any number of processes.
 *
 * @throws WebhookError `OPTION_INVALID`; opening it throws `STORE_FAILED`, `STORE_TIMEOUT` or
 *   `STORE_UNSUITABLE`
 * @example createInbox({ store: postgresStore(fromPg(new pg.Pool({ connectionString }))) })
 */
export function postgresStore<Tx>(
  driver: PostgresDriver<Tx>,
  options: PostgresStoreOptions = {},
): InboxStore<Tx> {
  if (typeof driver?.query !== 'function' || typeof driver.begin !== 'function') {
    throw invalid(
      `postgresStore expects a driver, e.g. postgresStore(fromPg(pool)), got ${kindShown(driver)}`,
    )
  }
  // The handle of its transactions is the driver's: the store hands it on as it is.
  return new PostgresStore(driver, checkedSettings(options, driver)) as InboxStore as InboxStore<Tx>
}

/**
 * The SQL that makes the schema, for applications that may not: open the store with
 * `migrate: false` then.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function postgresSchema(options: Pick<PostgresStoreOptions, 'schema'> = {}): string {
  checkOptionNames('postgresSchema', options, ['schema'])
  const { schema = 'idv_inbox' } = options
  checkSchema(schema)
  return schemaSql(schema)
}

/** State between opening and closing. */
interface Running {
  readonly owner: Owner
  readonly announcements: Announcements
  readonly work: PostgresWork
  readonly admin: PostgresAdmin
  readonly copy: PostgresCopy
}

class PostgresStore implements InboxStore {
  readonly name = 'Postgres'
  readonly capabilities: StoreCapabilities
  readonly #options: PostgresSettings
  readonly #statements: Statements
  #opened: Running | undefined

  constructor(driver: PostgresDriver, options: PostgresSettings) {
    this.#options = options
    this.#statements = new Statements(driver, { limit: options.timeout, schema: options.schema })
    this.capabilities = {
      order: 'entity',
      survives: options.survives,
      dedupeDays: Number.POSITIVE_INFINITY,
      tx: true,
      shared: true,
      fairness: 'tenants',
      erases: 'unlinked',
    }
  }

  readonly now: Clock = () => (this.#opened?.owner.clock.now ?? steadyClock)()

  async open(wake: () => void): Promise<void> {
    const { schema, migrate: mayMigrate } = this.#options
    const statements = this.#statements
    await assertServer(statements, this.#options)
    // Before anything in it is looked at: a view runs what its owner likes.
    const ask = statements.run.bind(statements)
    await assertOwner(ask, { schema, names: objectNames, byAnother: !mayMigrate })
    if (mayMigrate) await migrate(statements, schema)
    else await assertSchema(statements)
    if (!this.#isBeside) await alignNumbers(statements)
    const owner = new Owner(statements, { isSilent: this.#isBeside })
    const announcements = new Announcements(statements, { channel: schema, owner: owner.id })
    const announce = () => announcements.announce()
    const work = new PostgresWork(statements, owner.id, { announce, wake })
    const admin = new PostgresAdmin(statements, () => {
      work.window.reset()
      announce()
    })
    await owner.enter()
    const copy = new PostgresCopy(statements, owner.id)
    this.#opened = { owner, announcements, work, admin, copy }
    await announcements.open(wake, this.#options.listen)
    if (this.#options.listen) void this.#warnOfSilence(announcements)
  }

  async close(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    if (!opened) return
    const { owner, announcements } = opened
    // A connection that hangs must not keep the process.
    await Promise.all([owner.leave(1_000), announcements.close(1_000)])
  }

  async recall(name: string, initial: Uint8Array): Promise<Uint8Array> {
    if (!this.#isBeside) return this.#admin.recall(name, initial)
    const kept = await this.#admin.setting(name)
    // To begin an inbox is to choose its key.
    if (!kept && initial.length > 0) throw notBegun()
    return kept ?? initial
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    // The key of an operator may be one that the application does not have.
    const isOwn = !this.#isBeside || name === keysPurgedSetting
    if (isOwn) await this.#admin.remember(name, value)
  }

  async insert(entry: NewEntry, signal?: AbortSignal): Promise<Inserted> {
    return this.#work.insert(entry, signal)
  }

  async refresh(): Promise<void> {
    await this.#running.owner.refresh()
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const work = this.#work
    await this.#running.owner.watch()
    return work.claim(request)
  }

  async align(alignment: Alignment): Promise<void> {
    return this.#work.align(alignment)
  }

  async free(now: number): Promise<void> {
    return this.#work.free(now)
  }

  async renew(leases: readonly Lease[], until: number): Promise<void> {
    return this.#work.renew(leases, until)
  }

  async lapsed(now: number): Promise<readonly Lapsed[]> {
    const work = this.#work
    await this.#running.owner.watch()
    return work.lapsed(now)
  }

  async checkpoint(lease: Lease, handler?: string): Promise<boolean> {
    return this.#work.checkpoint(lease, handler)
  }

  async assign(assignment: Assignment): Promise<Assigned> {
    return this.#work.assign(assignment)
  }

  async settle(settlement: Settlement): Promise<boolean> {
    return this.#work.settle(settlement)
  }

  async transaction(lease: Lease, handler: string): Promise<StoreTx> {
    return this.#work.transaction(lease, handler)
  }

  async find(query: StoreQuery): Promise<readonly StoredEntry[]> {
    return this.#admin.find(query)
  }

  async reopen(reopening: Reopening): Promise<number> {
    return this.#admin.reopen(reopening)
  }

  async dismiss(id: string, now: number): Promise<boolean> {
    return this.#admin.dismiss(id, now)
  }

  async forget(lane: string, now: number, ofNone?: boolean): Promise<number> {
    return this.#admin.forget(lane, now, ofNone)
  }

  async purge(purge: Purge): Promise<Purged> {
    return this.#admin.purge(purge)
  }

  async stats(now: number, latency?: LatencyQuery): Promise<StoreStats> {
    return this.#admin.stats(now, latency)
  }

  get copy(): CopyStore | undefined {
    // It stores no setting, and the application goes on beside it.
    return this.#isBeside ? undefined : this.#running.copy
  }

  get #isBeside(): boolean {
    return this.#options.mode === 'operator'
  }

  get #work(): PostgresWork {
    if (!this.#isBeside) return this.#running.work
    throw new WebhookError('STORE_UNSUITABLE', "mode: 'operator' keeps and claims nothing")
  }

  get #admin(): PostgresAdmin {
    return this.#running.admin
  }

  get #running(): Running {
    if (this.#opened) return this.#opened
    throw new WebhookError('STORE_FAILED', 'the inbox is closed')
  }

  async #warnOfSilence(announcements: Announcements): Promise<void> {
    const isHeard = await announcements.isHeard(2_000).catch(() => true)
    if (isHeard || !this.#opened) return
    warn(
      'notifications of Postgres do not arrive, as behind a pooler in transaction mode, or where the connection that listens fails: give the driver a listener of its own (`fromPg(pool, { listener })`), or set listen: false; workers look once a second meanwhile',
      'POSTGRES_LISTEN',
    )
  }
}

function notBegun(): WebhookError {
  return new WebhookError(
    'STORE_UNSUITABLE',
    'no application has opened this inbox yet: start the application first',
  )
}
