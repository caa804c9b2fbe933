// Decisions behind a vendor's API: which events lack theirs, and the event that each becomes by the
// vendor's own record.
import { WebhookError } from '../errors.ts'
import { defined } from '../foundation/defined.ts'
import { warnOnce } from '../foundation/warn.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import { idOf, valueAt } from '../protocol/json-paths.ts'
import { createWithData, type WithData } from '../protocol/meanings.ts'
import { isDecision, isEventName } from '../protocol/names.ts'
import type { DecisionOptions, Decisions, Vendor } from '../protocol/vendor.ts'
import { decisionOf, isOutdated, readEvent } from './reading.ts'
import type { ReadRecord } from './vendor-api.ts'

/** The decisions of a receiver's vendor. */
export class ApiDecisions implements Decisions {
  readonly hasApi: boolean
  readonly #vendor: Vendor
  readonly #read: ReadRecord | undefined
  readonly #isAccepted: boolean
  readonly #withData: WithData
  readonly #warn = warnOnce()

  constructor(vendor: Vendor, read: ReadRecord | undefined, options: DecisionOptions) {
    this.hasApi = read !== undefined
    this.#vendor = vendor
    this.#read = read
    this.#isAccepted = options.accept?.includes('api') === true
    this.#withData = createWithData(options)
  }

  awaits(event: WebhookEvent): boolean {
    if (isEventName(event.name)) return false
    const found = decisionOf(this.#vendor, event.raw)
    const isWithheld = isDecision(readEvent(this.#vendor, event.raw).name)
    if (!found?.isHint && !isWithheld) return false
    if (found && this.hasApi && this.#isAccepted) return Boolean(event.entity?.id)
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

  async decided(event: WebhookEvent, signal: AbortSignal): Promise<WebhookEvent> {
    const record = await this.record(event, signal)
    const read = this.#reading(event, record)
    if (!read || !isEventName(read.name)) {
      const found = decisionOf(this.#vendor, event.raw)
      if (!found || !isOutdated(found.decision, record)) return event
      throw this.#unread('does not have the decision yet that its webhook announced')
    }
    const { name, occurredAt = event.occurredAt } = read
    const decided = defined({ ...event, name, known: true, occurredAt, decidedBy: 'api' })
    // Trust is granted here: the data are held against the schema of the new name.
    return this.#withData(decided as WebhookEvent, { ...Object(event.data), ...read.data })
  }

  async record({ raw, entity }: WebhookEvent, signal: AbortSignal): Promise<unknown> {
    const found = decisionOf(this.#vendor, raw)
    if (!found || !this.#read || !entity?.id) return undefined
    const { request, reading } = found.decision
    const value = (place: string) => (place === 'id' ? entity.id : idOf(valueAt(raw, place)))
    const record = await this.#read(request, value, signal)
    const own = readEvent({ ...this.#vendor, reading }, record).entity?.id
    if (own === entity.id) return record
    throw this.#unread('gave the record of another verification')
  }

  refreshed(event: WebhookEvent, record: unknown): WebhookEvent {
    const read = this.#reading(event, record)
    return this.#withData(event, { ...Object(event.data), ...read?.data })
  }

  #unread(what: string): WebhookError {
    return new WebhookError('DECISION_UNREAD', `the API of ${this.#vendor.name} ${what}`)
  }

  #reading({ raw }: WebhookEvent, record: unknown) {
    const found = decisionOf(this.#vendor, raw)
    return found && readEvent({ ...this.#vendor, reading: found.decision.reading }, record)
  }
}
