// Which events must have happened, by what the API shows of a resource: pure. What it does not
// show is not guessed; `unseen` says what that is.
import type { Entity } from '../protocol/events.ts'
import type { EventName } from '../protocol/names.ts'
import { type Client, terminalStatuses, type Verification } from '../protocol/resources.ts'

/** An event that must have happened. */
export interface DerivedEvent {
  readonly name: EventName
  readonly entity: Entity
  /** When it happened, as closely as the API tells. */
  readonly occurredAt: string
  /** When the resource changed by it. */
  readonly changedAt: string
  /** The resource as it is now, not as it was. */
  readonly data: Verification | Client
}

/** What no run can find, told in every report. */
export const unseen = [
  'client.updated: section 4.5 has no sort or filter by update, and a record does not tell what changed',
  'a client that was deleted for good, if the service ever does that: it is no longer listed',
  'for certain, clients of a list that hides deleted ones: one that is deleted while a run turns pages can move another out of sight, and the watermark passes it; a run from an earlier time finds it',
  'the resource as it was at the event: handlers get it as it is now',
  'when a verification was decided: `updatedAt` stands for it, so a decided one that changes again after the inbox has forgotten it looks newly decided',
  'an expiry that the service notes later than a run looked at that time, where it leaves `updatedAt` alone',
  'a state that a verification entered twice',
] as const

/** The events of a verification as it is at `now`, in their order (sections 2.1 and 3). */
export function verificationEvents(data: Verification, now: Date): DerivedEvent[] {
  const { id, status, createdAt, submittedAt, updatedAt, expiresAt } = data
  const event = (name: EventName, changedAt: string, occurredAt = changedAt): DerivedEvent => ({
    name,
    entity: { type: 'verification', id },
    occurredAt,
    changedAt,
    data,
  })
  const events = [event('verification.created', createdAt)]
  if (submittedAt) events.push(event('verification.submitted', submittedAt))
  else if (status === 'submitted') events.push(event('verification.submitted', updatedAt))
  const end = terminalStatuses.find((terminal) => terminal === status)
  if (end === 'expired') {
    // Nothing says that an expiry touches updatedAt. One before its time, an operator's, does.
    const due = Date.parse(expiresAt) <= now.getTime()
    const changedAt = due ? later(updatedAt, expiresAt) : updatedAt
    events.push(event('verification.expired', changedAt, due ? expiresAt : updatedAt))
  } else if (end) events.push(event(`verification.${end}`, updatedAt))
  return events
}

/** The events of a client record (section 2.4). */
export function clientEvents(data: Client): DerivedEvent[] {
  const { id, active, createdAt, updatedAt } = data
  const entity = { type: 'client', id } as const
  const created = { occurredAt: createdAt, changedAt: createdAt }
  const events: DerivedEvent[] = [{ name: 'client.created', entity, data, ...created }]
  if (active === false) {
    const deleted = { occurredAt: updatedAt, changedAt: updatedAt }
    events.push({ name: 'client.deleted', entity, data, ...deleted })
  }
  return events
}

/** The key of a derived event: the same in every run. */
export function derivedKey({ name, entity }: Pick<DerivedEvent, 'name' | 'entity'>): string {
  return `reconcile:${name}:${entity.id}`
}

/** The later of two times; `one` is needed, `other` may be unreadable. */
function later(one: string, other: string): string {
  return Date.parse(other) > Date.parse(one) ? other : one
}
