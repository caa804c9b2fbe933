// Decisions behind a vendor's API: which events lack theirs, and the event that each becomes by the
// vendor's own record.
import { WebhookError } from '../errors.ts'
import { defined } from '../foundation/defined.ts'
import { warnOnce } from '../foundation/warn.ts'
import { acceptedOf, type ParseOptions, type WithData } from '../parse.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import { idOf, valueAt } from '../protocol/json-paths.ts'
import { isDecision, isEventName } from '../protocol/names.ts'
import {
  decisionOf,
  isOutdated,
  readAuthentic,
  recordReader,
  type Vendor,
} from '../protocol/vendor.ts'
import type { ReadRecord } from '../protocol/vendor-api.ts'

/** A read for an event of an inbox. */
export interface DecisionReading {
  readonly signal: AbortSignal
  /** When the event was stored, in milliseconds since the epoch. */
  readonly storedAt?: number | undefined
}

/** A record that was read, and when the read began. */
interface ReadBefore {
  readonly began: number
  readonly record: unknown
}

/** The clocks of the hosts of one inbox may differ by this many milliseconds. */
const skew = 60_000
const maxKept = 100

/** The decisions of a receiver's vendor. */
export class Decisions {
  readonly #vendor: Vendor
  readonly #read: ReadRecord | undefined
  readonly #isAccepted: boolean
  readonly #withData: WithData
  readonly #now: () => number
  readonly #warn = warnOnce()
  /** The latest records, by entity: events that waited together share one. */
  readonly #records = new Map<string, ReadBefore>()

  constructor(
    vendor: Vendor,
    options: ParseOptions,
    by: { readonly withData: WithData; readonly now: () => number },
  ) {
    this.#vendor = vendor
    this.#read = recordReader(vendor)
    this.#isAccepted = acceptedOf(options).includes('api')
    this.#withData = by.withData
    this.#now = by.now
  }

  /** True if handlers can read the vendor's records. */
  get hasApi(): boolean {
    return this.#read !== undefined
  }

  /** True if an event lacks a decision that is read; warns once if nothing can read it. */
  awaits(event: WebhookEvent): boolean {
    if (isEventName(event.name)) return false
    const found = decisionOf(this.#vendor, event.raw)
    const isWithheld = isDecision(readAuthentic(this.#vendor, event.raw).name)
    if (!found?.isHint && !isWithheld) return false
    if (found && this.#read && this.#isAccepted) return Boolean(event.entity?.id)
    const { name } = this.#vendor
    const why = isWithheld
      ? `a decision of ${name} came in bytes that 'accept' does not cover, so it decides nothing`
      : `events of ${name} tell that something changed, not what was decided`
    const fix = found
      ? `pass vendors.${name}({ api: { … } }), so that decisions are read by its API`
      : "add 'unsigned' to accept to take it all the same"
    this.#warn(`${why}: ${fix}`, 'DECISION_UNREAD', name)
    return false
  }

  /**
   * The event with the decision that the vendor's record states; unchanged if it states none yet.
   *
   * @throws WebhookError `DECISION_UNREAD`; what the API's `fetch` throws
   */
  async decided(event: WebhookEvent, { signal, storedAt }: DecisionReading): Promise<WebhookEvent> {
    const id = event.entity?.id ?? ''
    const before = this.#records.get(id)
    const began = this.#now()
    // Only a read that began after the event was stored can know what the event tells of.
    const isShared = before && began - before.began < skew && Number(storedAt) + skew < before.began
    if (isShared) return this.#completed(event, before.record)
    const record = await this.record(event, signal)
    const completed = this.#completed(event, record)
    if (this.#records.size >= maxKept) this.#records.clear()
    this.#records.set(id, { began, record })
    return completed
  }

  /** The vendor's record of an event's verification; undefined if its API has none. */
  async record({ raw, entity }: WebhookEvent, signal: AbortSignal): Promise<unknown> {
    const found = decisionOf(this.#vendor, raw)
    if (!found || !this.#read || !entity?.id) return undefined
    const { request, reading } = found.decision
    const value = (place: string) => (place === 'id' ? entity.id : idOf(valueAt(raw, place)))
    const record = await this.#read(request, value, signal)
    const own = readAuthentic({ ...this.#vendor, reading }, record).entity?.id
    if (own === entity.id) return record
    throw new WebhookError(
      'DECISION_UNREAD',
      `the API of ${this.#vendor.name} gave the record of another verification`,
    )
  }

  /** An event with the data of a record, under the name that it has. */
  refreshed(event: WebhookEvent, record: unknown): WebhookEvent {
    return this.#withData(event, {
      ...Object(event.data),
      ...Object(this.#reading(event, record)?.data),
    })
  }

  #completed(event: WebhookEvent, record: unknown): WebhookEvent {
    const read = this.#reading(event, record)
    if (!read || !isEventName(read.name)) {
      const found = decisionOf(this.#vendor, event.raw)
      if (!found || !isOutdated(found.decision, record)) return event
      throw new WebhookError(
        'DECISION_UNREAD',
        `the API of ${this.#vendor.name} does not have the decision yet that its webhook announced`,
      )
    }
    const { name, occurredAt = event.occurredAt } = read
    const decided = defined({ ...event, name, known: true, occurredAt, decidedBy: 'api' })
    // Trust is granted here: the data are held against the schema of the new name.
    return this.#withData(decided as WebhookEvent, { ...Object(event.data), ...Object(read.data) })
  }

  #reading({ raw }: WebhookEvent, record: unknown) {
    const found = decisionOf(this.#vendor, raw)
    return found && readAuthentic({ ...this.#vendor, reading: found.decision.reading }, record)
  }
}
