// Notices that the file of an open inbox was deleted or replaced: SQLite goes on writing into the
// unlinked file, and all of that would be gone with the process.
import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'

/** Milliseconds between two looks. */
const beat = 2_000

/** Calls `gone` once when the path no longer leads to the same file; gives the end of the watch. */
export function watchFile(path: string, gone: (why: string) => void): () => void {
  const { dev, ino } = statSync(path)
  let isLooking = false
  const look = async () => {
    if (isLooking) return
    isLooking = true
    try {
      const found = await stat(path)
      if (found.dev !== dev || found.ino !== ino) report('was replaced by another file')
    } catch (error) {
      // Another error, such as a missing right, says nothing about the file.
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
        report('was deleted')
      }
    } finally {
      isLooking = false
    }
  }
  const timer = setInterval(look, beat)
  timer.unref?.()
  const stop = () => clearInterval(timer)
  const report = (what: string) => {
    stop()
    gone(`the file ${path} ${what} while it was open: restore it, or restart to begin a new one`)
  }
  return stop
}
