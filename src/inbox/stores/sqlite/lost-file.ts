// The words for a file of an open inbox that is not in its place any more, and the way out.

/** The way out when a log or its index is gone: the last who closes moves the log into the file. */
const restart = 'stop the application in good order, which writes what it holds, and start it'

/** How a file was taken from under the connections that have it open. */
export type Loss = 'was deleted' | 'was replaced by another file'

/** The error's words, for the operator. */
export function lostFile(file: string, loss: Loss): string {
  const isSide = /-(?:wal|shm|owner)$/.test(file)
  const fix = isSide ? restart : 'restore it, or restart to begin a new one'
  return `the file ${file} ${loss} while it was open: ${fix}`
}
