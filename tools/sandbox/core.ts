// A sandbox's inside: the service's state, clock, random source, faults and deliveries around one
// event bus and one data file. A snapshot, a restore and a reset cover all of them.

import type { Fetch } from '../../src/client/attempt.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import type { Vendor } from '../../src/protocol/vendor.ts'
import { VirtualClock } from './clock.ts'
import { DataFile } from './data-file.ts'
import { Deliveries, details, unmeasured } from './deliveries/deliveries.ts'
import { EventBus } from './events.ts'
import { checked } from './exchange.ts'
import { FaultRules } from './faults.ts'
import { mask } from './organizations.ts'
import type { Mailer } from './outbox.ts'
import { SeededRandom } from './random.ts'
import {
  type SavedState,
  type Snapshot,
  type StartOptions,
  type SubscriptionRow,
  snapshotSchema,
} from './schemas/snapshot.ts'
import { emptyState, State } from './state.ts'
import { act } from './verifications.ts'

export interface CoreOptions {
  readonly start: StartOptions
  /** The time that the clock follows; the system's by default. */
  readonly source: (() => Date) | undefined
  readonly send: Fetch
  readonly timeoutMs: number
  /** The vendor in whose form events are sent; the service's own by default. */
  readonly vendor: Vendor | undefined
  readonly mailer: Mailer | undefined
  readonly origin: () => string
  /** The name of the data file. */
  readonly data: string | undefined
  /** The content of the data file; undefined if it is new. */
  readonly saved: SavedState | undefined
}

export class Core {
  readonly events = new EventBus()
  readonly clock: VirtualClock
  readonly random: SeededRandom
  readonly faults: FaultRules
  readonly deliveries: Deliveries
  readonly state: State
  readonly #initial: Snapshot
  readonly #file: DataFile | undefined
  #secret: string

  constructor(options: CoreOptions) {
    const { start, saved, data, source = systemClock, send, timeoutMs, vendor } = options
    const { events } = this
    const changed = () => this.#file?.change()
    this.random = new SeededRandom(start.seed)
    const frozenAt = start.now === undefined ? undefined : new Date(start.now)
    this.clock = new VirtualClock({ source, frozenAt, onChange: () => this.#clockChanged() })
    this.faults = new FaultRules(this.random, () => this.#faultsChanged())
    const { clock, random, faults } = this
    this.deliveries = new Deliveries({
      clock,
      random,
      faults,
      send,
      timeoutMs,
      vendor,
      secret: () => this.#secret,
      hasOrganization: (id) => this.state.organizations.get(id) !== undefined,
      onDelivery: (row) => {
        changed()
        events.publish('delivery', details(row))
      },
      onSubscription: (id, row) => {
        changed()
        events.publish('subscription', row ? masked(row) : { id, removed: true })
      },
    })
    this.state = new State({
      clock,
      random,
      events,
      mailer: options.mailer,
      origin: options.origin,
      onChange: changed,
      emit: (occurrence) => this.deliveries.emit(occurrence),
      expire: (state, row) => act(state, row, { steps: [{ action: 'expire' }] }),
    })
    // Drawn in any case, so that what follows from the seed does not depend on the option.
    const drawn = `whsec_${random.token()}`
    this.#secret = start.secret ?? drawn
    this.state.load(emptyState(clock.now()))
    for (const one of start.subscriptions ?? []) this.deliveries.subscriptions.create(one)
    this.#initial = this.snapshot()
    if (saved) this.#load(saved.snapshot)
    this.#file =
      data === undefined ? undefined : new DataFile(data, () => ({ start, snapshot: this.#dump() }))
    changed()
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

  /** Restores a snapshot. The snapshot is checked as a whole before any of it is loaded. */
  restore(next: unknown): void {
    checked(snapshotSchema, next, 'snapshot')
    // Checked by the schema that the type is inferred from. Restored as given: unknown fields stay.
    this.#replace(structuredClone(next as Snapshot))
  }

  /** Resets everything to the state right after the start. */
  reset(): void {
    this.#replace(structuredClone(this.#initial))
  }

  /** Resolves when no delivery and no mail is due. */
  async flush(): Promise<void> {
    await this.deliveries.flush()
    await this.state.outbox.flush()
    await this.saved()
  }

  /**
   * Resolves when every change made so far is in the data file, if there is one.
   *
   * @throws WebhookError `DATA_FILE_FAILED`
   */
  async saved(): Promise<void> {
    await this.#file?.saved()
  }

  close(): Promise<void> {
    this.deliveries.close()
    this.clock.close()
    return this.saved()
  }

  #dump(): Snapshot {
    return {
      version: 2,
      seed: this.random.seed,
      secret: this.#secret,
      clock: this.clock.dump(),
      random: this.random.dump(),
      faults: this.faults.dump(),
      state: this.state.dump(),
      webhooks: this.deliveries.dump(),
    }
  }

  #load(next: Snapshot): void {
    this.#secret = next.secret
    this.clock.load(next.clock)
    this.faults.load(next.faults)
    this.state.load(next.state)
    this.deliveries.load(next.webhooks)
    // Last, so that loading leaves no trace in what is drawn afterwards.
    this.random.load(next.seed, next.random)
  }

  #replace(next: Snapshot): void {
    this.#load(next)
    this.#file?.change()
    this.events.publish('state', { restored: true })
  }

  #clockChanged(): void {
    this.#file?.change()
    this.events.publish('clock', { now: this.clock.now().toISOString(), frozen: this.clock.frozen })
  }

  #faultsChanged(): void {
    this.#file?.change()
    this.events.publish('faults', { faults: this.faults.list() })
  }
}

function masked({ previous: _, ...subscription }: SubscriptionRow) {
  return { ...subscription, secret: mask(subscription.secret) }
}
