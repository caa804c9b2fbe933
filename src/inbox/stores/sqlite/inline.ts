// A database that the calling thread works on: in memory, or opened by a driver that is a function.
import { schedule } from '../../../host/runtime.ts'
import { Batches } from './batches.ts'
import { loadDriver, locateDriver, type SqliteDriver } from './driver.ts'
import { type InboxDatabase, openInMemory } from './opening.ts'
import { type HandlerConnection, TransactionGate } from './transaction.ts'
import { type OpenWriter, WriteQueue } from './write-queue.ts'

/** Shared by the stores of one file. */
export interface OpenFile {
  readonly queue: Pick<WriteQueue, 'call'>
  readonly gate: Pick<TransactionGate, 'transaction'>
  /** The queue itself, or a connection beside the writer. */
  readonly reader: Pick<WriteQueue, 'call'>
  close(): Promise<void>
}

type ClosingReader = OpenFile['reader'] & Pick<OpenFile, 'close'>

/** Handlers and the inbox take turns on one connection. Answers do not wait for timers of a test. */
export function openMemory(driver?: SqliteDriver): OpenFile {
  const owned = openInMemory(loadDriver(locateDriver(driver)))
  const connection = () => ({ db: owned.db, close: () => {} })
  return served(openInline(owned, queueMicrotask), connection)
}

/** Carries batches out on the calling thread: all calls of one turn of the event loop are one commit. */
export function openInline(opened: InboxDatabase, later = schedule): OpenWriter {
  const batches = new Batches(opened)
  let scheduled: (() => void) | undefined
  const flush = () => {
    const work = scheduled
    scheduled = undefined
    work?.()
  }
  return {
    epoch: opened.epoch,
    send: (calls, answered) => {
      scheduled = () => answered(batches.carryOut(calls))
      later(flush)
    },
    waitUntilIdle: flush,
    close: async () => batches.close(),
  }
}

export function served(
  writer: OpenWriter,
  connection: () => HandlerConnection,
  { queue = new WriteQueue(writer), reader }: { queue?: WriteQueue; reader?: ClosingReader } = {},
): OpenFile {
  const gate = new TransactionGate(queue, writer.epoch ?? 0, connection)
  const close = async () => {
    gate.close()
    await reader?.close()
    await queue.close()
  }
  return { queue, gate, reader: reader ?? queue, close }
}
