// A sandbox's inside: the service's state, clock, dice, faults and deliveries around one journal and
// one event bus; what a snapshot, a restore and a reset of all of them are.

import type { Fetch } from '../../src/client/attempt.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import type { Vendor } from '../../src/protocol/vendor.ts'
import { VirtualClock } from './clock.ts'
import type { DataFile } from './data-file.ts'
import { Deliveries, type DeliveriesChange } from './deliveries/deliveries.ts'
import { details, unmeasured } from './deliveries/shown.ts'
import { EventBus } from './event-bus.ts'
import { FaultRules } from './faults.ts'
import { invalidFields } from './http-error.ts'
import { Journal } from './journal.ts'
import { mask } from './organizations.ts'
import type { Mailer } from './outbox.ts'
import { SeededRandom } from './random.ts'
import { changesOf, type SavedState, snapshotErrors, stateChange } from './saved-state.ts'
import type {
  Snapshot,
  StartOptions,
  SubscriptionRow,
  VerificationRow,
} from './schemas/snapshot.ts'
import { emptyState, State } from './state.ts'
import { isOpen } from './transitions.ts'
import { act } from './verifications.ts'

export interface CoreOptions {
  readonly seed: string | number
  /** The time that it follows; the system's by default. */
  readonly source: (() => Date) | undefined
  readonly send: Fetch
  readonly timeoutMs: number
  /** The vendor whose dialect is sent; the service's own by default. */
  readonly vendor: Vendor | undefined
  readonly mailer: Mailer | undefined
  readonly origin: () => string
  readonly start: StartOptions
  readonly file: DataFile | undefined
  /** The content of the file; undefined when it is new. */
  readonly saved: SavedState | undefined
}

export class Core {
  readonly events = new EventBus()
  readonly journal: Journal
  readonly clock: VirtualClock
  readonly random: SeededRandom
  readonly faults: FaultRules
  readonly deliveries: Deliveries
  readonly state: State
  readonly #initial: Snapshot
  #secret: string

  constructor(options: CoreOptions) {
    const { start, saved, source = systemClock, send, timeoutMs, vendor } = options
    this.journal = new Journal(options.file, () => [
      stateChange({ ...this.#parts(), ...this.state.counters(), startOptions: start }),
    ])
    this.random = new SeededRandom(options.seed)
    const frozenAt = start.now === undefined ? undefined : new Date(start.now)
    this.clock = new VirtualClock({ source, frozenAt, onChange: () => this.#clockChanged() })
    this.faults = new FaultRules(this.random, () => this.#faultsChanged())
    const { clock, random, faults, events } = this
    this.deliveries = new Deliveries({
      clock,
      random,
      faults,
      send,
      timeoutMs,
      vendor,
      secret: () => this.#secret,
      hasOrganization: (id) => this.state.organizations.get(id) !== undefined,
      onChange: (change) => this.#deliveriesChanged(change),
    })
    this.state = new State({
      clock,
      random,
      events,
      mailer: options.mailer,
      origin: options.origin,
      record: (change) => this.journal.record(change),
      touch: () => this.journal.touch(),
      emit: (occurrence) => this.deliveries.emit(occurrence),
      expire,
    })
    // Drawn in any case, so that what follows from the seed does not depend on it.
    const drawn = `whsec_${random.token()}`
    this.#secret = start.secret ?? drawn
    this.state.load(emptyState(clock.now()))
    for (const one of start.subscriptions ?? []) this.deliveries.subscriptions.create(one)
    // Copied: what the state holds goes on changing.
    this.#initial = structuredClone(this.#dump())
    if (saved) this.#load(saved.snapshot)
    this.journal.replace(changesOf(this.#dump()))
  }

  /** The secret of subscriptions without their own. */
  get secret(): string {
    return this.#secret
  }

  snapshot(): Snapshot {
    const { webhooks, ...rest } = this.#dump()
    const deliveries = webhooks.deliveries.map(unmeasured)
    return structuredClone({ ...rest, webhooks: { ...webhooks, deliveries } })
  }

  /**
   * Restores a snapshot: it is checked whole before anything of it is taken, and one that cannot be
   * loaded all the same leaves no trace.
   */
  restore(next: unknown): void {
    const wrong = snapshotErrors(next)
    if (wrong.length > 0) throw invalidFields(wrong, 'snapshot')
    const before = this.snapshot()
    try {
      // Checked above, by the schema that the type is inferred from.
      this.#replace(structuredClone(next as Snapshot))
    } catch {
      this.#replace(before)
      throw invalidFields(
        [{ field: '', message: 'contains a value that cannot be loaded' }],
        'snapshot',
      )
    }
  }

  /** Resets everything to the state right after the start. */
  reset(): void {
    this.#replace(structuredClone(this.#initial))
  }

  /** Resolves when no delivery and no mail is due and everything is durable. */
  async flush(): Promise<void> {
    await this.deliveries.flush()
    await this.state.outbox.flush()
    await this.journal.settled()
  }

  close(): Promise<void> {
    this.deliveries.close()
    this.clock.close()
    return this.journal.settled()
  }

  #parts() {
    return {
      version: 2 as const,
      seed: this.random.seed,
      secret: this.#secret,
      clock: this.clock.dump(),
      random: this.random.dump(),
      faults: this.faults.dump(),
    }
  }

  #dump(): Snapshot {
    return { ...this.#parts(), state: this.state.dump(), webhooks: this.deliveries.dump() }
  }

  #load(next: Snapshot): void {
    this.#secret = next.secret
    this.clock.load(next.clock)
    this.faults.load(next.faults)
    this.state.load(next.state)
    this.deliveries.load(next.webhooks)
    // Last, so that nothing that loading drew leaves a trace.
    this.random.load(next.seed, next.random)
  }

  #replace(next: Snapshot): void {
    this.#load(next)
    this.journal.replace(changesOf(next))
    this.events.publish('state', { restored: true })
  }

  #clockChanged(): void {
    this.journal.touch()
    this.events.publish('clock', { now: this.clock.now().toISOString(), frozen: this.clock.frozen })
  }

  #faultsChanged(): void {
    this.journal.touch()
    this.events.publish('faults', { faults: this.faults.list() })
  }

  #deliveriesChanged(change: DeliveriesChange): void {
    this.journal.record(change)
    if (change.value === undefined) {
      this.events.publish(change.kind, { id: change.id, removed: true })
    } else if (change.kind === 'delivery') this.events.publish('delivery', details(change.value))
    else this.events.publish('subscription', masked(change.value))
  }
}

/** Section 6: a verification expires at its date, unless its subject has submitted by then. */
function expire(state: State, row: VerificationRow): void {
  if (isOpen(row)) act(state, row, { steps: [{ action: 'expire' }] })
}

function masked({ previous: _, ...subscription }: SubscriptionRow) {
  return { ...subscription, secret: mask(subscription.secret) }
}
