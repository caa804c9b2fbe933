// One row of the memory store, and the views of it that the port gives.
import type { StoredEntry, StoreQuery } from '../../admin-store.ts'
import type { Claimed, HighWaterMark } from '../../work-store.ts'

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

export interface Row extends Writable<Omit<StoredEntry, 'handled'>> {
  readonly seq: number
  lane: string
  related?: string
  readonly handled: Set<string>
  fence: number
  until: number
}

export function toClaimed(
  row: Row,
  gap: boolean,
  highWaterMark: HighWaterMark | undefined,
): Claimed {
  const { id, fence, attempt, seq, name, source, occurredAt, storedAt, metadata, body } = row
  const failed = row.failures.map(({ handler }) => handler)
  return {
    id,
    fence,
    attempt,
    seq,
    source,
    storedAt,
    ...(failed.length > 0 && { failed }),
    // Copies, as other stores give: a handler may decode in place.
    ...(metadata && { metadata: new Uint8Array(metadata) }),
    ...(body && { body: new Uint8Array(body) }),
    ...(name !== undefined && { name }),
    ...(occurredAt !== undefined && { occurredAt }),
    handled: [...row.handled],
    gap,
    ...(highWaterMark && { highWaterMark }),
  }
}

export function toStored(row: Row, withBody: boolean): StoredEntry {
  const { seq: _, lane: __, related: ___, fence: ____, until: _____, ...given } = row
  const { metadata, body, ...rest } = given
  return {
    ...rest,
    handled: [...row.handled],
    ...(metadata && { metadata: new Uint8Array(metadata) }),
    ...(withBody && body && { body: new Uint8Array(body) }),
  }
}

/** The tenant of a lane `<lane>.<tenant>`, or empty. */
export function tenantOf(lane: string): string {
  const dot = lane.indexOf('.')
  return dot === -1 ? '' : lane.slice(dot + 1)
}

/** Whether a lane or a key is the one that was meant, or that of any tenant. */
export function isMeant(name: string | undefined, meant: string): boolean {
  return name === meant || name?.startsWith(`${meant}.`) === true
}

/** Whether a row is in a lane or related to it. */
export function isAbout(row: Row, lane: string): boolean {
  return isMeant(row.lane, lane) || isMeant(row.related, lane)
}

/** Whether a row is among those asked for; `isKeyOf` tells whether a key is its. */
export function fits(
  row: Row,
  { ids, states, name, lane, tenant, since, text }: StoreQuery,
  isKeyOf: (key: string, id: string) => boolean,
): boolean {
  const mentions = (part: string) => row.id.includes(part) || row.name?.includes(part) === true
  return (
    (!ids || ids.includes(row.id)) &&
    (!states || states.includes(row.state)) &&
    (name === undefined || row.name === name) &&
    (lane === undefined || isAbout(row, lane)) &&
    (tenant === undefined || tenantOf(row.lane) === tenant) &&
    (since === undefined || row.storedAt >= since) &&
    (!text ||
      mentions(text.part) ||
      text.keys.some((key) => isAbout(row, key) || isKeyOf(key, row.id)))
  )
}

/** The payload goes, and what its handlers said of it. */
export function erase(row: Row): void {
  delete row.metadata
  delete row.body
  row.failures = []
}
