// The embedded store: one SQLite file, written by a thread of its own that groups commits, each of
// them synced before anybody hears of it.
import { WebhookError } from '../../../errors.ts'
import type {
  Purge,
  Purged,
  Reopening,
  StoredEntry,
  StoreQuery,
  StoreStats,
} from '../../admin-store.ts'
import type { InboxStore, StoreCapabilities } from '../../store.ts'
import type {
  Alignment,
  ClaimRequest,
  ClaimResult,
  Inserted,
  Lapsed,
  Lease,
  NewEntry,
  Settlement,
  StoreTx,
} from '../../work-store.ts'
import { loadDriver, type SqliteDatabase, type SqliteDriver } from './driver.ts'
import { openInline } from './inline.ts'
import { configure, openBeside, openInMemory, openOwned } from './opening.ts'
import { holdFile } from './same-process.ts'
import { openThread } from './thread.ts'
import { type HandlerConnection, type SqliteTransaction, TransactionGate } from './transaction.ts'
import { WriteQueue, type Writer } from './write-queue.ts'

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
  /** What is checked at start: `integrity` (default) reads the whole file, `quick` most of it. */
  readonly check?: 'integrity' | 'quick'
  /**
   * `operate` opens the file beside the process that owns it, for finding, redriving, replaying
   * and forgetting; nothing can be kept or claimed there. Default `own`.
   */
  readonly access?: 'own' | 'operate'
}

/**
 * A store in one file, owned by one process at a time. `:memory:` is one for tests, which ends with
 * `close()`; to look into it give your own database: `{ driver: () => db }`.
 *
 * @throws WebhookError `OPTION_INVALID`; opening it throws `STORE_FAILED` or `STORE_UNSUITABLE`
 * @example createInbox({ store: sqliteStore('/var/lib/app/inbox.db') })
 */
export function sqliteStore(
  file: string,
  options: SqliteStoreOptions = {},
): InboxStore<SqliteTransaction> {
  if (typeof file !== 'string' || file === '') {
    throw new WebhookError(
      'OPTION_INVALID',
      "sqliteStore needs a path, e.g. sqliteStore('inbox.db')",
    )
  }
  return new SqliteStore(file, options)
}

const inMemory = ':memory:'

class SqliteStore implements InboxStore<SqliteTransaction> {
  readonly name = 'SQLite'
  readonly capabilities: StoreCapabilities
  readonly #file: string
  readonly #options: SqliteStoreOptions
  #line: WriteQueue | undefined
  #gate: TransactionGate | undefined
  #release = () => {}

  constructor(file: string, options: SqliteStoreOptions) {
    this.#file = file
    this.#options = options
    this.capabilities = {
      order: 'entity',
      survives: file === inMemory ? 'nothing' : 'power-cut',
      dedupeDays: Number.POSITIVE_INFINITY,
      tx: true,
      shared: false,
      fairness: 'none',
      erases: 'overwritten',
    }
  }

  async open(): Promise<void> {
    const { driver = 'node:sqlite', check = 'integrity', access = 'own' } = this.#options
    const file = this.#file
    const open = loadDriver(driver)
    if (file === inMemory && access === 'own') {
      const owned = openInMemory(open)
      // What handlers write and what the inbox writes take turns on one connection.
      return this.#serve(openInline(owned), () => ({ db: owned.db, close: () => {} }))
    }
    const broken = (message: string) => this.#line?.break(message)
    const opening = { file, open, check }
    const begin = async () =>
      typeof driver === 'function'
        ? openInline(access === 'own' ? openOwned(opening) : openBeside(opening))
        : openThread(script(), { file, driver, check, access }, broken)
    const writer = access === 'own' ? await this.#hold(begin) : await begin()
    this.#serve(writer, () => connect(open(file)))
  }

  async close(): Promise<void> {
    const line = this.#line
    this.#line = undefined
    this.#gate?.close()
    await line?.close()
    this.#release()
    this.#release = () => {}
  }

  recall(name: string, initial: Uint8Array): Promise<Uint8Array> {
    return this.#call('recall', { name, initial })
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    // What its owner reads the file by is the owner's to write: an operator's key may be another.
    if (this.#options.access === 'operate') return
    await this.#call('remember', { name, value })
  }

  insert(entry: NewEntry, signal?: AbortSignal): Promise<Inserted> {
    const bytes = entry.body.length + entry.metadata.length
    return this.#call('insert', entry, { bytes, ...(signal && { signal }) })
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
    return this.#call('lapsed', now)
  }

  checkpoint(lease: Lease, handler: string): Promise<boolean> {
    return this.#call('checkpoint', { lease, handler })
  }

  settle(settlement: Settlement): Promise<boolean> {
    return this.#call('settle', settlement)
  }

  async transaction(lease: Lease, handler: string): Promise<StoreTx<SqliteTransaction>> {
    if (this.#gate) return this.#gate.transaction(lease, handler)
    throw new WebhookError('STORE_FAILED', 'the inbox is closed')
  }

  find(query: StoreQuery): Promise<readonly StoredEntry[]> {
    return this.#call('find', query)
  }

  reopen(reopening: Reopening): Promise<number> {
    return this.#call('reopen', reopening)
  }

  dismiss(id: string, now: number): Promise<boolean> {
    return this.#call('dismiss', { id, now })
  }

  forget(lane: string, now: number): Promise<number> {
    return this.#call('forget', { lane, now })
  }

  purge(purge: Purge): Promise<Purged> {
    return this.#call('purge', purge)
  }

  stats(now: number): Promise<StoreStats> {
    return this.#call('stats', now)
  }

  async #hold<Writing>(begin: () => Promise<Writing>): Promise<Writing> {
    const held = await holdFile(this.#file, begin)
    this.#release = held.release
    return held.opened
  }

  #serve(
    writer: Writer & { readonly epoch: number | undefined },
    open: () => HandlerConnection,
  ): void {
    this.#line = new WriteQueue(writer)
    this.#gate = new TransactionGate(this.#line, writer.epoch ?? 0, open)
  }

  #call<Answer>(...asked: Parameters<WriteQueue['call']>): Promise<Answer> {
    if (this.#line) return this.#line.call(...asked)
    return Promise.reject(new WebhookError('STORE_FAILED', 'the inbox is closed'))
  }
}

/**
 * No sync of its own: what is settled after it syncs the log up to there, and until then a power
 * cut takes the effects and their checkpoint together.
 */
function connect(db: SqliteDatabase): HandlerConnection {
  configure(db, 'normal')
  db.exec('pragma wal_autocheckpoint = 0')
  return { db, close: () => void db.close() }
}

/** Both spelled out, so that bundlers find the file. */
function script(): URL {
  return import.meta.url.endsWith('.ts')
    ? new URL('./writer.ts', import.meta.url)
    : new URL('./sqlite-writer.js', import.meta.url)
}
