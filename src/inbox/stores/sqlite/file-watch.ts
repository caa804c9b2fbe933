// Notices that the file of an open inbox, its log or the index of that was deleted or replaced:
// SQLite goes on in what was unlinked, and whoever comes next makes a new one and writes into it.
// And that another SQLite library of this process has it open.
import { stat } from 'node:fs/promises'
import { hasSecondLibrary } from './second-library.ts'

/** Milliseconds between two looks. */
const beat = 2_000

/**
 * Calls `broken` once when a path no longer leads to the same file, or its locks count for nothing;
 * gives the end of the watch.
 */
export function watchFile(path: string, broken: (why: string) => void): () => void {
  // The last connection that closes moves the log into the file, linked or not.
  const restart = 'stop the application in good order, which writes what it holds, and start it'
  const fixes: Readonly<Record<string, string>> = {
    [path]: 'restore it, or restart to begin a new one',
    [`${path}-wal`]: restart,
    [`${path}-shm`]: restart,
  }
  const seen = new Map<string, string>()
  let isOver = false
  const look = async (file: string): Promise<string | undefined> => {
    try {
      const { dev, ino } = await stat(file)
      const found = `${dev} ${ino}`
      const known = seen.get(file) ?? found
      seen.set(file, known)
      return known === found ? undefined : 'was replaced by another file'
    } catch (error) {
      // Another error, such as a missing right, says nothing about the file.
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      return isMissing && (file === path || seen.has(file)) ? 'was deleted' : undefined
    }
  }
  const lookAtAll = async () => {
    for (const [file, fix] of Object.entries(fixes)) {
      const what = await look(file)
      if (what === undefined || isOver) continue
      stop()
      broken(`the file ${file} ${what} while it was open: ${fix}`)
    }
    if (isOver || !(await hasSecondLibrary(path)) || isOver) return
    stop()
    broken(secondLibrary(path))
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

function secondLibrary(path: string): string {
  return `another SQLite library of this process has the file ${path} open: neither sees the locks of the other, which damages the file. Open it with the inbox's library alone (its option driver), or in another process, and restart`
}
