// The policy over any store: which deliveries are kept, under which key, for how long, and who may
// open them.
import { randomBytes } from 'node:crypto'
import { blamingCaller, WebhookError } from '../errors.ts'
import { type Clock, createAgeClock } from '../foundation/clock.ts'
import { createParser, type Parser } from '../parse.ts'
import type { Entity, WebhookEvent } from '../protocol/events.ts'
import {
  type EntryPage,
  InboxAdmin,
  type InboxStats,
  type OpenInbox,
  type StatsOptions,
} from './admin.ts'
import type { Purged } from './admin-store.ts'
import { createEncryption, type Encryption } from './encryption.ts'
import type { Arrival, Entry, Kept } from './entry.ts'
import type { EntryFilter, EntryQuery, ForgetOptions, GetOptions } from './entry-query.ts'
import { Fingerprints } from './fingerprint.ts'
import { checkedInboxOptions, type InboxLimits, type InboxOptions } from './inbox-options.ts'
import { Leases } from './leases.ts'
import { assertNotMoved } from './move.ts'
import { type EntryDeps, toNewEntry } from './new-entry.ts'
import { assignedEntry, toRecurrence } from './recurrence.ts'
import { keysPurged, purge } from './retention.ts'
import type { InboxStore, StoreCapabilities } from './store.ts'
import { Waiters, type WaitForOptions } from './waiters.ts'
import type { Work } from './work.ts'
import type { Inserted, NewEntry } from './work-store.ts'

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
   * Opens the store, as the first delivery and `worker.start()` do.
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
  /** Resolves to a page of at most 500 entries, newest first, without payloads. */
  find(query?: EntryQuery): Promise<EntryPage>
  /** Resolves to one entry; `{ withDelivery: true }` includes its payload. */
  get(id: string, options?: GetOptions): Promise<Entry | undefined>
  /** Counts entries by state; `lag` is how long the oldest is overdue, in milliseconds. */
  stats(options?: StatsOptions): Promise<InboxStats>
  /**
   * Resolves to the first event of an entity once it is done, or to undefined at the `timeout`.
   *
   * The process that handles it does not matter. A repeated call with the same `since` also finds what
   * was done between the two.
   *
   * @throws WebhookError `INBOX_INVALID` if this process lacks the receiver that reads the event
   * @example const decision = await inbox.waitFor('verification:ver_1', { since, timeout: 20_000 })
   */
  waitFor(entity: Entity | string, options: WaitForOptions): Promise<WebhookEvent | undefined>
  /**
   * Gives dead or skipped entries to the handlers that have not succeeded.
   *
   * An id or `state: 'retry'` includes entries that wait for their retry: they run at once.
   */
  redrive(filter: EntryFilter | string): Promise<number>
  /** Runs every handler of a done entry again. */
  replay(id: string): Promise<boolean>
  /** Sets a dead entry aside, so that its entity continues. */
  dismiss(id: string): Promise<boolean>
  /**
   * Erases the payloads of an entity, and of a client's verifications.
   *
   * Without `tenant` it does so for every tenant that has an entity of this id.
   */
  forget(entity: Entity | string, options?: ForgetOptions): Promise<number>
  /** Erases what is past its retention, as a worker does every hour. */
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
  // Trust is granted here: only the store makes a `tx`, so the inbox holds no value of this type.
  return blamingCaller(createInbox, () => new DurableInbox(options) as Inbox as Inbox<Tx>)
}

interface Opened extends OpenInbox {
  readonly dedupeBodies: boolean
}

export class DurableInbox extends InboxAdmin implements Inbox {
  readonly capabilities: StoreCapabilities
  readonly now: Clock
  readonly timeout: number
  readonly leases: Leases
  readonly #store: InboxStore
  readonly #limits: InboxLimits
  readonly #encryption: Encryption
  readonly #nextId = createEntryIds()
  readonly #wakes = new Set<(keptAt?: number) => void>()
  #opening: Promise<Opened> | undefined
  /** Set while it is open, unless its store has a clock to refresh. */
  #opened: Opened | undefined
  #closing: Promise<void> | undefined
  #wasClosed = false
  /** The vendor whose events it holds, once a receiver or a worker has bound it. */
  #vendor: { readonly name: string | undefined } | undefined
  #isVendorChecked = false
  readonly #waiters: Waiters
  #parser: Parser | undefined

  constructor(options: InboxOptions) {
    super()
    const limits = checkedInboxOptions(options)
    const { store } = options
    this.#limits = limits
    this.#store = store
    this.capabilities = { ...store.capabilities, dedupeDays: limits.retention.keys }
    this.now = options.now ?? store.now ?? createAgeClock()
    this.timeout = limits.timeout
    const encryption = createEncryption(options.encryption)
    this.#encryption = encryption
    const hold = options.onDead === 'block'
    const { now } = this
    this.leases = new Leases({
      ...{ ...limits, store, encryption, now, hold },
      assigned: (work, arrival) => this.#assigned(work, arrival),
      wake: () => this.wake(),
    })
    this.#waiters = new Waiters({
      ...{ store, now, opened: () => this.opened() },
      ask: (work) => withDeadline(limits.timeout, work),
      parser: () => this.#parser ?? createParser({}),
    })
  }

  async open(): Promise<void> {
    await this.opened()
  }

  async close(): Promise<void> {
    this.leases.reset()
    this.#waiters.close()
    this.#isVendorChecked = false
    const opening = this.#opening
    this.#opening = undefined
    this.#opened = undefined
    this.#wasClosed = true
    if (opening) this.#closing = this.#end(opening)
    const closing = this.#closing
    // Closing takes longer than a call, because SQLite moves its log into the file.
    if (closing) await withDeadline(this.timeout * 5, () => closing)
  }

  get isClosed(): boolean {
    return this.#wasClosed && !this.#opening
  }

  /** @throws WebhookError `INBOX_INVALID` if a receiver for another vendor has the inbox */
  bind(name: string | undefined, parser: Parser): void {
    this.#vendor ??= { name }
    if (this.#vendor.name !== name) throw otherVendor('inbox', this.#vendor.name, name)
    this.#parser = parser
  }

  async openFor(vendor: string | undefined): Promise<void> {
    await this.opened()
    if (this.#isVendorChecked) return
    await assertVendor(this.#store, this.#encryption, vendor)
    this.#isVendorChecked = true
  }

  keep(arrival: Arrival): Promise<Kept> {
    return withDeadline(this.timeout, (signal) => this.#keep(arrival, signal))
  }

  keepAll(arrivals: readonly Arrival[]): Promise<Kept> {
    return withDeadline(this.timeout, (signal) => this.#keepAll(arrivals, signal))
  }

  waitFor(entity: Entity | string, options: WaitForOptions): Promise<WebhookEvent | undefined> {
    return this.#waiters.waitFor(entity, options)
  }

  async remembersSince(): Promise<Date | undefined> {
    await this.open()
    const purged = await keysPurged(this.#store, this.now().getTime())
    return purged === undefined ? undefined : new Date(purged)
  }

  async check(): Promise<void> {
    await withDeadline(this.timeout, () => this.stats())
  }

  async purge(): Promise<Purged> {
    const { erased, deleted } = await this.#purge()
    return { erased, deleted }
  }

  /** Erases content past its retention, page by page; true when nothing is left to erase. */
  async purgeWhile(goesOn: () => boolean): Promise<boolean> {
    return (await this.#purge(goesOn)).isWhole
  }

  /** Calls `wake`, with the time of an entry that was kept, until the result is called. */
  onWork(wake: (keptAt?: number) => void): () => void {
    this.#wakes.add(wake)
    return () => this.#wakes.delete(wake)
  }

  /** The path of the store's file, known once it is open; one receiver has its worker there. */
  get place(): string | undefined {
    return this.#store.place
  }

  /** Milliseconds between searches for expired leases: a process may crash at any time. */
  get sweepEvery(): number {
    return Math.min(
      this.#limits.lease / 3,
      this.capabilities.shared ? 5_000 : Number.POSITIVE_INFINITY,
    )
  }

  /** Milliseconds since the newest entry was stored; Infinity if no other process stores. */
  async sinceStored(): Promise<number> {
    if (!this.capabilities.shared) return Number.POSITIVE_INFINITY
    await this.opened()
    const now = this.now().getTime()
    const { newest = Number.NEGATIVE_INFINITY } = await this.#store.stats(now)
    return Math.max(0, now - newest)
  }

  async #keep(arrival: Arrival, signal: AbortSignal): Promise<Kept> {
    const opened = this.#opened ?? (await this.opened())
    const storedAt = Math.floor(this.now().getTime())
    const deps = { ...opened, id: this.#nextId(storedAt), storedAt }
    const inserted = await this.#store.insert(toNewEntry(arrival, deps), signal)
    const isDuplicate = inserted.kind === 'duplicate'
    return this.#kept(
      isDuplicate ? await this.#recurred(arrival, deps, { inserted, signal }) : inserted,
      storedAt,
    )
  }

  async #keepAll(arrivals: readonly Arrival[], signal: AbortSignal): Promise<Kept> {
    const opened = this.#opened ?? (await this.opened())
    const storedAt = Math.floor(this.now().getTime())
    const all = arrivals.map((arrival) => {
      const deps = { ...opened, id: this.#nextId(storedAt), storedAt }
      return { arrival, deps, entry: toNewEntry(arrival, deps) }
    })
    const entries = all.map(({ entry }) => entry)
    const kept: Kept[] = []
    for (const [at, inserted] of (await this.#store.insertAll(entries, signal)).entries()) {
      const { arrival, deps } = all[at] as (typeof all)[number]
      const isDuplicate = inserted.kind === 'duplicate'
      const one = isDuplicate ? await this.#recurred(arrival, deps, { inserted, signal }) : inserted
      kept.push(this.#kept(one, storedAt))
    }
    // Something new makes the delivery new; evidence of a conflict is shown before a duplicate.
    const accepted = kept.find(({ kind }) => kind === 'accepted')
    const conflict = kept.find((one) => 'conflict' in one)
    return (accepted ?? conflict ?? kept[0]) as Kept
  }

  /** Inserts a duplicate once more if it occurred later than the event that reconcile fed. */
  async #recurred(
    arrival: Arrival,
    deps: EntryDeps,
    { inserted, signal }: { readonly inserted: Inserted; readonly signal: AbortSignal },
  ): Promise<Inserted> {
    // A crash before the second insert is harmless: the sender's next copy is inserted.
    const recurrence = await toRecurrence(this.#store, arrival, { ...deps, duplicate: inserted.id })
    signal.throwIfAborted()
    return recurrence ? this.#store.insert(recurrence, signal) : inserted
  }

  #kept({ kind, id }: Inserted, storedAt: number): Kept {
    if (kind === 'conflict') return { kind: 'duplicate', entryId: id, conflict: true }
    if (kind === 'duplicate') return { kind, entryId: id }
    this.leases.watch.kept()
    for (const wake of this.#wakes) wake(storedAt)
    return { kind: 'accepted', entryId: id }
  }

  /** The entry of an arrival that could not be read before; undefined once the inbox is closed. */
  async #assigned({ lease, storedAt }: Work, arrival: Arrival): Promise<NewEntry | undefined> {
    if (!this.#opening) return undefined
    const opened = await this.#opening
    return assignedEntry(this.#store, arrival, { ...opened, id: lease.id, storedAt })
  }

  async #purge(goesOn?: () => boolean) {
    await this.opened()
    const [store, now] = [this.#store, this.now().getTime()]
    return purge({ store, retention: this.#limits.retention, now }, goesOn)
  }

  /** Opens the store once for all callers, after a close under way, and refreshes its clock. */
  protected async opened(): Promise<Opened> {
    if (!this.#opening) {
      const opening = this.#begin()
      this.#opening = opening
      opening.catch(() => {
        if (this.#opening === opening) this.#opening = undefined
      })
    }
    const opening = this.#opening
    const opened = await opening
    if (this.#store.refresh) await this.#store.refresh().catch(() => {})
    else if (this.#opening === opening) this.#opened = opened
    return opened
  }

  async #begin(): Promise<Opened> {
    await this.#closing?.catch(() => {})
    const [store, encryption] = [this.#store, this.#encryption]
    await store.open(() => this.wake())
    try {
      const fingerprints = new Fingerprints(await recallSalt(store, encryption))
      return { store, encryption, fingerprints, dedupeBodies: this.#limits.dedupeBodies }
    } catch (error) {
      // The next delivery opens the store again: this opening must end.
      await store.close().catch(() => {})
      throw error
    }
  }

  #end(opening: Promise<Opened>): Promise<void> {
    const close = () => this.#store.close()
    const closing = opening
      .then(close, () => {})
      .finally(() => {
        if (this.#closing === closing) this.#closing = undefined
      })
    return closing
  }

  protected wake(): void {
    for (const wake of this.#wakes) wake()
  }
}

/** Rejects with `STORE_TIMEOUT` after `ms` milliseconds, and aborts the signal of the work. */
function withDeadline<Result>(
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  const late = new AbortController()
  const timer = setTimeout(() => {
    const error = new WebhookError('STORE_TIMEOUT', `the store did not answer within ${ms} ms`)
    late.abort(error)
    reject(error)
  }, ms)
  work(late.signal)
    .then(resolve, reject)
    .then(() => clearTimeout(timer))
  return promise
}

/** Creates UUIDs of version 7, which grow within one process and reveal nothing of the event. */
export function createEntryIds(): (now: number) => string {
  let last = 0
  let count = 0
  return (now) => {
    const time = Math.floor(now)
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
