// The embedded store: one SQLite file, written by a thread that groups commits. Each commit is
// synced before it is answered.
import { blamingCaller, WebhookError } from '../../../errors.ts'
import { inTime } from '../../../foundation/abortable.ts'
import { checkChoice, checkOptionNames, invalid, shown } from '../../../foundation/check.ts'
import type { AdminStore } from '../../admin-store.ts'
import { forgetByPages } from '../../forget-pages.ts'
import { keysPurgedSetting } from '../../retention.ts'
import type { InboxStore, MetaStore } from '../../store.ts'
import type { WorkStore } from '../../work-store.ts'
import { copyBy } from './copy.ts'
import type { SqliteDriver } from './driver.ts'
import { openFile, openMemory, type SharedFile, shareFile, wakeOthers } from './open-file.ts'
import { canonicalPath, type FileMode } from './opening.ts'
import type { SqliteTransaction } from './transaction.ts'

/** Milliseconds for the check of a lease. */
const leaseTimeout = 250

export type {
  SqliteDatabase,
  SqliteDriver,
  SqliteStatement,
  SqliteValue,
} from './driver.ts'
export type { SqliteTransaction } from './transaction.ts'

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions {
  /**
   * `'better-sqlite3'`, another module with such a class, or a function that opens a database.
   *
   * @default 'node:sqlite'
   */
  readonly driver?: SqliteDriver
  /**
   * The check at start: `integrity` reads the whole file, `quick` all but the indexes.
   *
   * In operator mode nothing is checked by default.
   *
   * @default 'integrity'
   */
  readonly check?: 'integrity' | 'quick'
  /**
   * `operator` opens the file beside its owner: it finds, redrives and forgets, and keeps nothing.
   *
   * @default 'owner'
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
  blamingCaller(sqliteStore, () => {
    if (typeof file !== 'string' || file === '') {
      throw invalid(`sqliteStore needs a path, e.g. sqliteStore('inbox.db'), got ${shown(file)}`)
    }
    // Never shown: it may hold a password.
    if (/:\/\/|^\W*postgres(ql)?:|(?:^|\s)password\s*=/i.test(file)) {
      const fix = 'Postgres has postgresStore() of idv-webhooks/inbox/postgres'
      throw invalid(`sqliteStore needs the path of a file, got an address: ${fix}`)
    }
    checkOptionNames('sqliteStore', options, optionNames)
    checkChoice('check', options.check, ['integrity', 'quick'])
    checkChoice('mode', options.mode, ['owner', 'operator'])
  })
  return composed(file, options)
}

const inMemory = ':memory:'

/** A store's calls go to the file that it has open. */
interface FileHandle {
  file: SharedFile
}

function composed(file: string, options: SqliteStoreOptions): InboxStore<SqliteTransaction> {
  const { mode = 'owner' } = options
  const handle: FileHandle = { file: closedFile }
  const store = {
    name: 'SQLite',
    capabilities: {
      order: 'entity',
      survives: file === inMemory ? 'nothing' : 'power-cut',
      dedupeDays: Number.POSITIVE_INFINITY,
      tx: true,
      shared: false,
      fairness: 'tenants',
      erases: 'overwritten',
    },
    place: undefined as string | undefined,
    get copy() {
      // An operator stores no setting, and the application goes on beside it.
      if (mode === 'operator') return undefined
      return copyBy((sql, values) => handle.file.queue.call('copy', [sql, values]))
    },
    open: async (wake: () => void) => {
      if (mode === 'operator') handle.file = await openFile(file, options, mode)
      else if (file === inMemory) handle.file = openMemory(options)
      else {
        store.place = canonicalPath(file)
        handle.file = await shareFile(store.place, options, wake)
      }
    },
    close: async () => {
      const open = handle.file
      handle.file = closedFile
      await open.close()
    },
    ...workOf(handle, mode),
    ...adminOf(handle),
    ...metaOf(handle, mode),
  } satisfies InboxStore<SqliteTransaction>
  return store
}

function workOf(handle: FileHandle, mode: FileMode): WorkStore<SqliteTransaction> {
  if (mode === 'operator') return { ...refusedWork }
  return {
    insert: (entry, signal) => {
      const { file } = handle
      const bytes = entry.body.length + entry.metadata.length
      const inserted = file.queue.call('insert', [entry], { bytes, signal })
      if (!file.wakes || file.wakes.size === 1) return inserted
      return inserted.then((one) => {
        if (one.kind === 'stored') wakeOthers(file)
        return one
      })
    },
    insertAll: async (entries, signal) => {
      const { file } = handle
      let bytes = 0
      for (const { body, metadata } of entries) bytes += body.length + metadata.length
      const inserted = await file.queue.call('insertAll', [entries], { bytes, signal })
      if (inserted.some(({ kind }) => kind === 'stored')) wakeOthers(file)
      return inserted
    },
    claim: (request) => handle.file.queue.call('claim', [request]),
    align: (alignment) => handle.file.queue.call('align', [alignment]),
    renew: async (leases, until) => {
      if (leases.length > 0) await handle.file.queue.call('renew', [leases, until])
    },
    lapsed: (now) => handle.file.queue.call('lapsed', [now]),
    checkpoint: (...args) => handle.file.queue.call('checkpoint', args),
    settle: (settlement) => handle.file.queue.call('settle', [settlement]),
    assign: (assignment) => handle.file.queue.call('assign', [assignment]),
    transaction: async (lease, handler) => {
      const turn = await handle.file.gate.transaction(lease, handler)
      // The wait for the turn can be long, so the lease is checked again: a forgotten entry must not
      // run. If the store does not answer, the handler's own statements will fail too.
      const checked = handle.file.queue.call('checkpoint', [lease])
      const isHeld = await inTime(checked, leaseTimeout, 'a lease').catch(() => true)
      if (isHeld) return turn
      await turn.rollback()
      throw new WebhookError('STORE_FAILED', 'the lease was lost before the handler began')
    },
  }
}

function adminOf(handle: FileHandle): AdminStore {
  return {
    // Long searches are carried out beside the writer.
    find: (query) => handle.file[query.ids ? 'queue' : 'reader'].call('find', [query]),
    findDone: (query) => handle.file.reader.call('findDone', [query]),
    stats: (...args) => handle.file[args[1] ? 'reader' : 'queue'].call('stats', args),
    dismiss: (id, now) => handle.file.queue.call('dismiss', [id, now]),
    purge: (purge) => handle.file.queue.call('purge', [purge]),
    reopen: async (reopening) => {
      const { file } = handle
      const opened = await file.queue.call('reopen', [reopening])
      if (opened > 0) wakeOthers(file)
      return opened
    },
    forget: (lane, now, ofNone = false) =>
      forgetByPages((page) => handle.file.queue.call('forget', [{ lane, now, ofNone, ...page }])),
  }
}

function metaOf(handle: FileHandle, mode: FileMode): MetaStore {
  return {
    recall: (name, initial) => handle.file.queue.call('recall', [name, initial]),
    remember: async (name, value) => {
      // Only the owner writes the key check: an operator may have another key.
      if (mode === 'operator' && name !== keysPurgedSetting) return
      await handle.file.queue.call('remember', [name, value])
    },
  }
}

const refuse = async () => {
  throw new WebhookError('STORE_UNSUITABLE', "mode: 'operator' keeps and claims nothing")
}

const refusedWork: WorkStore<never> = {
  ...{
    insert: refuse,
    insertAll: refuse,
    claim: refuse,
    align: refuse,
    renew: refuse,
    lapsed: refuse,
  },
  ...{ checkpoint: refuse, settle: refuse, assign: refuse },
}

const fail = async () => {
  throw new WebhookError('STORE_FAILED', 'the inbox is closed')
}

const closedFile: SharedFile = {
  queue: { call: fail },
  reader: { call: fail },
  gate: { transaction: fail },
  close: async () => {},
}
