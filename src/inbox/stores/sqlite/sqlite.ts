// The embedded store: one SQLite file, written by a thread of its own that groups commits, each of
// them synced before anybody hears of it.

import { WebhookError } from '../../../errors.ts'
import { inTime } from '../../../foundation/abortable.ts'
import { checkChoice, checkOptionNames, invalid, shown } from '../../../foundation/check.ts'
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
import { forgetByPages } from '../../forget-pages.ts'
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
import type { Gives, Method, Takes } from './calls.ts'
import { copyBy } from './copy.ts'
import type { SqliteDriver } from './driver.ts'
import { assertSameDriver, type SharedFile, shareFile } from './open-file.ts'
import { openMemory, openOperatedFile, openOwnedFile } from './open-store.ts'
import { canonicalPath } from './opening.ts'
import type { SqliteTransaction } from './transaction.ts'
import type { CallOptions } from './write-queue.ts'

/** Milliseconds for a look at a lease. */
const patience = 250

export type {
  SqliteDatabase,
  SqliteDriver,
  SqliteStatement,
  SqliteValue,
} from './driver.ts'
export type { SqliteTransaction } from './transaction.ts'

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions {
  /** `node:sqlite` by default. */
  readonly driver?: SqliteDriver
  /**
   * The check at start: `integrity` reads the whole file, `quick` most of it. By default an owner's
   * is `integrity`, and an operator has none.
   */
  readonly check?: 'integrity' | 'quick'
  /**
   * `operator` opens the file beside the process that owns it, for finding, redriving, replaying
   * and forgetting; it can neither keep nor claim. Default `owner`.
   */
  readonly mode?: 'owner' | 'operator'
}

const optionNames: readonly (keyof SqliteStoreOptions)[] = ['driver', 'check', 'mode']

/**
 * A store in one file, owned by one process at a time; several inboxes of that process may share
 * it. `:memory:` is for tests and ends with `close()`; to look into it give your own database:
 * `{ driver: () => db }`.
 *
 * @throws WebhookError `OPTION_INVALID`; opening it throws `STORE_FAILED`, `STORE_OWNED`,
 * `STORE_DAMAGED` or `STORE_UNSUITABLE`
 * @example createInbox({ store: sqliteStore('/var/lib/app/inbox.db') })
 */
export function sqliteStore(
  file: string,
  options: SqliteStoreOptions = {},
): InboxStore<SqliteTransaction> {
  if (typeof file !== 'string' || file === '') {
    throw invalid(`sqliteStore needs a path, e.g. sqliteStore('inbox.db'), got ${shown(file)}`)
  }
  // Never shown: it may hold a password.
  if (/:\/\/|^\W*postgres(ql)?:|(?:^|\s)password\s*=/i.test(file)) {
    throw invalid(
      'sqliteStore needs the path of a file, got an address: Postgres has postgresStore() of idv-webhooks/inbox/postgres',
    )
  }
  checkOptionNames('sqliteStore', options, optionNames)
  checkChoice('check', options.check, ['integrity', 'quick'])
  checkChoice('mode', options.mode, ['owner', 'operator'])
  return new SqliteStore(file, options)
}

const inMemory = ':memory:'

class SqliteStore implements InboxStore<SqliteTransaction> {
  readonly name = 'SQLite'
  readonly capabilities: StoreCapabilities
  readonly #file: string
  readonly #options: SqliteStoreOptions
  #open: SharedFile | undefined
  #place: string | undefined

  constructor(file: string, options: SqliteStoreOptions) {
    this.#file = file
    this.#options = options
    this.capabilities = {
      order: 'entity',
      survives: file === inMemory ? 'nothing' : 'power-cut',
      dedupeDays: Number.POSITIVE_INFINITY,
      tx: true,
      shared: false,
      fairness: 'tenants',
      erases: 'overwritten',
    }
  }

  get place(): string | undefined {
    return this.#place
  }

  async open(wake: () => void): Promise<void> {
    const { mode = 'owner', driver = 'node:sqlite' } = this.#options
    if (mode === 'owner' && this.#file !== inMemory) {
      const path = canonicalPath(this.#file)
      this.#place = path
      this.#open = await shareFile(path, {
        open: () => openOwnedFile(path, this.#options),
        driver,
        wake,
      })
      return
    }
    if (mode === 'operator') assertSameDriver(canonicalPath(this.#file), driver)
    const file =
      mode === 'operator'
        ? await openOperatedFile(this.#file, this.#options)
        : openMemory(this.#options)
    this.#open = { ...file, wakeOthers: () => {} }
  }

  async close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.close()
  }

  recall(name: string, initial: Uint8Array): Promise<Uint8Array> {
    return this.#call('recall', { name, initial })
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    // Only the owner writes the key check: an operator may have another key.
    if (this.#options.mode === 'operator' && name !== keysPurgedSetting) return
    await this.#call('remember', { name, value })
  }

  async insert(entry: NewEntry, signal?: AbortSignal): Promise<Inserted> {
    const bytes = entry.body.length + entry.metadata.length
    const inserted = await this.#call('insert', entry, { bytes, signal })
    if (inserted.kind === 'stored') this.#open?.wakeOthers()
    return inserted
  }

  claim(request: ClaimRequest): Promise<ClaimResult> {
    return this.#call('claim', request)
  }

  align(alignment: Alignment): Promise<void> {
    return this.#call('align', alignment)
  }

  async renew(leases: readonly Lease[], until: number): Promise<void> {
    if (leases.length > 0) await this.#call('renew', { leases, until })
  }

  lapsed(now: number): Promise<readonly Lapsed[]> {
    return this.#call('lapsed', { now })
  }

  checkpoint(lease: Lease, handler?: string): Promise<boolean> {
    return this.#call('checkpoint', { lease, handler })
  }

  settle(settlement: Settlement): Promise<boolean> {
    return this.#call('settle', settlement)
  }

  assign(assignment: Assignment): Promise<Assigned> {
    return this.#call('assign', assignment)
  }

  async transaction(lease: Lease, handler: string): Promise<StoreTx<SqliteTransaction>> {
    if (!this.#open) throw closed()
    const turn = await this.#open.gate.transaction(lease, handler)
    // It may have waited for long: what was forgotten meanwhile is not handled. A store that does
    // not answer answers its statements no more than this.
    const isHeld = await inTime(this.checkpoint(lease), patience, 'a lease').catch(() => true)
    if (isHeld) return turn
    await turn.rollback()
    throw new WebhookError('STORE_FAILED', 'the lease was lost before the handler began')
  }

  find(query: StoreQuery): Promise<readonly StoredEntry[]> {
    return query.ids ? this.#call('find', query) : this.#look('find', query)
  }

  async reopen(reopening: Reopening): Promise<number> {
    const opened = await this.#call('reopen', reopening)
    if (opened > 0) this.#open?.wakeOthers()
    return opened
  }

  dismiss(id: string, now: number): Promise<boolean> {
    return this.#call('dismiss', { id, now })
  }

  forget(lane: string, now: number, ofNone = false): Promise<number> {
    return forgetByPages((page) => this.#call('forget', { lane, now, ofNone, ...page }))
  }

  purge(purge: Purge): Promise<Purged> {
    return this.#call('purge', purge)
  }

  stats(now: number, latency?: LatencyQuery): Promise<StoreStats> {
    const asked = { now, latency }
    return latency ? this.#look('stats', asked) : this.#call('stats', asked)
  }

  get copy(): CopyStore | undefined {
    // It stores no setting, and the application goes on beside it.
    if (this.#options.mode === 'operator') return undefined
    const path = this.#file === inMemory ? undefined : (this.#place ?? this.#file)
    return copyBy((method, argument) => this.#call(method, argument), path)
  }

  /** Long searches are carried out beside the writer. */
  #look<M extends Method>(method: M, argument: Takes<M>): Promise<Gives<M>> {
    if (this.#open) return this.#open.reader.call(method, argument)
    return Promise.reject(closed())
  }

  #call<M extends Method>(method: M, argument: Takes<M>, options?: CallOptions): Promise<Gives<M>> {
    if (this.#open) return this.#open.queue.call(method, argument, options)
    return Promise.reject(closed())
  }
}

function closed(): WebhookError {
  return new WebhookError('STORE_FAILED', 'the inbox is closed')
}
