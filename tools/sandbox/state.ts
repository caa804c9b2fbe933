// The sandbox's state: records, clock, random source, faults and deliveries, one event bus and one
// data file. Snapshot, restore and reset cover all of them. Other files decide what may happen to a
// record; every change passes through this file to be kept, sent and shown.

import type { Fetch } from '../../src/client/attempt.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import type { EventName } from '../../src/protocol/names.ts'
import type { Scheme } from '../../src/protocol/scheme.ts'
import type { Vendor } from '../../src/protocol/vendor.ts'
import { maskSecret } from '../../src/redaction/redact.ts'
import { VirtualClock } from './clock.ts'
import { DataFile } from './data-file.ts'
import { Deliveries, details, unmeasured } from './deliveries/deliveries.ts'
import { createEvents } from './events.ts'
import { checked } from './exchange.ts'
import { FaultRules } from './faults.ts'
import { Organizations, type RateVerdict, seededOrganizations } from './organizations.ts'
import { profile } from './profile.ts'
import { SeededRandom } from './random.ts'
import {
  type ClientRow,
  type Mail,
  type SavedState,
  type Snapshot,
  type StartOptions,
  snapshotSchema,
  type VerificationRow,
} from './schemas/snapshot.ts'
import { isOpen } from './transitions.ts'
import { type ApiCredentials, credentialsOf } from './vendor.ts'

export interface StateOptions {
  readonly start: StartOptions
  readonly source: (() => Date) | undefined
  readonly send: Fetch
  readonly timeoutMs: number
  readonly vendor: Vendor | undefined
  /** The address of the sandbox, for links; no slash at the end. */
  readonly origin: () => string
  readonly data: string | undefined
  readonly saved: SavedState | undefined
  /** Called when the link of an open verification has run out. */
  readonly expire: (state: State, row: VerificationRow) => void
}

export class State {
  readonly events = createEvents()
  readonly clock: VirtualClock
  readonly random: SeededRandom
  readonly faults: FaultRules
  readonly deliveries: Deliveries
  readonly organizations: Organizations
  readonly scheme: Scheme
  readonly credentials: ApiCredentials
  readonly vendor: Vendor | undefined
  /** The mail that the service would send: invitations (section 4.1), shared results (section 2.3). */
  readonly outbox: Mail[] = []
  readonly origin: () => string
  readonly verifications = new Map<string, VerificationRow>()
  readonly clients = new Map<string, ClientRow>()
  readonly #expire: StateOptions['expire']
  readonly #initial: Snapshot
  readonly #file: DataFile | undefined
  #secret: string

  constructor(options: StateOptions) {
    const { start, saved, data, source = systemClock } = options
    this.origin = options.origin
    this.vendor = options.vendor
    this.credentials = credentialsOf(options.vendor)
    this.scheme = options.vendor?.scheme ?? profile.scheme
    this.#expire = options.expire
    const random = new SeededRandom(start.seed)
    this.random = random
    const clock = new VirtualClock({
      source,
      frozenAt: start.now === undefined ? undefined : new Date(start.now),
      onChange: () =>
        this.#changed('clock', { now: clock.now().toISOString(), frozen: clock.frozen }),
    })
    this.clock = clock
    const faults = new FaultRules(random, () => this.#changed('faults', { faults: faults.list() }))
    this.faults = faults
    this.organizations = new Organizations(random)
    this.deliveries = new Deliveries({
      ...options,
      clock,
      random,
      faults,
      secret: () => this.#secret,
      hasOrganization: (id) => this.organizations.get(id) !== undefined,
      onDelivery: (row) => this.#changed('delivery', details(row)),
      onSubscription: (id, row) => {
        const shown = row && { ...row, secret: maskSecret(row.secret), previous: undefined }
        this.#changed('subscription', shown ?? { id, removed: true })
      },
    })
    // Drawn in any case, so that what follows from the seed does not depend on the option.
    const drawn = `whsec_${random.token()}`
    this.#secret = start.secret ?? drawn
    this.organizations.load(seededOrganizations(clock.now()))
    for (const one of start.subscriptions ?? []) this.deliveries.subscriptions.create(one)
    this.#initial = this.snapshot()
    if (saved) this.#load(saved.snapshot)
    if (data !== undefined) {
      this.#file = new DataFile(data, () => ({ start, snapshot: this.#dump() }))
      this.#file.change()
    }
  }

  get secret(): string {
    return this.#secret
  }

  takeRate(organizationId: string, limit: number): RateVerdict {
    const verdict = this.organizations.takeRate(organizationId, limit, this.clock.now())
    if (verdict.allowed) this.#file?.change()
    return verdict
  }

  emit(name: EventName, resource: VerificationRow['resource'] | ClientRow['resource']): void {
    this.events.emit('change', name, resource)
    const occurredAt = this.clock.now()
    this.deliveries.emit({ organizationId: resource.orgId, name, data: resource, occurredAt })
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
    const organizations = this.organizations.list()
    this.#changed('organizations', { organizations, keys: this.organizations.keys() })
  }

  /** Expires a verification at its date, unless its subject has submitted by then (section 6). */
  expireLater({ resource: { id, expiresAt } }: VerificationRow): void {
    this.clock.schedule(new Date(expiresAt), () => {
      const row = this.verifications.get(id)
      if (row && isOpen(row)) this.#expire(this, row)
    })
  }

  snapshot(): Snapshot {
    const { webhooks, ...rest } = this.#dump()
    const deliveries = webhooks.deliveries.map(unmeasured)
    return structuredClone({ ...rest, webhooks: { ...webhooks, deliveries } })
  }

  /** Restores a snapshot. The snapshot is checked as a whole before any of it is loaded. */
  restore(next: unknown): void {
    checked(snapshotSchema, next, 'snapshot')
    // Restored as given, with the fields that the schema does not know.
    this.#replace(structuredClone(next as Snapshot))
  }

  reset(): void {
    this.#replace(structuredClone(this.#initial))
  }

  mail(
    { id: verificationId, orgId: organizationId }: VerificationRow['resource'],
    content: Omit<Mail, 'id' | 'verificationId' | 'organizationId' | 'createdAt'>,
  ): void {
    const createdAt = this.clock.now().toISOString()
    const id = this.random.uuid()
    const mail = { id, ...content, verificationId, organizationId, createdAt }
    this.outbox.push(mail)
    this.#changed('mail', mail)
  }

  async flush(): Promise<void> {
    await this.deliveries.flush()
    await this.saved()
  }

  /** Resolves when every change is in the data file. @throws WebhookError `DATA_FILE_FAILED` */
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
      state: {
        verifications: [...this.verifications.values()],
        clients: [...this.clients.values()],
        outbox: this.outbox,
        ...this.organizations.dump(),
      },
      webhooks: this.deliveries.dump(),
    }
  }

  #load({ state, ...next }: Snapshot): void {
    this.#secret = next.secret
    this.clock.load(next.clock)
    this.faults.load(next.faults)
    this.organizations.load(state)
    this.outbox.splice(0, this.outbox.length, ...state.outbox)
    this.verifications.clear()
    for (const row of state.verifications) {
      this.verifications.set(row.resource.id, row)
      if (isOpen(row)) this.expireLater(row)
    }
    this.clients.clear()
    for (const row of state.clients) this.clients.set(row.resource.id, row)
    this.deliveries.load(next.webhooks)
    // Done last, so that loading does not change what is drawn afterwards.
    this.random.load(next.seed, next.random)
  }

  #replace(next: Snapshot): void {
    this.#load(next)
    this.#changed('state', { restored: true })
  }

  #changed(kind: string, shown: unknown): void {
    this.#file?.change()
    this.events.emit('change', kind, shown)
  }
}
