// Opens each file once for a process, and shares it among all stores on it: bundlers and
// development servers load a module more than once, and each time it makes an inbox on the same
// file.
import { processState } from '../../../host/process.ts'
import type { Gives, Takes, WriterMethod } from './calls.ts'
import { loadDriver, locateDriver, type SqliteDatabase, type SqliteDriver } from './driver.ts'
import { type OpenFile, openInline, served } from './inline.ts'
import { configure, type FileCheck, type FileMode, openInMode } from './opening.ts'
import type { SharedFile } from './port.ts'
import { openThread, type ThreadOpening } from './thread.ts'
import type { HandlerConnection } from './transaction.ts'
import { WriteQueue } from './write-queue.ts'

export interface FileOptions {
  readonly driver?: SqliteDriver
  readonly check?: FileCheck
}

interface OpenByPath {
  readonly opening: Promise<OpenFile>
  readonly wakes: Set<() => void>
  closing?: Promise<void>
}

/** Opens the file at a canonical path, or joins the stores that have it open in this process. */
export async function shareFile(
  path: string,
  options: FileOptions,
  wake: () => void,
): Promise<SharedFile> {
  const files = filesOfProcess()
  let shared = files.get(path)
  while (shared?.closing) {
    await shared.closing
    shared = files.get(path)
  }
  if (shared === undefined) {
    shared = { opening: openFile(path, options, 'owner'), wakes: new Set() }
    files.set(path, shared)
  }
  // Each call gets its own wrapper, because a caller may pass one function twice.
  const own = () => wake()
  const { wakes, opening } = shared
  wakes.add(own)
  try {
    return { ...(await opening), wakes, own, close: () => leave(path, shared, own) }
  } catch (error) {
    if (files.get(path) === shared) files.delete(path)
    throw error
  }
}

async function leave(path: string, shared: OpenByPath, own: () => void): Promise<void> {
  shared.wakes.delete(own)
  if (shared.wakes.size > 0) return
  const files = filesOfProcess()
  shared.closing = shared.opening
    .then((file) => file.close())
    .finally(() => {
      if (files.get(path) === shared) files.delete(path)
    })
  await shared.closing
}

/** One map for all copies of this package in a process. */
function filesOfProcess(): Map<string, OpenByPath> {
  // Trust is granted here: only this file writes to the map.
  return processState().sqliteFiles as Map<string, OpenByPath>
}

/** Opens the file for this process, or beside its owner for an operator. */
export async function openFile(
  file: string,
  { driver: given, check }: FileOptions,
  mode: FileMode,
): Promise<OpenFile> {
  const driver = locateDriver(given)
  const open = loadDriver(driver)
  const connection = () => connect(open(file))
  // A driver that is a function runs on this thread, where one connection is enough.
  if (typeof driver === 'function') {
    return served(openInline(openInMode({ file, open, check }, mode)), connection)
  }
  const { writer, queue } = await openQueue({ file, driver, check, mode })
  if (mode === 'operator') return served(writer, connection, { queue })
  const reader = threadReader({ file, driver, mode: 'operator' })
  return served(writer, connection, { queue, reader })
}

/** A queue before a thread; `ended` is called if the thread ends by itself. */
async function openQueue(opening: ThreadOpening, ended = () => {}) {
  let queue: WriteQueue | undefined
  const writer = await openThread(opening, (message) => {
    queue?.break(message)
    ended()
  })
  queue = new WriteQueue(writer)
  return { writer, queue }
}

/** Does not sync: a power cut before the settlement undoes effects and checkpoint together. */
function connect(db: SqliteDatabase): HandlerConnection {
  configure(db, 'normal')
  db.exec('pragma wal_autocheckpoint = 0')
  return { db, close: () => void db.close() }
}

/** A thread that reads, started by the first call: no delivery waits for a long search. */
function threadReader(file: ThreadOpening) {
  let started: Promise<WriteQueue> | undefined
  const start = () => {
    // If this thread fails or ends, the next call starts another one.
    const lost = () => {
      started = undefined
    }
    const opening = openQueue(file, lost).then(({ queue }) => queue)
    opening.catch(lost)
    return opening
  }
  return {
    call: async <M extends WriterMethod>(method: M, args: Takes<M>): Promise<Gives<M>> => {
      started ??= start()
      return (await started).call(method, args)
    },
    close: async () => {
      const queue = await started?.catch(() => undefined)
      await queue?.close()
    },
  }
}
