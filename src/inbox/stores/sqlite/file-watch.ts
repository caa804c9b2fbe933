// Notices that the file of an open inbox, its log or the index of that was deleted or replaced:
// SQLite goes on in what was unlinked, and whoever comes next makes a new one and writes into it.
// And that the locks of this process count for nothing any more.
import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type Loss, lostFile } from './lost-file.ts'
import { OwnLocks } from './own-locks.ts'
import { hasSecondLibrary, secondLibrary } from './second-library.ts'

/** Milliseconds between two looks. */
const beat = 2_000

/** One of them is called, once. */
export interface WatchListeners {
  /** Somebody else may write to the file, so nothing of it may be touched. */
  readonly broken: (why: string) => void
  /** It is as it was, but whoever opens it now would not see that this process has it open. */
  readonly unlocked: (why: string) => void
}

/** Watches the files of an open inbox, and gives the end of that. */
export function watchFile(path: string, { broken, unlocked }: WatchListeners): () => void {
  const files = [path, `${path}-wal`, `${path}-shm`]
  const locks = new OwnLocks([path, `${path}-shm`, `${path}-owner`])
  // At once: the first of the looks may be late.
  const seen = new Map<string, string>()
  for (const file of files) {
    try {
      seen.set(file, identityOf(statSync(file)))
    } catch {
      // The first look that succeeds decides.
    }
  }
  let isOver = false
  const look = async (file: string): Promise<Loss | undefined> => {
    try {
      const found = identityOf(await stat(file))
      const known = seen.get(file) ?? found
      seen.set(file, known)
      return known === found ? undefined : 'was replaced by another file'
    } catch (error) {
      // Another error, such as a missing right, says nothing about the file.
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      return isMissing && (file === path || seen.has(file)) ? 'was deleted' : undefined
    }
  }
  const foundBroken = async (): Promise<string | undefined> => {
    for (const file of files) {
      const loss = await look(file)
      if (loss !== undefined) return lostFile(file, loss)
    }
    return (await hasSecondLibrary(path)) ? secondLibrary(path) : undefined
  }
  const lookAtAll = async () => {
    const why = await foundBroken()
    const lost = locks.lost()
    if (isOver || (why ?? lost) === undefined) return
    stop()
    if (why !== undefined) broken(why)
    else if (lost !== undefined) unlocked(lost)
  }
  let looking: Promise<void> | undefined = lookAtAll()
  const free = () => {
    looking = undefined
  }
  looking.then(free, free)
  const timer = setInterval(() => {
    looking ??= lookAtAll().finally(free)
  }, beat)
  timer.unref?.()
  const stop = () => {
    isOver = true
    clearInterval(timer)
  }
  return stop
}

function identityOf({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev} ${ino}`
}
