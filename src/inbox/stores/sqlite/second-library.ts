// A second SQLite library in this process that has the file of an inbox open. The locks of a file
// belong to the process: neither library sees those of the other, the first that closes drops them
// all, and the file is damaged (section 2.2.1 of sqlite.org/howtocorrupt.html).
import { readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { WebhookError } from '../../../errors.ts'
import { lostFile } from './lost-file.ts'
import { OwnLocks } from './own-locks.ts'

// Only Linux shows what a process has mapped; Deno would ask its user whether that may be read.
const canLook = process.platform === 'linux' && !('Deno' in globalThis)
const maps = '/proc/self/maps'

/**
 * Looks around each batch, and further only where the index of the log was touched: whoever takes
 * itself for the first to open the file makes a new index.
 */
export class LibraryGuard {
  /** Set once a look was bad: from then on nothing may be written. */
  broken: WebhookError | undefined
  readonly #path: string
  readonly #locks: OwnLocks
  #touched: bigint | undefined

  constructor(path: string, isOwner: boolean) {
    this.#path = path
    // An operator has no part in the owner's lock, which may be of this process too.
    this.#locks = new OwnLocks([path, `${path}-shm`, ...(isOwner ? [`${path}-owner`] : [])])
  }

  /** @throws WebhookError `STORE_UNSUITABLE`, or `STORE_FAILED` where the index or a lock is gone */
  assertAlone(): void {
    this.broken ??= this.#look()
    if (this.broken) throw this.broken
  }

  #look(): WebhookError | undefined {
    const index = `${this.#path}-shm`
    const touched = touchedAt(index)
    if (touched === this.#touched || touched === 'unknown') return undefined
    this.#touched = touched
    // Whoever takes itself for the last to close the file deletes it.
    if (touched === undefined)
      return new WebhookError('STORE_FAILED', lostFile(index, 'was deleted'))
    if (canLook && isMappedTwice(mapped(), this.#path)) {
      return new WebhookError('STORE_UNSUITABLE', secondLibrary(this.#path))
    }
    const lost = this.#locks.lost()
    return lost === undefined ? undefined : new WebhookError('STORE_FAILED', lost)
  }
}

/** When the file was changed last; undefined when it is gone. */
function touchedAt(file: string): bigint | 'unknown' | undefined {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false })?.mtimeNs
  } catch {
    return 'unknown'
  }
}

/** Nothing where the rights of this process do not reach so far. */
function mapped(): string {
  try {
    return readFileSync(maps, 'utf8')
  } catch {
    return ''
  }
}

/** Whether two libraries have it open now. */
export async function hasSecondLibrary(path: string): Promise<boolean> {
  if (!canLook) return false
  return readFile(maps, 'utf8').then(
    (text) => isMappedTwice(text, path),
    () => false,
  )
}

/** The cause and the way out, for the operator. */
export function secondLibrary(path: string): string {
  return `another SQLite library of this process has the file ${path} open: neither sees the locks of the other, which damages the file. Open it with the inbox's library alone (its option driver), or in another process, and restart`
}

/**
 * Each library maps the index of the log once, for all of its connections and threads. One that was
 * deleted counts: whoever maps it still writes into the file.
 */
function isMappedTwice(text: string, path: string): boolean {
  const ends = [` ${path}-shm`, ` ${path}-shm (deleted)`]
  // Address, rights, offset, device, inode and path.
  const isStart = (line: string) =>
    /^\S+ \S+ 0+ /.test(line) && ends.some((end) => line.endsWith(end))
  return text.split('\n').filter(isStart).length > 1
}
