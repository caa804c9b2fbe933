// The embedded store: one SQLite file, written by a thread of its own that groups commits, each of
// them synced before anybody hears of it.
import { checkChoice, checkOptionNames, invalid, shown } from '../../../foundation/check.ts'
import { WebhookError } from '../../../foundation/errors.ts'
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
import type { Gives, Method, Takes } from './calls.ts'
import { copyBy } from './copy.ts'
import { loadDriver, type SqliteDatabase, type SqliteDriver } from './driver.ts'
import { watchFile } from './file-watch.ts'
import { type OpenWriter, openInline } from './inline.ts'
import { type OpenFile, type SharedFile, shareFile } from './open-file.ts'
import { canonicalPath, configure, openBeside, openInMemory, openOwned } from './opening.ts'
import { openThread } from './thread.ts'
import { type HandlerConnection, type SqliteTransaction, TransactionGate } from './transaction.ts'
import { type CallOptions, WriteQueue } from './write-queue.ts'
import { writerScript } from './writer-script.ts'

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
  /** The check at start: `integrity` (default) reads the whole file, `quick` most of it. */
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
  if (/^[a-z][a-z+.-]+:\/\//i.test(file)) {
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
    const { mode = 'owner' } = this.#options
    if (mode === 'owner' && this.#file !== inMemory) {
      const path = canonicalPath(this.#file)
      this.#place = path
      this.#open = await shareFile(path, () => this.#openOwned(path), wake)
      return
    }
    const open = loadDriver(this.#options.driver)
    const file = mode === 'operator' ? await this.#openBeside() : openMemory(open)
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
    if (this.#options.mode === 'operator') return
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

  checkpoint(lease: Lease, handler: string): Promise<boolean> {
    return this.#call('checkpoint', { lease, handler })
  }

  settle(settlement: Settlement): Promise<boolean> {
    return this.#call('settle', settlement)
  }

  async transaction(lease: Lease, handler: string): Promise<StoreTx<SqliteTransaction>> {
    if (this.#open) return this.#open.gate.transaction(lease, handler)
    throw closed()
  }

  find(query: StoreQuery): Promise<readonly StoredEntry[]> {
    return this.#call('find', query)
  }

  async reopen(reopening: Reopening): Promise<number> {
    const opened = await this.#call('reopen', reopening)
    if (opened > 0) this.#open?.wakeOthers()
    return opened
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

  stats(now: number, latency?: LatencyQuery): Promise<StoreStats> {
    return this.#call('stats', { now, latency })
  }

  get copy(): CopyStore {
    return copyBy((method, argument) => this.#call(method, argument))
  }

  /** Opens the file for this process, and watches that it stays where it is. */
  async #openOwned(path: string): Promise<OpenFile> {
    const { driver = 'node:sqlite', check = 'integrity' } = this.#options
    const open = loadDriver(driver)
    let queue: WriteQueue | undefined
    const broken = (message: string) => queue?.break(message)
    const writer =
      typeof driver === 'function'
        ? openInline(openOwned({ file: path, open, check }))
        : await openThread(writerScript(), { file: path, driver, check, mode: 'owner' }, broken)
    queue = new WriteQueue(writer)
    const file = served(writer, queue, () => connect(open(path)))
    const stop = watchFile(path, broken)
    const close = () => {
      stop()
      return file.close()
    }
    return { ...file, close }
  }

  async #openBeside(): Promise<OpenFile> {
    const { driver = 'node:sqlite', check = 'integrity' } = this.#options
    const open = loadDriver(driver)
    const file = this.#file
    let queue: WriteQueue | undefined
    const broken = (message: string) => queue?.break(message)
    const writer =
      typeof driver === 'function'
        ? openInline(openBeside({ file, open }))
        : await openThread(writerScript(), { file, driver, check, mode: 'operator' }, broken)
    queue = new WriteQueue(writer)
    return served(writer, queue, () => connect(open(file)))
  }

  #call<M extends Method>(method: M, argument: Takes<M>, options?: CallOptions): Promise<Gives<M>> {
    if (this.#open) return this.#open.queue.call(method, argument, options)
    return Promise.reject(closed())
  }
}

function served(
  writer: OpenWriter,
  queue: WriteQueue,
  connection: () => HandlerConnection,
): OpenFile {
  const gate = new TransactionGate(queue, writer.epoch ?? 0, connection)
  const close = async () => {
    gate.close()
    await queue.close()
  }
  return { queue, gate, close }
}

/** Writes of handlers and of the inbox take turns on one connection. */
function openMemory(open: (file: string) => SqliteDatabase): OpenFile {
  const owned = openInMemory(open)
  const writer = openInline(owned)
  return served(writer, new WriteQueue(writer), () => ({ db: owned.db, close: () => {} }))
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

function closed(): WebhookError {
  return new WebhookError('STORE_FAILED', 'the inbox is closed')
}
