// The inbox as an operator sees it: look entries up, run them again, erase what must go.

import { WebhookError } from '../errors.ts'
import { checkMilliseconds, checkOptionNames } from '../foundation/check.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Entity } from '../protocol/events.ts'
import type {
  LatencyQuery,
  StoredEntry,
  StoredLatency,
  StoreQuery,
  StoreStats,
} from './admin-store.ts'
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
  partsOf,
  redrivenFrom,
} from './entry-query.ts'
import type { Fingerprints } from './fingerprint.ts'
import type { InboxStore } from './store.ts'
import type { Operated } from './work.ts'

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
export interface HandlerLatency extends Omit<StoredLatency, 'within'> {
  /** The share of entries done within the target, from 0 to 1. */
  readonly share: number
}

export interface OpenInbox {
  readonly store: InboxStore
  readonly encryption: Encryption
  readonly fingerprints: Fingerprints
}

const day = 24 * 60 * 60 * 1000
const pageSize = 500
/** Few enough that the store answers within milliseconds while it works. */
const mostMeasured = 10_000

export abstract class InboxAdmin {
  readonly #reports = new Set<(operated: Operated) => void>()

  abstract readonly now: Clock
  protected abstract opened(): Promise<OpenInbox>
  protected abstract wake(): void

  async find(asked: EntryQuery = {}): Promise<EntryPage> {
    const inbox = await this.opened()
    checkQuery(asked)
    const { limit = 50, cursor, ...filter } = asked
    const size = Math.min(limit, pageSize)
    const query = { ...toQuery(inbox, filter), limit: size, ...(cursor && { after: cursor }) }
    const found = await inbox.store.find(query)
    if (found.length === 0 && cursor !== undefined && !(await isThere(inbox, cursor))) {
      const message = 'find: unknown or expired cursor; start again from the first page'
      throw new WebhookError('OPTION_INVALID', message)
    }
    const last = found.length === size ? found.at(-1)?.id : undefined
    const entries = found.map((entry) => toEntry(inbox, entry))
    return { entries, ...(last !== undefined && { cursor: last }) }
  }

  async get(id: string, options: GetOptions = {}): Promise<Entry | undefined> {
    const inbox = await this.opened()
    checkId('get', id)
    checkOptionNames('get', options, ['withDelivery'])
    const query = { ids: [id], limit: 1, withBody: options.withDelivery ?? false }
    const [found] = await inbox.store.find(query)
    return found && toEntry(inbox, found)
  }

  async stats(options?: StatsOptions): Promise<InboxStats> {
    const { store } = await this.opened()
    const now = this.now().getTime()
    const asked = options && latencyQuery(options, now)
    const { counts, oldest, due, latency } = await store.stats(now, asked)
    return {
      ...counts,
      ...(oldest !== undefined && { oldestAge: Math.max(0, now - oldest) }),
      lag: due === undefined ? 0 : Math.max(0, now - due),
      ...(asked && { latency: toLatency(asked, latency) }),
    }
  }

  redrive(asked: EntryFilter | string): Promise<number> {
    const filter = typeof asked === 'string' ? { id: asked } : asked
    return this.#operate({ asked: 'redrive', entryId: asked }, (inbox, now) => {
      checkRedrive(asked)
      return redrive(inbox, filter, now)
    })
  }

  replay(id: string): Promise<boolean> {
    return this.#operate({ asked: 'replay', entryId: id }, async ({ store }, now) => {
      checkId('replay', id)
      const [found] = await store.find({ ids: [id], limit: 1 })
      if (!found?.metadata) return false
      return (await store.reopen({ ids: [id], from: ['done'], now, replay: true })) === 1
    })
  }

  dismiss(id: string): Promise<boolean> {
    return this.#operate({ asked: 'dismiss', entryId: id }, async ({ store }, now) => {
      checkId('dismiss', id)
      return store.dismiss(id, now)
    })
  }

  forget(entity: Entity | string, options: ForgetOptions = {}): Promise<number> {
    return this.#operate({ asked: 'forget' }, async (inbox, now) => {
      checkEntity('forget', entity)
      checkOptionNames('forget', options, ['tenant'])
      const { tenant } = options
      checkTenant('forget', tenant)
      return inbox.store.forget(laneOf(inbox, entity, tenant), now, tenant === null)
    })
  }

  /** Calls `report` for each operator's change that changed anything. */
  onOperated(report: (operated: Operated) => void): void {
    this.#reports.add(report)
  }

  async #operate<Result extends number | boolean>(
    { asked, entryId }: { readonly asked: Operated['asked']; readonly entryId?: unknown },
    change: (inbox: OpenInbox, now: number) => Promise<Result>,
  ): Promise<Result> {
    const began = performance.now()
    try {
      const result = await change(await this.opened(), this.now().getTime())
      const duration = performance.now() - began
      const one = typeof entryId === 'string' ? { entryId } : {}
      const operated = { asked, entries: Number(result), duration, ...one }
      if (operated.entries > 0) for (const report of this.#reports) report(operated)
      return result
    } finally {
      this.wake()
    }
  }
}

/**
 * Pages through the matching entries, so that a hundred thousand dead letters do not become one
 * transaction. The oldest come first, because handlers begin with the first page while the next is
 * read.
 */
async function redrive(inbox: OpenInbox, filter: EntryFilter, now: number): Promise<number> {
  const { store } = inbox
  const from = redrivenFrom(filter)
  // The store decides: an entry may be set aside after it was found.
  const setAside = filter.id !== undefined && filter.state === undefined
  const query = { ...toQuery(inbox, filter), states: from, limit: pageSize, oldestFirst: true }
  let redriven = 0
  let after: string | undefined
  let isLost = false
  do {
    const found = await store.find({ ...query, ...(after && { after }) })
    const ids = found.flatMap(({ id, metadata }) => (metadata ? [id] : []))
    redriven += await store.reopen({ ids, from, now, setAside })
    // A purge erased the last entry of the page before: redriven entries are not found again.
    isLost = found.length === 0 && after !== undefined && !(await isThere(inbox, after))
    after = found.length === pageSize ? found.at(-1)?.id : undefined
  } while (after !== undefined || isLost)
  return redriven
}

async function isThere({ store }: OpenInbox, id: string): Promise<boolean> {
  return (await store.find({ ids: [id], limit: 1 })).length > 0
}

/** The lane of an entity; without `tenant` it means that lane of every tenant. */
export function laneOf(inbox: OpenInbox, entity: Entity | string, tenant?: string | null): string {
  const { type, id } = typeof entity === 'string' ? partsOf(entity) : entity
  const { fingerprints } = inbox
  return (tenant ? fingerprints.within(tenant) : fingerprints).of('lane', type, id)
}

function toQuery(inbox: OpenInbox, filter: EntryFilter): Omit<StoreQuery, 'limit'> {
  const { id, state, name, entity, tenant, since, search } = filter
  const ofTenant = (given: string | null) =>
    given === null ? '' : inbox.fingerprints.tenant(given)
  return {
    ...(id !== undefined && { ids: [id].flat() }),
    ...(state !== undefined && { states: [state].flat() }),
    ...(name !== undefined && { name }),
    ...(entity !== undefined && { lane: laneOf(inbox, entity, tenant) }),
    ...(tenant !== undefined && { tenant: ofTenant(tenant) }),
    ...(since !== undefined && { since: new Date(since).getTime() }),
    ...(search && { text: { part: search, keys: keysOf(inbox, search) } }),
  }
}

/** Ids are kept as hashes: the search finds a whole id and no part of one. */
function keysOf(inbox: OpenInbox, search: string): string[] {
  const { fingerprints } = inbox
  const lanes = ['verification', 'client'].map((type) => fingerprints.of('lane', type, search))
  const keys = (['id', 'recurred'] as const).map((kind) => fingerprints.of(kind, search))
  return [...keys, ...lanes, laneOf(inbox, search)]
}

function toEntry({ encryption }: OpenInbox, stored: StoredEntry): Entry {
  const { id, metadata, body, attempt, storedAt, occurredAt, due, settledAt, ...rest } = stored
  const known = metadata && unpackMetadata(id, metadata, encryption)
  const opened = metadata && body && unpackContent(id, { metadata, body }, encryption)
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
    ...((metadata && !known) || (body && !opened) ? { unreadable: true as const } : {}),
    ...(opened && { delivery: opened.delivery }),
  }
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
