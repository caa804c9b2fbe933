// The inbox as an operator sees it: look entries up, run them again, erase what must go.

import { WebhookError } from '../errors.ts'
import { checkMilliseconds, checkOptionNames } from '../foundation/check.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Entity } from '../protocol/events.ts'
import type { LatencyQuery, StoredEntry, StoreQuery, StoreStats } from './admin-store.ts'
import { unpackContent, unpackMetadata } from './content.ts'
import type { Encryption } from './encryption.ts'
import type { Entry, EntryState } from './entry.ts'
import {
  checkEntity,
  checkId,
  checkMoment,
  checkQuery,
  checkRedrive,
  checkTenant,
  type EntryFilter,
  type EntryQuery,
  type ForgetOptions,
  type GetOptions,
  redrivenFrom,
} from './entry-query.ts'
import type { Fingerprints } from './fingerprint.ts'
import type { InboxStore } from './store.ts'

export interface EntryPage {
  readonly entries: readonly Entry[]
  /** Give it back for the next page; missing on the last. */
  readonly cursor?: string
}

/** Counts by state, and how far behind the handlers are. */
export interface InboxStats extends Readonly<Record<EntryState, number>> {
  /** Milliseconds since the oldest open entry was kept. */
  readonly oldestAge?: number
  /** Milliseconds by which the longest waiting entry is overdue; 0 when nothing waits. */
  readonly lag: number
  /** With a `target`: how long events take from their occurrence to done. */
  readonly latency?: InboxLatency
}

/** Options of `stats`. */
export interface StatsOptions {
  /** Milliseconds from an event's occurrence within which it should be done. */
  readonly target: number
  /** Measures entries done since then: the last 24 hours by default. */
  readonly since?: Date | string
}

/** The latency of each handler, among the last 10,000 entries done since. */
export interface InboxLatency {
  readonly target: number
  readonly since: Date
  readonly handlers: readonly HandlerLatency[]
}

/** Times in milliseconds, from the occurrence of an event until its entry was done. */
export interface HandlerLatency {
  readonly handler: string
  readonly entries: number
  /** The share of entries done within the target, from 0 to 1. */
  readonly share: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly longest: number
}

/** Dependencies of an InboxAdmin. */
export interface AdminDeps {
  readonly store: InboxStore
  readonly encryption: Encryption
  readonly fingerprints: Fingerprints
  readonly now: Clock
}

const day = 24 * 60 * 60 * 1000
const pageSize = 500
/** Few enough that the store answers within milliseconds while it works. */
const mostMeasured = 10_000

/** The operator's side of an open inbox. */
export class InboxAdmin {
  readonly #deps: AdminDeps

  constructor(deps: AdminDeps) {
    this.#deps = deps
  }

  async find(asked: EntryQuery): Promise<EntryPage> {
    checkQuery(asked)
    const { limit = 50, cursor, ...filter } = asked
    const size = Math.min(limit, pageSize)
    const query = { ...this.#query(filter), limit: size, ...(cursor && { after: cursor }) }
    const found = await this.#deps.store.find(query)
    if (found.length === 0 && cursor !== undefined && !(await this.#isThere(cursor))) {
      throw unknownCursor()
    }
    const last = found.length === size ? found.at(-1)?.id : undefined
    const entries = found.map((entry) => this.#toEntry(entry))
    return { entries, ...(last !== undefined && { cursor: last }) }
  }

  async get(id: string, options: GetOptions = {}): Promise<Entry | undefined> {
    checkId('get', id)
    checkOptionNames('get', options, ['withDelivery'])
    const query = { ids: [id], limit: 1, withBody: options.withDelivery ?? false }
    const [found] = await this.#deps.store.find(query)
    return found && this.#toEntry(found)
  }

  async stats(options?: StatsOptions): Promise<InboxStats> {
    const now = this.#now()
    const asked = options && latencyQuery(options, now)
    const { counts, oldest, due, latency } = await this.#deps.store.stats(now, asked)
    return {
      ...counts,
      ...(oldest !== undefined && { oldestAge: Math.max(0, now - oldest) }),
      lag: due === undefined ? 0 : Math.max(0, now - due),
      ...(asked && { latency: toLatency(asked, latency) }),
    }
  }

  /**
   * Pages through what fits, so that a hundred thousand dead letters do not become one transaction.
   * The oldest come first, because handlers begin with the first page while the next is read.
   */
  async redrive(asked: EntryFilter | string): Promise<number> {
    checkRedrive(asked)
    const filter = typeof asked === 'string' ? { id: asked } : asked
    const from = redrivenFrom(filter)
    // The store decides: an entry may be set aside after it was found.
    const setAside = filter.id !== undefined && filter.state === undefined
    let redriven = 0
    let after: string | undefined
    let isLost = false
    do {
      const query = { ...this.#query(filter), states: from, limit: pageSize, oldestFirst: true }
      const found = await this.#deps.store.find({ ...query, ...(after && { after }) })
      const ids = found.flatMap(({ id, metadata }) => (metadata ? [id] : []))
      redriven += await this.#deps.store.reopen({ ids, from, now: this.#now(), setAside })
      // A purge took the last of the page before: what was redriven is not found again.
      isLost = found.length === 0 && after !== undefined && !(await this.#isThere(after))
      after = found.length === pageSize ? found.at(-1)?.id : undefined
    } while (after !== undefined || isLost)
    return redriven
  }

  async replay(id: string): Promise<boolean> {
    checkId('replay', id)
    const [found] = await this.#deps.store.find({ ids: [id], limit: 1 })
    if (!found?.metadata) return false
    const reopening = { ids: [id], from: ['done'], now: this.#now(), replay: true } as const
    return (await this.#deps.store.reopen(reopening)) === 1
  }

  async dismiss(id: string): Promise<boolean> {
    checkId('dismiss', id)
    return this.#deps.store.dismiss(id, this.#now())
  }

  async forget(entity: Entity | string, options: ForgetOptions = {}): Promise<number> {
    checkEntity('forget', entity)
    checkOptionNames('forget', options, ['tenant'])
    const { tenant } = options
    checkTenant('forget', tenant)
    return this.#deps.store.forget(this.#lane(entity, tenant), this.#now(), tenant === null)
  }

  async #isThere(id: string): Promise<boolean> {
    return (await this.#deps.store.find({ ids: [id], limit: 1 })).length > 0
  }

  #now(): number {
    return this.#deps.now().getTime()
  }

  #lane(entity: Entity | string, tenant?: string | null): string {
    const fingerprints = this.#deps.fingerprints.within(tenant ?? undefined)
    if (typeof entity !== 'string') return fingerprints.lane(entity)
    const colon = entity.indexOf(':')
    const type = entity.slice(0, colon) as Entity['type']
    return fingerprints.lane({ type, id: entity.slice(colon + 1) })
  }

  #query(filter: EntryFilter): Omit<StoreQuery, 'limit'> {
    const { id, state, name, entity, tenant, since, search } = filter
    const { fingerprints } = this.#deps
    return {
      ...(id !== undefined && { ids: [id].flat() }),
      ...(state !== undefined && { states: [state].flat() }),
      ...(name !== undefined && { name }),
      ...(entity !== undefined && { lane: this.#lane(entity, tenant) }),
      ...(tenant !== undefined && { tenant: tenant === null ? '' : fingerprints.tenant(tenant) }),
      ...(since !== undefined && { since: new Date(since).getTime() }),
      ...(search && { text: { part: search, keys: this.#keysOf(search) } }),
    }
  }

  /** Ids are kept as hashes, so a whole id is found and a part of one is not. */
  #keysOf(search: string): string[] {
    const { fingerprints } = this.#deps
    const lanes = (['verification', 'client'] as const).map((type) =>
      fingerprints.lane({ type, id: search }),
    )
    const keys = (['id', 'recurred'] as const).map((kind) => fingerprints.key(kind, search))
    return [...keys, ...lanes, this.#lane(search)]
  }

  #toEntry(stored: StoredEntry): Entry {
    const { id, metadata, body, attempt, storedAt, occurredAt, due, settledAt, ...rest } = stored
    const known = metadata && unpackMetadata(id, metadata, this.#deps.encryption)
    const delivery =
      metadata && body && unpackContent(id, { metadata, body }, this.#deps.encryption)?.delivery
    return {
      ...rest,
      id,
      ...(known?.key !== undefined && { eventId: known.key }),
      ...(known?.entity && { entity: known.entity }),
      ...(known?.tenant !== undefined && { tenant: known.tenant }),
      ...(occurredAt !== undefined && { occurredAt: new Date(occurredAt) }),
      receivedAt: new Date(known?.receivedAt ?? storedAt),
      attempts: attempt,
      ...(due !== undefined && { dueAt: new Date(due) }),
      ...(settledAt !== undefined && { settledAt: new Date(settledAt) }),
      erased: metadata === undefined,
      ...((metadata && !known) || (body && !delivery) ? { unreadable: true as const } : {}),
      ...(delivery && { delivery }),
    }
  }
}

function unknownCursor(): WebhookError {
  const message = 'find: unknown or expired cursor; start again from the first page'
  return new WebhookError('OPTION_INVALID', message)
}

function latencyQuery(options: StatsOptions, now: number): LatencyQuery {
  checkOptionNames('stats', options, ['target', 'since'])
  const { target, since = new Date(now - day) } = options
  checkMilliseconds('stats: target', target)
  checkMoment('stats: since', since)
  return { target, since: new Date(since).getTime(), limit: mostMeasured }
}

function toLatency(
  { target, since }: LatencyQuery,
  found: StoreStats['latency'] = [],
): InboxLatency {
  const handlers = found.map(({ within, ...rest }) => ({ ...rest, share: within / rest.entries }))
  return { target, since: new Date(since), handlers }
}
