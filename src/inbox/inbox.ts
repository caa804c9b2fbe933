// The policy over any store: what is kept under which key, for how long, and for whom it is opened.
import { randomBytes } from 'node:crypto'
import { WebhookError } from '../errors.ts'
import { orAborted } from '../foundation/abortable.ts'
import { type Clock, createAgeClock } from '../foundation/clock.ts'
import type { Entity } from '../protocol/events.ts'
import { type EntryPage, InboxAdmin, type InboxStats, type StatsOptions } from './admin.ts'
import type { Purged } from './admin-store.ts'
import { createEncryption, type Encryption } from './encryption.ts'
import type { Arrival, Entry, Kept } from './entry.ts'
import type { EntryFilter, EntryQuery, ForgetOptions, GetOptions } from './entry-query.ts'
import { createFingerprints } from './fingerprint.ts'
import { checkedInboxOptions, type InboxLimits, type InboxOptions } from './inbox-options.ts'
import { Leases } from './leases.ts'
import { assertNotMoved } from './move.ts'
import type { EntryDeps } from './new-entry.ts'
import { deadline, StoreOpening } from './opening.ts'
import { assignedEntry, insertOccurrence } from './recurrence.ts'
import { keysPurged, purge } from './retention.ts'
import type { InboxStore, StoreCapabilities } from './store.ts'
import type { Operated, SettledWork, Swept, Verdict, Work, WorkSource } from './work.ts'
import type { Inserted } from './work-store.ts'

/**
 * Stores verified deliveries before they are acknowledged, until they are handled. `Tx` is the type of
 * `context.tx`. Invalid arguments throw WebhookError `OPTION_INVALID`.
 */
export interface Inbox<Tx = unknown> {
  /** Types `context.tx`; it is never there. */
  readonly '~tx'?: () => Tx
  /** The guarantees of the store; `dedupeDays` is the retention of keys. */
  readonly capabilities: StoreCapabilities
  /**
   * Opens the store. The first delivery and `worker.start()` do so themselves.
   *
   * @throws WebhookError `STORE_FAILED`, `STORE_UNSUITABLE`
   */
  open(): Promise<void>
  /**
   * Closes the store; the next call opens it again.
   *
   * @throws WebhookError `STORE_FAILED` when it hangs for five times the `timeout`
   */
  close(): Promise<void>
  /** True if it was closed, and not opened since. */
  readonly isClosed: boolean
  /** Resolves after the commit that stores the delivery; rejects if nothing was committed. */
  keep(arrival: Arrival): Promise<Kept>
  /** Entries, newest first, without their payloads. */
  find(query?: EntryQuery): Promise<EntryPage>
  /** One entry. Its payload is a person's data, so it is included only on request. */
  get(id: string, options?: GetOptions): Promise<Entry | undefined>
  stats(options?: StatsOptions): Promise<InboxStats>
  /**
   * Gives dead or skipped entries to the handlers that have not succeeded; returns how many. An id or
   * `state: 'retry'` includes entries that wait for their retry: they run at once.
   */
  redrive(filter: EntryFilter | string): Promise<number>
  /** Runs every handler of a done entry again; false if it is not done or was erased. */
  replay(id: string): Promise<boolean>
  /** Sets a dead entry aside, so that a lane which it blocks continues. */
  dismiss(id: string): Promise<boolean>
  /**
   * Erases the payloads of an entity, and of a client's verifications; returns how many. Without
   * `tenant` for every tenant that has an entity of this id.
   */
  forget(entity: Entity | string, options?: ForgetOptions): Promise<number>
  /** Erases payloads and keys past their retention. A worker does so at its start and every hour. */
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
  readonly #leases: Leases
  readonly #nextId: () => string
  readonly #wakes = new Set<() => void>()
  readonly #keeps = new Set<(at: number) => void>()
  readonly #reports = new Set<(operated: Operated) => void>()
  readonly #opening: StoreOpening<Opened>
  /** The vendor whose events it holds, once a receiver or a worker has said so. */
  #vendor: { readonly name: string | undefined } | undefined
  #isVendorChecked = false

  constructor(options: InboxOptions) {
    this.#limits = checkedInboxOptions(options)
    this.#store = options.store
    const { store } = options
    this.capabilities = { ...store.capabilities, dedupeDays: this.#limits.retention.keys }
    this.now = options.now ?? store.now ?? createAgeClock()
    this.#encryption = createEncryption(options.encryption)
    this.lease = this.#limits.lease
    this.timeout = this.#limits.timeout
    const hold = options.onDead === 'block'
    const encryption = this.#encryption
    this.#leases = new Leases({ ...this.#limits, store, encryption, now: this.now, hold })
    this.watch = this.#leases.watch
    this.#nextId = createEntryIds(this.now)
    this.#opening = new StoreOpening({ store, begin: () => this.#begin() })
    const { transaction } = store
    if (transaction) {
      this.transaction = (work, handler) =>
        transaction.call(store, this.#leases.latestLease(work), handler)
    }
  }

  async open(): Promise<void> {
    await this.#opening.open()
  }

  async close(): Promise<void> {
    this.#leases.reset()
    this.#isVendorChecked = false
    // Longer than an answer: the log is moved into the file.
    await this.#opening.close(this.timeout * 5)
  }

  get isClosed(): boolean {
    return this.#opening.isClosed
  }

  bindVendor(name: string | undefined): void {
    this.#vendor ??= { name }
    if (this.#vendor.name !== name) throw otherVendor('inbox', this.#vendor.name, name)
  }

  async openFor(vendor: string | undefined): Promise<void> {
    await this.#opening.open()
    if (this.#isVendorChecked) return
    await assertVendor(this.#store, this.#encryption, vendor)
    this.#isVendorChecked = true
  }

  async keep(arrival: Arrival): Promise<Kept> {
    const { signal, stop } = deadline(this.timeout)
    try {
      const { making } = await this.#opening.open(signal)
      const storedAt = Math.floor(this.now().getTime())
      const deps = { ...making, id: this.#nextId(), storedAt, signal }
      return this.#kept(await insertOccurrence(this.#store, arrival, deps), storedAt)
    } finally {
      stop()
    }
  }

  async remembersSince(): Promise<Date | undefined> {
    await this.open()
    const purged = await keysPurged(this.#store, this.now().getTime())
    return purged === undefined ? undefined : new Date(purged)
  }

  async check(): Promise<void> {
    const { signal, stop } = deadline(this.timeout)
    await orAborted(this.stats(), signal).finally(stop)
  }

  async find(query: EntryQuery = {}): Promise<EntryPage> {
    return (await this.#admin()).find(query)
  }

  async get(id: string, options?: GetOptions): Promise<Entry | undefined> {
    return (await this.#admin()).get(id, options)
  }

  async stats(options?: StatsOptions): Promise<InboxStats> {
    return (await this.#admin()).stats(options)
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
    const { erased, deleted } = await this.#purge()
    return { erased, deleted }
  }

  async purgeWhile(goesOn: () => boolean): Promise<boolean> {
    return (await this.#purge(goesOn)).isWhole
  }

  claim(limit: number) {
    return this.#leases.claim(limit)
  }

  async settle(work: Work, verdict: Verdict, handled: readonly string[]): Promise<SettledWork> {
    if (!this.#opening.isOpen) return { state: 'lost' }
    if (verdict.kind !== 'assigned') return this.#leases.settle(work, verdict, handled)
    const { making } = await this.#opening.open()
    const deps = { ...making, id: work.lease.id, storedAt: work.storedAt }
    const entry = await assignedEntry(this.#store, verdict.arrival, deps)
    const assigned = await this.#leases.assign(work, entry)
    this.#wake()
    return assigned
  }

  abandon(work: Work): void {
    this.#leases.abandon(work)
  }

  checkpoint(work: Work, handler?: string): Promise<boolean> {
    return this.#store.checkpoint(this.#leases.latestLease(work), handler)
  }

  renew(): Promise<void> {
    return this.#leases.renew()
  }

  sweep(): Promise<readonly Swept[]> {
    return this.#leases.sweep()
  }

  onWork(wake: () => void): () => void {
    this.#wakes.add(wake)
    return () => this.#wakes.delete(wake)
  }

  onKept(kept: (at: number) => void): () => void {
    this.#keeps.add(kept)
    return () => this.#keeps.delete(kept)
  }

  onOperated(report: (operated: Operated) => void): void {
    this.#reports.add(report)
  }

  get place(): string | undefined {
    return this.#store.place
  }

  /** On a shared store another process may crash at any time. */
  get sweepEvery(): number {
    return Math.min(this.lease / 3, this.capabilities.shared ? 5_000 : Number.POSITIVE_INFINITY)
  }

  async sinceStored(): Promise<number> {
    if (!this.capabilities.shared) return Number.POSITIVE_INFINITY
    await this.open()
    const now = this.now().getTime()
    const { newest = Number.NEGATIVE_INFINITY } = await this.#store.stats(now)
    return Math.max(0, now - newest)
  }

  async #admin(): Promise<InboxAdmin> {
    return (await this.#opening.open()).admin
  }

  async #purge(goesOn?: () => boolean) {
    await this.open()
    return purge({ ...this.#limits, store: this.#store, now: this.now }, goesOn)
  }

  /** Runs an operator's change, and reports it if it changed anything. */
  async #operate<Result extends number | boolean>(
    asked: Operated['asked'],
    work: (admin: InboxAdmin) => Promise<Result>,
    entryId?: string,
  ): Promise<Result> {
    const began = performance.now()
    try {
      const result = await work(await this.#admin())
      const details = { duration: performance.now() - began, ...(entryId && { entryId }) }
      const operated = { asked, entries: Number(result), ...details }
      if (operated.entries > 0) for (const report of this.#reports) report(operated)
      return result
    } finally {
      this.#wake()
    }
  }

  #kept({ kind, id }: Inserted, at: number): Kept {
    if (kind === 'conflict') return { kind: 'duplicate', entryId: id, conflict: true }
    if (kind === 'duplicate') return { kind, entryId: id }
    this.watch.kept()
    for (const kept of this.#keeps) kept(at)
    this.#wake()
    return { kind: 'accepted', entryId: id }
  }

  async #begin(): Promise<Opened> {
    const [store, limits, encryption] = [this.#store, this.#limits, this.#encryption]
    await store.open(() => this.#wake())
    try {
      const fingerprints = createFingerprints(await recallSalt(store, encryption))
      const making = { fingerprints, dedupeBodies: limits.dedupeBodies, encryption }
      return { making, admin: new InboxAdmin({ store, ...making, now: this.now }) }
    } catch (error) {
      // The next delivery opens the store again: this opening must end.
      await store.close().catch(() => {})
      throw error
    }
  }

  #wake(): void {
    for (const wake of this.#wakes) wake()
  }
}

/** Creates UUIDs of version 7: they grow within one process, and say nothing of the event. */
export function createEntryIds(now: Clock): () => string {
  let last = 0
  let count = 0
  return () => {
    const time = Math.floor(now().getTime())
    if (time > last) {
      last = time
      count = 0
    } else if (++count > 0xfff) {
      last++
      count = 0
    }
    const random = randomBytes(8)
    random[0] = ((random[0] ?? 0) & 0x3f) | 0x80
    const digits =
      last.toString(16).padStart(12, '0') + (0x7000 | count).toString(16) + random.toString('hex')
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  }
}

/**
 * The salt that the store was begun with. It is stored encrypted, so that reading it proves the key; if
 * the key has changed, it is stored again.
 *
 * @throws WebhookError `STORE_SEALED` if no key decrypts it, `STORE_UNSUITABLE` if it was stored
 * without a key or the inbox was moved
 */
async function recallSalt(store: InboxStore, encryption: Encryption): Promise<Uint8Array> {
  await assertNotMoved(store)
  const kept = await store.recall('salt', encryption.encrypt(randomBytes(32), 'salt'))
  const salt = encryption.decrypt(kept, 'salt')
  if (!salt) {
    if (encryption.isRefused(kept)) {
      throw new WebhookError(
        'STORE_UNSUITABLE',
        'the inbox was kept without encryption: set encryption.acceptUnencrypted to true until its entries are handled, then remove it',
      )
    }
    throw new WebhookError(
      'STORE_SEALED',
      encryption.hasKey
        ? 'the inbox was encrypted with another key: pass that key in encryption.previous'
        : 'the inbox is encrypted, and no key was passed: pass encryption: { key } with the key of this inbox, and check the variable that holds it',
    )
  }
  if (!encryption.isCurrent(kept)) await store.remember('salt', encryption.encrypt(salt, 'salt'))
  return salt
}

/**
 * An inbox holds the events of one vendor: another vendor's receiver could misread them. A worker
 * stores its vendor; a later one may have another vendor while no entry is open.
 *
 * @throws WebhookError `STORE_UNSUITABLE` if entries of another vendor are open
 */
async function assertVendor(
  store: InboxStore,
  encryption: Encryption,
  vendor: string | undefined,
): Promise<void> {
  const name = vendor ?? ''
  const own = encryption.encrypt(new TextEncoder().encode(name), 'vendor')
  const kept = await store.recall('vendor', own)
  const known = encryption.decrypt(kept, 'vendor')
  const before = known && new TextDecoder().decode(known)
  if (before === name && encryption.isCurrent(kept)) return
  // An application may add its first preset at any time.
  if (before && before !== name) {
    const { stored, leased, retry } = (await store.stats(0)).counts
    if (stored + leased + retry > 0) throw otherVendor('store', before, vendor)
  }
  await store.remember('vendor', own)
}

function otherVendor(
  what: 'inbox' | 'store',
  before: string | undefined,
  vendor: string | undefined,
): WebhookError {
  const of = (one: string | undefined) => (one === undefined ? 'no vendor' : `'${one}'`)
  return new WebhookError(
    what === 'inbox' ? 'INBOX_INVALID' : 'STORE_UNSUITABLE',
    `the ${what} holds events of a receiver for ${of(before)}, and this receiver is for ${of(vendor)}: give each vendor an inbox of its own (a file, or a \`schema\` on Postgres)`,
  )
}
