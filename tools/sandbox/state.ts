// The service's own state: verifications, clients, organizations, mail, rates. Every change passes
// through here to be saved, sent to subscriptions and shown to watchers; what may happen is decided
// elsewhere.
import type { EventName } from '../../src/protocol/names.ts'
import type { VirtualClock } from './clock.ts'
import type { Occurrence } from './deliveries/plan.ts'
import type { EventBus } from './event-bus.ts'
import { Expiries } from './expiries.ts'
import type { Change } from './journal.ts'
import { mask, Organizations, seededOrganizations } from './organizations.ts'
import { type Mailer, Outbox } from './outbox.ts'
import type { SeededRandom } from './random.ts'
import { RateLimiter, type RateVerdict } from './rate-limit.ts'
import type { ClientRow, Snapshot, VerificationRow } from './schemas/snapshot.ts'
import { Table } from './table.ts'
import { isOpen } from './transitions.ts'

export type StateDump = Snapshot['state']

export interface StateOptions {
  readonly clock: VirtualClock
  readonly random: SeededRandom
  readonly events: EventBus
  readonly mailer: Mailer | undefined
  /** Where the sandbox is reached, for links; no slash at the end. */
  readonly origin: () => string
  readonly record: (change: Change) => void
  /** Called when the counters have changed. */
  readonly touch: () => void
  readonly emit: (occurrence: Occurrence) => void
  /** Called when a verification's link has run out. */
  readonly expire: (state: State, row: VerificationRow) => void
}

/** A state without records, as after a reset. */
export function emptyState(now: Date): StateDump {
  const nothing = { seq: 0, verifications: [], clients: [], outbox: [], rates: {} }
  return { ...nothing, ...seededOrganizations(now) }
}

export class State {
  readonly clock: VirtualClock
  readonly random: SeededRandom
  readonly origin: () => string
  readonly verifications = new Table<VerificationRow>()
  readonly clients = new Table<ClientRow>()
  readonly organizations: Organizations
  readonly outbox: Outbox
  readonly expiries: Expiries
  readonly #options: StateOptions
  readonly #rates = new RateLimiter()
  #seq = 0

  constructor(options: StateOptions) {
    const { clock, random, origin, mailer, expire } = options
    this.#options = options
    this.clock = clock
    this.random = random
    this.origin = origin
    this.organizations = new Organizations(random)
    this.outbox = new Outbox(mailer, (mail) => this.#changed('mail', mail.id, mail))
    this.expiries = new Expiries(clock, (id) => {
      const row = this.verifications.get(id)
      if (row) expire(this, row)
    })
  }

  nextSeq(): number {
    return ++this.#seq
  }

  /** Counts a request against its organization's rate. */
  takeRate(organizationId: string, limit: number): RateVerdict {
    const verdict = this.#rates.take(organizationId, limit, this.clock.now())
    if (verdict.allowed) this.#options.touch()
    return verdict
  }

  emit(name: EventName, resource: VerificationRow['resource'] | ClientRow['resource']): void {
    const { events, emit } = this.#options
    events.publish(name, resource)
    const occurredAt = this.clock.now()
    emit({ organizationId: resource.orgId, name, data: resource, occurredAt })
  }

  saveVerification(row: VerificationRow): void {
    this.#changed('verification', row.resource.id, row, row.resource)
  }

  saveClient(row: ClientRow): void {
    this.#changed('client', row.resource.id, row, row.resource)
  }

  saveOrganizations(): void {
    const { organizations, keys } = this.organizations.dump()
    const masked = { organizations, keys: keys.map((key) => ({ ...key, key: mask(key.key) })) }
    this.#changed('organizations', 'all', { organizations, keys }, masked)
  }

  /** The last sequence number and the rate windows. */
  counters(): Pick<StateDump, 'seq' | 'rates'> {
    return { seq: this.#seq, rates: this.#rates.dump() }
  }

  dump(): StateDump {
    return {
      ...this.counters(),
      verifications: Array.from(this.verifications.all(), (row) => ({ ...row })),
      clients: Array.from(this.clients.all(), (row) => ({ ...row })),
      outbox: this.outbox.list(),
      ...this.organizations.dump(),
    }
  }

  load(saved: StateDump): void {
    this.#seq = saved.seq
    this.organizations.load(saved)
    this.#rates.load(saved.rates)
    this.outbox.load(saved.outbox)
    this.verifications.load(saved.verifications)
    this.clients.load(saved.clients)
    const open = saved.verifications.filter(isOpen)
    this.expiries.load(
      open.map(({ resource: { id, expiresAt } }) => ({ at: Date.parse(expiresAt), id })),
    )
  }

  #changed(kind: string, id: string, value: unknown, shown = value): void {
    this.#options.record({ kind, id, value })
    this.#options.events.publish(kind, shown)
  }
}
