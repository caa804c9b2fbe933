// Finds the inbox that a command works on, and opens it beside the application that owns it. A key
// comes from the environment or the config file, never from an argument.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  createInbox,
  type EncryptionKey,
  type EncryptionOptions,
  type Inbox,
  type InboxStore,
  type RetentionDays,
} from '../../../src/inbox/index.ts'
import { isWebhookError } from '../../../src/index.ts'
import { CliError, exitCodes } from '../exit-code.ts'
import type { Session } from '../session.ts'
import type { InboxChoice } from './inbox-option.ts'
import { fromVariable, isPostgresUrl, postgresStoreAt, shownUrl } from './postgres-inbox.ts'

/** An inbox that is not open yet, and where it is. */
export interface FoundInbox {
  readonly inbox: Inbox
  /** For people: its file, or that it comes from the config file. */
  readonly where: string
  readonly file?: string
  /** Its settings, if the command line created it. */
  readonly made?: {
    readonly encrypted: boolean
    readonly retention?: Partial<RetentionDays>
  }
}

/** How to open it. */
export interface Opening extends InboxChoice {
  /** `owner` can add entries, and needs the application to be stopped; `operator` is the default. */
  readonly mode?: 'owner' | 'operator'
  readonly retention?: Partial<RetentionDays> | undefined
  /** Whether a file is read as a whole, as at the start of the application. */
  readonly isChecked?: boolean
}

/** The chosen inbox; undefined if none was chosen. */
export async function findInbox(
  session: Session,
  opening: Opening,
): Promise<FoundInbox | undefined> {
  const { config, cwd } = session
  const given = config.values.inbox
  const name = opening.inbox ?? (typeof given === 'string' ? given : undefined)
  const path = name === undefined ? undefined : fromVariable(session, name)
  const { mode = 'operator' } = opening
  if (path !== undefined && isPostgresUrl(path)) {
    const store = await postgresStoreAt(path, { cwd, mode })
    return { ...(await madeInbox(session, store, opening)), where: shownUrl(path) }
  }
  if (path !== undefined) {
    const file = resolve(cwd, path)
    const { sqliteStore } = await import('../../../src/inbox/stores/sqlite/sqlite.ts')
    const store = sqliteStore(file, { mode, ...(opening.isChecked && { check: 'integrity' }) })
    return { ...(await madeInbox(session, store, opening)), where: path, file }
  }
  const where = 'the inbox of the config file'
  if (isInbox(given)) return { inbox: given, where }
  const { store } = config.values
  if (!isStore(store)) return undefined
  const found = mode === 'owner' ? store : withoutRemembering(store)
  return { ...(await madeInbox(session, found, opening)), where }
}

/** Settings by which an inbox knows its key. */
const keySettings = ['salt', 'unencrypted']

/** The key given here may be one that the application does not have: it is not stored. */
function withoutRemembering(store: InboxStore): InboxStore {
  const remember: InboxStore['remember'] = async (setting, value) => {
    if (!keySettings.includes(setting)) await store.remember(setting, value)
  }
  const get = (_: unknown, name: string | symbol) => {
    if (name === 'remember') return remember
    const value: unknown = Reflect.get(store, name)
    return typeof value === 'function' ? value.bind(store) : value
  }
  // An empty target, because a store may be frozen.
  return new Proxy<InboxStore>(Object.create(null), { get })
}

/**
 * Opens the inbox, works on it, and closes it.
 *
 * @throws CliError `USAGE` if no inbox was chosen
 */
export async function withInbox<Result>(
  session: Session,
  opening: Opening,
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

/** Opens an inbox; an error says what to do. */
export async function openFound(session: Session, { inbox, file }: FoundInbox): Promise<void> {
  try {
    await inbox.open()
  } catch (error) {
    const isMissing = isWebhookError(error) && file !== undefined && !existsSync(file)
    if (isMissing && error.code !== 'STORE_SEALED') {
      throw new CliError('INBOX_MISSING', error.reason)
    }
    if (isWebhookError(error) && error.code === 'STORE_OWNED') throw owned(error.reason, file)
    throw storeError(session, error)
  }
}

/** Turns a store's error into one for the person at the terminal. */
export function storeError(session: Session, error: unknown): unknown {
  if (!isWebhookError(error)) return error
  if (error.code === 'STORE_SEALED') return encrypted(session)
  return CliError.from(error, { exitCode: exitCodes.failed })
}

/** A file that the command line opens itself can be opened beside its owner. */
function owned(message: string, file: string | undefined): CliError {
  const way =
    file === undefined
      ? `; to work beside it, pass --inbox <file>, or use sqliteStore(file, { mode: 'operator' }) in the config file`
      : ''
  return new CliError('INBOX_OWNED', `${message}${way}`, exitCodes.failed)
}

function encrypted({ env }: Session): CliError {
  const why = env.IDV_INBOX_KEY
    ? 'IDV_INBOX_KEY is not the key of this inbox: use the key of the application (new,old during rotation)'
    : 'the inbox is encrypted: set IDV_INBOX_KEY, or `encryption` in the config file'
  return new CliError('INBOX_SEALED', why)
}

async function madeInbox(session: Session, store: InboxStore, opening: Opening) {
  const given = encryptionOf(session)
  const encryption = opening.mode === 'owner' ? await fittingFirst(store, given) : given
  const configured = session.config.values.retention as Partial<RetentionDays> | undefined
  const retention = { ...configured, ...opening.retention }
  const inbox = createInbox({ store, retention, ...(encryption && { encryption }) })
  return { inbox, made: { encrypted: encryption !== undefined, retention } }
}

/**
 * The key that the inbox has comes first: an owner stores that under which it keeps what it adds, and
 * a new one takes effect with the application.
 */
async function fittingFirst(store: InboxStore, encryption: EncryptionOptions | undefined) {
  const { previous = [] } = encryption ?? {}
  if (!encryption || previous.length === 0) return encryption
  const keys = [encryption.key, ...previous]
  for (const key of keys) {
    const inbox = createInbox({ store, encryption: { key } })
    try {
      await inbox.open()
      return { ...encryption, key, previous: keys.filter((other) => other !== key) }
    } catch {
      // It has another key, or cannot be opened at all, which is said later.
    } finally {
      await inbox.close()
    }
  }
  return encryption
}

/** IDV_INBOX_KEY may hold several keys: new,old. */
function encryptionOf({ env, config }: Session): EncryptionOptions | undefined {
  if (env.IDV_INBOX_KEY) {
    const [key = '', ...previous] = env.IDV_INBOX_KEY.split(',').map((one) => one.trim())
    return { key, previous }
  }
  const { encryption } = config.values
  if (typeof encryption === 'string') return { key: encryption satisfies EncryptionKey }
  return encryption as EncryptionOptions | undefined
}

function isInbox(given: unknown): given is Inbox {
  return (
    typeof (given as Partial<Inbox> | undefined)?.find === 'function' && 'redrive' in Object(given)
  )
}

function isStore(given: unknown): given is InboxStore {
  return typeof (given as Partial<InboxStore> | undefined)?.insert === 'function'
}
