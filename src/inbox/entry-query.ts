// What an operator asks, checked before it travels: a question that means nothing must not just
// find nothing, and must not reach the commit that holds somebody's delivery.
import { WebhookError } from '../errors.ts'
import type { Entity } from '../protocol/events.ts'
import { type EntryState, entryStates } from './entry.ts'

/** Which entries; what is left out holds of any. */
export interface EntryFilter {
  readonly id?: string | readonly string[]
  readonly state?: EntryState | readonly EntryState[]
  /** The canonical name of the event. */
  readonly name?: string
  /** An entity, or `type:id`; also finds events that speak of it. */
  readonly entity?: Entity | string
  /** Of this tenant alone. */
  readonly tenant?: string
  /** Received since then. */
  readonly since?: Date | string
  /** Part of the entry's id or the event's name, or the whole id of an event or its entity. */
  readonly search?: string
}

/** A page of entries, newest first. */
export interface EntryQuery extends EntryFilter {
  /** Default 50, at most 500. */
  readonly limit?: number
  /** Where the page before ended. */
  readonly cursor?: string
}

const filters: readonly string[] = ['id', 'state', 'name', 'entity', 'tenant', 'since', 'search']
const redrivable: readonly EntryState[] = ['dead', 'skipped']

/** @throws WebhookError `OPTION_INVALID` */
export function checkQuery(query: EntryQuery): void {
  const { limit, cursor, ...filter } = asked('find', query)
  checkFilter('find', filter, entryStates)
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1)) {
    throw refusal(`find: limit is ${String(limit)}: give a whole number from 1 to 500`)
  }
  if (cursor !== undefined && !isText(cursor)) {
    throw refusal(`find: cursor is ${kindOf(cursor)}: give the cursor of the page before`)
  }
}

/** @throws WebhookError `OPTION_INVALID` */
export function checkRedrive(filter: EntryFilter | string): void {
  if (typeof filter === 'string') checkId('redrive', filter)
  else checkFilter('redrive', asked('redrive', filter), redrivable)
}

/** @throws WebhookError `OPTION_INVALID` */
export function checkId(asked: string, id: unknown): void {
  if (isText(id)) return
  throw refusal(`${asked} needs the id of an entry, not ${id === '' ? 'nothing' : kindOf(id)}`)
}

/** @throws WebhookError `OPTION_INVALID` */
export function checkEntity(by: string, entity: Entity | string): void {
  const { type, id } = typeof entity === 'string' ? partsOf(entity) : (entity ?? {})
  const isKnown = type === 'verification' || type === 'client'
  const isMeant = typeof entity !== 'string' || id?.trim() === id
  if (isKnown && isText(id) && isMeant) return
  throw refusal(
    `${by}: write the entity as 'verification:<id>' or 'client:<id>', or as { type, id }: anything else is nobody`,
  )
}

function partsOf(entity: string): { readonly type: string; readonly id: string } {
  const colon = entity.indexOf(':')
  return { type: entity.slice(0, colon), id: entity.slice(colon + 1) }
}

function checkFilter(
  by: string,
  { id, state, name, tenant, since, search, entity, ...rest }: EntryFilter,
  states: readonly EntryState[],
): void {
  const unknown = Object.keys(rest).find((one) => !filters.includes(one))
  if (unknown !== undefined) {
    throw refusal(`${by}: there is no filter '${unknown}': use ${filters.join(', ')}`)
  }
  for (const one of id === undefined ? [] : [id].flat()) checkId(`${by}: id`, one)
  const wrong = state === undefined ? [] : [state].flat().filter((one) => !states.includes(one))
  if (wrong.length > 0) {
    throw refusal(`${by}: state is '${String(wrong[0])}': use ${states.join(', ')}`)
  }
  if (entity !== undefined) checkEntity(by, entity)
  for (const [field, value] of Object.entries({ name, tenant, search })) {
    if (value === undefined || typeof value === 'string') continue
    throw refusal(`${by}: ${field} is ${kindOf(value)}: give a string`)
  }
  if (since !== undefined && !isMoment(since)) {
    throw refusal(`${by}: since is no time: give a Date or a string like 2026-01-31T12:00:00Z`)
  }
}

function asked<Asked extends object>(by: string, query: Asked): Asked {
  if (typeof query === 'object' && query !== null && !Array.isArray(query)) return query
  throw refusal(`${by} takes an object of filters, not ${kindOf(query)}`)
}

function isMoment(since: unknown): boolean {
  const isGiven = typeof since === 'string' || since instanceof Date
  return isGiven && !Number.isNaN(new Date(since).getTime())
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : `of type ${typeof value}`
}

function refusal(message: string): WebhookError {
  return new WebhookError('OPTION_INVALID', message)
}
