// The calls of `waitFor` on one inbox. One statement a poll finds the entries that were done since the
// last poll, for all waiters; another finds the earlier entries of new waiters.
import { WebhookError } from '../errors.ts'
import { orAborted } from '../foundation/abortable.ts'
import { checkMilliseconds, checkOptionNames, invalid, shown } from '../foundation/check.ts'
import type { Clock } from '../foundation/clock.ts'
import { observedName } from '../observe/observe.ts'
import type { Parser } from '../parse.ts'
import type { Entity, WebhookEvent } from '../protocol/events.ts'
import {
  canonicalName,
  covers,
  decisionNames,
  isEventName,
  reversalName,
} from '../protocol/names.ts'
import { laneOf, type OpenInbox } from './admin.ts'
import type { DoneEntry, DonePlace, DoneQuery } from './admin-store.ts'
import { unpackContent } from './content.ts'
import { checkEntity, checkMoment, checkTenant } from './entry-query.ts'
import type { InboxStore } from './store.ts'

/** Options of `waitFor`. */
export interface WaitForOptions {
  /** Names of events, families (`client.*`) or `*`. By default the four decisions. */
  readonly names?: string | readonly string[]
  /** The first moment that counts, which may be in the past; by default the time of the call. */
  readonly since?: Date | string
  /** Milliseconds to wait at most; with 0 the inbox is read once. */
  readonly timeout: number
  /** Rejects with its reason once it is aborted. */
  readonly signal?: AbortSignal
  /** Only events of this tenant, or with null only events without a tenant. */
  readonly tenant?: string | null
}

interface WaitersDeps {
  readonly store: InboxStore
  readonly now: Clock
  opened(): Promise<OpenInbox>
  /** Rejects if the store does not answer in time. */
  ask<Result>(work: () => Promise<Result>): Promise<Result>
  /** The parser of the receiver in this process, or of a receiver without options. */
  parser(): Parser
}

interface Waiter {
  readonly names: readonly string[]
  readonly lane: string
  /** False if the lane means that lane of every tenant. */
  readonly isExact: boolean
  readonly since: number
  /** Entries that do not count: they were done before, or are erased. */
  readonly passed: Set<string>
  isNew: boolean
  /** True if its time ended before the first read. */
  isLate: boolean
  resolve(entry: DoneEntry | undefined): void
  reject(error: unknown): void
}

/** Milliseconds by which clocks may differ, and by which a settlement may begin before `since`. */
const overlap = 1_000
/** Milliseconds by which `since` may precede the call and still count as the time of the call. */
const fresh = 100
/** Milliseconds from a settlement to its commit: nearly always, and at most. */
const [usualCommit, maxCommit] = [300, 10_000]
/** Milliseconds between two polls: at least, without announcements, and with announcements. */
const [minPause, pollPause, announcedPause] = [10, 20, 1_000]
/** At most this many rows and lanes for one statement. */
const [maxRows, maxLanes] = [1_000, 250]

const keyOf = (lane: string) => lane.split('.', 1)[0] ?? lane
const placeOf = ({ id, settledAt }: DoneEntry) => `${settledAt} ${id}`

export class Waiters {
  readonly #deps: WaitersDeps
  readonly #byLane = new Map<string, Set<Waiter>>()
  readonly #new = new Set<Waiter>()
  #stop: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The time of the last entry that was found; an earlier entry may still commit. */
  #cursor = 0
  /** When the last poll began, and the last poll for entries that commit late. */
  #polledAt = 0
  #polledFarAt = 0
  #pause = pollPause
  #isPolling = false
  #isDue = false
  #failure: unknown

  constructor(deps: WaitersDeps) {
    this.#deps = deps
  }

  async waitFor(
    entity: Entity | string,
    options: WaitForOptions,
  ): Promise<WebhookEvent | undefined> {
    checkEntity('waitFor', entity)
    const names = checkOptions(options)
    const { timeout, signal, tenant, since } = options
    const orStopped = <Result>(work: Promise<Result>) => (signal ? orAborted(work, signal) : work)
    const inbox = await orStopped(this.#deps.opened())
    const [now, began] = [this.#deps.now(), performance.now()]
    const { promise, resolve, reject } = Promise.withResolvers<DoneEntry | undefined>()
    const waiter: Waiter = {
      ...{ names, lane: laneOf(inbox, entity, tenant), isExact: tenant !== undefined },
      since: sinceOf(since === undefined ? now : new Date(since), now),
      ...{ passed: new Set(), isNew: true, isLate: false, resolve, reject },
    }
    const timer = setTimeout(() => {
      waiter.isLate = true
      if (this.#failure) reject(this.#failure)
      else if (!waiter.isNew) resolve(undefined)
    }, timeout)
    this.#add(waiter, now)
    let done: DoneEntry | undefined
    try {
      done = await orStopped(promise)
    } finally {
      clearTimeout(timer)
      this.#delete(waiter)
    }
    const event = done && (await this.#read(done, inbox))
    if (event || !done) return event
    // The entry was replayed or erased meanwhile.
    const left = Math.max(0, Math.floor(timeout - (performance.now() - began)))
    return this.waitFor(entity, { ...options, since: since ?? now, timeout: left })
  }

  close(): void {
    const error = new WebhookError('STORE_FAILED', 'the inbox was closed during waitFor()')
    for (const waiters of this.#byLane.values()) for (const { reject } of waiters) reject(error)
  }

  #add(waiter: Waiter, now: Date): void {
    if (this.#byLane.size === 0) {
      this.#cursor = now.getTime()
      this.#failure = undefined
      this.#stop = this.#deps.store.onDone?.(() => this.#pollSoon())
    }
    const key = keyOf(waiter.lane)
    this.#byLane.set(key, (this.#byLane.get(key) ?? new Set()).add(waiter))
    this.#new.add(waiter)
    this.#pause = pollPause
    this.#pollSoon()
  }

  #delete(waiter: Waiter): void {
    const key = keyOf(waiter.lane)
    this.#new.delete(waiter)
    this.#byLane.get(key)?.delete(waiter)
    if (this.#byLane.get(key)?.size === 0) this.#byLane.delete(key)
    if (this.#byLane.size > 0) return
    this.#stop?.()
    clearTimeout(this.#timer)
  }

  #pollSoon(): void {
    this.#isDue = true
    if (!this.#isPolling) this.#schedule(this.#polledAt + minPause - performance.now())
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#poll(), Math.max(0, ms))
  }

  async #poll(): Promise<void> {
    this.#isPolling = true
    this.#isDue = false
    this.#polledAt = performance.now()
    try {
      await this.#findEarlier([...this.#new])
      await this.#findRecent()
      this.#failure = undefined
    } catch (error) {
      this.#failure = error
      for (const { isLate, reject } of this.#new) if (isLate) reject(error)
    }
    this.#isPolling = false
    if (this.#byLane.size === 0) return
    if (this.#isDue) return this.#pollSoon()
    this.#pause = this.#stop ? Math.min(this.#pause * 2, announcedPause) : pollPause
    this.#schedule(this.#pause)
  }

  async #findEarlier(waiters: readonly Waiter[]): Promise<void> {
    for (let at = 0; at < waiters.length; at += maxLanes) {
      const page = new Set(waiters.slice(at, at + maxLanes))
      const lanes = [...new Set([...page].map(({ lane }) => keyOf(lane)))]
      const from = Math.min(...[...page].map(({ since }) => since)) - maxCommit
      for await (const row of this.#rows(from, lanes)) this.#give(row, (one) => page.has(one))
      for (const waiter of page) {
        waiter.isNew = false
        this.#new.delete(waiter)
        if (waiter.isLate) waiter.resolve(undefined)
      }
    }
  }

  async #findRecent(): Promise<void> {
    const now = this.#deps.now().getTime()
    const isFar = this.#polledAt > this.#polledFarAt + announcedPause
    if (isFar) this.#polledFarAt = this.#polledAt
    const from = Math.min(this.#cursor, now) - (isFar ? maxCommit : usualCommit)
    let last = this.#cursor
    for await (const row of this.#rows(from)) {
      this.#give(row, ({ isNew }) => !isNew)
      last = Math.max(last, row.settledAt)
    }
    // The clock of another process may be ahead.
    this.#cursor = Math.min(last, now)
  }

  async *#rows(from: number, lanes?: readonly string[]): AsyncGenerator<DoneEntry> {
    let after: DonePlace | undefined = { settledAt: from, seq: 0 }
    while (after) {
      const query: DoneQuery = { after, limit: maxRows, ...(lanes && { lanes }) }
      const rows: readonly DoneEntry[] = await this.#deps.ask(() =>
        this.#deps.store.findDone(query),
      )
      yield* rows
      after = rows.length === maxRows ? rows.at(-1) : undefined
    }
  }

  #give(row: DoneEntry, isMeant: (waiter: Waiter) => boolean): void {
    for (const waiter of this.#byLane.get(keyOf(row.lane)) ?? []) {
      if (isMeant(waiter) && counts(row, waiter)) waiter.resolve(row)
    }
  }

  /** Reads the event as its handlers got it; undefined if it is no longer there. */
  async #read({ id }: DoneEntry, { encryption }: OpenInbox): Promise<WebhookEvent | undefined> {
    const { store, ask } = this.#deps
    const [found] = await ask(() => store.find({ ids: [id], limit: 1, withBody: true }))
    if (found?.state !== 'done' || !found.metadata || !found.body) return undefined
    const { name, source, metadata, body } = found
    const opened = unpackContent(id, { metadata, body }, encryption)
    if (!opened) {
      const message =
        'no key decrypts the event: pass the keys of its worker in encryption.previous'
      throw new WebhookError('STORE_SEALED', message)
    }
    const parsed = this.#deps.parser()(opened.delivery, source, { name, part: opened.part })
    const event = parsed.ok ? parsed.event : undefined
    if (event && observedName(event.name, event.known) === name) return event
    // The vendor's API gave its decision.
    if (event?.vendor !== undefined && !event.known && name !== undefined && isEventName(name)) {
      return { ...event, name, known: true, decidedBy: 'api' } as unknown as WebhookEvent
    }
    throw new WebhookError(
      'INBOX_INVALID',
      `waitFor cannot read ${name} as its worker did: create its receiver in this process too, createReceiver({ inbox, … })`,
    )
  }
}

function checkOptions(options: WaitForOptions): readonly string[] {
  checkOptionNames('waitFor', options, ['names', 'since', 'timeout', 'signal', 'tenant'])
  const { names = decisionNames, since, timeout, tenant } = options
  const canonical = [names].flat().map((name) => canonicalName(name))
  const isInvalid = (name: unknown) =>
    typeof name !== 'string' || name === '' || name === reversalName
  if (canonical.length === 0 || canonical.some(isInvalid)) {
    const shape = `names of events, families like 'client.*' or '*', and not ${reversalName}`
    throw invalid(`waitFor: names must be ${shape}, got ${shown(names)}`)
  }
  if (since !== undefined) checkMoment('waitFor: since', since)
  checkMilliseconds('waitFor: timeout', timeout, 0)
  checkTenant('waitFor', tenant)
  return canonical
}

/** A first call sees which entries commit late; a call after a restart must read further back. */
function sinceOf(asked: Date, now: Date): number {
  const isFresh = asked.getTime() >= now.getTime() - fresh
  return isFresh ? asked.getTime() : asked.getTime() - overlap
}

function counts(row: DoneEntry, { names, lane, isExact, since, passed, isNew }: Waiter): boolean {
  const { name, settledAt } = row
  if (name === undefined || !names.some((pattern) => covers(pattern, name))) return false
  if (isExact && row.lane !== lane) return false
  if (settledAt < since && isNew) passed.add(placeOf(row))
  return settledAt > since - maxCommit && !passed.has(placeOf(row))
}
