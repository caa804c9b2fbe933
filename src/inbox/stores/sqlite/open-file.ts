// One open file for each path and process, shared by all stores on it: bundlers and development
// servers load a module more than once, and each time it makes an inbox on the same file.
import { WebhookError } from '../../../errors.ts'
import { processState } from '../../../host/process.ts'
import type { SqliteDriver } from './driver.ts'
import type { TransactionGate } from './transaction.ts'
import type { WriteQueue } from './write-queue.ts'

/** Where calls go that change nothing. */
export type CallReader = Pick<WriteQueue, 'call'>

/** Shared by the stores of one file. */
export interface OpenFile {
  readonly queue: WriteQueue
  readonly gate: TransactionGate
  /** The queue itself, or a connection beside the writer. */
  readonly reader: CallReader
  close(): Promise<void>
}

/** The file, as one store has it open. */
export interface SharedFile extends OpenFile {
  /** Announces to the other stores on the file that there may be something to claim. */
  wakeOthers(): void
}

interface OpenByPath {
  /** The shape of this record: another version of the package may read it. */
  readonly version: 1
  readonly opening: Promise<OpenFile>
  readonly wakes: Set<() => void>
  readonly driver?: SqliteDriver
  closing?: Promise<void>
}

/** How a file is opened, and who hears that there may be something to claim. */
export interface Sharing {
  readonly open: () => Promise<OpenFile>
  readonly driver: SqliteDriver
  readonly wake: () => void
}

/** Opens the file at a canonical path, or joins the stores that have it open in this process. */
export async function shareFile(
  path: string,
  { open, driver, wake }: Sharing,
): Promise<SharedFile> {
  const files = filesOfProcess()
  let shared = files.get(path)
  while (shared?.closing) {
    await shared.closing
    shared = files.get(path)
  }
  if (shared === undefined || shared.version !== 1) {
    shared = { version: 1, opening: open(), wakes: new Set(), driver }
    files.set(path, shared)
  }
  // Each call has its own, though a caller may give one function twice.
  const own = () => wake()
  const { wakes, opening } = shared
  wakes.add(own)
  try {
    const { queue, gate, reader } = await opening
    const wakeOthers = () => {
      for (const one of wakes) if (one !== own) one()
    }
    return { queue, gate, reader, wakeOthers, close: () => leave(path, shared, own) }
  } catch (error) {
    if (files.get(path) === shared) files.delete(path)
    throw error
  }
}

/**
 * Two SQLite libraries of one process do not see each other's locks.
 *
 * @throws WebhookError `STORE_UNSUITABLE`
 */
export function assertSameDriver(path: string, driver: SqliteDriver): void {
  const known = filesOfProcess().get(path)?.driver
  // Which library a function opens it with is not known.
  if (typeof known !== 'string' || typeof driver !== 'string' || known === driver) return
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `the inbox ${path} is open in this process with driver '${known}', and here with '${driver}': two SQLite libraries would damage it, so give both the same driver`,
  )
}

/** The last store that leaves closes the file. */
async function leave(path: string, shared: OpenByPath, own: () => void): Promise<void> {
  shared.wakes.delete(own)
  if (shared.wakes.size > 0) return
  const files = filesOfProcess()
  shared.closing = shared.opening
    .then((file) => file.close())
    .finally(() => {
      if (files.get(path) === shared) files.delete(path)
    })
  await shared.closing
}

/** One for all copies of this package in a process. */
function filesOfProcess(): Map<string, OpenByPath> {
  // Trust is granted here: only this file writes to the map.
  return processState().sqliteFiles as Map<string, OpenByPath>
}
