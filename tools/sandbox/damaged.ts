// The error for a damaged data file; apart from data-file.ts, so that a sandbox in memory does not
// load SQLite.
import { WebhookError } from '../../src/errors.ts'

/** A file that holds something else than was written; it is left as it is. */
export function damaged(path: string, what: string, cause?: unknown): WebhookError {
  const why = cause instanceof Error ? ` (${cause.message})` : ''
  const message = `the data file ${path} is damaged at ${what}${why}: repair it or use another file; nothing in it was changed`
  return new WebhookError('DATA_FILE_FAILED', message, { cause })
}
