// The port of a store. The policy is above it; a store decides what only a commit can decide:
// whether a key is new, which lease is valid, which entry is the head of a lane.
import type { Clock } from '../foundation/clock.ts'
import type { AdminStore } from './admin-store.ts'
import type { CopyStore } from './copy-store.ts'
import type { WorkStore } from './work-store.ts'

/** The guarantees of a store; an unmet need is an error at start. */
export interface StoreCapabilities {
  /** `entity`: one at a time and in arrival order within each lane. */
  readonly order: 'entity' | 'none'
  /**
   * The worst that a kept entry survives: the loss of the machine that acknowledged it
   * (`failover`), a power cut, a restart of the process, or nothing.
   */
  readonly survives: 'failover' | 'power-cut' | 'restart' | 'nothing'
  /** The longest dedupe window in days. */
  readonly dedupeDays: number
  /** True if handlers get `context.tx`: their effects commit together with their checkpoint. */
  readonly tx: boolean
  /** True if several processes may claim entries at the same time. */
  readonly shared: boolean
  /** `tenants`: waiting tenants take turns at a claim, so that none keeps another waiting. */
  readonly fairness: 'tenants' | 'none'
  /**
   * The effect of erasing on the bytes of a payload: `overwritten` at once, or `unlinked` and gone
   * when the engine reuses the space (logs, replicas and backups may keep them for longer).
   */
  readonly erases: 'overwritten' | 'unlinked'
}

/** Small values beside the entries, such as the salt of the inbox. */
export interface MetaStore {
  /** The value of a name; if there is none, `initial` is stored first. Callers may race. */
  recall(name: string, initial: Uint8Array): Promise<Uint8Array>
  remember(name: string, value: Uint8Array): Promise<void>
}

/**
 * A store of entries; `Tx` is the handle of its transactions.
 *
 * Every promise resolves after the commit. After a rejection the commit may have happened or not, so
 * every call may be repeated: a second `insert` of a key is a duplicate, a second identical `settle`
 * answers as the first. The text of an error never holds data of an entry.
 */
export interface InboxStore<Tx = unknown> extends WorkStore<Tx>, AdminStore, MetaStore {
  readonly name: string
  /** Known before `open`, which verifies what depends on the server. */
  readonly capabilities: StoreCapabilities
  /** The path of the file, once it is open; a second receiver's worker there replaces the first. */
  readonly place?: string | undefined
  /** Copies a whole inbox; there while the store is open, if it can. */
  readonly copy?: CopyStore
  /**
   * The time of a shared store, so that processes whose clocks differ agree on what is due and
   * which lease has expired. Read from the first claim on; a store of one process has none.
   */
  readonly now?: Clock
  /**
   * Called once before everything else. `wake` announces that there may be something to claim, also
   * if another process stored it; a call without reason is allowed.
   *
   * @throws WebhookError `STORE_FAILED`, `STORE_UNSUITABLE`, `STORE_OWNED`, `STORE_DAMAGED`
   */
  open(wake: () => void): Promise<void>
  /**
   * Calls `heard` soon after entries were done, also by another process, until the returned function
   * is called. A store without it is asked 50 times a second while something waits.
   */
  onDone?(heard: () => void): () => void
  /** Closes the store; its leases lapse at once. */
  close(): Promise<void>
}
