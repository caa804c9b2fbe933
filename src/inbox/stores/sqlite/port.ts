// The port on an open file: each method is a call to its writer, or to its reader.
import { WebhookError } from '../../../errors.ts'
import { inTime } from '../../../foundation/abortable.ts'
import type { AdminStore } from '../../admin-store.ts'
import { forgetByPages } from '../../forget-pages.ts'
import { keysPurgedSetting } from '../../retention.ts'
import type { MetaStore } from '../../store.ts'
import type { WorkStore } from '../../work-store.ts'
import type { OpenFile } from './inline.ts'
import type { FileMode } from './opening.ts'
import type { SqliteTransaction } from './transaction.ts'

/** The open file, as one of its stores sees it. */
export interface SharedFile extends OpenFile {
  /** Wakes the stores of this process that have the file open; `own` wakes this store. */
  readonly wakes?: ReadonlySet<() => void>
  readonly own?: () => void
}

export interface FileHandle {
  readonly file: SharedFile
}

export const capabilities = {
  order: 'entity',
  dedupeDays: Number.POSITIVE_INFINITY,
  shared: false,
  fairness: 'tenants',
} as const

const leaseTimeout = 250

/** Wakes the other stores on the file, because there may be something to claim. */
function wakeOthers({ wakes, own }: SharedFile): void {
  for (const wake of wakes ?? []) if (wake !== own) wake()
}

export function workOf(handle: FileHandle, mode: FileMode): WorkStore<SqliteTransaction> {
  if (mode === 'operator') return { ...refusedWork }
  return {
    insert: (entry, signal) => {
      const { file } = handle
      const bytes = entry.body.length + entry.metadata.length
      const inserted = file.queue.call('insert', [entry], { bytes, signal })
      if (!file.wakes || file.wakes.size === 1) return inserted
      return inserted.then((one) => {
        if (one.kind === 'stored') wakeOthers(file)
        return one
      })
    },
    insertAll: async (entries, signal) => {
      const { file } = handle
      let bytes = 0
      for (const { body, metadata } of entries) bytes += body.length + metadata.length
      const inserted = await file.queue.call('insertAll', [entries], { bytes, signal })
      if (inserted.some(({ kind }) => kind === 'stored')) wakeOthers(file)
      return inserted
    },
    claim: (request) => handle.file.queue.call('claim', [request]),
    align: (alignment) => handle.file.queue.call('align', [alignment]),
    renew: async (leases, until) => {
      if (leases.length > 0) await handle.file.queue.call('renew', [leases, until])
    },
    lapsed: (now) => handle.file.queue.call('lapsed', [now]),
    checkpoint: (...args) => handle.file.queue.call('checkpoint', args),
    settle: (settlement) => handle.file.queue.call('settle', [settlement]),
    assign: (assignment) => handle.file.queue.call('assign', [assignment]),
    transaction: async (lease, handler) => {
      const turn = await handle.file.gate.transaction(lease, handler)
      // The wait for the turn can be long, so the lease is checked again: a forgotten entry must not
      // run. If the store does not answer, the handler's own statements will fail too.
      const checked = handle.file.queue.call('checkpoint', [lease])
      const isHeld = await inTime(checked, leaseTimeout, 'a lease').catch(() => true)
      if (isHeld) return turn
      await turn.rollback()
      throw new WebhookError('STORE_FAILED', 'the lease was lost before the handler began')
    },
  }
}

export function adminOf(handle: FileHandle): AdminStore {
  return {
    // Long searches are carried out beside the writer.
    find: (query) => handle.file[query.ids ? 'queue' : 'reader'].call('find', [query]),
    findDone: (query) => handle.file.reader.call('findDone', [query]),
    stats: (...args) => handle.file[args[1] ? 'reader' : 'queue'].call('stats', args),
    dismiss: (id, now) => handle.file.queue.call('dismiss', [id, now]),
    purge: (purge) => handle.file.queue.call('purge', [purge]),
    reopen: async (reopening) => {
      const { file } = handle
      const opened = await file.queue.call('reopen', [reopening])
      if (opened > 0) wakeOthers(file)
      return opened
    },
    forget: (lane, now, ofNone = false) =>
      forgetByPages((page) => handle.file.queue.call('forget', [{ lane, now, ofNone, ...page }])),
  }
}

export function metaOf(handle: FileHandle, mode: FileMode): MetaStore {
  return {
    recall: (name, initial) => handle.file.queue.call('recall', [name, initial]),
    remember: async (name, value) => {
      // Only the owner writes the key check: an operator may have another key.
      if (mode === 'operator' && name !== keysPurgedSetting) return
      await handle.file.queue.call('remember', [name, value])
    },
  }
}

const refuse = async () => {
  throw new WebhookError('STORE_UNSUITABLE', "mode: 'operator' keeps and claims nothing")
}

const refusedWork: WorkStore<never> = {
  ...{ insert: refuse, insertAll: refuse, claim: refuse, align: refuse, renew: refuse },
  ...{ lapsed: refuse, checkpoint: refuse, settle: refuse, assign: refuse },
}

const fail = async () => {
  throw new WebhookError('STORE_FAILED', 'the inbox is closed')
}

export const closedFile: SharedFile = {
  queue: { call: fail },
  reader: { call: fail },
  gate: { transaction: fail },
  close: async () => {},
}
