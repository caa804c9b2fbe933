// The sandbox's whole state, and what every change of it passes through: it saves what changed and
// tells the deliveries and whoever watches. What may happen is decided elsewhere.
import type { EventName } from '../protocol/names.ts'
import type { Client, Verification } from '../protocol/resources.ts'
import type { Feed } from './event-bus.ts'
import { createExpiries, type Expiries } from './expiries.ts'
import type { Change } from './journal.ts'
import {
  createOrganizations,
  type Organizations,
  type SavedOrganizations,
  seededOrganizations,
} from './organizations.ts'
import { createOutbox, type Mail, type Mailer, type Outbox } from './outbox.ts'
import type { EngineClock, EngineRandom } from './ports.ts'
import { createRateLimiter, type RateLimiter, type RateWindows } from './rate-limit.ts'
import type { ClientRow, VerificationRow } from './rows.ts'
import { createTable, type Table } from './table.ts'

/** An occurrence that subscriptions may hear of. */
export interface Occurrence {
  readonly organizationId: string
  readonly name: EventName
  readonly data: unknown
  readonly occurredAt: Date
}

export interface World {
  readonly clock: EngineClock
  readonly random: EngineRandom
  readonly verifications: Table<VerificationRow>
  readonly clients: Table<ClientRow>
  readonly organizations: Organizations
  readonly outbox: Outbox
  readonly expiries: Expiries
  /** Where the sandbox is reached, for links; no slash at the end. */
  readonly origin: () => string
  nextSeq(): number
  /** Counts a request against its organization's rate. */
  takeRate: RateLimiter['take']
  /** The last number that was given, and the rate windows. */
  counts(): Pick<SavedWorld, 'seq' | 'rates'>
  emit(name: EventName, resource: Verification | Client): void
  saveVerification(row: VerificationRow): void
  saveClient(row: ClientRow): void
  saveOrganizations(): void
  dump(): SavedWorld
  load(saved: SavedWorld): void
}

/** The state as JSON. */
export interface SavedWorld extends SavedOrganizations {
  readonly seq: number
  readonly verifications: readonly VerificationRow[]
  readonly clients: readonly ClientRow[]
  readonly outbox: readonly Mail[]
  readonly rates: RateWindows
}

/** What a world needs from those that keep, send and watch. */
export interface WorldParts {
  readonly clock: EngineClock
  readonly random: EngineRandom
  readonly feed: Feed
  readonly mailer: Mailer | undefined
  readonly origin: () => string
  readonly record: (change: Change) => void
  /** Says that the counts have changed. */
  readonly touch: () => void
  readonly emit: (occurrence: Occurrence) => void
  /** Called when a verification's link has run out. */
  readonly expire: (world: World, row: VerificationRow) => void
}

/** A world without records, as after a reset. */
export function emptyWorld(now: Date): SavedWorld {
  const nothing = { seq: 0, verifications: [], clients: [], outbox: [], rates: {} }
  return { ...nothing, ...seededOrganizations(now) }
}

export function createWorld(parts: WorldParts): World {
  const { clock, random, feed, record } = parts
  const verifications = createTable<VerificationRow>()
  const clients = createTable<ClientRow>()
  const organizations = createOrganizations(seededOrganizations(clock.now()), random)
  const rates = createRateLimiter()
  let seq = 0

  const outbox = createOutbox(parts.mailer, (mail) => {
    record({ kind: 'mail', id: mail.id, value: mail })
    feed.publish({ type: 'mail', data: mail })
  })
  const expiries = createExpiries(clock, (id) => {
    const row = verifications.get(id)
    if (row) parts.expire(world, row)
  })

  const world: World = {
    clock,
    random,
    verifications,
    clients,
    organizations,
    outbox,
    expiries,
    origin: parts.origin,
    nextSeq: () => ++seq,
    takeRate(organizationId, limit, now) {
      const verdict = rates.take(organizationId, limit, now)
      if (verdict.allowed) parts.touch()
      return verdict
    },
    counts: () => ({ seq, rates: rates.dump() }),
    emit(name, resource) {
      const occurredAt = clock.now()
      feed.publish({ type: name, data: resource })
      parts.emit({ organizationId: resource.orgId, name, data: resource, occurredAt })
    },
    saveVerification(row) {
      record({ kind: 'verification', id: row.resource.id, value: row })
      feed.publish({ type: 'verification', data: row.resource })
    },
    saveClient(row) {
      record({ kind: 'client', id: row.resource.id, value: row })
      feed.publish({ type: 'client', data: row.resource })
    },
    saveOrganizations() {
      record({ kind: 'organizations', id: 'all', value: organizations.dump() })
    },
    dump: () => ({
      ...world.counts(),
      verifications: [...verifications.all()].map((row) => ({ ...row })),
      clients: [...clients.all()].map((row) => ({ ...row })),
      outbox: outbox.list(),
      ...organizations.dump(),
    }),
    load(saved) {
      seq = saved.seq
      for (const table of [verifications, clients]) table.clear()
      expiries.clear()
      organizations.load(saved)
      rates.load(saved.rates)
      outbox.load(saved.outbox)
      fill(verifications, saved.verifications)
      fill(clients, saved.clients)
      for (const { resource } of saved.verifications) {
        if (resource.status !== 'initiated' && resource.status !== 'in_progress') continue
        expiries.add({ at: Date.parse(resource.expiresAt), id: resource.id })
      }
    },
  }
  return world
}

/** Rows are copied, so that what was handed in stays as it was. */
function fill<Kind extends ClientRow | VerificationRow>(
  table: Table<Kind>,
  rows: readonly Kind[],
): void {
  const ordered = [...rows].sort((one, other) => one.seq - other.seq)
  for (const row of ordered) table.insert({ ...row })
}
