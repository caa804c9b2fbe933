// The report of a reconcile run, counted while it runs. It contains event names and ids,
// never personal data.

import type { OutcomeCode } from '../errors.ts'
import { defined } from '../foundation/defined.ts'
import type { Entity } from '../protocol/events.ts'
import { parseTime } from '../protocol/json-paths.ts'
import type { EventName } from '../protocol/names.ts'
import { type DerivedEvent, unseen } from './derive-events.ts'
import type { Stream, Watermark } from './watermark.ts'

/** An event that could not be fed. */
export interface FeedFailure {
  readonly name: EventName
  readonly id: string
  readonly code: OutcomeCode
}

/** The progress of a run, reported after every page. */
export interface ReconcileProgress {
  readonly stream: Stream
  /** Records read. */
  readonly read: number
  /** Events that must have happened. */
  readonly events: number
  /** Of these, events that the inbox had not seen. */
  readonly missing: number
  readonly fed: number
}

/** The result of a run. */
export interface ReconcileReport {
  readonly dryRun: boolean
  /** Everything could be read, and every missing event was fed. */
  readonly complete: boolean
  readonly read: { readonly verifications: number; readonly clients: number }
  readonly events: {
    /** Events that must have happened, by what the API shows. */
    readonly derived: number
    /** Of these, events that the inbox had seen. */
    readonly present: number
    readonly missing: number
    /** Of the missing, events that the inbox took. */
    readonly fed: number
    /** Of the missing, events that arrived meanwhile: by webhook, or from another run. */
    readonly arrived: number
    readonly failed: number
  }
  /**
   * Records with unreadable times, of which it is unknown whether they belong to the run, and those
   * whose ids are too long for an inbox (about 1,000 characters).
   */
  readonly unreadable: {
    readonly count: number
    /** The first hundred. */
    readonly records: readonly Entity[]
  }
  /** The size of the gap. */
  readonly gap: {
    readonly byName: { readonly [Name in EventName]?: number }
    /** Missing, of all that must have happened: from 0 to 1. */
    readonly share: number
    readonly oldest?: string
    readonly newest?: string
  }
  /** The first hundred events that could not be fed. */
  readonly failures: readonly FeedFailure[]
  /** Where the next run can begin; absent if it must begin where this one did. */
  readonly watermark?: Watermark
  /** Events that no run can find, because the API does not show them. */
  readonly unseen: readonly string[]
}

const maxListed = 100

/** Counts a run. */
export class ReconcileTally {
  readonly read = { verifications: 0, clients: 0 }
  readonly events = { derived: 0, present: 0, missing: 0, fed: 0, arrived: 0, failed: 0 }
  readonly #byName: { [Name in EventName]?: number } = {}
  readonly #failures: FeedFailure[] = []
  readonly #unreadable = new Map<string, Entity>()
  #oldest: string | undefined
  #newest: string | undefined

  missing({ name, occurredAt }: DerivedEvent): void {
    this.events.missing += 1
    this.#byName[name] = (this.#byName[name] ?? 0) + 1
    const at = parseTime(occurredAt)
    if (!(at >= parseTime(this.#oldest ?? ''))) this.#oldest = occurredAt
    if (!(at <= parseTime(this.#newest ?? ''))) this.#newest = occurredAt
  }

  failed({ name, entity }: DerivedEvent, code: OutcomeCode): void {
    this.events.failed += 1
    if (this.#failures.length < maxListed) this.#failures.push({ name, id: entity.id, code })
  }

  unreadable(record: Entity): void {
    this.#unreadable.set(`${record.type} ${record.id}`, record)
  }

  progress(stream: Stream): ReconcileProgress {
    const { derived: events, missing, fed } = this.events
    return { stream, read: this.read.verifications + this.read.clients, events, missing, fed }
  }

  /** `watermark` is where the run ended, or undefined if it stopped before its end. */
  report(dryRun: boolean, watermark: Watermark | undefined): ReconcileReport {
    const { derived, missing, failed } = this.events
    const count = this.#unreadable.size
    const isWhole = watermark !== undefined && failed === 0 && count === 0
    const complete = isWhole && (missing === 0 || !dryRun)
    const [oldest, newest] = [this.#oldest, this.#newest]
    const share = missing / (derived || 1)
    return defined({
      dryRun,
      complete,
      read: this.read,
      events: this.events,
      unreadable: { count, records: [...this.#unreadable.values()].slice(0, maxListed) },
      gap: defined({ byName: this.#byName, share, oldest, newest }),
      failures: this.#failures,
      watermark: complete ? watermark : undefined,
      unseen,
    })
  }
}
