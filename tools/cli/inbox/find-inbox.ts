// Finds the inbox that a command works on, and opens it beside the application that owns it. A key
// comes from the environment, never from an argument.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option } from 'commander'
import {
  createInbox,
  type EncryptionOptions,
  type Inbox,
  type InboxStore,
} from '../../../src/inbox/index.ts'
import { isWebhookError } from '../../../src/index.ts'
import { CliError, exitCodes } from '../exit-code.ts'
import type { Session } from '../session.ts'
import { fromVariable, isPostgresUrl, postgresStoreAt, shownUrl } from './postgres-inbox.ts'

export interface InboxChoice {
  readonly inbox?: string
}

export const inboxOption = () =>
  new Option(
    '--inbox <file>',
    'the inbox: a SQLite file, postgres://…, or env:NAME of a variable that holds one (default: IDV_INBOX, else `inbox` of the config file)',
  )

export interface FoundInbox {
  readonly inbox: Inbox
  /** Where the inbox is, for people: its file, or the config file that creates it. */
  readonly where: string
  readonly file?: string
  /** True if the inbox has a key; only known if the command line created the inbox. */
  readonly encrypted?: boolean
}

export interface InboxOpening extends InboxChoice {
  /** `owner` can add entries, and needs the application to be stopped; `operator` is the default. */
  readonly mode?: 'owner' | 'operator'
  /** True if the whole file is read and checked, as when the application starts. */
  readonly isChecked?: boolean
}

export async function findInbox(
  session: Session,
  opening: InboxOpening,
): Promise<FoundInbox | undefined> {
  const { config, cwd } = session
  const { mode = 'operator' } = opening
  const given = opening.inbox ?? config.values.inbox
  if (isInbox(given)) return { inbox: given, where: 'the inbox of the config file' }
  if (typeof given !== 'string') return undefined
  const path = fromVariable(session, given)
  if (isPostgresUrl(path)) {
    const store = await postgresStoreAt(path, { cwd, mode })
    return { ...madeInbox(session, store), where: shownUrl(path) }
  }
  const file = resolve(cwd, path)
  // Everything is missing from a new inbox, so a typo would add everything to it.
  if (mode === 'owner' && !existsSync(file)) {
    const fix = 'check the path, or start the application once, which creates it'
    throw new CliError('INBOX_MISSING', `the inbox ${path} does not exist: ${fix}`)
  }
  const { sqliteStore } = await import('../../../src/inbox/stores/sqlite/sqlite.ts')
  const store = sqliteStore(file, { mode, ...(opening.isChecked && { check: 'integrity' }) })
  return { ...madeInbox(session, store), where: path, file }
}

function madeInbox({ env }: Session, store: InboxStore) {
  const encryption = encryptionOf(env.IDV_INBOX_KEY)
  const inbox = createInbox({ store, ...(encryption && { encryption }) })
  return { inbox, encrypted: encryption !== undefined }
}

/** The variable may hold several keys: new,old. */
function encryptionOf(keys: string | undefined): EncryptionOptions | undefined {
  if (!keys) return undefined
  const [key = '', ...previous] = keys.split(',').map((one) => one.trim())
  return { key, previous }
}

function isInbox(given: unknown): given is Inbox {
  return (
    typeof (given as Partial<Inbox> | undefined)?.find === 'function' && 'redrive' in Object(given)
  )
}

export async function withInbox<Result>(
  session: Session,
  opening: InboxOpening,
  work: (found: FoundInbox) => Promise<Result>,
): Promise<Result> {
  const found = await findInbox(session, opening)
  if (!found) {
    throw new CliError(
      'USAGE',
      'no inbox given: pass --inbox <file>, or set IDV_INBOX to a file or postgres://…',
    )
  }
  await openFound(session, found)
  try {
    return await work(found)
  } finally {
    await found.inbox.close()
  }
}

export async function openFound(session: Session, { inbox, file }: FoundInbox): Promise<void> {
  try {
    await inbox.open()
  } catch (error) {
    if (!isWebhookError(error)) throw error
    const { code, reason } = error
    if (code !== 'STORE_SEALED' && file !== undefined && !existsSync(file)) {
      throw new CliError('INBOX_MISSING', reason)
    }
    if (code !== 'STORE_OWNED') throw storeError(session, error)
    // A file that the command line opens itself can be opened beside its owner.
    const way = `; to work beside it, pass --inbox <file>, or use sqliteStore(file, { mode: 'operator' }) in the config file`
    const message = file === undefined ? `${reason}${way}` : reason
    throw new CliError('INBOX_OWNED', message, exitCodes.failed)
  }
}

/** Turns a store's error into one for the person at the terminal. */
export function storeError({ env }: Session, error: unknown): unknown {
  if (!isWebhookError(error)) return error
  if (error.code !== 'STORE_SEALED') return CliError.from(error, { exitCode: exitCodes.failed })
  const why = env.IDV_INBOX_KEY
    ? 'IDV_INBOX_KEY is not the key of this inbox: use the key of the application (new,old during rotation)'
    : 'the inbox is encrypted: set IDV_INBOX_KEY'
  return new CliError('INBOX_SEALED', why)
}
