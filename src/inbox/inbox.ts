// The policy over any store: what is kept and under which key, how long, and for whom it is opened.
import { randomBytes } from 'node:crypto'
import { type Clock, steadyClock } from '../clock.ts'
import { WebhookError } from '../errors.ts'
import type { Entity } from '../protocol/events.ts'
import { Desk, type EntryFilter, type EntryPage, type EntryQuery, type InboxStats } from './desk.ts'
import type { Arrival, Entry, Kept } from './entry.ts'
import { createEntryIds } from './entry-id.ts'
import { createFingerprints, type Fingerprints } from './fingerprint.ts'
import { checkedInboxOptions, type InboxLimits, type InboxOptions } from './inbox-options.ts'
import { toNewEntry } from './new-entry.ts'
import { createSeal, type Seal } from './seal.ts'
import type { InboxStore, Purged, StoreCapabilities } from './store.ts'
import { Claims, type SettledAs, type Verdict, type Work, type WorkSource } from './work.ts'

/**
 * Keeps what was proved before it is acknowledged, until it is handled. `Tx` is what handlers get
 * as `context.tx`: the store says.
 */
export interface Inbox<Tx = unknown> {
  /** Types `context.tx`; it is never there. */
  readonly '~tx'?: () => Tx
  readonly capabilities: StoreCapabilities
  /**
   * Opens the store. The first delivery and `worker.start()` do so themselves.
   *
   * @throws WebhookError `STORE_FAILED`, `STORE_UNSUITABLE`
   */
  open(): Promise<void>
  /** Lets the store go; what is asked of the inbox afterwards opens it again. */
  close(): Promise<void>
  /** Resolves after the commit that holds the delivery; rejects when there was none. */
  keep(arrival: Arrival): Promise<Kept>
  /** Entries, newest first, without their payloads. */
  find(query?: EntryQuery): Promise<EntryPage>
  /** One entry; its payload only on demand, for it is a person's data. */
  get(id: string, options?: { readonly withDelivery?: boolean }): Promise<Entry | undefined>
  stats(): Promise<InboxStats>
  /** Hands dead or skipped entries to the handlers again that have not succeeded; how many. */
  redrive(filter: EntryFilter | string): Promise<number>
  /** Runs every handler of a done entry again from its kept bytes; false when that cannot be. */
  replay(id: string): Promise<boolean>
  /** Settles a dead entry for good, so that a lane which it blocks goes on. */
  dismiss(id: string): Promise<boolean>
  /**
   * Erases the payloads of an entity, and of a client's verifications; how many. Without `tenant`
   * that of every tenant who has an entity of this id.
   */
  forget(entity: Entity | string, options?: { readonly tenant?: string }): Promise<number>
  /** Erases what is past its retention; a worker does so by itself every hour. */
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
  readonly fingerprints: Fingerprints
  readonly desk: Desk
}

class DurableInbox implements Inbox, WorkSource {
  readonly capabilities: StoreCapabilities
  readonly now: Clock
  readonly lease: number
  readonly transaction?: WorkSource['transaction']
  readonly #store: InboxStore
  readonly #limits: InboxLimits
  readonly #seal: Seal
  readonly #claims: Claims
  readonly #nextId: () => string
  readonly #wakes = new Set<() => void>()
  #opening: Promise<Opened> | undefined

  constructor(options: InboxOptions) {
    this.#limits = checkedInboxOptions(options)
    this.#store = options.store
    this.capabilities = options.store.capabilities
    this.now = options.now ?? steadyClock
    this.#seal = createSeal(options.encryption)
    const { lease, retry } = this.#limits
    this.lease = lease
    const hold = options.onDead === 'block'
    const parts = { store: this.#store, seal: this.#seal, now: this.now, lease, retry, hold }
    this.#claims = new Claims(parts)
    this.#nextId = createEntryIds(this.now)
    const { store } = options
    if (store.transaction) {
      this.transaction = (work, handler) => {
        const tx = store.transaction?.(work.lease, handler)
        if (tx) return tx
        throw new TypeError('the store lost its transactions')
      }
    }
  }

  async open(): Promise<void> {
    await this.#open()
  }

  async close(): Promise<void> {
    const opening = this.#opening
    this.#opening = undefined
    if (
      await opening?.then(
        () => true,
        () => false,
      )
    )
      await this.#store.close()
  }

  keep(arrival: Arrival): Promise<Kept> {
    return this.#inTime(this.#keep(arrival))
  }

  async find(query: EntryQuery = {}): Promise<EntryPage> {
    return (await this.#open()).desk.find(query)
  }

  async get(id: string, { withDelivery = false } = {}): Promise<Entry | undefined> {
    return (await this.#open()).desk.get(id, withDelivery)
  }

  async stats(): Promise<InboxStats> {
    return (await this.#open()).desk.stats()
  }

  async redrive(filter: EntryFilter | string): Promise<number> {
    const { desk } = await this.#open()
    const redriven = await desk.redrive(typeof filter === 'string' ? { id: filter } : filter)
    this.#wake()
    return redriven
  }

  async replay(id: string): Promise<boolean> {
    const replayed = await (await this.#open()).desk.replay(id)
    this.#wake()
    return replayed
  }

  async dismiss(id: string): Promise<boolean> {
    const dismissed = await (await this.#open()).desk.dismiss(id)
    this.#wake()
    return dismissed
  }

  async forget(
    entity: Entity | string,
    { tenant }: { readonly tenant?: string } = {},
  ): Promise<number> {
    return (await this.#open()).desk.forget(entity, tenant)
  }

  async purge(): Promise<Purged> {
    return (await this.#open()).desk.purge()
  }

  claim(limit: number) {
    return this.#claims.claim(limit)
  }

  settle(work: Work, verdict: Verdict, handled: readonly string[]): Promise<SettledAs> {
    return this.#claims.settle(work, verdict, handled)
  }

  checkpoint(work: Work, handler: string): Promise<boolean> {
    return this.#store.checkpoint(work.lease, handler)
  }

  renew(works: readonly Work[]): Promise<void> {
    return this.#claims.renew(works)
  }

  sweep(): Promise<number> {
    return this.#claims.sweep()
  }

  onWork(wake: () => void): () => void {
    this.#wakes.add(wake)
    return () => this.#wakes.delete(wake)
  }

  async #keep(arrival: Arrival): Promise<Kept> {
    const { fingerprints } = await this.#open()
    const { kind, id } = await this.#store.insert(
      toNewEntry(arrival, {
        id: this.#nextId(),
        storedAt: Math.floor(this.now().getTime()),
        fingerprints: fingerprints.within(arrival.delivery.tenant),
        seal: this.#seal,
        dedupeBodies: this.#limits.dedupeBodies,
      }),
    )
    if (kind === 'stored') {
      this.#wake()
      return { kind: 'accepted', entryId: id }
    }
    return { kind: 'duplicate', entryId: id, ...(kind === 'conflict' && { conflict: true }) }
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#begin().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #begin(): Promise<Opened> {
    const store = this.#store
    await store.open(() => this.#wake())
    const kept = await store.recall('salt', this.#seal.seal(randomBytes(32), 'salt'))
    const salt = this.#seal.open(kept, 'salt')
    if (!salt) {
      await store.close()
      throw new WebhookError(
        'STORE_UNSUITABLE',
        this.#seal.isRefusedPlain(kept)
          ? 'the inbox was kept without encryption: set encryption.acceptPlain: true for as long as its entries last, then take it out'
          : 'the inbox was sealed with another key: give that one in encryption.previous',
      )
    }
    if (!this.#seal.isCurrent(kept)) await store.remember('salt', this.#seal.seal(salt, 'salt'))
    const fingerprints = createFingerprints(salt)
    const { retention } = this.#limits
    const parts = { store, seal: this.#seal, fingerprints, now: this.now, retention }
    return { fingerprints, desk: new Desk(parts) }
  }

  /** A sender that waits must hear 503 rather than nothing; what commits later is a duplicate. */
  async #inTime<Result>(work: Promise<Result>): Promise<Result> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const { timeout } = this.#limits
    const timer = setTimeout(() => {
      reject(new WebhookError('STORE_FAILED', `the store did not answer within ${timeout} ms`))
    }, timeout)
    try {
      return await Promise.race([work, late])
    } finally {
      clearTimeout(timer)
    }
  }

  #wake(): void {
    for (const wake of this.#wakes) wake()
  }
}
