// What a run of reconcile found and did: counted while it runs, told at its end. It names events
// and ids, never a person.
import type { OutcomeCode } from '../errors.ts'
import type { Entity } from '../protocol/events.ts'
import type { EventName } from '../protocol/names.ts'
import { type DerivedEvent, unseen } from './derive-events.ts'
import type { Stream, Watermark } from './watermark.ts'

/** An event that could not be fed. */
export interface FeedFailure {
  readonly name: EventName
  readonly id: string
  readonly code: OutcomeCode
}

/** Where a run stands; told after every page. */
export interface ReconcileProgress {
  readonly stream: Stream
  /** Records read. */
  readonly read: number
  /** Events that must have happened. */
  readonly events: number
  /** Of these, the inbox had not seen. */
  readonly missing: number
  readonly fed: number
}

/** What a run came to. */
export interface ReconcileReport {
  readonly dryRun: boolean
  /** Everything was read and could be understood, and everything missing was fed. */
  readonly complete: boolean
  readonly read: { readonly verifications: number; readonly clients: number }
  readonly events: {
    /** That must have happened, by what the API shows. */
    readonly derived: number
    /** Of these, the inbox had seen. */
    readonly present: number
    readonly missing: number
    /** Of the missing, the inbox took. */
    readonly fed: number
    /** Of the missing, came by webhook while they were being fed. */
    readonly arrived: number
    readonly failed: number
  }
  /** Records whose times cannot be read, so that nobody knows whether they belong to the run. */
  readonly unreadable: {
    readonly count: number
    /** The first hundred. */
    readonly records: readonly Entity[]
  }
  /** How wide the gap is. */
  readonly gap: {
    readonly byName: { readonly [Name in EventName]?: number }
    /** Missing, of all that must have happened: from 0 to 1. */
    readonly share: number
    readonly oldest?: string
    readonly newest?: string
  }
  /** The first hundred events that could not be fed. */
  readonly failures: readonly FeedFailure[]
  /** Where the next run can begin; absent when it must begin where this one did. */
  readonly watermark?: Watermark
  /** What no run can find, because the API does not show it. */
  readonly unseen: readonly string[]
}

const mostTold = 100

/** Counts a run. */
export class ReconcileTally {
  readonly #read = { verifications: 0, clients: 0 }
  readonly #events = { derived: 0, present: 0, missing: 0, fed: 0, arrived: 0, failed: 0 }
  readonly #byName: { [Name in EventName]?: number } = {}
  readonly #failures: FeedFailure[] = []
  readonly #unreadable = new Map<string, Entity>()
  #times: readonly [oldest: string, newest: string] | undefined

  read(of: 'verification' | 'client', count: number): void {
    this.#read[`${of}s`] += count
  }

  count(what: 'derived' | 'present' | 'fed' | 'arrived'): void {
    this.#events[what] += 1
  }

  missing({ name, occurredAt }: DerivedEvent): void {
    this.#events.missing += 1
    this.#byName[name] = (this.#byName[name] ?? 0) + 1
    const [oldest, newest] = this.#times ?? [occurredAt, occurredAt]
    const at = Date.parse(occurredAt)
    this.#times = [
      at < Date.parse(oldest) ? occurredAt : oldest,
      at > Date.parse(newest) ? occurredAt : newest,
    ]
  }

  failed({ name, entity }: DerivedEvent, code: OutcomeCode): void {
    this.#events.failed += 1
    if (this.#failures.length < mostTold) this.#failures.push({ name, id: entity.id, code })
  }

  unreadable(record: Entity): void {
    this.#unreadable.set(`${record.type} ${record.id}`, record)
  }

  progress(stream: Stream): ReconcileProgress {
    const { derived: events, missing, fed } = this.#events
    const { verifications, clients } = this.#read
    return { stream, read: verifications + clients, events, missing, fed }
  }

  report(run: {
    readonly dryRun: boolean
    readonly finished: boolean
    readonly watermark: Watermark | undefined
  }): ReconcileReport {
    const { derived, missing, failed } = this.#events
    const [oldest, newest] = this.#times ?? []
    const count = this.#unreadable.size
    const whole = run.finished && failed === 0 && count === 0
    return {
      dryRun: run.dryRun,
      complete: whole && (missing === 0 || !run.dryRun),
      read: { ...this.#read },
      events: { ...this.#events },
      unreadable: { count, records: [...this.#unreadable.values()].slice(0, mostTold) },
      gap: {
        byName: { ...this.#byName },
        share: derived === 0 ? 0 : missing / derived,
        ...(oldest !== undefined && { oldest }),
        ...(newest !== undefined && { newest }),
      },
      failures: [...this.#failures],
      ...(run.watermark && { watermark: run.watermark }),
      unseen,
    }
  }
}
