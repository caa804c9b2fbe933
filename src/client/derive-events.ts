// Derives the events that must have happened from what the API shows of a resource. It guesses
// nothing: `unseen` lists what the API does not show.

import type { Entity } from '../protocol/events.ts'
import { parseTime } from '../protocol/json-paths.ts'
import type { EventName } from '../protocol/names.ts'
import type { Client, Verification } from '../protocol/resources.ts'
import { terminalStatuses } from '../protocol/values.ts'

export interface DerivedEvent {
  readonly name: EventName
  readonly entity: Entity
  /** When it happened, as precisely as the API shows. */
  readonly occurredAt: string
  readonly changedAt: string
  /** The resource as it is now, not as it was. */
  readonly data: Verification | Client
}

/** Changes that no run can find; part of every report. */
export const unseen = [
  'client.updated: the list of clients cannot be sorted or filtered by update, and a record does not show what changed',
  'a client that was deleted permanently: it is no longer listed',
  'a client, if another one is deleted while pages are being read from a list that hides deleted ones; a run from an earlier time finds it',
  'the resource as it was at the event: handlers get it as it is now',
  'when a verification was decided or a client deleted: `updatedAt` is used instead, so a record that changes again after the inbox has forgotten it looks new',
  'an expiry before its date: if the inbox has forgotten it by that date, it looks like an expiry at that date and is taken again',
  'an expiry that the service records after a run has read that time, if it does not touch `updatedAt`',
  'a state that a verification entered twice',
] as const

/** The events of a verification as it is at `now`, in their order (sections 2.1 and 3). */
export function verificationEvents(data: Verification, now: Date): DerivedEvent[] {
  const { status, createdAt, submittedAt, updatedAt, expiresAt } = data
  const event = eventsOf('verification', data)
  const events = [event('verification.created', createdAt)]
  if (submittedAt) events.push(event('verification.submitted', submittedAt))
  else if (status === 'submitted') events.push(event('verification.submitted', updatedAt))
  const end = terminalStatuses.find((terminal) => terminal === status)
  if (end === 'expired') {
    // It is undocumented whether an expiry touches updatedAt; an early one, by an operator, does.
    const due = parseTime(expiresAt) <= now.getTime()
    const isLate = due && parseTime(expiresAt) > parseTime(updatedAt)
    const changedAt = isLate ? expiresAt : updatedAt
    events.push(event('verification.expired', changedAt, due ? expiresAt : updatedAt))
  } else if (end) events.push(event(`verification.${end}`, updatedAt))
  return events
}

/** The events of a client record (section 2.4). */
export function clientEvents(data: Client): DerivedEvent[] {
  const event = eventsOf('client', data)
  const created = event('client.created', data.createdAt)
  return data.active === false ? [created, event('client.deleted', data.updatedAt)] : [created]
}

function eventsOf(type: Entity['type'], data: Verification | Client) {
  const entity = { type, id: data.id }
  return (name: EventName, changedAt: string, occurredAt = changedAt): DerivedEvent => {
    return { name, entity, occurredAt, changedAt, data }
  }
}

/** The key of a derived event, equal in every run. */
export function derivedKey({ name, entity }: Pick<DerivedEvent, 'name' | 'entity'>): string {
  return `reconcile:${name}:${entity.id}`
}
