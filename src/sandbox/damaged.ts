// The refusal of a damaged data file; apart from data-file.ts, so that a sandbox in memory loads no
// SQLite.
import { WebhookError } from '../errors.ts'

/** A file whose content is not what was written: it is left as it is, for whoever can mend it. */
export function damaged(path: string, what: string, cause?: unknown): WebhookError {
  const why = cause instanceof Error ? ` (${cause.message})` : ''
  const message = `the data file ${path} is damaged at ${what}${why}: mend it, or use another file; nothing in it was changed`
  return new WebhookError('DATA_FILE_FAILED', message, { cause })
}
