// The policy over any store: what is kept and under which key, how long, and for whom it is opened.
import { orAborted } from '../foundation/abortable.ts'
import { type Clock, clockOfProcess } from '../foundation/clock.ts'
import type { Entity } from '../protocol/events.ts'
import { type EntryPage, InboxAdmin, type InboxStats, type StatsOptions } from './admin.ts'
import type { Purged } from './admin-store.ts'
import { Claims } from './claims.ts'
import { deadline } from './deadline.ts'
import { createEncryption, type Encryption } from './encryption.ts'
import type { Arrival, Entry, Kept } from './entry.ts'
import { createEntryIds } from './entry-id.ts'
import type { EntryFilter, EntryQuery, ForgetOptions, GetOptions } from './entry-query.ts'
import { createFingerprints } from './fingerprint.ts'
import { checkedInboxOptions, type InboxLimits, type InboxOptions } from './inbox-options.ts'
import { recallSalt } from './key-check.ts'
import { keysPurged } from './keys-purged.ts'
import type { EntryDeps } from './new-entry.ts'
import { StoreOpening } from './opening.ts'
import { type Operated, Operations } from './operations.ts'
import { assignedEntry, insertOccurrence } from './recurrence.ts'
import type { InboxStore, StoreCapabilities } from './store.ts'
import type { SettledWork, Swept, Verdict, Work, WorkSource } from './work.ts'
import type { Inserted } from './work-store.ts'

/**
 * Keeps what was proved before it is acknowledged, until it is handled. `Tx` is what handlers get
 * as `context.tx`: the store says. A question that means nothing throws WebhookError
 * `OPTION_INVALID`.
 */
export interface Inbox<Tx = unknown> {
  /** Types `context.tx`; it is never there. */
  readonly '~tx'?: () => Tx
  /** Those of the store; `dedupeDays` is the retention of keys, which the store can meet. */
  readonly capabilities: StoreCapabilities
  /**
   * Opens the store. The first delivery and `worker.start()` do so themselves.
   *
   * @throws WebhookError `STORE_FAILED`, `STORE_UNSUITABLE`
   */
  open(): Promise<void>
  /**
   * Lets the store go; what is asked of the inbox afterwards opens it again.
   *
   * @throws WebhookError `STORE_FAILED` when it hangs for five times the `timeout`
   */
  close(): Promise<void>
  /** Whether it was closed, and nothing has been asked of it since. */
  readonly isClosed: boolean
  /** Resolves after the commit that stores the delivery; rejects if nothing was committed. */
  keep(arrival: Arrival): Promise<Kept>
  /** Entries, newest first, without their payloads. */
  find(query?: EntryQuery): Promise<EntryPage>
  /** One entry. Its payload is a person's data, so it is included only on request. */
  get(id: string, options?: GetOptions): Promise<Entry | undefined>
  stats(options?: StatsOptions): Promise<InboxStats>
  /**
   * Hands dead or skipped entries to the handlers again that have not succeeded; how many. By its id
   * or with `state: 'retry'` also one that waits for its retry, at once.
   */
  redrive(filter: EntryFilter | string): Promise<number>
  /** Runs every handler of a done entry again from its kept bytes; false when that cannot be. */
  replay(id: string): Promise<boolean>
  /** Settles a dead entry for good, so that a lane which it blocks goes on. */
  dismiss(id: string): Promise<boolean>
  /**
   * Erases the payloads of an entity, and of a client's verifications; how many. Without `tenant`
   * that of every tenant who has an entity of this id.
   */
  forget(entity: Entity | string, options?: ForgetOptions): Promise<number>
  /** Erases what is past its retention. A worker does this at its start and every hour. */
  purge(): Promise<Purged>
}

/**
 * Creates an inbox over a store.
 *
 * @throws WebhookError `OPTION_INVALID`, and `STORE_UNSUITABLE` when the store cannot meet a need
 * @example
 * const inbox = createInbox({ store: sqliteStore('inbox.db') })
 * const receiver = createReceiver({ secret, inbox })
 */
export function createInbox<Tx>(options: InboxOptions<Tx>): Inbox<Tx> {
  // It carries nothing of this type: the store hands the handle over itself.
  return new DurableInbox(options) as Inbox as Inbox<Tx>
}

interface Opened {
  readonly making: Omit<EntryDeps, 'id' | 'storedAt'>
  readonly admin: InboxAdmin
}

class DurableInbox implements Inbox, WorkSource {
  readonly capabilities: StoreCapabilities
  readonly now: Clock
  readonly lease: number
  readonly timeout: number
  readonly watch: WorkSource['watch']
  readonly transaction?: WorkSource['transaction']
  readonly #store: InboxStore
  readonly #limits: InboxLimits
  readonly #encryption: Encryption
  readonly #claims: Claims
  readonly #nextId: () => string
  readonly #wakes = new Set<() => void>()
  readonly operations = new Operations()
  readonly #opening: StoreOpening<Opened>

  constructor(options: InboxOptions) {
    this.#limits = checkedInboxOptions(options)
    this.#store = options.store
    const { store } = options
    this.capabilities = { ...store.capabilities, dedupeDays: this.#limits.retention.keys }
    const own = clockOfProcess()
    this.now = options.now ?? (() => (store.now ?? own)())
    this.#encryption = createEncryption(options.encryption)
    this.lease = this.#limits.lease
    this.timeout = this.#limits.timeout
    const hold = options.onDead === 'block'
    const encryption = this.#encryption
    this.#claims = new Claims({ ...this.#limits, store, encryption, now: this.now, hold })
    this.watch = this.#claims.watch
    this.#nextId = createEntryIds(this.now)
    this.#opening = new StoreOpening({ store, begin: () => this.#begin() })
    const { transaction } = store
    if (transaction) {
      this.transaction = (work, handler) =>
        transaction.call(store, this.#claims.latestLease(work), handler)
    }
  }

  async open(): Promise<void> {
    await this.#open()
  }

  async close(): Promise<void> {
    this.#claims.reset()
    // Longer than an answer: the log is moved into the file.
    await this.#opening.close(this.timeout * 5)
  }

  get isClosed(): boolean {
    return this.#opening.isClosed
  }

  async keep(arrival: Arrival): Promise<Kept> {
    const { signal, stop } = deadline(this.timeout)
    try {
      // Each step ends with the signal, so that nothing holds on to the body of a 503.
      const { making } = await this.#open(signal)
      const storedAt = Math.floor(this.now().getTime())
      this.#claims.noticeTime(storedAt)
      const deps = { ...making, id: this.#nextId(), storedAt, signal }
      return this.#kept(await insertOccurrence(this.#store, arrival, deps))
    } finally {
      stop()
    }
  }

  async remembersSince(): Promise<Date | undefined> {
    await this.#open()
    const purged = await keysPurged(this.#store, this.now().getTime())
    return purged === undefined ? undefined : new Date(purged)
  }

  async check(): Promise<void> {
    const { signal, stop } = deadline(this.timeout)
    await orAborted(this.stats(), signal).finally(stop)
  }

  async find(query: EntryQuery = {}): Promise<EntryPage> {
    return (await this.#open()).admin.find(query)
  }

  async get(id: string, options?: GetOptions): Promise<Entry | undefined> {
    return (await this.#open()).admin.get(id, options)
  }

  async stats(options?: StatsOptions): Promise<InboxStats> {
    return (await this.#open()).admin.stats(options)
  }

  redrive(filter: EntryFilter | string): Promise<number> {
    const named = typeof filter === 'string' ? filter : undefined
    return this.#operate('redrive', (admin) => admin.redrive(filter), named)
  }

  replay(id: string): Promise<boolean> {
    return this.#operate('replay', (admin) => admin.replay(id), id)
  }

  dismiss(id: string): Promise<boolean> {
    return this.#operate('dismiss', (admin) => admin.dismiss(id), id)
  }

  forget(entity: Entity | string, options?: ForgetOptions): Promise<number> {
    return this.#operate('forget', (admin) => admin.forget(entity, options))
  }

  async purge(): Promise<Purged> {
    const { erased, deleted } = await (await this.#open()).admin.purge()
    return { erased, deleted }
  }

  async purgeWhile(goesOn: () => boolean): Promise<boolean> {
    return (await (await this.#open()).admin.purge(goesOn)).isWhole
  }

  claim(limit: number) {
    return this.#claims.claim(limit)
  }

  async settle(work: Work, verdict: Verdict, handled: readonly string[]): Promise<SettledWork> {
    if (!this.#opening.isOpen) return { state: 'lost' }
    if (verdict.kind !== 'assigned') return this.#claims.settle(work, verdict, handled)
    const { making } = await this.#open()
    const deps = { ...making, id: work.lease.id, storedAt: work.storedAt }
    const entry = await assignedEntry(this.#store, verdict.arrival, deps)
    const assigned = await this.#claims.assign(work, entry)
    this.#wake()
    return assigned
  }

  abandon(work: Work): void {
    this.#claims.abandon(work)
  }

  checkpoint(work: Work, handler?: string): Promise<boolean> {
    return this.#store.checkpoint(this.#claims.latestLease(work), handler)
  }

  renew(): Promise<void> {
    return this.#claims.renew()
  }

  sweep(): Promise<readonly Swept[]> {
    return this.#claims.sweep()
  }

  onWork(wake: () => void): () => void {
    this.#wakes.add(wake)
    return () => this.#wakes.delete(wake)
  }

  get place(): string | undefined {
    return this.#store.place
  }

  /** Another process may have crashed, not only this one before its restart. */
  get sweepEvery(): number {
    return Math.min(this.lease / 3, this.capabilities.shared ? 5_000 : Number.POSITIVE_INFINITY)
  }

  async sinceStored(): Promise<number> {
    if (!this.capabilities.shared) return Number.POSITIVE_INFINITY
    await this.#open()
    const now = this.now().getTime()
    const { newest = Number.NEGATIVE_INFINITY } = await this.#store.stats(now)
    return Math.max(0, now - newest)
  }

  #operate<Result extends number | boolean>(
    asked: Operated['asked'],
    work: (admin: InboxAdmin) => Promise<Result>,
    entryId?: string,
  ): Promise<Result> {
    const run = async () => work((await this.#open()).admin)
    return this.operations.run(asked, run, entryId).finally(() => this.#wake())
  }

  #kept({ kind, id }: Inserted): Kept {
    if (kind === 'conflict') return { kind: 'duplicate', entryId: id, conflict: true }
    if (kind === 'duplicate') return { kind, entryId: id }
    this.watch.kept()
    this.#wake()
    return { kind: 'accepted', entryId: id }
  }

  #open(signal?: AbortSignal): Promise<Opened> {
    return this.#opening.open(signal)
  }

  async #begin(): Promise<Opened> {
    const [store, limits] = [this.#store, this.#limits]
    await store.open(() => this.#wake())
    const fingerprints = createFingerprints(await recallSalt(store, this.#encryption))
    const { dedupeBodies } = limits
    const making = { fingerprints, dedupeBodies, encryption: this.#encryption }
    return { making, admin: new InboxAdmin({ store, ...making, ...limits, now: this.now }) }
  }

  #wake(): void {
    for (const wake of this.#wakes) wake()
  }
}
