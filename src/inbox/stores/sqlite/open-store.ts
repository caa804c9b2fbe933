// Opens what a store works with: the writer and its queue, who looks beside it, and the connection
// of handlers.
import { WebhookError } from '../../../errors.ts'
import type { Gives, Method, Takes } from './calls.ts'
import { loadDriver, locateDriver, type SqliteDatabase, type SqliteDriver } from './driver.ts'
import { watchFile } from './file-watch.ts'
import { type OpenWriter, openInline } from './inline.ts'
import type { CallReader, OpenFile } from './open-file.ts'
import { configure, openBeside, openInMemory, openOwned } from './opening.ts'
import { assertSideFiles } from './side-files.ts'
import { openThread } from './thread.ts'
import { type HandlerConnection, TransactionGate } from './transaction.ts'
import { WriteQueue } from './write-queue.ts'
import { writerScript } from './writer-script.ts'

/** How a file is opened. */
export interface FileOptions {
  readonly driver?: SqliteDriver
  readonly check?: 'integrity' | 'quick'
}

/** Opens the file for this process, and watches that it stays where it is. */
export async function openOwnedFile(path: string, options: FileOptions): Promise<OpenFile> {
  const { check = 'integrity' } = options
  const driver = locateDriver(options.driver)
  const open = loadDriver(driver)
  let queue: WriteQueue | undefined
  let reader: Reader | undefined
  const broken = (message: string) => {
    queue?.break(message)
    reader?.break(message)
  }
  const writer =
    typeof driver === 'function'
      ? openInline(openOwned({ file: path, open, check }))
      : await openThread(writerScript(), { file: path, driver, check, mode: 'owner' }, broken)
  queue = new WriteQueue(writer)
  // A driver that is given as a function runs on this thread, where one connection is enough.
  if (typeof driver !== 'function') {
    reader = new Reader(async (lost) => {
      const beside = { file: path, driver, mode: 'operator' } as const
      return new WriteQueue(await openThread(writerScript(), beside, lost))
    })
  }
  const handlers = () => {
    // The writer has it open, so that nothing is still to come; everybody waits for a handler.
    assertSideFiles(path, open, 0)
    return connect(open(path))
  }
  const file = served({ writer, queue, reader }, handlers)
  let closing: Promise<void> | undefined
  const close = () => {
    stop()
    closing ??= file.close()
    return closing
  }
  const stop = watchFile(path, {
    broken,
    unlocked: (why) => {
      broken(why)
      // Closed, it is whole, and whoever opens it does no harm.
      close().catch(() => {})
    },
  })
  return { ...file, close }
}

/** Opens the file beside its owner, for an operator. */
export async function openOperatedFile(file: string, options: FileOptions): Promise<OpenFile> {
  const { check } = options
  const driver = locateDriver(options.driver)
  const open = loadDriver(driver)
  let queue: WriteQueue | undefined
  const broken = (message: string) => queue?.break(message)
  const writer =
    typeof driver === 'function'
      ? openInline(openBeside({ file, open, check }))
      : await openThread(
          writerScript(),
          { file, driver, mode: 'operator', ...(check && { check }) },
          broken,
        )
  queue = new WriteQueue(writer)
  return served({ writer, queue }, () => connect(open(file)))
}

/** Writes of handlers and of the inbox take turns on one connection. */
export function openMemory({ driver }: FileOptions): OpenFile {
  const owned = openInMemory(loadDriver(locateDriver(driver)))
  const writer = openInline(owned)
  const connection = () => ({ db: owned.db, close: () => {} })
  return served({ writer, queue: new WriteQueue(writer) }, connection)
}

interface Served {
  readonly writer: OpenWriter
  readonly queue: WriteQueue
  readonly reader?: Reader | undefined
}

function served({ writer, queue, reader }: Served, connection: () => HandlerConnection): OpenFile {
  const gate = new TransactionGate(queue, writer.epoch ?? 0, connection)
  const close = async () => {
    gate.close()
    await reader?.close()
    await queue.close()
  }
  return { queue, gate, reader: reader ?? queue, close }
}

/**
 * No sync of its own: what is settled after it syncs the log up to there, and until then a power
 * cut takes the effects and their checkpoint together.
 */
function connect(db: SqliteDatabase): HandlerConnection {
  configure(db, 'normal')
  db.exec('pragma wal_autocheckpoint = 0')
  return { db, close: () => void db.close() }
}

/** A thread that looks, started when somebody first asks: no delivery waits for a long search. */
class Reader implements CallReader {
  readonly #open: (lost: () => void) => Promise<WriteQueue>
  #opening: Promise<WriteQueue> | undefined
  #broken: string | undefined

  constructor(open: (lost: () => void) => Promise<WriteQueue>) {
    this.#open = open
  }

  async call<M extends Method>(method: M, argument: Takes<M>): Promise<Gives<M>> {
    if (this.#broken !== undefined) throw new WebhookError('STORE_FAILED', this.#broken)
    this.#opening ??= this.#start()
    return (await this.#opening).call(method, argument)
  }

  /** Rejects everything from now on. */
  break(message: string): void {
    this.#broken = `the inbox could not be read: ${message}`
    void this.#opening?.then((queue) => queue.break(message)).catch(() => {})
  }

  async close(): Promise<void> {
    const queue = await this.#opening?.catch(() => undefined)
    await queue?.close()
  }

  /** The next call starts another one where this one fails or ends. */
  #start(): Promise<WriteQueue> {
    const lost = () => {
      this.#opening = undefined
    }
    const opening = this.#open(lost)
    opening.catch(lost)
    return opening
  }
}
