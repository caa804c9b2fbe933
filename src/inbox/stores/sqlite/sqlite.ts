// The embedded store: one SQLite file, written by a thread that groups commits. Each commit is
// synced before it is answered.
import { blamingCaller } from '../../../errors.ts'
import { checkChoice, checkOptionNames, invalid, shown } from '../../../foundation/check.ts'
import type { InboxStore } from '../../store.ts'
import { copyBy } from './copy.ts'
import type { SqliteDriver } from './driver.ts'
import { openMemory } from './inline.ts'
import { openFile, shareFile } from './open-file.ts'
import { canonicalPath } from './opening.ts'
import { adminOf, capabilities, closedFile, metaOf, workOf } from './port.ts'
import type { SqliteTransaction } from './transaction.ts'

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
   * `'better-sqlite3'`, a module like it, or a function that opens a database.
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
   * `operator` opens the file beside its owner: to find, redrive and forget.
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

function composed(file: string, options: SqliteStoreOptions): InboxStore<SqliteTransaction> {
  const { mode = 'owner' } = options
  const handle = { file: closedFile }
  const store = {
    name: 'SQLite',
    capabilities: {
      ...capabilities,
      survives: file === inMemory ? 'nothing' : 'power-cut',
      tx: true,
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
      else if (file === inMemory) handle.file = openMemory(options.driver)
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
