// Checks the filters of operators: a misspelt filter must not just find nothing, nor reach the commit
// that stores deliveries.
import {
  checkChoice,
  checkOptionNames,
  checkWholeNumber,
  invalid,
  kindShown,
  shown,
  suggestion,
} from '../foundation/check.ts'
import type { Entity } from '../protocol/events.ts'
import { canonicalName } from '../protocol/names.ts'
import { type EntryState, entryStates } from './entry.ts'

/** Conditions on entries; a condition that is left out matches every entry. */
export interface EntryFilter {
  /** One id or a list. */
  readonly id?: string | readonly string[]
  /** One state or a list. */
  readonly state?: EntryState | readonly EntryState[]
  /** The canonical name of the event. */
  readonly name?: string
  /** An entity, or `type:id`; also finds events that speak of it. */
  readonly entity?: Entity | string
  /** Entries of one tenant; null for entries without a tenant. */
  readonly tenant?: string | null
  /** Received since then. */
  readonly since?: Date | string
  /** Part of an entry's id or an event's name, or the id of an event or entity. */
  readonly search?: string
}

/** A page of entries, newest first. */
export interface EntryQuery extends EntryFilter {
  /**
   * Entries on the page, at most 500.
   *
   * @default 50
   */
  readonly limit?: number
  /** The `cursor` of the previous page. */
  readonly cursor?: string
}

export interface GetOptions {
  /** Includes the stored bytes and headers: a person's data. */
  readonly withDelivery?: boolean
}

export interface ForgetOptions {
  /** Erases for one tenant; with null for entries without a tenant; by default for all. */
  readonly tenant?: string | null
}

const filters: readonly string[] = ['id', 'state', 'name', 'entity', 'tenant', 'since', 'search']
const redrivable: readonly EntryState[] = ['dead', 'skipped', 'retry']

export function checkQuery(query: EntryQuery): void {
  checkOptionNames('find', query, [...filters, 'limit', 'cursor'])
  checkFilter('find', query, entryStates)
  if (query.limit !== undefined) checkWholeNumber('find: limit', query.limit)
  if (query.cursor !== undefined && !isText(query.cursor)) {
    throw invalid(
      `find: cursor must be the cursor of the previous page, got ${shown(query.cursor)}`,
    )
  }
}

export function checkRedrive(filter: EntryFilter | string): void {
  if (typeof filter === 'string') checkId('redrive', filter)
  else {
    checkOptionNames('redrive', filter, filters)
    checkFilter('redrive', filter, redrivable)
  }
}

/** The states that a redrive moves entries from: `retry` only if the filter names an id or it. */
export function redrivenFrom({ id, state }: EntryFilter): readonly EntryState[] {
  if (state !== undefined) return redrivable.filter((one) => [state].flat().includes(one))
  return id === undefined ? redrivable.filter((one) => one !== 'retry') : redrivable
}

export function checkId(by: string, id: unknown): void {
  if (!isText(id)) throw invalid(`${by} expects the id of an entry, got ${kindShown(id)}`)
}

export function checkEntity(by: string, entity: Entity | string): void {
  const { type, id } = typeof entity === 'string' ? partsOf(entity) : (entity ?? {})
  const isMeant = typeof entity !== 'string' || id?.trim() === id
  // Every family of events has entities, so only near misses of known types are refused.
  const meant = typeof entity === 'string' ? misspelt(type ?? '') : ''
  if (isText(type) && isText(id) && isMeant && meant === '') return
  throw invalid(
    `${by}: the entity must be 'verification:<id>', 'client:<id>', '<type>:<id>' of another event or { type, id }.${meant}`,
  )
}

export function partsOf(entity: string): { readonly type: string; readonly id: string } {
  const colon = entity.indexOf(':')
  return { type: entity.slice(0, Math.max(colon, 0)), id: entity.slice(colon + 1) }
}

function misspelt(type: string): string {
  const types: readonly string[] = ['verification', 'client']
  const [canonical = type] = canonicalName(`${type}.*`).split('.')
  if (canonical !== type) return ` Did you mean '${canonical}'?`
  return types.includes(type) ? '' : suggestion(type, types)
}

function checkFilter(by: string, filter: EntryFilter, states: readonly EntryState[]): void {
  const { id = [], state = [], name, tenant, since, search, entity } = filter
  for (const one of [id].flat()) checkId(`${by}: id`, one)
  for (const one of [state].flat()) checkChoice(`${by}: state`, one, states)
  if (entity !== undefined) checkEntity(by, entity)
  for (const [field, value] of Object.entries({ name, search, tenant: tenant ?? undefined })) {
    if (value === undefined) continue
    if (typeof value !== 'string') {
      throw invalid(`${by}: ${field} must be a string, got ${shown(value)}`)
    }
    // A list may show all for an empty field of a form; a redrive must not run all.
    if (by === 'redrive' && value.trim() === '') {
      throw invalid(`${by}: ${field} is empty: leave it out to mean all`)
    }
  }
  if (since !== undefined) checkMoment(`${by}: since`, since)
}

/**
 * Refuses an empty name, which is an unset variable.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function checkTenant(by: string, tenant: unknown): void {
  if (tenant === undefined || tenant === null || isText(tenant)) return
  throw invalid(`${by}: tenant must be a non-empty string, or null for none, got ${shown(tenant)}`)
}

export function checkMoment(name: string, value: unknown): void {
  const isGiven = typeof value === 'string' || value instanceof Date
  if (isGiven && !Number.isNaN(new Date(value).getTime())) return
  throw invalid(`${name} must be a Date or a string like 2026-01-31T12:00:00Z`)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
