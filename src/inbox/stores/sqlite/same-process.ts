// Which files this process owns, told apart from those that another one does: bundlers load a module
// once for each bundle, so two stores of one process may not know of each other.
import { realpathSync } from 'node:fs'
import { isWebhookError, WebhookError } from '../../../errors.ts'

const owned = Symbol.for('idv-webhooks.sqliteFiles')

/** A file that was opened, and what to call when it is closed. */
export interface Held<Opened> {
  readonly opened: Opened
  readonly release: () => void
}

/**
 * Opens a file to own it. The lock alone decides who does; what is noted here only says better why
 * it was refused.
 *
 * @throws WebhookError what `open` throws, or that this very process has the file
 */
export async function holdFile<Opened>(
  file: string,
  open: () => Promise<Opened>,
): Promise<Held<Opened>> {
  const files = filesOfProcess()
  try {
    const opened = await open()
    const path = realpathSync(file)
    files.add(path)
    return { opened, release: () => files.delete(path) }
  } catch (cause) {
    if (!isOwnedElsewhere(cause)) throw cause
    const path = realpathSync(file)
    if (!files.has(path)) throw cause
    throw new WebhookError(
      'STORE_FAILED',
      `this same process has the inbox ${path} open already: createInbox() ran twice on it, as where a bundler loads a module once for each bundle (Next.js). Make receiver, inbox and worker once, in a function, and keep them: globalThis.idv ??= make()`,
      { cause },
    )
  }
}

/** One for all copies of this package in a process. */
function filesOfProcess(): Set<string> {
  const all = globalThis as { [owned]?: Set<string> }
  all[owned] ??= new Set()
  return all[owned]
}

/** By its words: a thread hands on no more than these. */
function isOwnedElsewhere(error: unknown): boolean {
  return isWebhookError(error) && error.message.startsWith('another process has the inbox')
}
