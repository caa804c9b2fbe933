// The service's own state: verifications, clients, organizations, mail, rates. Every change passes
// through here to be saved, sent to subscriptions and shown to watchers; what may happen is decided
// elsewhere.
import type { EventName } from '../../src/protocol/names.ts'
import type { VirtualClock } from './clock.ts'
import type { Occurrence } from './deliveries/plan.ts'
import type { EventBus } from './events.ts'
import { mask, Organizations, type RateVerdict, seededOrganizations } from './organizations.ts'
import { type Mailer, Outbox } from './outbox.ts'
import type { SeededRandom } from './random.ts'
import type { ClientRow, Snapshot, VerificationRow } from './schemas/snapshot.ts'
import { isOpen } from './transitions.ts'

export type StateDump = Snapshot['state']

export interface StateOptions {
  readonly clock: VirtualClock
  readonly random: SeededRandom
  readonly events: EventBus
  readonly mailer: Mailer | undefined
  /** Where the sandbox is reached, for links; no slash at the end. */
  readonly origin: () => string
  /** Called after every change. */
  readonly onChange: () => void
  readonly emit: (occurrence: Occurrence) => void
  /** Called when a verification's link has run out. */
  readonly expire: (state: State, row: VerificationRow) => void
}

/** A state without records, as after a reset. */
export function emptyState(now: Date): StateDump {
  const nothing = { seq: 0, verifications: [], clients: [], outbox: [] }
  return { ...nothing, ...seededOrganizations(now) }
}

export class State {
  readonly clock: VirtualClock
  readonly random: SeededRandom
  readonly origin: () => string
  /** In the order of creation, by id. */
  readonly verifications = new Map<string, VerificationRow>()
  readonly clients = new Map<string, ClientRow>()
  readonly organizations: Organizations
  readonly outbox: Outbox
  readonly #options: StateOptions
  #seq = 0

  constructor(options: StateOptions) {
    const { clock, random, origin, mailer } = options
    this.#options = options
    this.clock = clock
    this.random = random
    this.origin = origin
    this.organizations = new Organizations(random)
    this.outbox = new Outbox(mailer, (mail) => this.#changed('mail', mail))
  }

  nextSeq(): number {
    return ++this.#seq
  }

  /** Counts a request against its organization's rate. */
  takeRate(organizationId: string, limit: number): RateVerdict {
    const verdict = this.organizations.takeRate(organizationId, limit, this.clock.now())
    if (verdict.allowed) this.#options.onChange()
    return verdict
  }

  emit(name: EventName, resource: VerificationRow['resource'] | ClientRow['resource']): void {
    const { events, emit } = this.#options
    events.publish(name, resource)
    const occurredAt = this.clock.now()
    emit({ organizationId: resource.orgId, name, data: resource, occurredAt })
  }

  saveVerification(row: VerificationRow): void {
    this.verifications.set(row.resource.id, row)
    this.#changed('verification', row.resource)
  }

  saveClient(row: ClientRow): void {
    this.clients.set(row.resource.id, row)
    this.#changed('client', row.resource)
  }

  saveOrganizations(): void {
    const { organizations, keys } = this.organizations.dump()
    const masked = keys.map((key) => ({ ...key, key: mask(key.key) }))
    this.#changed('organizations', { organizations, keys: masked })
  }

  /** Expires a verification at its date, unless it has been submitted by then. */
  expireLater({ resource: { id, expiresAt } }: VerificationRow): void {
    this.clock.schedule(new Date(expiresAt), () => {
      const row = this.verifications.get(id)
      if (row && isOpen(row)) this.#options.expire(this, row)
    })
  }

  dump(): StateDump {
    return {
      seq: this.#seq,
      verifications: Array.from(this.verifications.values(), (row) => ({ ...row })),
      clients: Array.from(this.clients.values(), (row) => ({ ...row })),
      outbox: this.outbox.list(),
      ...this.organizations.dump(),
    }
  }

  load(saved: StateDump): void {
    this.#seq = saved.seq
    this.organizations.load(saved)
    this.outbox.load(saved.outbox)
    this.verifications.clear()
    for (const row of saved.verifications) {
      this.verifications.set(row.resource.id, row)
      if (isOpen(row)) this.expireLater(row)
    }
    this.clients.clear()
    for (const row of saved.clients) this.clients.set(row.resource.id, row)
  }

  #changed(kind: string, shown: unknown): void {
    this.#options.onChange()
    this.#options.events.publish(kind, shown)
  }
}
